//! `expose`: a Service for what an object selects.

use serde_json::{Value, json};

use super::create::post;
use super::run::pairs;
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::print::fields::{at, list, map, text};
use crate::usage::Usage;
use object::Kind;

/// `kubectl expose`.
pub const EXPOSE: Command = Command {
    usage: Usage {
        name: "expose",
        words: "TYPE NAME --port=N",
        about: "Make a Service for what an object selects.",
        flags: &[
            FILES,
            WRITE,
            &["name", "port", "target-port", "protocol", "type", "selector", "cluster-ip", "external-ip"],
            &["labels", "session-affinity"],
        ],
        letterless: &["selector"],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(expose(args, cx))),
    ..Command::EMPTY
};

/// `kubectl expose`: a Service that selects what the object selects, or its labels if it is a Pod.
async fn expose(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    for target in cx.targets("expose", &args.words).await? {
        let Some(name) = target.name else {
            return Err(Failure::text("resource(s) were provided, but no name was specified"));
        };
        let object = cx.get(target.kind, cx.namespace(args), &name).await?;
        let selector = match args.value("selector") {
            "" => selector_of(target.kind, &object)?,
            selector => pairs(selector)?,
        };
        let ports = exposed_ports(&object, args)?;
        let service_name = if args.has("name") { args.value("name") } else { &name };
        let labels = match args.value("labels") {
            "" => at(&object, "metadata.labels").clone(),
            labels => pairs(labels)?,
        };
        let mut service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": service_name},
            "spec": {"selector": selector},
        });
        if !ports.is_empty() {
            service["spec"]["ports"] = json!(ports);
        }
        if !labels.is_null() {
            service["metadata"]["labels"] = labels;
        }
        let affinity = args.value("session-affinity");
        if !matches!(affinity, "" | "None" | "ClientIP") {
            return Err(Failure::text(format!("unknown session affinity: {affinity}")));
        }
        for (flag, field) in [("type", "type"), ("session-affinity", "sessionAffinity"), ("cluster-ip", "clusterIP")] {
            if !args.value(flag).is_empty() {
                service["spec"][field] = json!(args.value(flag));
            }
        }
        if !args.value("external-ip").is_empty() {
            service["spec"]["externalIPs"] = json!([args.value("external-ip")]);
        }
        post(service, "kubectl-expose", "exposed", args, cx).await?;
    }
    Ok(())
}

/// What an object selects, as labels, which is all that a Service knows. Mirrors `mapBasedSelectorForObject`.
fn selector_of(kind: Kind, object: &Value) -> Result<Value, Failure> {
    let without =
        |why: &str| Failure::text(format!("couldn't retrieve selectors via --selector flag or introspection: {why}"));
    let (path, missing) = match kind {
        Kind::Pod => ("metadata.labels", "the pod has no labels and cannot be exposed"),
        Kind::Service => ("spec.selector", "the service has no pod selector set"),
        Kind::ReplicationController => ("spec.selector", ""),
        Kind::Deployment => {
            ("spec.selector.matchLabels", "invalid deployment: no selectors, therefore cannot be exposed")
        }
        Kind::ReplicaSet => {
            ("spec.selector.matchLabels", "invalid replicaset: no selectors, therefore cannot be exposed")
        }
        kind => return Err(Failure::text(format!("cannot expose a {}", kind.info().qualified_kind()))),
    };
    if map(object, path).next().is_none() {
        return Err(without(missing));
    }
    let expressions = list(object, "spec.selector.matchExpressions");
    if expressions.is_empty() {
        return Ok(at(object, path).clone());
    }
    let shown: Vec<String> = expressions.iter().map(expression).collect();
    Err(without(&format!("couldn't convert expressions - \"[{}]\" to map-based selector format", shown.join(" "))))
}

/// `{Key:tier Operator:In Values:[fe be]}`, as Go prints it.
fn expression(expression: &Value) -> String {
    let [key, operator] = ["key", "operator"].map(|field| text(expression, field));
    let values: Vec<&str> = list(expression, "values").iter().filter_map(Value::as_str).collect();
    format!("{{Key:{key} Operator:{operator} Values:[{}]}}", values.join(" "))
}

/// The ports that an object says it has, each with its protocols: those of its containers, or of a Service its own.
/// Mirrors `portsForObject` and `multiProtocolsForObject`.
fn declared_ports(object: &Value) -> Vec<(String, Vec<&str>)> {
    let containers = match list(object, "spec.template.spec.containers") {
        [] => list(object, "spec.containers"),
        containers => containers,
    };
    let of_containers = containers.iter().flat_map(|container| list(container, "ports"));
    let mut declared: Vec<(String, Vec<&str>)> = Vec::new();
    for port in of_containers.chain(list(object, "spec.ports")) {
        let number = ["containerPort", "port"].iter().find_map(|field| at(port, field).as_i64());
        let number = number.unwrap_or_default().to_string();
        let protocol = Some(text(port, "protocol")).filter(|protocol| !protocol.is_empty()).unwrap_or("TCP");
        match declared.iter_mut().find(|(there, _)| *there == number) {
            Some((_, protocols)) => protocols.push(protocol),
            None => declared.push((number, vec![protocol])),
        }
    }
    declared
}

/// The Service's ports: those that `--port` gives, or the object declares. Mirrors `createService`.
fn exposed_ports(object: &Value, args: &Args) -> Result<Vec<Value>, Failure> {
    let declared = declared_ports(object);
    let ports: Vec<&str> = match args.value("port") {
        "" => declared.iter().map(|(port, _)| port.as_str()).collect(),
        given => given.split(',').collect(),
    };
    if ports.is_empty() && args.value("cluster-ip") != "None" {
        return Err(Failure::text("couldn't find port via --port flag or introspection"));
    }
    let target = Some(args.value("target-port")).filter(|target| !target.is_empty());
    let target = target.map(|target| target.parse::<u16>().map_or_else(|_| json!(target), |number| json!(number)));
    let mut made = Vec::new();
    for (i, port) in ports.iter().enumerate() {
        let number: i32 =
            port.parse().map_err(|_| Failure::text(format!("strconv.Atoi: parsing {port:?}: invalid syntax")))?;
        let mut add = |name: Option<String>, protocol: &str| {
            let mut one =
                json!({"port": number, "protocol": protocol, "targetPort": target.clone().unwrap_or(json!(number))});
            if let Some(name) = name {
                one["name"] = json!(name);
            }
            made.push(one);
        };
        let name = (ports.len() > 1).then(|| format!("port-{}", i + 1));
        let protocols = declared.iter().find(|(there, _)| there == port).map_or(&["TCP"][..], |(_, all)| all);
        match (args.value("protocol"), protocols) {
            ("", [protocol]) => add(name, protocol),
            ("", protocols) => protocols
                .iter()
                .for_each(|protocol| add(Some(format!("port-{}-{}", i + 1, protocol.to_lowercase())), protocol)),
            (protocol, _) => add(name, protocol),
        }
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_the_ports_of_what_it_exposes() {
        let port = |number: i64, protocol: &str| json!({"containerPort": number, "protocol": protocol});
        let pod = |ports: Vec<Value>| json!({"spec": {"containers": [{"name": "c", "ports": ports}]}});
        let dns = pod(vec![port(53, "UDP"), port(53, "TCP"), port(80, "TCP"), port(80, "TCP")]);
        let service = json!({"spec": {"ports": [{"port": 8080, "targetPort": 80, "protocol": "UDP"}]}});
        #[rustfmt::skip]
        let cases = [
            (pod(vec![port(53, "UDP")]), "", "53/UDP"),
            (pod(vec![port(53, "UDP")]), "--port=53", "53/UDP"),
            (pod(vec![port(53, "UDP")]), "--port=54", "54/TCP"),
            (pod(vec![port(53, "UDP")]), "--protocol=SCTP", "53/SCTP"),
            (pod(vec![port(1, "TCP"), port(2, "UDP")]), "", "port-1 1/TCP, port-2 2/UDP"),
            (dns, "--port=53", "port-1-udp 53/UDP, port-1-tcp 53/TCP"),
            (service, "", "8080/UDP"),
            (pod(Vec::new()), "--port=1,2", "port-1 1/TCP, port-2 2/TCP"),
            (pod(Vec::new()), "--cluster-ip=None", ""),
            (pod(Vec::new()), "", "error: couldn't find port via --port flag or introspection"),
            (pod(Vec::new()), "--port=x", "error: strconv.Atoi: parsing \"x\": invalid syntax"),
        ];
        for (object, flag, want) in cases {
            let words: Vec<String> = flag.split_whitespace().map(str::to_owned).collect();
            let args = Args::parse(&EXPOSE.usage, &words).unwrap();
            let shown = |port: &Value| {
                let name = port["name"].as_str().map(|name| format!("{name} ")).unwrap_or_default();
                format!("{name}{}/{}", port["targetPort"], text(port, "protocol"))
            };
            let shown = exposed_ports(&object, &args)
                .map_or_else(|fault| fault.to_string(), |ports| ports.iter().map(shown).collect::<Vec<_>>().join(", "));
            assert_eq!(shown, want, "{object} {flag}");
        }
    }

    #[test]
    fn only_labels_make_a_selector() {
        let expressions = json!([{"key": "tier", "operator": "In", "values": ["fe", "be"]}]);
        let both = json!({"spec": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": expressions}}});
        let refused = |kind, object| selector_of(kind, object).unwrap_err().to_string();
        assert_eq!(
            refused(Kind::Deployment, &both),
            "error: couldn't retrieve selectors via --selector flag or introspection: couldn't convert expressions - \
             \"[{Key:tier Operator:In Values:[fe be]}]\" to map-based selector format"
        );
        assert_eq!(refused(Kind::Job, &both), "error: cannot expose a Job.batch");
        let bare = refused(Kind::Pod, &json!({}));
        assert!(bare.ends_with("introspection: the pod has no labels and cannot be exposed"), "{bare}");
    }
}

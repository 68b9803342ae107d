//! `expose`: a Service for what an object selects.

use serde_json::{Value, json};

use super::create::post;
use super::run::pairs;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::fields::{at, list, map};
use crate::object::Kind;

/// `kubectl expose`: a Service that selects what the object selects, or its labels if it is a Pod.
pub async fn expose(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    for target in cx.targets("expose", &args.words).await? {
        let Some(name) = target.name else {
            return Err(Failure::text("resource(s) were provided, but no name was specified"));
        };
        let object = cx.get(target.kind, cx.namespace(args), &name).await?;
        let selector = match target.kind {
            _ if !args.value("selector").is_empty() => pairs(args.value("selector"))?,
            Kind::Pod => at(&object, "metadata.labels").clone(),
            Kind::Service | Kind::ReplicationController => at(&object, "spec.selector").clone(),
            Kind::Deployment | Kind::ReplicaSet => at(&object, "spec.selector.matchLabels").clone(),
            kind => return Err(Failure::text(format!("cannot expose a {}", kind.info().qualified_kind()))),
        };
        if map(&json!({"s": selector}), "s").next().is_none() {
            return Err(Failure::text(
                "couldn't retrieve selectors via --selector flag or introspection: the object has none",
            ));
        }
        let ports = exposed_ports(&object, args)?;
        let service_name = if args.has("name") { args.value("name") } else { &name };
        let kind = if args.has("type") { args.value("type") } else { "ClusterIP" };
        let labels = match args.value("labels") {
            "" => at(&object, "metadata.labels").clone(),
            labels => pairs(labels)?,
        };
        let mut service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": service_name},
            "spec": {"ports": ports, "selector": selector, "type": kind},
        });
        if !labels.is_null() {
            service["metadata"]["labels"] = labels;
        }
        for (flag, field) in [("session-affinity", "sessionAffinity"), ("cluster-ip", "clusterIP")] {
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

fn exposed_ports(object: &Value, args: &Args) -> Result<Vec<Value>, Failure> {
    let containers = match list(object, "spec.template.spec.containers") {
        [] => list(object, "spec.containers"),
        containers => containers,
    };
    let declared = containers.iter().flat_map(|c| list(c, "ports")).filter_map(|p| at(p, "containerPort").as_i64());
    let given = args.number("port")?;
    let ports: Vec<i64> = given.map_or_else(|| declared.collect(), |port| vec![port]);
    if ports.is_empty() {
        return Err(Failure::text(
            "couldn't find port via --port flag or introspection\nSee 'kubectl expose -h' for help and examples",
        ));
    }
    let target = Some(args.value("target-port")).filter(|target| !target.is_empty());
    let target = target.map(|target| target.parse::<u16>().map_or_else(|_| json!(target), |number| json!(number)));
    let protocol = if args.has("protocol") { args.value("protocol") } else { "TCP" };
    let many = ports.len() > 1;
    let port = |(i, port): (usize, i64)| {
        let mut out = json!({"port": port, "protocol": protocol, "targetPort": target.clone().unwrap_or(json!(port))});
        if many {
            out["name"] = json!(format!("port-{}", i + 1));
        }
        out
    };
    Ok(ports.into_iter().enumerate().map(port).collect())
}

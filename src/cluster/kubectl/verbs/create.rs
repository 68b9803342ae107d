//! `create`, `run`, `expose`, `replace`: one POST or PUT of a whole object.

use serde_json::{Map, Value, json};

use super::apply::annotated;
use super::delete::delete_and_wait;
use super::{create_budget, create_job, create_quota, create_role};
use crate::apiserver::request::{Body, Response, Subresource, Verb};
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, plain_options, timeout, write_options};
use crate::cluster::kubectl::print::fields::{at, list, map, text};
use crate::cluster::manifest::Manifest;
use crate::object::Kind;

/// `kubectl create -f`, or one of its generators.
pub async fn create(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if !args.has("filename") {
        return generate(args, cx).await;
    }
    let manifests = cx.some_manifests("create", args).await?;
    let mut failed = manifests.unknown.into_iter().next().map_or(Ok(()), |unknown| Err(Failure::from(unknown)));
    for manifest in manifests.known {
        let object = if args.is_on("save-config") { annotated(&manifest.object) } else { manifest.object };
        let namespace = text(&object, "metadata.namespace");
        match cx.post(manifest.kind, namespace, &object, write_options("kubectl-create", args)?).await {
            Ok(created) => {
                cx.tell(if text(&created, "kind").is_empty() { &object } else { &created }, "created", args)?
            }
            Err(fault) => {
                let fault = fault.while_doing("creating", &manifest.source.file);
                if let Err(before) = std::mem::replace(&mut failed, Err(fault)) {
                    cx.complain(before.to_string());
                }
            }
        }
    }
    failed
}

async fn generate(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some((what, names)) = args.words.split_first() else {
        return Err(Failure::text("must specify one of -f and -k"));
    };
    let (what, names) = match what.as_str() {
        "service" | "svc" => ("service", names.get(1..).unwrap_or_default()),
        "secret" => match names.split_first() {
            Some((sort, names)) if sort == "generic" => ("secret", names),
            _ => return Err(Failure::text("only `create secret generic` is made without a manifest here; use -f")),
        },
        other => (other, names),
    };
    let [name] = names else {
        return Err(Failure::text(format!("exactly one NAME is required, got {}", names.len())));
    };
    if what == "token" {
        return token(name, args, cx).await;
    }
    let object = match what {
        "deployment" | "deploy" => deployment(name, args)?,
        "namespace" | "ns" => json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        "serviceaccount" | "sa" => json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
        "configmap" | "cm" => config_map(name, args)?,
        "service" => service(name, args)?,
        "job" => create_job::job(name, args, cx).await?,
        "cronjob" | "cj" => create_job::cron_job(name, args)?,
        "quota" | "resourcequota" => create_quota::quota(name, args)?,
        "poddisruptionbudget" | "pdb" => create_budget::budget(name, args)?,
        "secret" => secret(name, args)?,
        "role" => create_role::role("Role", name, args, cx).await?,
        "clusterrole" => create_role::role("ClusterRole", name, args, cx).await?,
        "rolebinding" => create_role::binding("RoleBinding", name, args)?,
        "clusterrolebinding" => create_role::binding("ClusterRoleBinding", name, args)?,
        "priorityclass" | "pc" => priority_class(name, args)?,
        other => {
            let why = "`kubectl create --help` says what is made without a manifest here";
            return Err(Failure::text(format!("cannot create a {other}: {why}; use -f")));
        }
    };
    let made = post(object, "kubectl-create", "created", args, cx).await;
    // Most generators put their own words before the server's.
    made.map_err(|fault| match (&fault, what) {
        (
            Failure::Server { status, .. },
            "deployment"
            | "deploy"
            | "configmap"
            | "cm"
            | "serviceaccount"
            | "sa"
            | "job"
            | "cronjob"
            | "cj"
            | "poddisruptionbudget"
            | "pdb"
            | "secret"
            | "role"
            | "clusterrole"
            | "rolebinding"
            | "clusterrolebinding"
            | "priorityclass"
            | "pc",
        ) => {
            let what = Kind::from_word(what).map_or_else(|| what.to_owned(), |kind| kind.info().singular());
            Failure::text(format!("failed to create {what}: {}", status.message))
        }
        (Failure::Server { status, .. }, "quota" | "resourcequota") => {
            Failure::text(format!("failed to create quota: {}", status.message))
        }
        (Failure::Server { status, .. }, "service") => {
            let kind = service_type(args).unwrap_or_default();
            Failure::text(format!("failed to create {kind} service: {}", status.message))
        }
        _ => fault,
    })
}

/// `kubectl create token ACCOUNT`: prints a token that lives for a while. Mirrors `create_token.go`.
async fn token(account: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    const NO_KIND: &str = "--bound-object-name can only be set if --bound-object-kind is provided";
    const NO_NAME: &str = "--bound-object-kind is set but --bound-object-name is not provided";
    let [kind, name, uid] = ["kind", "name", "uid"].map(|part| args.value(&format!("bound-object-{part}")));
    let pod = match (kind, name) {
        ("", "") => None,
        ("", _) => return Err(Failure::text(NO_KIND)),
        ("Pod", "") => return Err(Failure::text(NO_NAME)),
        ("Pod", name) => Some((name.to_owned(), uid.to_owned())),
        (other, _) => {
            return Err(Failure::text(format!("tokens are bound to a Pod or to nothing here, not to a {other}")));
        }
    };
    // The server's default is an hour.
    let expiration_seconds = timeout(args, "duration")?.map_or(3600, |duration| duration.as_secs() as i64);
    let body = Body::Token { audiences: args.values("audience").to_vec(), expiration_seconds, pod };
    let mut request = cx.request(Verb::Create, Kind::ServiceAccount, cx.namespace(args), account, body);
    request.subresource = Some(Subresource::Token);
    let issued = match cx.send(request).await {
        Ok(Response::Token(issued)) => issued.status.and_then(|status| status.token),
        Ok(_) => None,
        Err(Failure::Server { status, .. }) => {
            return Err(Failure::text(format!("failed to create token: {}", status.message)));
        }
        Err(other) => return Err(other),
    };
    let Some(issued) = issued else { return Err(Failure::text("failed to create token: no token in server response")) };
    cx.line(issued);
    Ok(())
}

async fn post(mut object: Value, manager: &str, how: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let kind = crate::cluster::kubectl::print::kind_of(&object)
        .ok_or_else(|| Failure::text("a kind that the cluster does not know"))?;
    let namespace = cx.namespace(args);
    let bare = bare(&object);
    if kind.info().namespaced {
        object["metadata"]["namespace"] = json!(namespace);
    }
    // What kubectl has made itself need not be checked for unknown fields.
    let made = matches!(manager, "kubectl-run" | "kubectl-expose");
    let options = if made { plain_options(manager, args)? } else { write_options(manager, args)? };
    let only_here = options.only_here;
    let made = cx.post(kind, namespace, &object, options).await?;
    // What is not sent is shown without the namespace to which it would go.
    let shown = if only_here && !args.has("namespace") { &bare } else { &made };
    cx.tell(if text(shown, "kind").is_empty() { &object } else { shown }, how, args)
}

/// The object as a Go client prints it: with the status that it does not have yet.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    match text(&object, "kind") {
        "Service" => object["status"] = json!({"loadBalancer": {}}),
        "Deployment" | "Pod" | "Job" | "CronJob" | "Namespace" | "ResourceQuota" => object["status"] = json!({}),
        _ => {}
    }
    object
}

fn deployment(name: &str, args: &Args) -> Result<Value, Failure> {
    let images = args.values("image");
    if images.is_empty() {
        return Err(Failure::text("required flag(s) \"image\" not set"));
    }
    let container = |image: &String| {
        let name = image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or("app");
        json!({"name": name, "image": image, "resources": {}})
    };
    let mut containers: Vec<Value> = images.iter().map(container).collect();
    if let Some(port) = args.number("port")? {
        containers[0]["ports"] = json!([{"containerPort": port}]);
    }
    if !args.rest.is_empty() {
        containers[0]["command"] = json!(args.rest);
    }
    let labels = json!({"app": name});
    Ok(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": args.number("replicas")?.unwrap_or(1), "selector": {"matchLabels": labels}, "strategy": {},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }))
}

/// The entries that `--from-literal` gives, each as `as_value` writes it.
fn literals(args: &Args, as_value: fn(&str) -> Value) -> Result<Map<String, Value>, Failure> {
    let mut data = Map::new();
    for literal in args.values("from-literal") {
        let wrong = || Failure::text(format!("invalid literal source {literal}, expected key=value"));
        let (key, value) = literal.split_once('=').ok_or_else(wrong)?;
        data.insert(key.to_owned(), as_value(value));
    }
    Ok(data)
}

/// Mirrors `create_secret.go`. Left out: files.
fn secret(name: &str, args: &Args) -> Result<Value, Failure> {
    let data = literals(args, |value| json!(k8s_openapi::ByteString(value.as_bytes().to_vec())))?;
    let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
    if !data.is_empty() {
        object["data"] = Value::Object(data);
    }
    if !args.value("type").is_empty() {
        object["type"] = json!(args.value("type"));
    }
    Ok(object)
}

/// Mirrors `create_priorityclass.go`.
fn priority_class(name: &str, args: &Args) -> Result<Value, Failure> {
    let policy = if args.has("preemption-policy") { args.value("preemption-policy") } else { "PreemptLowerPriority" };
    let mut object = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "preemptionPolicy": policy, "value": args.number("value")?.unwrap_or(0),
    });
    if args.is_on("global-default") {
        object["globalDefault"] = json!(true);
    }
    if !args.value("description").is_empty() {
        object["description"] = json!(args.value("description"));
    }
    Ok(object)
}

fn config_map(name: &str, args: &Args) -> Result<Value, Failure> {
    let data = literals(args, |value| json!(value))?;
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    if !data.is_empty() {
        object["data"] = Value::Object(data);
    }
    Ok(object)
}

/// Mirrors `create_service.go`.
fn service(name: &str, args: &Args) -> Result<Value, Failure> {
    let kind = service_type(args)?;
    let labels = json!({"app": name});
    let mut spec = json!({"type": kind, "selector": labels});
    if kind == "ExternalName" {
        if args.value("external-name").is_empty() {
            return Err(Failure::text("required flag(s) \"external-name\" not set"));
        }
        spec["externalName"] = json!(args.value("external-name"));
    }
    let headless = args.value("clusterip") == "None";
    if !args.value("clusterip").is_empty() {
        spec["clusterIP"] = json!(args.value("clusterip"));
    }
    let pairs = args.values("tcp");
    if pairs.is_empty() && !headless && kind != "ExternalName" {
        return Err(Failure::text("at least one tcp port specifier must be provided"));
    }
    let node_port = args.number("node-port")?.filter(|port| *port != 0);
    let mut ports = Vec::new();
    for pair in pairs {
        let (port, target) = pair.split_once(':').unwrap_or((pair, pair));
        let number = |text: &str| text.parse::<u16>();
        let port = number(port).map_err(|_| Failure::text(format!("invalid port: {port:?}")))?;
        let target = number(target).map_or_else(|_| json!(target), |number| json!(number));
        let name = pair.replace(':', "-");
        let mut made = json!({"name": name, "port": port, "protocol": "TCP", "targetPort": target});
        if let Some(number) = node_port {
            made["nodePort"] = json!(number);
        }
        ports.push(made);
    }
    if !ports.is_empty() {
        spec["ports"] = json!(ports);
    }
    Ok(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": labels}, "spec": spec}))
}

/// The type that the word behind `create service` means.
fn service_type(args: &Args) -> Result<&'static str, Failure> {
    match args.words.get(1).map(String::as_str) {
        Some("clusterip") => Ok("ClusterIP"),
        Some("nodeport") => Ok("NodePort"),
        Some("loadbalancer") => Ok("LoadBalancer"),
        Some("externalname") => Ok("ExternalName"),
        _ => {
            const EXPECTED: &str =
                "expected 'create service clusterip|nodeport|loadbalancer|externalname NAME --tcp=PORT:TARGET'";
            Err(Failure::text(EXPECTED))
        }
    }
}

/// `kubectl run`: a Pod. Once it made a Deployment.
pub async fn run(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let [name, words @ ..] = args.words.as_slice() else {
        return Err(Failure::text("NAME is required for run"));
    };
    if args.value("image").is_empty() {
        return Err(Failure::text("required flag(s) \"image\" not set"));
    }
    if let Some(flag) = ["stdin", "tty", "rm"].into_iter().find(|flag| args.is_on(flag)) {
        let way_out = "run it without, and then: kubectl exec POD -- COMMAND";
        return Err(Failure::text(format!("--{flag}: no terminal into a container is simulated; {way_out}")));
    }
    let mut container = json!({"name": name, "image": args.value("image"), "resources": {}});
    let words: Vec<&String> = words.iter().chain(&args.rest).collect();
    if !words.is_empty() {
        container[if args.is_on("command") { "command" } else { "args" }] = json!(words);
    }
    if let Some(port) = args.number("port")? {
        container["ports"] = json!([{"containerPort": port}]);
    }
    let pair = |pair: &String| pair.split_once('=').map(|(name, value)| json!({"name": name, "value": value}));
    let environment: Vec<Value> = args.values("env").iter().filter_map(pair).collect();
    if !environment.is_empty() {
        container["env"] = json!(environment);
    }
    let labels = match args.value("labels") {
        "" => json!({"run": name}),
        labels => pairs(labels),
    };
    let restart = if args.has("restart") { args.value("restart") } else { "Always" };
    let spec = json!({"containers": [container], "restartPolicy": restart, "dnsPolicy": "ClusterFirst"});
    let metadata = json!({"name": name, "labels": labels});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    post(pod, "kubectl-run", "created", args, cx).await
}

/// `a=1,b=2` as an object.
fn pairs(text: &str) -> Value {
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), json!(value)));
    Value::Object(text.split(',').filter_map(pair).collect())
}

/// `kubectl expose`: a Service that selects what the object selects, or its labels if it is a Pod.
pub async fn expose(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    for target in cx.targets("expose", &args.words).await? {
        let Some(name) = target.name else {
            return Err(Failure::text("resource(s) were provided, but no name was specified"));
        };
        let object = cx.get(target.kind, cx.namespace(args), &name).await?;
        let selector = match target.kind {
            _ if !args.value("selector").is_empty() => pairs(args.value("selector")),
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
        let mut service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": service_name, "labels": at(&object, "metadata.labels")},
            "spec": {"ports": ports, "selector": selector, "type": kind},
        });
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

/// `kubectl replace -f`. An object without a resourceVersion overwrites whatever is there.
pub async fn replace(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    for mut manifest in cx.manifests("replace", args).await? {
        let file = &manifest.source.file;
        let [namespace, name] =
            ["metadata.namespace", "metadata.name"].map(|path| text(&manifest.object, path).to_owned());
        if args.is_on("force") {
            replace_by_force(&manifest, args, cx).await?;
            continue;
        }
        if text(&manifest.object, "metadata.resourceVersion").is_empty() {
            let live = cx.get_once(manifest.kind, &namespace, &name).await;
            let live = live.map_err(|fault| fault.while_doing("replacing", file))?;
            let meta = manifest.object.get_mut("metadata").and_then(Value::as_object_mut);
            let version = at(&live, "metadata.resourceVersion").clone();
            meta.into_iter().for_each(|meta| {
                meta.insert("resourceVersion".to_owned(), version.clone());
            });
        }
        let replaced = cx.put(manifest.kind, &manifest.object, "kubectl-replace", args).await;
        replaced.map_err(|fault| fault.while_doing("replacing", file))?;
        cx.tell(&manifest.object, "replaced", args)?;
    }
    Ok(())
}

/// `kubectl replace --force`: deletes what is there, waits until it is gone, and creates it anew. Mirrors `forceReplace`.
async fn replace_by_force(manifest: &Manifest, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (kind, file) = (manifest.kind, &manifest.source.file);
    let [namespace, name] = ["metadata.namespace", "metadata.name"].map(|path| text(&manifest.object, path));
    delete_and_wait(kind, namespace, name, args, cx).await?;
    let created = cx.post(kind, namespace, &manifest.object, write_options("kubectl-replace", args)?).await;
    let created = created.map_err(|fault| fault.while_doing("replacing", file))?;
    cx.tell(if text(&created, "kind").is_empty() { &manifest.object } else { &created }, "replaced", args)
}

//! `create service`. Mirrors `create_service.go`.

use serde_json::{Value, json};

use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;

/// The Service that the words and flags describe.
pub(super) fn service(name: &str, args: &Args) -> Result<Value, Failure> {
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
pub(super) fn service_type(args: &Args) -> Result<&'static str, Failure> {
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

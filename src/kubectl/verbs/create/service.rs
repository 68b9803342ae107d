//! `create service`. Mirrors `create_service.go`.

use std::num::IntErrorKind;

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use object::validation::names::{check_port, check_port_name};

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
        let (port, target) = ports_of(pair).map_err(Failure::Text)?;
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

/// `80`, `80:8080` or `80:web`. Mirrors `parsePorts`.
fn ports_of(pair: &str) -> Result<(u16, Value), String> {
    let (port, target) = pair.split_once(':').map_or((pair, None), |(port, target)| (port, target.split(':').next()));
    let port = port.parse::<u16>().map_err(|error| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.ParseUint: parsing {port:?}: {why}")
    })?;
    let Some(target) = target else { return Ok((port, json!(port))) };
    match target.parse::<i32>() {
        Ok(number) => check_port(number).map_or_else(|| Ok((port, json!(number))), |why| Err(why.to_owned())),
        Err(_) => match check_port_name(target).as_slice() {
            [] => Ok((port, json!(target))),
            problems => Err(problems.join(",")),
        },
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_and_where_it_leads() {
        for (pair, want) in [
            ("80", Ok((80, json!(80)))),
            ("80:8080", Ok((80, json!(8080)))),
            ("80:web", Ok((80, json!("web")))),
            ("abc", Err("strconv.ParseUint: parsing \"abc\": invalid syntax".to_owned())),
            ("-1:80", Err("strconv.ParseUint: parsing \"-1\": invalid syntax".to_owned())),
            ("70000", Err("strconv.ParseUint: parsing \"70000\": value out of range".to_owned())),
            ("80:0", Err("must be between 1 and 65535, inclusive".to_owned())),
        ] {
            assert_eq!(ports_of(pair), want, "{pair}");
        }
    }
}

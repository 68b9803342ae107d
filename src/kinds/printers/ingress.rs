//! How kubectl shows Ingresses. Mirrors `printIngress` of `pkg/printers/internalversion/printers.go`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::printers::fields::{list, text};

/// Where a controller says that it listens.
pub fn address(ingress: &Value) -> String {
    let of = |there: &Value| match text(there, "ip") {
        "" => text(there, "hostname").to_owned(),
        ip => ip.to_owned(),
    };
    let all: BTreeSet<String> = list(ingress, "status.loadBalancer.ingress").iter().map(of).collect();
    all.into_iter().filter(|address| !address.is_empty()).collect::<Vec<_>>().join(",")
}

/// All backends that an Ingress names, its default one first.
pub fn backends(ingress: &Value) -> Vec<&Value> {
    let paths = list(ingress, "spec.rules").iter().flat_map(|rule| list(rule, "http.paths"));
    let paths = paths.filter_map(|path| path.get("backend"));
    ingress.pointer("/spec/defaultBackend").into_iter().chain(paths).collect()
}

/// `web:80`, or `web:http`; empty if the backend is no Service.
pub fn service_of(backend: &Value) -> String {
    let name = text(backend, "service.name");
    let port = match text(backend, "service.port.name") {
        "" => backend.pointer("/service/port/number").map(Value::to_string).unwrap_or_default(),
        port => port.to_owned(),
    };
    if name.is_empty() { String::new() } else { format!("{name}:{port}") }
}

//! How kubectl shows Ingresses. Mirrors `printIngress` of `pkg/printers/internalversion/printers.go`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::fields::{at, list, or_none, text, text_or_none};

/// So many hosts are shown, then their number.
const HOSTS_MAX: usize = 3;

/// The cells of an Ingress.
pub fn cells(ingress: &Value, now: Timestamp) -> Vec<Value> {
    let tls = !list(ingress, "spec.tls").is_empty();
    cells![
        name(ingress),
        text_or_none(ingress, "spec.ingressClassName"),
        hosts(list(ingress, "spec.rules")),
        address(ingress),
        if tls { "80, 443" } else { "80" },
        created(ingress, now),
    ]
}

/// The cells of an IngressClass.
pub fn class_cells(class: &Value, now: Timestamp) -> Vec<Value> {
    let [kind, group, to] = ["kind", "apiGroup", "name"].map(|part| text(class, &format!("spec.parameters.{part}")));
    let kind = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let parameters = if to.is_empty() { String::new() } else { format!("{kind}/{to}") };
    let controller = text(class, "spec.controller");
    let marks = at(class, "metadata.annotations").get("ingressclass.kubernetes.io/is-default-class");
    let default = if marks.is_some_and(|value| value == "true") { " (default)" } else { "" };
    cells![name(class) + default, controller, or_none(&parameters), created(class, now)]
}

/// Mirrors `formatHosts`.
/// Rules without a host count among those that are not shown. Mirrors `formatHosts`.
fn hosts(rules: &[Value]) -> String {
    let named = rules.iter().enumerate().filter(|(_, rule)| !text(rule, "host").is_empty());
    let shown: Vec<(usize, &str)> = named.map(|(i, rule)| (i, text(rule, "host"))).take(HOSTS_MAX).collect();
    let list = shown.iter().map(|(_, host)| *host).collect::<Vec<_>>().join(",");
    match shown.last() {
        None => "*".to_owned(),
        Some((last, _)) if shown.len() == HOSTS_MAX && last + 1 < rules.len() => {
            format!("{list} + {} more...", rules.len() - HOSTS_MAX)
        }
        Some(_) => list,
    }
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_hosts_are_shown_and_each_address_once() {
        let rules = |hosts: &[&str]| hosts.iter().map(|host| json!({"host": host})).collect::<Vec<_>>();
        assert_eq!(hosts(&rules(&["", ""])), "*");
        assert_eq!(hosts(&rules(&["", "a", "b", "c"])), "a,b,c");
        assert_eq!(hosts(&rules(&["a", "b", "c", ""])), "a,b,c + 1 more...");
        let at = json!([{"ip": "10.0.0.2"}, {"hostname": "a.b"}, {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, {}]);
        assert_eq!(address(&json!({"status": {"loadBalancer": {"ingress": at}}})), "10.0.0.1,10.0.0.2,a.b");
    }
}

//! The pages about an Ingress and about an IngressClass. Mirrors `IngressDescriber` and `IngressClassDescriber`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::fields::{at, list, text, text_or_none};
use super::super::ingress::{address, service_of};
use super::page::Page;

/// The page; `behind` has the endpoints behind each `service:port`.
pub(super) fn describe(page: &mut Page, object: &Value, behind: &BTreeMap<String, String>) {
    let shown = |backend: &Value| {
        let service = service_of(backend);
        match behind.get(&service) {
            Some(endpoints) => format!("{service} {endpoints}"),
            None => {
                let of = |part: &str| text(backend, &format!("resource.{part}")).to_owned();
                format!("APIGroup: {}, Kind: {}, Name: {}", of("apiGroup"), of("kind"), of("name"))
            }
        }
    };
    page.name(object);
    page.labels("Labels", object, "metadata.labels");
    page.namespace(object);
    page.field("Address", address(object));
    page.field("Ingress Class", text_or_none(object, "spec.ingressClassName"));
    let default = object.pointer("/spec/defaultBackend").map_or_else(|| "<default>".to_owned(), shown);
    page.field("Default backend", &default);
    if !list(object, "spec.tls").is_empty() {
        page.line("TLS:");
    }
    for tls in list(object, "spec.tls") {
        let hosts: Vec<&str> = list(tls, "hosts").iter().filter_map(Value::as_str).collect();
        match text(tls, "secretName") {
            "" => page.line(format!("  SNI routes {}", hosts.join(","))),
            secret => page.line(format!("  {secret} terminates {}", hosts.join(","))),
        }
    }
    page.line("Rules:\n  Host\tPath\tBackends\n  ----\t----\t--------");
    let rules: Vec<&Value> = list(object, "spec.rules").iter().filter(|rule| rule.get("http").is_some()).collect();
    for rule in &rules {
        let host = text(rule, "host");
        page.line(format!("  {}\t", if host.is_empty() { "*" } else { host }));
        for path in list(rule, "http.paths") {
            page.line(format!("    \t{} \t{}", text(path, "path"), path.get("backend").map(shown).unwrap_or_default()));
        }
    }
    if rules.is_empty() {
        page.line(format!("  *\t*\t{default}"));
    }
    page.annotations("Annotations", object, "metadata.annotations");
}

pub(super) fn describe_class(page: &mut Page, class: &Value) {
    page.head(class);
    page.field("Controller", text(class, "spec.controller"));
    let parameters = at(class, "spec.parameters");
    if parameters.is_null() {
        return;
    }
    page.line("Parameters:");
    if !at(parameters, "apiGroup").is_null() {
        page.field("  APIGroup", text(parameters, "apiGroup"));
    }
    page.field("  Kind", text(parameters, "kind"));
    page.field("  Name", text(parameters, "name"));
}

//! Ingresses and their classes. Mirrors `ValidateIngressSpec` and `ValidateIngressClass` of
//! `pkg/apis/networking/validation`.
//!
//! Nothing here routes what an Ingress says: that is the work of a controller that a cluster has to be given. Left out:
//! what a reference to another kind must be called.

use std::net::IpAddr;

use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, Ingress, IngressBackend, IngressClass, IngressServiceBackend, IngressSpec,
};

use crate::object::selector::names::check_subdomain;

use super::field::{Json, Path, Problems};
use super::names::{check_dns_1035_label, check_port, check_port_name, prefixed_path};

const SPEC: Path = Path::new("spec");
const PATH_TYPES: &[&str] = &["Exact", "ImplementationSpecific", "Prefix"];
/// What no path may contain.
const SEQUENCES: &[&str] = &["//", "/./", "/../", "%2f", "%2F"];
/// How no path may end.
const SUFFIXES: &[&str] = &["/..", "/."];
const NOTHING: &str = "either `defaultBackend` or `rules` must be specified";

/// The spec of an Ingress.
pub fn ingress(problems: &mut Problems, ingress: &Ingress) {
    let default = IngressSpec::default();
    let spec = ingress.spec.as_ref().unwrap_or(&default);
    let rules = spec.rules.as_deref().unwrap_or_default();
    match &spec.default_backend {
        Some(there) => backend(problems, &SPEC.child("defaultBackend"), there),
        None if rules.is_empty() => problems.invalid(&SPEC, Json(&spec.rules), NOTHING),
        None => {}
    }
    let list = SPEC.child("rules");
    for (i, rule) in rules.iter().enumerate() {
        let path = list.index(i);
        if let Some(name) = rule.host.as_deref().filter(|name| !name.is_empty()) {
            if name.parse::<IpAddr>().is_ok() {
                problems.invalid(&path.child("host"), name, "must be a DNS name, not an IP address");
            }
            host(problems, &path.child("host"), name);
        }
        let Some(http) = &rule.http else { continue };
        let http_at = path.child("http");
        let paths = http_at.child("paths");
        if http.paths.is_empty() {
            problems.required(&paths, "");
        }
        http.paths.iter().enumerate().for_each(|(i, there)| http_path(problems, &paths.index(i), there));
    }
    let list = SPEC.child("tls");
    for (i, tls) in spec.tls.iter().flatten().enumerate() {
        let at = list.index(i);
        let hosts = at.child("hosts");
        tls.hosts.iter().flatten().enumerate().for_each(|(i, name)| host(problems, &hosts.index(i), name));
        if let Some(secret) = tls.secret_name.as_deref().filter(|name| !name.is_empty()) {
            problems.all_invalid(&at.child("secretName"), secret, check_subdomain(secret));
        }
    }
    if let Some(class) = &spec.ingress_class_name {
        problems.all_invalid(&SPEC.child("ingressClassName"), class.as_str(), check_subdomain(class));
    }
}

/// A name, or `*.` and a name.
fn host(problems: &mut Problems, path: &Path, name: &str) {
    match name.strip_prefix("*.") {
        None if name.contains('*') => {
            let pattern = r"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
            problems.invalid(path, name, pattern);
        }
        rest => problems.all_invalid(path, name, check_subdomain(rest.unwrap_or(name))),
    }
}

/// Mirrors `validateHTTPIngressPath`.
fn http_path(problems: &mut Problems, path: &Path, there: &HTTPIngressPath) {
    let (at, text) = (path.child("path"), there.path.as_deref().unwrap_or_default());
    match there.path_type.as_str() {
        "" => problems.required(&path.child("pathType"), "pathType must be specified"),
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                problems.invalid(&at, text, "must be an absolute path");
            }
            for part in SEQUENCES.iter().filter(|part| text.contains(**part)) {
                problems.invalid(&at, text, &format!("must not contain '{part}'"));
            }
            for end in SUFFIXES.iter().filter(|end| text.ends_with(**end)) {
                problems.invalid(&at, text, &format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                problems.invalid(&at, text, "must be an absolute path");
            }
        }
        other => problems.not_supported(&path.child("pathType"), other, PATH_TYPES),
    }
    backend(problems, &path.child("backend"), &there.backend);
}

/// Mirrors `validateIngressBackend`.
fn backend(problems: &mut Problems, path: &Path, backend: &IngressBackend) {
    match (&backend.service, &backend.resource) {
        (Some(_), Some(_)) => problems.invalid(path, "", "cannot set both resource and service backends"),
        (Some(service), None) => self::service(problems, path, service),
        (None, Some(_)) => {}
        (None, None) => problems.invalid(path, "", "resource or service backend is required"),
    }
}

fn service(problems: &mut Problems, path: &Path, service: &IngressServiceBackend) {
    let at = path.child("service");
    match service.name.as_str() {
        "" => problems.required(&at.child("name"), ""),
        name => problems.all_invalid(&at.child("name"), name, check_dns_1035_label(name)),
    }
    let port = service.port.as_ref();
    let name = port.and_then(|port| port.name.as_deref()).filter(|name| !name.is_empty());
    let number = port.and_then(|port| port.number).filter(|number| *number != 0);
    match (name, number) {
        (Some(_), Some(_)) => problems.invalid(path, "", "cannot set both port name & port number"),
        (Some(name), None) => problems.all_invalid(&at.child("port").child("name"), name, check_port_name(name)),
        (None, Some(number)) => {
            if let Some(why) = check_port(number) {
                problems.invalid(&at.child("port").child("number"), number, why);
            }
        }
        (None, None) => problems.required(path, "port name or number is required"),
    }
}

/// The spec of an IngressClass.
pub fn ingress_class(problems: &mut Problems, class: &IngressClass) {
    let controller = class.spec.as_ref().and_then(|spec| spec.controller.as_deref()).unwrap_or_default();
    let path = SPEC.child("controller");
    match controller {
        "" => problems.required(&path, "must specify controller"),
        controller => prefixed_path(problems, &path, controller),
    }
}

/// The controller of a class stays.
pub fn ingress_class_update(problems: &mut Problems, new: &IngressClass, old: &IngressClass) {
    let of = |class: &IngressClass| class.spec.as_ref().and_then(|spec| spec.controller.clone()).unwrap_or_default();
    if of(new) != of(old) {
        problems.invalid(&SPEC.child("controller"), of(new).as_str(), "field is immutable");
    }
    ingress_class(problems, new);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn ingresses_are_refused_as_by_kubernetes() {
        let rule = |path: Value| json!({"rules": [{"host": "a.example.com", "http": {"paths": [path]}}]});
        let to = |port: Value| json!({"service": {"name": "web", "port": port}});
        let good = json!({"path": "/", "pathType": "Prefix", "backend": to(json!({"number": 80}))});
        for (spec, expected) in [
            (rule(good.clone()), vec![]),
            (json!({"defaultBackend": to(json!({"name": "http"}))}), vec![]),
            (json!({"rules": [{"host": "*.example.com"}]}), vec![]),
            (json!({}), vec!["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
            (
                rule(json!({"path": "/", "backend": to(json!({"number": 80}))})),
                vec!["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
            ),
            (
                rule(json!({"path": "a//b", "pathType": "Exact", "backend": to(json!({"number": 80}))})),
                vec![
                    "spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must be an absolute path",
                    "spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must not contain '//'",
                ],
            ),
            (
                rule(json!({"pathType": "Regex", "backend": {}})),
                vec![
                    "spec.rules[0].http.paths[0].pathType: Unsupported value: \"Regex\": supported values: \"Exact\", \"ImplementationSpecific\", \"Prefix\"",
                    "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
                ],
            ),
            (
                rule(json!({"path": "/", "pathType": "Prefix", "backend": to(json!({}))})),
                vec!["spec.rules[0].http.paths[0].backend: Required value: port name or number is required"],
            ),
            (
                json!({"rules": [{"host": "10.0.0.1"}]}),
                vec!["spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address"],
            ),
        ] {
            let ingress: Ingress = serde_json::from_value(json!({"spec": spec})).expect("an Ingress");
            let mut problems = Problems::default();
            super::ingress(&mut problems, &ingress);
            let found: Vec<String> =
                problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(found, expected, "{spec}");
        }
    }

    #[test]
    fn a_class_names_its_controller_for_good() {
        let class = |controller: &str| -> IngressClass {
            serde_json::from_value(json!({"spec": {"controller": controller}})).expect("an IngressClass")
        };
        for (controller, good) in [("example.com/ingress", true), ("", false), ("ingress", false), ("a_b/c", false)] {
            let mut problems = Problems::default();
            ingress_class(&mut problems, &class(controller));
            assert_eq!(problems.0.is_empty(), good, "{controller}");
        }
        let mut problems = Problems::default();
        ingress_class_update(&mut problems, &class("a.io/b"), &class("a.io/c"));
        assert_eq!(problems.0.len(), 1);
    }
}

//! Ingresses. Mirrors `ValidateIngressSpec` of `pkg/apis/networking/validation`.
//!
//! Nothing here routes what an Ingress says: that is the work of a controller that a cluster has to be given.

use jiff::Timestamp;
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, Ingress, IngressBackend, IngressServiceBackend, IngressSpec, IngressStatus,
};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{list, text, text_or_none};
use crate::printers::ingress::address;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::warnings::addresses::of_balancer;
use object::selector::names::check_subdomain;
use object::validation::field::{Json, Path, Problems};
use object::validation::names::{
    check_dns_label, check_ip, check_path_segment, check_port, check_port_name, check_wildcard, parse_ip_sloppy,
};

/// What the server knows of Ingresses.
pub const ROW: Row<Ingress> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|ingress, _| {
            ingress.status = Some(IngressStatus { load_balancer: Some(Default::default()) });
        }),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate_new,
        update: |problems, new, _| validate(problems, new),
        status: validate_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { create: warn_of_annotation, status: warn_of_status, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Class"), column("Hosts"), column("Address"), column("Ports"), AGE],
            cells,
        },
        ..Facts::new("/registry/ingress/", 11)
    })
};

const SPEC: Path = Path::new("spec");

/// What named the class before there was a field for it.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// So many hosts are shown, then their number.
const HOSTS_MAX: usize = 3;
const NOT_AN_ADDRESS: &str = "must be a DNS name, not an IP address";
const NOTHING: &str = "either `defaultBackend` or `rules` must be specified";
const PATH_TYPES: &[&str] = &["Exact", "ImplementationSpecific", "Prefix"];

/// What no path may contain.
const SEQUENCES: &[&str] = &["//", "/./", "/../", "%2f", "%2F"];

/// How no path may end.
const SUFFIXES: &[&str] = &["/..", "/."];

fn warn_of_annotation(told: &mut Vec<String>, ingress: &Ingress) {
    let named = ingress.spec.as_ref().is_some_and(|spec| spec.ingress_class_name.is_some());
    let annotations = ingress.metadata.annotations.as_ref();
    let annotated = annotations.is_some_and(|annotations| annotations.contains_key(CLASS_ANNOTATION));
    if annotated && !named {
        told.push(format!("annotation {CLASS_ANNOTATION:?} is deprecated, please use 'spec.ingressClassName' instead"));
    }
}

/// The spec of an Ingress.
fn validate(problems: &mut Problems, ingress: &Ingress) {
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
            if parse_ip_sloppy(name).is_some() {
                problems.invalid(&path.child("host"), name, NOT_AN_ADDRESS);
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

/// Where an Ingress is reached. Mirrors `ValidateIngressLoadBalancerStatus`: an address that was told before may stay.
fn validate_status(problems: &mut Problems, new: &Ingress, old: &Ingress) {
    let told = |ingress: &Ingress| {
        let balancer = ingress.status.as_ref().and_then(|status| status.load_balancer.clone());
        balancer.and_then(|balancer| balancer.ingress).unwrap_or_default()
    };
    let status = Path::new("status");
    let balancer = status.child("loadBalancer");
    let (list, before) = (balancer.child("ingress"), told(old));
    for (i, there) in told(new).iter().enumerate() {
        let path = list.index(i);
        let address = there.ip.as_deref().filter(|ip| !ip.is_empty());
        let is_new = |ip: &&str| before.iter().all(|before| before.ip.as_deref() != Some(*ip));
        if let Some((ip, why)) = address.filter(is_new).and_then(|ip| Some((ip, check_ip(ip)?))) {
            problems.invalid(&path.child("ip"), ip, why);
        }
        let Some(name) = there.hostname.as_deref().filter(|name| !name.is_empty()) else { continue };
        problems.all_invalid(&path.child("hostname"), name, check_subdomain(name));
        if parse_ip_sloppy(name).is_some() {
            problems.invalid(&path.child("hostname"), name, NOT_AN_ADDRESS);
        }
    }
}

/// A new Ingress does not name two classes. Mirrors `ValidateIngressCreate`.
fn validate_new(problems: &mut Problems, ingress: &Ingress) {
    validate(problems, ingress);
    let annotated = ingress.metadata.annotations.as_ref().and_then(|annotations| annotations.get(CLASS_ANNOTATION));
    let named = ingress.spec.as_ref().and_then(|spec| spec.ingress_class_name.as_ref());
    if let (Some(annotated), Some(named)) = (annotated, named)
        && annotated != named
    {
        const WHY: &str = "must match `ingressClassName` when both are specified";
        problems.invalid(&Path::new("annotations").child(CLASS_ANNOTATION), annotated.as_str(), WHY);
    }
}

/// The same of an Ingress.
fn warn_of_status(told: &mut Vec<String>, ingress: &Ingress) {
    let balancer = ingress.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let there = balancer.iter().flat_map(|of| of.ingress.iter().flatten());
    of_balancer(told, &there.map(|there| there.ip.as_deref()).collect::<Vec<_>>());
}

/// The cells of an Ingress.
fn cells(ingress: &Value, now: Timestamp) -> Vec<Value> {
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

/// Another object, of any kind.
pub fn reference(problems: &mut Problems, path: &Path, group: Option<&str>, kind: &str, name: &str) {
    if let Some(group) = group {
        problems.all_invalid(&path.child("apiGroup"), group, check_subdomain(group));
    }
    for (field, value) in [("kind", kind), ("name", name)] {
        match value {
            "" => problems.required(&path.child(field), ""),
            value => problems.all_invalid(&path.child(field), value, check_path_segment(value)),
        }
    }
}

/// Mirrors `formatHosts`.
/// Rules without a host count among those that are not shown. Mirrors `formatHosts`.
pub fn hosts(rules: &[Value]) -> String {
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

/// A name, or `*.` and a name.
fn host(problems: &mut Problems, path: &Path, name: &str) {
    let wrong = if name.contains('*') { check_wildcard(name) } else { check_subdomain(name) };
    problems.all_invalid(path, name, wrong);
}

/// Mirrors `validateHTTPIngressPath`.
fn http_path(problems: &mut Problems, path: &Path, there: &HTTPIngressPath) {
    let (at, text) = (path.child("path"), there.path.as_deref().unwrap_or_default());
    match there.path_type.as_str() {
        "" => return problems.required(&path.child("pathType"), "pathType must be specified"),
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
        (None, Some(to)) => {
            reference(problems, &path.child("resource"), to.api_group.as_deref(), &to.kind, &to.name);
        }
        (None, None) => problems.invalid(path, "", "resource or service backend is required"),
    }
}

fn service(problems: &mut Problems, path: &Path, service: &IngressServiceBackend) {
    let at = path.child("service");
    match service.name.as_str() {
        "" => problems.required(&at.child("name"), ""),
        name => problems.all_invalid(&at.child("name"), name, check_dns_label(name)),
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
            (
                json!({"rules": [{"host": "*.*.foo"}], "tls": [{"hosts": ["a.*.foo"]}]}),
                vec![
                    r#"spec.rules[0].host: Invalid value: "*.*.foo": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
                    r#"spec.tls[0].hosts[0]: Invalid value: "a.*.foo": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
                ],
            ),
            (json!({"defaultBackend": {"service": {"name": "1svc", "port": {"number": 80}}}}), vec![]),
            (
                json!({"defaultBackend": {"service": {"name": "A_b", "port": {"number": 80}}}}),
                vec![
                    "spec.defaultBackend.service.name: Invalid value: \"A_b\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
                ],
            ),
            (
                json!({"defaultBackend": {"resource": {"kind": "", "name": "a/b"}}}),
                vec![
                    "spec.defaultBackend.resource.kind: Required value",
                    "spec.defaultBackend.resource.name: Invalid value: \"a/b\": may not contain '/'",
                ],
            ),
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
            validate(&mut problems, &ingress);
            let found: Vec<String> =
                problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(found, expected, "{spec}");
        }
    }

    #[test]
    fn where_an_ingress_is_reached() {
        let at = |ingress: Value| -> Ingress {
            serde_json::from_value(json!({"status": {"loadBalancer": {"ingress": ingress}}})).expect("an Ingress")
        };
        let path = "status.loadBalancer.ingress[0]";
        for (before, now, want) in [
            (json!([]), json!([{"ip": "10.0.0.1", "hostname": "a.example.com"}]), vec![]),
            (
                json!([]),
                json!([{"ip": "010.0.0.1"}]),
                vec![format!("{path}.ip: Invalid value: \"010.0.0.1\": must not have leading 0s")],
            ),
            (json!([{"ip": "010.0.0.1"}]), json!([{"ip": "010.0.0.1"}]), vec![]),
            (
                json!([]),
                json!([{"hostname": "10.0.0.1"}]),
                vec![format!("{path}.hostname: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address")],
            ),
        ] {
            let mut problems = Problems::default();
            validate_status(&mut problems, &at(now.clone()), &at(before));
            let found: Vec<_> = problems.0.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(found, want, "{now}");
        }
    }

    #[test]
    fn a_new_ingress_names_one_class() {
        for (annotation, class, good) in [("a", "a", true), ("nginx", "other", false)] {
            let metadata = json!({"annotations": {"kubernetes.io/ingress.class": annotation}});
            let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
            let spec = json!({"ingressClassName": class, "defaultBackend": backend});
            let ingress = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("an Ingress");
            let mut problems = Problems::default();
            validate_new(&mut problems, &ingress);
            let want = "annotations.kubernetes.io/ingress.class: Invalid value: \"nginx\": must match `ingressClassName` \
                        when both are specified";
            let found = problems.0.first().map(|cause| format!("{}: {}", cause.field, cause.message));
            assert_eq!(found.as_deref(), (!good).then_some(want));
            let mut problems = Problems::default();
            validate(&mut problems, &ingress);
            assert!(problems.0.is_empty(), "a change is not asked");
        }
    }

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

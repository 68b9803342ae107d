//! Containers of a Pod. Mirrors `validateContainerCommon` and its neighbours in `pkg/apis/core/validation`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, Probe, ResourceRequirements, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::object::quantity::Amount;
use crate::object::selector::names::check_label_key;

use super::field::{Path, Problems};
use super::names::{check_config_key, check_dns_label, check_env_name, check_port, check_port_name};

pub(super) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
/// Fields of a Pod that an environment variable may take its value from.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// What any container must be. `volumes` are the names of the Pod's volumes.
pub fn container(problems: &mut Problems, path: &Path, container: &Container, volumes: &[&str]) {
    match container.name.as_str() {
        "" => problems.required(&path.child("name"), ""),
        name => problems.all_invalid(&path.child("name"), name, check_dns_label(name)),
    }
    match container.image.as_deref().unwrap_or_default() {
        "" => problems.required(&path.child("image"), ""),
        image if image.trim() != image => {
            problems.invalid(&path.child("image"), image, "must not have leading or trailing whitespace");
        }
        _ => {}
    }
    let policy = container.termination_message_policy.as_deref();
    problems.one_of(&path.child("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    ports(problems, &path.child("ports"), container.ports.as_deref().unwrap_or_default());
    let env = path.child("env");
    for (i, variable) in container.env.iter().flatten().enumerate() {
        env_variable(problems, &env.index(i), variable);
    }
    volume_mounts(problems, &path.child("volumeMounts"), container.volume_mounts.as_deref(), volumes);
    let policy = container.image_pull_policy.as_deref();
    problems.one_of(&path.child("imagePullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
    if let Some(requirements) = &container.resources {
        resources(problems, &path.child("resources"), requirements);
    }
}

/// The probes of a container that keeps running.
pub fn probes(problems: &mut Problems, path: &Path, container: &Container) {
    if let Some(liveness) = &container.liveness_probe {
        probe(problems, &path.child("livenessProbe"), liveness);
        succeeds_at_once(problems, &path.child("livenessProbe"), liveness);
    }
    if let Some(readiness) = &container.readiness_probe {
        let path = path.child("readinessProbe");
        probe(problems, &path, readiness);
        if let Some(seconds) = readiness.termination_grace_period_seconds {
            const WHY: &str = "must not be set for readinessProbes";
            problems.invalid(&path.child("terminationGracePeriodSeconds"), seconds, WHY);
        }
    }
    if let Some(startup) = &container.startup_probe {
        probe(problems, &path.child("startupProbe"), startup);
        succeeds_at_once(problems, &path.child("startupProbe"), startup);
    }
}

fn succeeds_at_once(problems: &mut Problems, path: &Path, probe: &Probe) {
    let threshold = probe.success_threshold.unwrap_or(1);
    if threshold != 1 {
        problems.invalid(&path.child("successThreshold"), threshold, "must be 1");
    }
}

/// Mirrors `validateProbe`.
fn probe(problems: &mut Problems, path: &Path, probe: &Probe) {
    const ONLY_ONE: &str = "may not specify more than 1 handler type";
    let mut handlers = 0;
    let mut is_another = |problems: &mut Problems, name: &str| {
        handlers += 1;
        if handlers > 1 {
            problems.forbidden(&path.child(name), ONLY_ONE);
        }
        handlers == 1
    };
    if let Some(exec) = &probe.exec
        && is_another(problems, "exec")
        && exec.command.as_ref().is_none_or(|command| command.is_empty())
    {
        problems.required(&path.child("exec").child("command"), "");
    }
    if let Some(get) = &probe.http_get
        && is_another(problems, "httpGet")
    {
        http_get(problems, &path.child("httpGet"), get);
    }
    if let Some(tcp) = &probe.tcp_socket
        && is_another(problems, "tcpSocket")
    {
        port_or_name(problems, &path.child("tcpSocket").child("port"), &tcp.port);
    }
    if let Some(grpc) = &probe.grpc
        && is_another(problems, "grpc")
        && let Some(why) = check_port(grpc.port)
    {
        problems.invalid(&path.child("grpc").child("port"), grpc.port, why);
    }
    if handlers == 0 {
        problems.required(path, "must specify a handler type");
    }
    for (name, value) in [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ] {
        problems.not_negative(&path.child(name), value.unwrap_or(0));
    }
    if let Some(seconds) = probe.termination_grace_period_seconds.filter(|seconds| *seconds <= 0) {
        problems.invalid(&path.child("terminationGracePeriodSeconds"), seconds, "must be greater than 0");
    }
}

fn http_get(problems: &mut Problems, path: &Path, get: &HTTPGetAction) {
    if get.path.as_deref().unwrap_or_default().is_empty() {
        problems.required(&path.child("path"), "");
    }
    port_or_name(problems, &path.child("port"), &get.port);
    match get.scheme.as_deref().unwrap_or_default() {
        "HTTP" | "HTTPS" => {}
        scheme => problems.not_supported(&path.child("scheme"), scheme, &["HTTP", "HTTPS"]),
    }
}

/// A port by number or by name. Mirrors `ValidatePortNumOrName`.
pub(super) fn port_or_name(problems: &mut Problems, path: &Path, port: &IntOrString) {
    match port {
        IntOrString::Int(number) => {
            if let Some(why) = check_port(*number) {
                problems.invalid(path, *number, why);
            }
        }
        IntOrString::String(name) => problems.all_invalid(path, name, check_port_name(name)),
    }
}

fn ports(problems: &mut Problems, path: &Path, ports: &[ContainerPort]) {
    let mut names = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
            let wrong = check_port_name(name);
            if wrong.is_empty() && !names.insert(name) {
                problems.duplicate(&path.child("name"), name);
            }
            problems.all_invalid(&path.child("name"), name, wrong);
        }
        match check_port(port.container_port) {
            Some(_) if port.container_port == 0 => problems.required(&path.child("containerPort"), ""),
            Some(why) => problems.invalid(&path.child("containerPort"), port.container_port, why),
            None => {}
        }
        let host_port = port.host_port.unwrap_or(0);
        if let Some(why) = check_port(host_port).filter(|_| host_port != 0) {
            problems.invalid(&path.child("hostPort"), host_port, why);
        }
        problems.one_of(&path.child("protocol"), port.protocol.as_deref(), PROTOCOLS);
    }
}

/// Two containers of one Pod cannot have the same port of the node. Mirrors `checkHostPortConflicts`.
pub fn host_port_conflicts(problems: &mut Problems, path: &Path, containers: &[Container]) {
    let mut taken = BTreeSet::new();
    for (c, container) in containers.iter().enumerate() {
        for (p, port) in container.ports.iter().flatten().enumerate() {
            let number = port.host_port.unwrap_or(0);
            if number == 0 {
                continue;
            }
            let protocol = port.protocol.as_deref().unwrap_or_default();
            let text = format!("{protocol}/{}/{number}", port.host_ip.as_deref().unwrap_or_default());
            if taken.contains(&text) {
                let (container, ports) = (path.index(c), "ports");
                problems.duplicate(&container.child(ports).index(p).child("hostPort"), text.as_str());
            }
            taken.insert(text);
        }
    }
}

fn env_variable(problems: &mut Problems, path: &Path, variable: &EnvVar) {
    match variable.name.as_str() {
        "" => problems.required(&path.child("name"), ""),
        name => {
            if let Some(why) = check_env_name(name) {
                problems.invalid(&path.child("name"), name, why);
            }
        }
    }
    let Some(from) = &variable.value_from else { return };
    let path = path.child("valueFrom");
    let sources = env_sources(problems, &path, from);
    if variable.value.as_deref().is_some_and(|value| !value.is_empty()) {
        if sources > 0 {
            problems.invalid(&path, "", "may not be specified when `value` is not empty");
        }
    } else if sources > 1 {
        problems.invalid(&path, "", "may not have more than one field specified at a time");
    }
    if sources == 0 {
        const WHY: &str = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
        problems.invalid(&path, "", WHY);
    }
}

/// Checks where a value comes from, and counts the places.
fn env_sources(problems: &mut Problems, path: &Path, from: &EnvVarSource) -> usize {
    let mut sources = 0;
    if let Some(field) = &from.field_ref {
        sources += 1;
        field_ref(problems, &path.child("fieldRef"), &field.field_path);
    }
    if let Some(resource) = &from.resource_field_ref {
        sources += 1;
        if resource.resource.is_empty() {
            problems.required(&path.child("resourceFieldRef").child("resource"), "");
        }
    }
    let config_map = from.config_map_key_ref.as_ref().map(|source| ("configMapKeyRef", &source.key));
    let secret = from.secret_key_ref.as_ref().map(|source| ("secretKeyRef", &source.key));
    for (name, key) in config_map.into_iter().chain(secret) {
        sources += 1;
        let path = path.child(name);
        match key.as_str() {
            "" => problems.required(&path.child("key"), ""),
            key => problems.all_invalid(&path.child("key"), key, check_config_key(key)),
        }
    }
    sources + usize::from(from.file_key_ref.is_some())
}

fn field_ref(problems: &mut Problems, path: &Path, field: &str) {
    let path = path.child("fieldPath");
    let known = ENV_FIELDS.contains(&field)
        || ["metadata.labels['", "metadata.annotations['"].iter().any(|start| field.starts_with(start))
            && field.ends_with("']");
    if field.is_empty() {
        problems.required(&path, "");
    } else if !known {
        let why = format!("error converting fieldPath: field label not supported: {field}");
        problems.invalid(&path, field, &why);
    }
}

fn volume_mounts(problems: &mut Problems, path: &Path, mounts: Option<&[VolumeMount]>, volumes: &[&str]) {
    let mut places = BTreeSet::new();
    for (i, mount) in mounts.into_iter().flatten().enumerate() {
        let path = path.index(i);
        match mount.name.as_str() {
            "" => problems.required(&path.child("name"), ""),
            name if !volumes.contains(&name) => problems.not_found(&path.child("name"), name),
            _ => {}
        }
        let place = mount.mount_path.as_str();
        if place.is_empty() {
            problems.required(&path.child("mountPath"), "");
        }
        if !places.insert(place) {
            problems.invalid(&path.child("mountPath"), place, "must be unique");
        }
        let sub_path = mount.sub_path.as_deref().unwrap_or_default();
        let expression = mount.sub_path_expr.as_deref().unwrap_or_default();
        if !sub_path.is_empty() {
            descending_path(problems, &path.child("subPath"), sub_path);
        }
        if !expression.is_empty() {
            if !sub_path.is_empty() {
                const WHY: &str = "subPathExpr and subPath are mutually exclusive";
                problems.invalid(&path.child("subPathExpr"), expression, WHY);
            }
            descending_path(problems, &path.child("subPathExpr"), expression);
        }
    }
}

/// A path that stays inside of where it starts. Mirrors `validateLocalDescendingPath`.
pub(super) fn descending_path(problems: &mut Problems, path: &Path, text: &str) {
    if text.starts_with('/') {
        problems.invalid(path, text, "must be a relative path");
    }
    if text.split('/').any(|part| part == "..") {
        problems.invalid(path, text, "must not contain '..'");
    }
}

/// Mirrors `ValidateContainerResourceRequirements`.
fn resources(problems: &mut Problems, path: &Path, requirements: &ResourceRequirements) {
    let empty = BTreeMap::new();
    let limits = requirements.limits.as_ref().unwrap_or(&empty);
    let requests = requirements.requests.as_ref().unwrap_or(&empty);
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    for (name, quantity) in limits {
        resource(problems, &limits_path.key(name), name, quantity);
    }
    for (name, quantity) in requests {
        resource(problems, &requests_path.key(name), name, quantity);
        let extended = is_extended(name);
        let Some(limit) = limits.get(name) else {
            if extended {
                problems.required(&limits_path, "Limit must be set for non overcommitable resources");
            }
            continue;
        };
        let (amount, most) = (Amount::of(quantity), Amount::of(limit));
        let shown = amount.to_string();
        if extended && amount != most {
            let why = format!("must be equal to {name} limit of {most}");
            problems.invalid(&requests_path, shown.as_str(), &why);
        } else if amount > most {
            let why = format!("must be less than or equal to {name} limit of {most}");
            problems.invalid(&requests_path, shown.as_str(), &why);
        }
    }
}

fn resource(problems: &mut Problems, path: &Path, name: &str, quantity: &Quantity) {
    let standard = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if !standard {
        problems.all_invalid(path, name, check_label_key(name));
        if !name.contains('/') {
            problems.invalid(path, name, "must be a standard resource for containers");
        }
    }
    quantity_of(problems, path, name, quantity);
}

/// An amount of a resource: not negative, and whole where it cannot be shared out.
pub(super) fn quantity_of(problems: &mut Problems, path: &Path, name: &str, quantity: &Quantity) {
    let amount = Amount::of(quantity);
    if amount.is_negative() {
        problems.invalid(path, amount.to_string().as_str(), "must be greater than or equal to 0");
    }
    if (is_extended(name) || name == "pods") && amount.milli_value() % 1000 != 0 {
        problems.invalid(path, amount.to_string().as_str(), "must be an integer");
    }
}

/// Resources that Kubernetes only counts: devices, and whatever else a domain names.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with("kubernetes.io/")
}

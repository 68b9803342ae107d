//! What a Pod or a template says in vain. Mirrors `pkg/api/pod/warnings.go`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Container, ContainerPort, EnvVar, NodeSelectorTerm, PodSpec, TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use crate::pod_template::volume_warnings;
use crate::warnings::addresses;
use crate::warnings::amounts::fraction;
use object::well_known::{ARCH, OS, REGION, REGION_BETA, ZONE, ZONE_BETA};

/// What is said of the spec of a Pod or of a template.
pub fn of_pod_spec(told: &mut Vec<String>, path: &str, meta: Option<&ObjectMeta>, spec: Option<&PodSpec>) {
    let Some(spec) = spec else { return };
    for key in spec.node_selector.iter().flatten().map(|(key, _)| key) {
        told.extend(deprecated_label(key).map(|instead| format!("{path}.nodeSelector[{key}]: {instead}")));
    }
    let affinity = spec.affinity.as_ref();
    affinity.into_iter().for_each(|affinity| of_node_affinity(told, &format!("{path}.affinity"), affinity));
    for (i, constraint) in spec.topology_spread_constraints.iter().flatten().enumerate() {
        of_constraint(told, &format!("{path}.topologySpreadConstraints[{i}]"), constraint);
    }
    let around = path.strip_suffix("spec").unwrap_or_default();
    for key in meta.and_then(|meta| meta.annotations.as_ref()).into_iter().flatten().map(|(key, _)| key) {
        told.extend(deprecated_annotation(key).map(|why| format!("{around}metadata.annotations[{key}]: {why}")));
    }
    volume_warnings::of_volumes(told, path, spec.volumes.as_deref().unwrap_or_default());
    let aliases = spec.host_aliases.iter().flatten().map(|alias| alias.ip.as_str());
    doubled(aliases, |i, ip| told.push(format!("{path}.hostAliases[{i}].ip: duplicate ip {ip:?}")));
    let names: Vec<&str> = spec.image_pull_secrets.iter().flatten().map(|secret| secret.name.as_str()).collect();
    let name_of = |i: usize| format!("{path}.imagePullSecrets[{i}].name");
    doubled(names.iter().copied(), |i, name| told.push(format!("{}: duplicate name {name:?}", name_of(i))));
    for (i, _) in names.iter().enumerate().filter(|(_, name)| name.is_empty()) {
        told.push(format!("{}: invalid empty name \"\"", name_of(i)));
    }
    fractions(told, &format!("{path}.overhead"), spec.overhead.as_ref());
    let containers = containers(path, spec);
    containers.iter().for_each(|(path, container)| of_container(told, path, container));
    of_ports(told, &containers);
    of_port_names(told, &containers);
    if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
        let path = format!("{path}.terminationGracePeriodSeconds");
        told.push(format!("{path}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
    affinity.into_iter().for_each(|affinity| of_pod_affinity(told, &format!("{path}.affinity"), affinity));
    addresses::of_pod_spec(told, path, spec);
}

/// What has taken an annotation's place, if it once said something of a Pod.
fn deprecated_annotation(key: &str) -> Option<String> {
    let (since, field) = match key {
        "scheduler.alpha.kubernetes.io/critical-pod" => ("1.16", "priorityClassName"),
        "security.alpha.kubernetes.io/sysctls" | "security.alpha.kubernetes.io/unsafe-sysctls" => ("1.11", "sysctls"),
        "seccomp.security.alpha.kubernetes.io/pod" => ("1.27", "seccompProfile"),
        key if key.starts_with("container.seccomp.security.alpha.kubernetes.io/") => ("1.27", "seccompProfile"),
        _ => return None,
    };
    Some(format!("non-functional in v{since}+; use the {field:?} field instead"))
}

/// What a label of nodes is called today, if it once was called so. Mirrors `GetNodeLabelDeprecatedMessage`.
pub fn deprecated_label(key: &str) -> Option<String> {
    let (since, instead) = match key {
        "beta.kubernetes.io/arch" => ("1.14", ARCH),
        "beta.kubernetes.io/os" => ("1.14", OS),
        REGION_BETA => ("1.17", REGION),
        ZONE_BETA => ("1.17", ZONE),
        "beta.kubernetes.io/instance-type" => ("1.17", "node.kubernetes.io/instance-type"),
        _ => return None,
    };
    Some(format!("deprecated since v{since}; use {instead:?} instead"))
}

/// What is said of one term of a node selector.
pub fn of_term(told: &mut Vec<String>, path: &str, term: &NodeSelectorTerm) {
    for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
        if let Some(instead) = deprecated_label(&expression.key) {
            told.push(format!("{path}.matchExpressions[{i}].key: {} is {instead}", expression.key));
        }
    }
}

/// Calls `say` for each value that has been there before.
fn doubled<'a>(values: impl Iterator<Item = &'a str>, mut say: impl FnMut(usize, &str)) {
    let mut seen = Vec::new();
    for (i, value) in values.enumerate() {
        if seen.contains(&value) {
            say(i, value);
        } else {
            seen.push(value);
        }
    }
}

/// Memory and disk come in whole bytes: `100m` of memory is a tenth of one.
fn fractions(told: &mut Vec<String>, path: &str, amounts: Option<&BTreeMap<String, Quantity>>) {
    ["memory", "ephemeral-storage"].iter().for_each(|resource| fraction(told, path, amounts, resource));
}

fn of_node_affinity(told: &mut Vec<String>, path: &str, affinity: &Affinity) {
    let Some(nodes) = &affinity.node_affinity else { return };
    let path = format!("{path}.nodeAffinity");
    let required = nodes.required_during_scheduling_ignored_during_execution.as_ref();
    let list = format!("{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    for (i, term) in required.into_iter().flat_map(|required| &required.node_selector_terms).enumerate() {
        of_term(told, &format!("{list}[{i}]"), term);
    }
    let list = format!("{path}.preferredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in nodes.preferred_during_scheduling_ignored_during_execution.iter().flatten().enumerate() {
        of_term(told, &format!("{list}[{i}].preference"), &term.preference);
    }
}

fn of_constraint(told: &mut Vec<String>, path: &str, constraint: &TopologySpreadConstraint) {
    if let Some(instead) = deprecated_label(&constraint.topology_key) {
        told.push(format!("{path}.topologyKey: {} is {instead}", constraint.topology_key));
    }
    null_selector(told, path, constraint.label_selector.as_ref());
}

fn of_pod_affinity(told: &mut Vec<String>, path: &str, affinity: &Affinity) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let near = affinity.pod_affinity.as_ref();
    let far = affinity.pod_anti_affinity.as_ref();
    let both = [
        (
            "podAffinity",
            near.and_then(|near| near.required_during_scheduling_ignored_during_execution.as_ref()),
            near.and_then(|near| near.preferred_during_scheduling_ignored_during_execution.as_ref()),
        ),
        (
            "podAntiAffinity",
            far.and_then(|far| far.required_during_scheduling_ignored_during_execution.as_ref()),
            far.and_then(|far| far.preferred_during_scheduling_ignored_during_execution.as_ref()),
        ),
    ];
    for (name, required, preferred) in both {
        let path = format!("{path}.{name}");
        for (i, term) in required.into_iter().flatten().enumerate() {
            null_selector(told, &format!("{path}.{REQUIRED}[{i}]"), term.label_selector.as_ref());
        }
        for (i, term) in preferred.into_iter().flatten().enumerate() {
            let path = format!("{path}.{PREFERRED}[{i}].podAffinityTerm");
            null_selector(told, &path, term.pod_affinity_term.label_selector.as_ref());
        }
    }
}

fn null_selector(told: &mut Vec<String>, path: &str, selector: Option<&LabelSelector>) {
    if selector.is_none() {
        told.push(format!("{path}.labelSelector: a null labelSelector results in matching no pod"));
    }
}

fn of_container(told: &mut Vec<String>, path: &str, container: &Container) {
    if let Some(resources) = &container.resources {
        fractions(told, &format!("{path}.resources.limits"), resources.limits.as_ref());
        fractions(told, &format!("{path}.resources.requests"), resources.requests.as_ref());
    }
    let env = container.env.as_deref().unwrap_or_default();
    for (i, variable) in env.iter().enumerate() {
        if env[..i].iter().any(|before| before.name == variable.name) && hides(variable) {
            let name = &variable.name;
            told.push(format!(
                "{path}.env[{i}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

/// Whether a variable takes the place of the one before of its name, and does not add to it.
fn hides(variable: &EnvVar) -> bool {
    let before = format!("$({})", variable.name);
    let value = variable.value.as_deref().unwrap_or_default();
    variable.value_from.is_some() || value == before || !value.contains(&before)
}

fn of_ports(told: &mut Vec<String>, containers: &[(String, &Container)]) {
    let mut seen: Vec<(String, &ContainerPort)> = Vec::new();
    for (path, container) in containers {
        for (i, port) in container.ports.iter().flatten().enumerate() {
            let path = format!("{path}.ports[{i}]");
            if port.host_ip.as_ref().is_some_and(|ip| !ip.is_empty()) && port.host_port.unwrap_or(0) == 0 {
                told.push(format!("{path}: hostIP set without hostPort: {}", printed(port)));
            }
            let same =
                |other: &ContainerPort| other.container_port == port.container_port && other.protocol == port.protocol;
            for (there, other) in seen.iter().filter(|(_, other)| same(other)) {
                told.extend(clash(port, other).map(|how| format!("{path}: {how} port definition with {there}")));
            }
            seen.push((path, port));
        }
    }
}

/// A port as Go prints a struct.
fn printed(port: &ContainerPort) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (name, protocol, ip) = (text(&port.name), text(&port.protocol), text(&port.host_ip));
    let (host, number) = (port.host_port.unwrap_or(0), port.container_port);
    format!("{{Name:{name} HostPort:{host} ContainerPort:{number} Protocol:{protocol} HostIP:{ip}}}")
}

/// A lookup of a port by its name finds the first.
fn of_port_names(told: &mut Vec<String>, containers: &[(String, &Container)]) {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for (path, container) in containers {
        for (i, port) in container.ports.iter().flatten().enumerate() {
            let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) else { continue };
            let path = format!("{path}.ports[{i}]");
            match seen.iter().find(|(other, _)| *other == name) {
                None => seen.push((name, path)),
                Some((_, other)) => told.push(format!(
                    "{path}: duplicate port name {name:?} with {other}, services and probes that select ports by name \
                     will use {other}"
                )),
            }
        }
    }
}

/// How two ports of one number and protocol are in each other's way.
fn clash(port: &ContainerPort, other: &ContainerPort) -> Option<&'static str> {
    let on_host = |port: &ContainerPort| port.host_port.unwrap_or(0);
    let address = |port: &ContainerPort| port.host_ip.clone().unwrap_or_default();
    let same_port = on_host(port) == on_host(other);
    if same_port && address(port) == address(other) {
        Some("duplicate")
    } else if on_host(port) == 0 || on_host(other) == 0 {
        Some("overlapping")
    } else if same_port && address(port).is_empty() != address(other).is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

fn containers<'a>(path: &str, spec: &'a PodSpec) -> Vec<(String, &'a Container)> {
    let inits = spec.init_containers.iter().flatten().enumerate();
    let inits = inits.map(|(i, container)| (format!("{path}.initContainers[{i}]"), container));
    let own = spec.containers.iter().enumerate().map(|(i, container)| (format!("{path}.containers[{i}]"), container));
    inits.chain(own).collect()
}

//! What the strategies say of an object that is right and yet hardly what somebody wanted: a port that is there twice, memory
//! in thousandths of a byte, a selector that matches nothing. It comes in `Warning` headers, and `kubectl` prints it.
//!
//! Mirrors `WarningsOnCreate` and `WarningsOnUpdate` of `pkg/registry`, with `pkg/api/{pod,service}/warnings.go`. Pods are
//! warned of only when they are new, workloads whenever what they ask for has changed.
//!
//! Left out: annotations of Pods that are no more; addresses in a form that was right once, for new ones are refused, and
//! those that a status says of a Pod.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Affinity, Container, ContainerPort, EnvVar, NodeSelectorTerm, PodSpec, TopologySpreadConstraint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::kinds::pod_template::volume_warnings;
use crate::kinds::row::Known;
use crate::kinds::row;
use crate::object::quantity::Amount;
use crate::object::validation::names::check_dns_label;
use crate::object::well_known::{ARCH, OS, REGION, REGION_BETA, ZONE, ZONE_BETA};
use crate::object::{Object, template};

pub mod addresses;
mod custom;
pub mod service;
pub mod storage;

/// What is said of a new object.
pub fn on_create(object: &Object) -> Vec<String> {
    let mut told = Vec::new();
    let Some(row) = row(object.kind()) else {
        custom::of_finalizers(&mut told, object.meta(), None);
        return told;
    };
    told.extend(row.name_is_used_in().and_then(|used| of_name(object.name(), used)));
    of_any(&mut told, row, object);
    row.warn_on_create(&mut told, object);
    told
}

/// What is said of a new version of an object.
pub fn on_update(new: &Object, old: &Object) -> Vec<String> {
    let mut told = Vec::new();
    let Some(row) = row(new.kind()) else {
        custom::of_finalizers(&mut told, new.meta(), Some(old.meta()));
        return told;
    };
    if asks_for_other_pods(row, new, old) {
        of_any(&mut told, row, new);
    }
    row.warn_on_update(&mut told, new, old);
    told
}

/// What is said of a new status.
pub fn on_status_update(new: &Object) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(row) = row(new.kind()) {
        row.warn_on_status_update(&mut told, new);
    }
    told
}

/// Whether the Pods that an object makes may be other ones now; of what makes none it is always looked at.
fn asks_for_other_pods(row: &dyn Known, new: &Object, old: &Object) -> bool {
    let by_generation = || template::of(new).is_none() || new.meta().generation != old.meta().generation;
    row.asks_for_other_pods(new, old).unwrap_or_else(by_generation)
}

/// What is said of an object whether it is new or changed.
fn of_any(told: &mut Vec<String>, row: &dyn Known, object: &Object) {
    row.warn(told, object);
    if let Some((path, template)) = template::of(object) {
        of_pod_spec(told, &format!("{path}.spec"), template.spec.as_ref());
    }
}

/// Names that are kept for what a file configures. Mirrors `WarningsForStaticSuffix`.
pub fn of_static_name(told: &mut Vec<String>, name: &str) {
    const SUFFIX: &str = ".static.k8s.io";
    if name.ends_with(SUFFIX) {
        told.push(format!(
            "metadata.name: names ending with {SUFFIX:?} are reserved for static manifest-based configurations and cannot be \
             managed via the API"
        ));
    }
}

/// What a StatefulSet says of claims and of its past. In an update the claims go by a slightly different name.
pub fn of_stateful_set(told: &mut Vec<String>, set: &StatefulSet, spec_of_claim: &str) {
    let Some(spec) = &set.spec else { return };
    for (i, claim) in spec.volume_claim_templates.iter().flatten().enumerate() {
        let path = format!("spec.volumeClaimTemplates[{i}]{spec_of_claim}");
        claim.spec.iter().for_each(|spec| storage::of_claim_spec(told, &path, spec));
    }
    if spec.revision_history_limit.is_some_and(|limit| limit < 0) {
        told.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
}

/// A name that becomes a host name should be one.
fn of_name(name: &str, used: &str) -> Option<String> {
    let wrong = check_dns_label(name);
    (!wrong.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            wrong.join(" ")
        )
    })
}

pub fn of_pod_spec(told: &mut Vec<String>, path: &str, spec: Option<&PodSpec>) {
    let Some(spec) = spec else { return };
    for key in spec.node_selector.iter().flatten().map(|(key, _)| key) {
        told.extend(deprecated_label(key).map(|instead| format!("{path}.nodeSelector[{key}]: {instead}")));
    }
    let affinity = spec.affinity.as_ref();
    affinity.into_iter().for_each(|affinity| of_node_affinity(told, &format!("{path}.affinity"), affinity));
    for (i, constraint) in spec.topology_spread_constraints.iter().flatten().enumerate() {
        of_constraint(told, &format!("{path}.topologySpreadConstraints[{i}]"), constraint);
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

fn containers<'a>(path: &str, spec: &'a PodSpec) -> Vec<(String, &'a Container)> {
    let inits = spec.init_containers.iter().flatten().enumerate();
    let inits = inits.map(|(i, container)| (format!("{path}.initContainers[{i}]"), container));
    let own = spec.containers.iter().enumerate().map(|(i, container)| (format!("{path}.containers[{i}]"), container));
    inits.chain(own).collect()
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

fn of_term(told: &mut Vec<String>, path: &str, term: &NodeSelectorTerm) {
    for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
        if let Some(instead) = deprecated_label(&expression.key) {
            told.push(format!("{path}.matchExpressions[{i}].key: {} is {instead}", expression.key));
        }
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

/// Memory and disk come in whole bytes: `100m` of memory is a tenth of one.
fn fractions(told: &mut Vec<String>, path: &str, amounts: Option<&BTreeMap<String, Quantity>>) {
    ["memory", "ephemeral-storage"].iter().for_each(|resource| fraction(told, path, amounts, resource));
}

fn fraction(told: &mut Vec<String>, path: &str, amounts: Option<&BTreeMap<String, Quantity>>, resource: &str) {
    let Some(Quantity(value)) = amounts.and_then(|amounts| amounts.get(resource)) else { return };
    if Amount::parse(value).is_ok_and(|amount| amount.milli_value() % 1000 != 0) {
        told.push(format!("{path}[{resource}]: fractional byte value {value:?} is invalid, must be an integer"));
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

/// Whoever looks for a port by its name finds the first.
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

#[cfg(test)]
mod tests;

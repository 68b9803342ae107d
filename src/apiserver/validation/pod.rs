//! Pods, and the Pods inside of templates. Mirrors `ValidatePodSpec` and `ValidatePodCreate` of
//! `pkg/apis/core/validation`.
//!
//! Left out: what security contexts, DNS configs and resource claims must be.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use crate::object::selector::names::{check_label_key, check_subdomain};

use super::field::{Path, Problems};
use super::names::check_dns_label;
use super::{container, metadata, scheduling, volume};

pub(super) const SPEC: Path = Path::new("spec");
const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// A new Pod.
pub fn pod(problems: &mut Problems, pod: &Pod) {
    let Some(spec) = &pod.spec else { return problems.required(&SPEC.child("containers"), "") };
    pod_spec(problems, &SPEC, spec);
    if spec.ephemeral_containers.as_ref().is_some_and(|containers| !containers.is_empty()) {
        problems.forbidden(&SPEC.child("ephemeralContainers"), "cannot be set on create");
    }
    let gated = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    if gated && spec.node_name.as_deref().is_some_and(|name| !name.is_empty()) {
        problems.forbidden(&SPEC.child("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
}

/// What a Pod must be, alone or in a template.
pub fn pod_spec(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    let volumes = spec.volumes.as_deref().unwrap_or_default();
    let volumes = volume::volumes(problems, &path.child("volumes"), volumes);
    containers(problems, path, spec, &volumes);
    let policy = spec.restart_policy.as_deref();
    problems.one_of(&path.child("restartPolicy"), policy, &["Always", "OnFailure", "Never"]);
    problems.one_of(&path.child("dnsPolicy"), spec.dns_policy.as_deref(), DNS_POLICIES);
    metadata::labels(problems, &path.child("nodeSelector"), spec.node_selector.as_ref());
    if let Some(affinity) = &spec.affinity {
        scheduling::affinity(problems, &path.child("affinity"), affinity);
    }
    gates(problems, path, spec);
    let spread = spec.topology_spread_constraints.as_deref().unwrap_or_default();
    scheduling::topology_spread(problems, &path.child("topologySpreadConstraints"), spread);
    names_and_times(problems, path, spec);
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    scheduling::tolerations(problems, &path.child("tolerations"), tolerations);
    subdomain(problems, &path.child("priorityClassName"), spec.priority_class_name.as_deref());
    subdomain(problems, &path.child("runtimeClassName"), spec.runtime_class_name.as_deref());
}

fn containers(problems: &mut Problems, path: &Path, spec: &PodSpec, volumes: &[&str]) {
    let list = path.child("containers");
    if spec.containers.is_empty() {
        problems.required(&list, "");
    }
    for (i, one) in spec.containers.iter().enumerate() {
        let path = list.index(i);
        container::container(problems, &path, one, volumes);
        let taken = spec.containers[..i].iter().any(|other| other.name == one.name);
        unique(problems, &path, one, taken);
        container::probes(problems, &path, one);
    }
    container::host_port_conflicts(problems, &list, &spec.containers);
    let list = path.child("initContainers");
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    for (i, one) in inits.iter().enumerate() {
        let path = list.index(i);
        container::container(problems, &path, one, volumes);
        let taken = spec.containers.iter().chain(&inits[..i]).any(|other| other.name == one.name);
        unique(problems, &path, one, taken);
        init_container(problems, &path, one);
    }
}

fn unique(problems: &mut Problems, path: &Path, container: &Container, taken: bool) {
    if taken && !container.name.is_empty() {
        problems.duplicate(&path.child("name"), container.name.as_str());
    }
}

/// Init containers end before the next starts, so they have no probes; sidecars (restartPolicy Always) run on.
fn init_container(problems: &mut Problems, path: &Path, one: &Container) {
    let sidecar = one.restart_policy.as_deref() == Some("Always");
    if sidecar {
        return container::probes(problems, path, one);
    }
    const WHY: &str = "may not be set for init containers without restartPolicy=Always";
    for (name, given) in [
        ("lifecycle", one.lifecycle.is_some()),
        ("livenessProbe", one.liveness_probe.is_some()),
        ("readinessProbe", one.readiness_probe.is_some()),
        ("startupProbe", one.startup_probe.is_some()),
    ] {
        if given {
            problems.forbidden(&path.child(name), WHY);
        }
    }
}

fn gates(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    let list = path.child("readinessGates");
    for (i, gate) in spec.readiness_gates.iter().flatten().enumerate() {
        let path = list.index(i);
        problems.all_invalid(&path.child("conditionType"), &gate.condition_type, check_label_key(&gate.condition_type));
    }
    let list = path.child("schedulingGates");
    let gates = spec.scheduling_gates.as_deref().unwrap_or_default();
    for (i, gate) in gates.iter().enumerate() {
        let path = list.index(i);
        problems.all_invalid(&path.child("name"), &gate.name, check_label_key(&gate.name));
        if gates[..i].contains(gate) {
            problems.duplicate(&path, gate.name.as_str());
        }
    }
}

fn names_and_times(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    subdomain(problems, &path.child("serviceAccountName"), spec.service_account_name.as_deref());
    subdomain(problems, &path.child("nodeName"), spec.node_name.as_deref());
    if let Some(seconds) = spec.active_deadline_seconds
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        const WHY: &str = "must be between 1 and 2147483647, inclusive";
        problems.invalid(&path.child("activeDeadlineSeconds"), seconds, WHY);
    }
    for (name, value) in [("hostname", &spec.hostname), ("subdomain", &spec.subdomain)] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            problems.all_invalid(&path.child(name), value, check_dns_label(value));
        }
    }
}

fn subdomain(problems: &mut Problems, path: &Path, name: Option<&str>) {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        problems.all_invalid(path, name, check_subdomain(name));
    }
}

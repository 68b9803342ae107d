//! The spec of a Pod, or of a template of Pods. Mirrors `ValidatePodSpec`.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::pod_template::container::Around;
use crate::pod_template::{
    claims, container, dns, env, ephemeral, handler, resources, scheduling, security, systems, volume,
};
use crate::validation::metadata;
use object::pod::is_sidecar;
use object::selector::names::{check_label_key, check_subdomain};
use object::validation::field::{Path, Problems};
use object::validation::names::check_dns_label;

/// Where the spec of a Pod is.
pub const SPEC: Path = Path::new("spec");
const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Whose spec it is. A template is given a little more room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Owner<'a> {
    /// A Pod's own, with its metadata.
    Pod(&'a ObjectMeta),
    /// A template's, from which Pods are made.
    Template,
}

/// What a Pod must be, alone or in a template.
pub fn pod_spec(problems: &mut Problems, path: &Path, spec: &PodSpec, owner: Owner<'_>) {
    let volumes = spec.volumes.as_deref().unwrap_or_default();
    let pod = if let Owner::Pod(metadata) = owner { metadata.name.as_deref() } else { None };
    let volumes = volume::volumes(problems, &path.child("volumes"), volumes, pod.unwrap_or_default());
    claims::of_pod(problems, &path.child("resourceClaims"), spec, pod);
    containers(problems, path, spec, &volumes);
    resources::pod_resources(problems, &path.child("resources"), spec);
    host_network(problems, path, spec, owner);
    let policy = spec.restart_policy.as_deref();
    problems.one_of(&path.child("restartPolicy"), policy, &["Always", "OnFailure", "Never"]);
    problems.one_of(&path.child("dnsPolicy"), spec.dns_policy.as_deref(), DNS_POLICIES);
    metadata::labels(problems, &path.child("nodeSelector"), spec.node_selector.as_ref());
    security::of_pod(problems, path, spec);
    if let Some(affinity) = &spec.affinity {
        scheduling::affinity(problems, &path.child("affinity"), affinity);
    }
    dns::config(problems, path, spec);
    gates(problems, path, spec);
    let spread = spec.topology_spread_constraints.as_deref().unwrap_or_default();
    scheduling::topology_spread(problems, &path.child("topologySpreadConstraints"), spread);
    security::host_users(problems, path, spec);
    names_and_times(problems, path, spec);
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    scheduling::tolerations(problems, &path.child("tolerations"), tolerations);
    dns::host_aliases(problems, &path.child("hostAliases"), spec.host_aliases.as_deref().unwrap_or_default());
    subdomain(problems, &path.child("priorityClassName"), spec.priority_class_name.as_deref());
    subdomain(problems, &path.child("runtimeClassName"), spec.runtime_class_name.as_deref());
    if let Some(policy) = &spec.preemption_policy {
        let path = path.child("preemptionPolicy");
        problems.one_of(&path, Some(policy), &["PreemptLowerPriority", "Never"]);
    }
    match spec.os.as_ref().map(|os| os.name.as_str()) {
        None => {}
        Some("linux") => systems::linux(problems, path, spec),
        Some("windows") => systems::windows(problems, path, spec),
        Some("") => problems.required(&path.child("os").child("name"), "cannot be empty"),
        Some(name) => problems.not_supported(&path.child("os"), name, &["linux", "windows"]),
    }
    env::file_volumes(problems, path, spec);
}

/// The image of a Pod's container has no space around it.
pub fn trimmed_image(problems: &mut Problems, path: &Path, container: &Container) {
    let image = container.image.as_deref().unwrap_or_default();
    if image.trim() != image {
        problems.invalid(&path.child("image"), image, "must not have leading or trailing whitespace");
    }
}

/// A name that another container of the Pod has is taken.
pub fn unique(problems: &mut Problems, path: &Path, container: &Container, taken: bool) {
    if taken && !container.name.is_empty() {
        problems.duplicate(&path.child("name"), container.name.as_str());
    }
}

/// An init container that ends cannot be started again to be made larger. One that may is left alone when its Pod changes:
/// there were such. Mirrors the end of `validateInitContainers`.
pub fn restarted_inits(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    let list = path.child("initContainers");
    for (i, one) in spec.init_containers.iter().flatten().enumerate().filter(|(_, one)| !is_sidecar(one)) {
        let path = list.index(i);
        let path = path.child("resizePolicy");
        for (j, policy) in one.resize_policy.iter().flatten().enumerate() {
            if policy.restart_policy == "RestartContainer" {
                const WHY: &str = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                problems.invalid(&path.index(j).child("restartPolicy"), policy.restart_policy.as_str(), WHY);
            }
        }
    }
}

/// The containers of a Pod, and those that run before them.
pub fn containers(problems: &mut Problems, path: &Path, spec: &PodSpec, volumes: &[(&str, bool)]) {
    let never_restarts = spec.restart_policy.as_deref() == Some("Never");
    let claims = &claims::names(spec);
    let around = Around { volumes, claims, host_users: spec.host_users != Some(false), never_restarts };
    let grace = spec.termination_grace_period_seconds.unwrap_or(0);
    let list = path.child("containers");
    if spec.containers.is_empty() {
        problems.required(&list, "");
    }
    for (i, one) in spec.containers.iter().enumerate() {
        let path = list.index(i);
        container::container(problems, &path, one, &around);
        let taken = spec.containers[..i].iter().any(|other| other.name == one.name);
        unique(problems, &path, one, taken);
        handler::handlers(problems, &path, one, grace);
        container::restart_policy(problems, &path, one);
    }
    container::host_port_conflicts(problems, &list, &spec.containers);
    let list = path.child("initContainers");
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    for (i, one) in inits.iter().enumerate() {
        let path = list.index(i);
        container::container(problems, &path, one, &around);
        container::restart_policy(problems, &path, one);
        let taken = spec.containers.iter().chain(&inits[..i]).any(|other| other.name == one.name);
        unique(problems, &path, one, taken);
        // One at a time: their ports are in no other's way. The first of the list is blamed for its only container.
        container::host_port_conflicts(problems, &list, std::slice::from_ref(one));
        init_container(problems, &path, one, grace);
    }
    ephemeral::containers(problems, &path.child("ephemeralContainers"), spec, &around);
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
        problems.all_invalid(&path, &gate.name, check_label_key(&gate.name));
        if gates[..i].contains(gate) {
            problems.duplicate(&path, gate.name.as_str());
        }
    }
}

/// On the node's network a port of a container is a port of the node. Mirrors `validatePodHostNetworkDeps`.
fn host_network(problems: &mut Problems, path: &Path, spec: &PodSpec, owner: Owner<'_>) {
    if spec.host_network != Some(true) {
        return;
    }
    let list = path.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        let path = list.index(i);
        let ports = path.child("ports");
        for (j, port) in container.ports.iter().flatten().enumerate() {
            let host = port.host_port.unwrap_or(0);
            let may_be_missing = owner == Owner::Template && host == 0;
            if !may_be_missing && host != port.container_port {
                const WHY: &str = "must match `containerPort` when `hostNetwork` is true";
                problems.invalid(&ports.index(j).child("hostPort"), host, WHY);
            }
        }
    }
}

/// Init containers end before the next starts, so they have no probes; sidecars (restartPolicy Always) run on.
fn init_container(problems: &mut Problems, path: &Path, one: &Container, grace: i64) {
    if is_sidecar(one) {
        return handler::handlers(problems, path, one, grace);
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

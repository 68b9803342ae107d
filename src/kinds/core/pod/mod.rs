//! Pods. Mirrors `ValidatePodCreate` of `pkg/apis/core/validation`, and `pkg/registry/core/pod`.
//!
//! What goes for templates of Pods too is in [`crate::pod_template`].
//!
//! - [`update`], [`resize`]: what may change. [`status`]: what a status must keep. [`label_keys`]: selectors that ask for the
//!   Pod's own labels.
//!
//! Left out: overhead, and the options of Windows.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};
use serde_json::Value;

use crate::defaults::fields::or;
use crate::pod_template::defaults::pod_spec_defaults;
use crate::pod_template::spec::{Owner, SPEC, pod_spec, restarted_inits, trimmed_image};
use crate::pod_template::warnings;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::duration::since;
use crate::printers::fields::{list, text, text_or_none};
use crate::printers::pod;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use object::Pod;
use object::pod::status::{PodCondition, PodIP, PodStatus};
use object::pod::{MIRROR, Spec, assigned_node, qos_class};
use object::resources::{is_pod_level, may_overcommit, quantities, requests_of_containers};
use object::time::Instant;
use object::validation::field::{Path, Problems};

pub mod label_keys;
pub mod resize;
pub mod status;
pub mod update;

/// What the server knows of Pods.
pub const ROW: Row<Pod> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_status_update: Some(prepare_for_status_update),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validate, update: update::pod, status: update::pod_status, ..Validation::DEFAULT },
    warnings: Warnings {
        name_is_used_in: Some("the Pod's hostname"),
        create: |told, pod| warnings::of_pod_spec(told, "spec", Some(&pod.metadata), pod.spec.as_deref()),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        graceful: true,
        field_chapters: &[
            ("spec.nodeName", 8),
            ("spec.nodeSelector", 8),
            ("spec.affinity", 8),
            ("spec.tolerations", 8),
            ("spec.topologySpreadConstraints", 8),
            ("spec.priority", 8),
            ("spec.schedulerName", 8),
            ("spec.containers.resources", 8),
            ("spec.volumes", 14),
            ("spec.containers.volumeMounts", 14),
            ("spec.dns", 11),
            ("spec.hostNetwork", 10),
            ("status.podIP", 10),
            ("status.hostIP", 10),
        ],
        table: Table {
            columns: &[
                NAME,
                column("Ready"),
                column("Status"),
                column("Restarts"),
                AGE,
                wide("IP"),
                wide("Node"),
                wide("Nominated Node"),
                wide("Readiness Gates"),
            ],
            cells,
        },
        ..Facts::new("/registry/pods/", 9)
    })
};

fn prepare_for_create(pod: &mut Pod, now: Instant) {
    pod.status = Some(new_pod_status(pod, now).into());
    label_keys::merge_into_selectors(pod);
}

fn new_pod_status(pod: &Pod, now: Instant) -> PodStatus {
    let gated = pod.spec.as_ref().is_some_and(|s| s.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()));
    let condition = PodCondition {
        type_: "PodScheduled".into(),
        status: "False".into(),
        reason: Some("SchedulingGated".into()),
        message: Some("Scheduling is blocked due to non-empty scheduling gates".into()),
        last_transition_time: Some(now.time()),
        ..PodCondition::default()
    };
    PodStatus {
        phase: Some("Pending".into()),
        qos_class: Some(qos_class(pod).into()),
        conditions: gated.then(|| vec![condition]),
        ..PodStatus::default()
    }
}

fn prepare_for_status_update(new: &mut Pod, old: &Pod, _: Instant) {
    new.metadata.owner_references.clone_from(&old.metadata.owner_references);
    status::keep_what_is_left_out(new, old);
}

fn defaults(pod: &mut Pod) {
    let spec: &mut PodSpec = pod.spec.get_or_insert_default();
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        if let Some(resources) = &mut container.resources {
            request_what_is_limited(resources);
        }
    }
    request_what_is_limited_in_all(pod);
    agree_on_addresses(pod);
    let spec: &mut PodSpec = pod.spec.get_or_insert_default();
    pod_spec_defaults(spec);
    // A Pod has a moment at least; a template keeps what it says.
    if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
        spec.termination_grace_period_seconds = Some(1);
    }
    or(&mut spec.enable_service_links, true);
    if spec.host_network == Some(true) {
        let all = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
        for port in all.flat_map(|container| container.ports.iter_mut().flatten()) {
            or(&mut port.host_port, port.container_port);
        }
    }
}

/// A Pod that stands for one of a node's own names the node.
fn mirror(problems: &mut Problems, pod: &Pod) {
    let annotations = pod.metadata.annotations.as_ref();
    if let Some(value) = annotations.and_then(|all| all.get(MIRROR)).filter(|_| assigned_node(pod).is_none()) {
        let path = Path::new("metadata");
        let path = path.child("annotations");
        problems.invalid(&path.key(MIRROR), value.as_str(), "must set spec.nodeName if mirror pod annotation is set");
    }
}

/// The first of a Pod's addresses stands twice; where the two differ, the older field counts. Mirrors
/// `Convert_v1_PodStatus_To_core_PodStatus` and its like.
fn agree_on_addresses(pod: &mut Pod) {
    let Some(status) = pod.status.as_deref() else { return };
    let ip = status.pod_ip.as_deref().unwrap_or_default();
    let first = status.pod_ips.iter().flatten().next().map_or("", |first| &first.ip);
    if ip == first {
        return;
    }
    let (ip, first) = (ip.to_owned(), first.to_owned());
    let status = pod.status.get_or_insert_default();
    if ip.is_empty() {
        status.pod_ip = Some(first.into());
    } else {
        status.pod_ips = Some(vec![PodIP { ip: ip.into() }]);
    }
}

/// A new Pod.
fn validate(problems: &mut Problems, pod: &Pod) {
    mirror(problems, pod);
    deletion_cost(problems, pod);
    let spec = &pod.spec.as_ref().map(Spec::whole).unwrap_or_default();
    pod_spec(problems, &SPEC, spec, Owner::Pod(&pod.metadata));
    restarted_inits(problems, &SPEC, spec);
    only_for_pods(problems, spec);
    if spec.ephemeral_containers.as_ref().is_some_and(|containers| !containers.is_empty()) {
        problems.forbidden(&SPEC.child("ephemeralContainers"), "cannot be set on create");
    }
    let gated = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    if gated && assigned_node(pod).is_some() {
        problems.forbidden(&SPEC.child("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
}

fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let shown = pod::summary(pod);
    let restarts = match shown.last_restart {
        Some(last) if shown.restarts != 0 => format!("{} ({} ago)", shown.restarts, since(now, last)),
        _ => shown.restarts.to_string(),
    };
    cells![
        name(pod),
        format!("{}/{}", shown.ready, shown.containers),
        shown.status,
        restarts,
        created(pod, now),
        text_or_none(pod, "status.podIP"),
        text_or_none(pod, "spec.nodeName"),
        text_or_none(pod, "status.nominatedNodeName"),
        readiness_gates(pod),
    ]
}

/// A container that limits a resource without requesting it requests the limit. Pods only, not templates.
fn request_what_is_limited(resources: &mut ResourceRequirements) {
    let Some(limits) = &resources.limits else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, quantity) in limits {
        requests.entry(name.clone()).or_insert_with(|| quantity.clone());
    }
}

/// A Pod that is limited as a whole requests what its containers do; and where they do not, the limit. Mirrors
/// `defaultPodRequests`.
fn request_what_is_limited_in_all(pod: &mut Pod) {
    let limits = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.limits.clone()).unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let mut of_containers = requests_of_containers(pod);
    of_containers.retain(|name, _| is_pod_level(name) && may_overcommit(name));
    let Some(resources) = pod.spec.as_deref_mut().and_then(|spec| spec.resources.as_mut()) else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, quantity) in quantities(&of_containers).into_iter().chain(limits) {
        if is_pod_level(&name) {
            requests.entry(name).or_insert(quantity);
        }
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "spec.readinessGates");
    let met = |gate: &&Value| pod::condition(pod, text(gate, "conditionType")) == "True";
    match gates.len() {
        0 => "<none>".to_owned(),
        all => format!("{}/{all}", gates.iter().filter(met).count()),
    }
}

/// Which Pods a ReplicaSet gives up first.
fn deletion_cost(problems: &mut Problems, pod: &Pod) {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let Some(cost) = pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(COST)) else { return };
    let digits = cost.strip_prefix('-').unwrap_or(cost);
    let padded = digits.len() > 1 && digits.starts_with('0') || cost.starts_with('+') || cost == "-0";
    if padded || cost.parse::<i32>().is_err() {
        let metadata = Path::new("metadata");
        problems.invalid(&metadata.child("annotations").key(COST), cost.as_str(), "must be a 32bit integer");
    }
}

/// What only a Pod is asked, and no template: so it has always been.
fn only_for_pods(problems: &mut Problems, spec: &PodSpec) {
    if spec.service_account_name.as_deref().unwrap_or_default().is_empty() {
        let list = SPEC.child("volumes");
        for (i, volume) in spec.volumes.iter().flatten().enumerate() {
            let (path, sources) = (list.index(i), volume.projected.iter().flat_map(|it| it.sources.iter().flatten()));
            for (j, _) in sources.enumerate().filter(|(_, source)| source.service_account_token.is_some()) {
                let path = path.child("projected");
                let path = path.child("sources");
                const WHY: &str = "must not be specified when serviceAccountName is not set";
                problems.forbidden(&path.index(j).child("serviceAccountToken"), WHY);
            }
        }
    }
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    for (list, containers) in [("containers", spec.containers.as_slice()), ("initContainers", inits)] {
        let list = SPEC.child(list);
        for (i, container) in containers.iter().enumerate() {
            trimmed_image(problems, &list.index(i), container);
        }
    }
}

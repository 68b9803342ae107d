//! The five conditions the kubelet writes, and those of a pod that is being resized or whose containers may all be started anew.
//!
//! Mirrors `pkg/kubelet/status/generate.go`. Conditions of others (readiness gates, DisruptionTarget) are kept
//! in front; times are filled in later, by [`super::merge::stamp`], because a condition's time changes only
//! when its value does.

use k8s_openapi::api::core::v1::PodSpec;

use super::containers::any_regular_started;
use super::inputs::Inputs;
use super::phase::{FAILED, SUCCEEDED};
use crate::resize::pending::Resize;
use crate::restart_all::{self, ALL_RESTARTING};
use object::Pod;
use object::pod::status::{ContainerStatus, PodCondition, PodStatus};
use object::pod::{could_restart_all, is_sidecar};

/// The sandbox exists and has its network.
pub const READY_TO_START: &str = "PodReadyToStartContainers";
/// Every init container is done.
pub const INITIALIZED: &str = "Initialized";
/// The pod may receive traffic.
pub const READY: &str = "Ready";
/// Every container is ready.
pub const CONTAINERS_READY: &str = "ContainersReady";
/// The pod is bound to a node.
pub const SCHEDULED: &str = "PodScheduled";
/// Another size is asked for than can be allocated.
pub const RESIZE_PENDING: &str = "PodResizePending";
/// Another size is allocated than all containers have.
pub const RESIZE_IN_PROGRESS: &str = "PodResizeInProgress";
/// The conditions the kubelet owns, in the order it writes them.
pub const OWNED: [&str; 8] = [
    RESIZE_PENDING,
    RESIZE_IN_PROGRESS,
    READY_TO_START,
    INITIALIZED,
    READY,
    CONTAINERS_READY,
    SCHEDULED,
    ALL_RESTARTING,
];

/// All conditions of the pod: others' first, then the kubelet's.
pub fn all(inputs: &Inputs, status: &PodStatus, spec: &PodSpec) -> Vec<PodCondition> {
    let old = inputs.old.conditions.iter().flatten();
    let others = old.filter(|c| !OWNED.contains(&c.type_.as_str())).cloned();
    let resize = inputs.resize.into_iter().flat_map(Resize::conditions);
    let host_network = spec.host_network == Some(true);
    let sandboxed = inputs.runtime.sandbox_needed(host_network).is_none();
    let phase = status.phase.as_deref().unwrap_or_default();
    let containers_ready = containers_ready(spec, status, phase);
    let own = [
        condition(READY_TO_START, sandboxed),
        initialized(inputs, status, spec, phase),
        ready(inputs.pod, &containers_ready),
        containers_ready,
        condition(SCHEDULED, true),
    ];
    let generation = inputs.pod.metadata.generation;
    let own = own.into_iter().map(|c| PodCondition { observed_generation: generation, ..c });
    let anew = could_restart_all(spec).then(|| all_restarting(inputs, spec, phase));
    others.chain(resize).chain(own).chain(anew).collect()
}

/// `GenerateAllContainersRestartingCondition`.
fn all_restarting(inputs: &Inputs, spec: &PodSpec, phase: &str) -> PodCondition {
    match phase {
        SUCCEEDED => terminal(ALL_RESTARTING, "PodCompleted"),
        FAILED => terminal(ALL_RESTARTING, "PodFailed"),
        _ if inputs.restarting && !restart_all::is_cleaned_up(spec, inputs.runtime) => PodCondition {
            reason: Some("RestartAllContainersStarted".into()),
            message: Some("container exited with restart policy rule".into()),
            ..condition(ALL_RESTARTING, true)
        },
        _ => condition(ALL_RESTARTING, false),
    }
}

/// `GenerateContainersReadyCondition`.
pub fn containers_ready(spec: &PodSpec, status: &PodStatus, phase: &str) -> PodCondition {
    let sidecars = spec.init_containers.iter().flatten().filter(|c| is_sidecar(c));
    let names: Vec<&str> = sidecars.chain(&spec.containers).map(|c| c.name.as_str()).collect();
    let (unknown, unready) = sort_out(&names, status, |s| s.ready);
    if phase == SUCCEEDED && unknown.is_empty() {
        return terminal(CONTAINERS_READY, "PodCompleted");
    }
    if phase == FAILED {
        return terminal(CONTAINERS_READY, "PodFailed");
    }
    let message = complaints(&unknown, "unready", &unready);
    because(CONTAINERS_READY, "ContainersNotReady", message)
}

/// `GeneratePodInitializedCondition`. Once initialized, a pod stays so, whether or not its init containers run again.
fn initialized(inputs: &Inputs, status: &PodStatus, spec: &PodSpec, phase: &str) -> PodCondition {
    let sidecar = |name: &str| spec.init_containers.iter().flatten().any(|c| c.name == name && is_sidecar(c));
    let names: Vec<&str> = spec.init_containers.iter().flatten().map(|c| c.name.as_str()).collect();
    let done = |s: &ContainerStatus| if sidecar(&s.name) { s.started == Some(true) } else { s.ready };
    let (unknown, incomplete) = sort_out(&names, status, done);
    if phase == SUCCEEDED && unknown.is_empty() {
        return PodCondition { reason: Some("PodCompleted".into()), ..condition(INITIALIZED, true) };
    }
    let mut old = inputs.old.conditions.iter().flatten();
    let was = old.any(|condition| condition.type_ == INITIALIZED && condition.status == "True");
    if was || any_regular_started(spec, status.container_statuses.as_deref()) {
        return condition(INITIALIZED, true);
    }
    because(INITIALIZED, "ContainersNotInitialized", complaints(&unknown, "incomplete", &incomplete))
}

/// `GeneratePodReadyCondition`: ContainersReady, and every readiness gate.
pub fn ready(pod: &Pod, containers_ready: &PodCondition) -> PodCondition {
    if containers_ready.status != "True" {
        return PodCondition { type_: READY.into(), ..containers_ready.clone() };
    }
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let conditions = pod.status.as_ref().and_then(|s| s.conditions.as_deref()).unwrap_or_default();
    let complaint = |gate: &str| match conditions.iter().find(|c| c.type_ == gate) {
        None => Some(format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.")),
        Some(c) if c.status != "True" => {
            Some(format!("the status of pod readiness gate \"{gate}\" is not \"True\", but {}", c.status))
        }
        Some(_) => None,
    };
    let complaints: Vec<String> = gates.filter_map(|gate| complaint(&gate.condition_type)).collect();
    because(READY, "ReadinessGatesNotReady", complaints.join(", "))
}

/// Whether a readiness gate says something else than the condition Ready that stands beside it. Mirrors
/// `NeedToReconcilePodReadiness`.
pub fn gates_have_turned(pod: &Pod) -> bool {
    let (Some(spec), Some(status)) = (&pod.spec, &pod.status) else { return false };
    if spec.readiness_gates.as_ref().is_none_or(Vec::is_empty) {
        return false;
    }
    let phase = status.phase.as_deref().unwrap_or_default();
    let wanted = ready(pod, &containers_ready(spec, status, phase));
    let differs = |held: &PodCondition| held.status != wanted.status || held.message != wanted.message;
    status.conditions.iter().flatten().find(|condition| condition.type_ == READY).is_some_and(differs)
}

/// A condition that is False for good, because the pod has ended.
pub fn terminal(type_: &str, reason: &str) -> PodCondition {
    PodCondition { reason: Some(reason.into()), ..condition(type_, false) }
}

/// The containers without a status, and those whose status does not pass.
fn sort_out<'a>(
    names: &[&'a str],
    status: &PodStatus,
    passes: impl Fn(&ContainerStatus) -> bool,
) -> (Vec<&'a str>, Vec<&'a str>) {
    let statuses = || status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
    let find = |name: &str| statuses().find(|s| s.name == name);
    let unknown = names.iter().copied().filter(|name| find(name).is_none()).collect();
    let failing = names.iter().copied().filter(|name| find(name).is_some_and(|s| !passes(s))).collect();
    (unknown, failing)
}

/// `containers with unready status: [a b]`, in Go's spelling of a list.
fn complaints(unknown: &[&str], word: &str, failing: &[&str]) -> String {
    let text = |word: &str, names: &[&str]| {
        (!names.is_empty()).then(|| format!("containers with {word} status: [{}]", names.join(" ")))
    };
    [text("unknown", unknown), text(word, failing)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// True if there is nothing to complain about, else False with the complaint.
fn because(type_: &str, reason: &str, message: String) -> PodCondition {
    if message.is_empty() {
        return condition(type_, true);
    }
    PodCondition { reason: Some(reason.into()), message: Some(message.into()), ..condition(type_, false) }
}

fn condition(type_: &str, value: bool) -> PodCondition {
    let status = if value { "True" } else { "False" };
    PodCondition { type_: type_.into(), status: status.into(), ..PodCondition::default() }
}

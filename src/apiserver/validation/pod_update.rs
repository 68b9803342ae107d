//! What may change in a Pod once it is there. Mirrors `ValidatePodUpdate` and `ValidatePodStatusUpdate`.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus, Toleration};

use super::diff;
use super::field::{Json, Literal, Path, Problems, Shown};
use super::pod::{SPEC, pod_spec};

const STATUS: Path = Path::new("status");
const MAY_CHANGE: &str = "pod updates may not change fields other than \
    `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
    additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
    previously negative)";

/// A new version of a Pod's spec.
pub fn pod(problems: &mut Problems, new: &Pod, old: &Pod) {
    let (Some(spec), Some(before)) = (&new.spec, &old.spec) else { return };
    if spec == before {
        return;
    }
    pod_spec(problems, &SPEC, spec);
    let count = |containers: &Option<Vec<Container>>| containers.as_ref().map_or(0, Vec::len);
    let same_number = spec.containers.len() == before.containers.len();
    let same_inits = count(&spec.init_containers) == count(&before.init_containers);
    const NUMBER: &str = "pod updates may not add or remove containers";
    if !same_number {
        problems.forbidden(&SPEC.child("containers"), NUMBER);
    }
    if !same_inits {
        problems.forbidden(&SPEC.child("initContainers"), NUMBER);
    }
    if !same_number || !same_inits {
        return;
    }
    deadline(problems, spec.active_deadline_seconds, before.active_deadline_seconds);
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    only_added(problems, tolerations, before.tolerations.as_deref().unwrap_or_default());
    no_new_gates(problems, spec, before);
    let allowed = with_what_may_change(spec, before);
    if allowed != *before {
        problems.forbidden(&SPEC, &format!("{MAY_CHANGE}\n{}", diff::of_objects(before, &allowed)));
    }
}

/// The new spec with everything that may change put back: what still differs may not.
fn with_what_may_change(spec: &PodSpec, before: &PodSpec) -> PodSpec {
    let mut allowed = spec.clone();
    let put_back = |containers: &mut [Container], before: &[Container]| {
        for (container, before) in containers.iter_mut().zip(before) {
            container.image.clone_from(&before.image);
        }
    };
    put_back(&mut allowed.containers, &before.containers);
    let inits = allowed.init_containers.as_deref_mut().unwrap_or_default();
    put_back(inits, before.init_containers.as_deref().unwrap_or_default());
    allowed.active_deadline_seconds = before.active_deadline_seconds;
    allowed.tolerations.clone_from(&before.tolerations);
    if before.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0)
        && spec.termination_grace_period_seconds == Some(1)
    {
        allowed.termination_grace_period_seconds = before.termination_grace_period_seconds;
    }
    let gated = before.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    allowed.scheduling_gates.clone_from(&before.scheduling_gates);
    if gated && keeps_selectors(spec, before) {
        // While gated, a Pod may be bound to fewer nodes, never to others.
        allowed.node_selector.clone_from(&before.node_selector);
    }
    allowed
}

fn keeps_selectors(spec: &PodSpec, before: &PodSpec) -> bool {
    let mut kept = before.node_selector.iter().flatten();
    kept.all(|(key, value)| spec.node_selector.as_ref().and_then(|selector| selector.get(key)) == Some(value))
}

fn deadline(problems: &mut Problems, new: Option<i64>, old: Option<i64>) {
    let path = SPEC.child("activeDeadlineSeconds");
    match (new, old) {
        (None, Some(_)) => {
            problems.invalid(&path, Literal("null"), "must not update from a positive integer to nil value");
        }
        (Some(new), Some(old)) if new > old => {
            problems.invalid(&path, new, "must be less than or equal to previous value");
        }
        _ => {}
    }
}

/// Mirrors `validateOnlyAddedTolerations`: of one that is there, only the seconds may change.
fn only_added(problems: &mut Problems, new: &[Toleration], old: &[Toleration]) {
    for there in old {
        let same = |toleration: &Toleration| {
            let seconds = there.toleration_seconds;
            Toleration { toleration_seconds: seconds, ..toleration.clone() } == *there
        };
        if !new.iter().any(same) {
            const WHY: &str = "existing toleration can not be modified except its tolerationSeconds";
            problems.forbidden(&SPEC.child("tolerations"), WHY);
            return;
        }
    }
}

fn no_new_gates(problems: &mut Problems, spec: &PodSpec, before: &PodSpec) {
    let there = before.scheduling_gates.as_deref().unwrap_or_default();
    let path = SPEC.child("schedulingGates");
    for (i, gate) in spec.scheduling_gates.iter().flatten().enumerate() {
        if !there.contains(gate) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{}'", gate.name);
            problems.forbidden(&path.index(i), &why);
        }
    }
}

/// A new version of a Pod's status.
pub fn pod_status(problems: &mut Problems, new: &Pod, old: &Pod) {
    let (after, before) = (PodStatus::default(), PodStatus::default());
    let (after, before) = (new.status.as_ref().unwrap_or(&after), old.status.as_ref().unwrap_or(&before));
    if before.qos_class.is_some() {
        let shown = |class: &Option<String>| Json(class).shown();
        problems.immutable(&STATUS.child("qosClass"), &after.qos_class, &before.qos_class, shown);
    }
    let Some(spec) = &old.spec else { return };
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    let statuses = [
        ("containerStatuses", &after.container_statuses, &before.container_statuses, spec.containers.as_slice()),
        ("initContainerStatuses", &after.init_container_statuses, &before.init_container_statuses, inits),
    ];
    for (name, new, old, containers) in statuses {
        let (new, old) = (new.as_deref().unwrap_or_default(), old.as_deref().unwrap_or_default());
        stays_ended(problems, &STATUS.child(name), new, old, |name| {
            let own = containers.iter().find(|container| container.name == name);
            let own = own.and_then(|container| container.restart_policy.as_deref());
            own.or(spec.restart_policy.as_deref()).unwrap_or("Always")
        });
    }
}

/// A container that ended, and is not to be started again, stays ended. Mirrors `ValidateContainerStateTransition`.
fn stays_ended<'a>(
    problems: &mut Problems,
    path: &Path,
    new: &[ContainerStatus],
    old: &[ContainerStatus],
    policy_of: impl Fn(&str) -> &'a str,
) {
    for before in old {
        let Some(ended) = before.state.as_ref().and_then(|state| state.terminated.as_ref()) else { continue };
        let restarts = match policy_of(&before.name) {
            "Always" => true,
            "OnFailure" => ended.exit_code != 0,
            _ => false,
        };
        if restarts {
            continue;
        }
        for (i, after) in new.iter().enumerate() {
            let still = after.state.as_ref().is_some_and(|state| state.terminated.is_some());
            if after.name == before.name && !still {
                problems.forbidden(&path.index(i).child("state"), "may not be transitioned to non-terminated state");
            }
        }
    }
}

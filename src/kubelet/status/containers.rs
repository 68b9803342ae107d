//! The status of each container.
//!
//! Mirrors `convertToAPIContainerStatuses` (`pkg/kubelet/kubelet_pods.go`): a default waiting state, over it
//! what the runtime has (newest as `state`, the one before as `lastState`), over it the reason why a container
//! that should run could not be started.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::inputs::{Inputs, WaitingReason};
use super::sizes::Size;
use crate::restart::{exit_code, should_start};
use crate::restart_all;
use crate::runtime_pod::{RunState, RuntimeContainer};
use object::pod::is_sidecar;
use object::pod::status::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    VolumeMountStatus,
};
use object::text::Text;
use object::time::Instant;
use object::{Pod, ephemeral};

/// The scheme of container ids, as the runtime calls itself.
pub const RUNTIME_SCHEME: &str = "containerd://";

/// `status.containerStatuses`, by name.
pub fn regular(inputs: &Inputs, spec: &PodSpec) -> Option<Vec<ContainerStatus>> {
    let has_init = spec.init_containers.as_ref().is_some_and(|list| !list.is_empty());
    let mut statuses = all(inputs, spec, &spec.containers, inputs.old.container_statuses.as_deref(), has_init, false);
    statuses.sort_by(|a, b| a.name.cmp(&b.name));
    Some(statuses)
}

/// `status.initContainerStatuses`, in the order of the spec.
pub fn init(inputs: &Inputs, spec: &PodSpec) -> Option<Vec<ContainerStatus>> {
    let containers = spec.init_containers.as_ref().filter(|list| !list.is_empty())?;
    Some(all(inputs, spec, containers, inputs.old.init_container_statuses.as_deref(), true, true))
}

/// `status.ephemeralContainerStatuses`, by name. They have no probes, and none is ever ready.
pub fn ephemeral(inputs: &Inputs, spec: &PodSpec) -> Option<Vec<ContainerStatus>> {
    let containers: Vec<Container> = ephemeral::containers(spec).collect();
    let has_init = spec.init_containers.as_ref().is_some_and(|list| !list.is_empty());
    let old = inputs.old.ephemeral_container_statuses.as_deref();
    let mut statuses = all(inputs, spec, &containers, old, has_init, false);
    statuses.sort_by(|a, b| a.name.cmp(&b.name));
    (!statuses.is_empty()).then_some(statuses)
}

fn all(
    inputs: &Inputs,
    spec: &PodSpec,
    containers: &[Container],
    old: Option<&[ContainerStatus]>,
    has_init: bool,
    is_init: bool,
) -> Vec<ContainerStatus> {
    let default_reason = if has_init { "PodInitializing" } else { "ContainerCreating" };
    let one = |container: &Container| {
        let old = old.unwrap_or_default().iter().find(|s| s.name == container.name);
        let mut seen = inputs.runtime.containers.iter().filter(|c| c.name == container.name);
        let newest = seen.next();
        let mut status = match newest {
            Some(newest) => from_runtime(inputs.sizes.of_container(&container.name), newest, seen.next(), old),
            None => unseen(inputs, container, old, default_reason),
        };
        // One that has ended well is done, whether it will be started again (a sidecar) or not.
        let done = is_init && newest.is_some_and(|c| c.state == RunState::Exited && c.exit_code == 0);
        let forgotten = is_init && newest.is_none() && !is_sidecar(container) && any_regular_created(inputs, spec);
        if forgotten && status.state.as_ref().is_some_and(|state| state.waiting.is_some()) {
            status.state = Some(taken_as_done());
        } else if !done && should_start(inputs.pod, container, inputs.runtime) {
            explain_waiting(&mut status, inputs.reasons.get(&container.name));
        }
        status.volume_mounts = volume_mounts(inputs.pod, container);
        status
    };
    containers.iter().map(one).collect()
}

/// A container that the runtime has: its state, and as last state the end of the one before it, which the runtime may have
/// forgotten.
fn from_runtime(
    size: Size,
    newest: &RuntimeContainer,
    before: Option<&RuntimeContainer>,
    old: Option<&ContainerStatus>,
) -> ContainerStatus {
    let container_id = Some(id_of(newest));
    let last_state = before.map(state).unwrap_or_else(|| known_end(old, &container_id));
    ContainerStatus {
        name: newest.name.as_str().into(),
        image: newest.image.as_str().into(),
        image_id: newest.image_id.as_str().into(),
        restart_count: newest.restart_count.max(old.map_or(0, |old| old.restart_count)),
        state: Some(state(newest)),
        last_state: Some(last_state),
        allocated_resources: size.allocated,
        resources: Some(if newest.state == RunState::Running { size.in_force } else { size.at_rest }),
        container_id,
        ..ContainerStatus::default()
    }
}

/// What the status told last of the end of an earlier container than this.
fn known_end(old: Option<&ContainerStatus>, id: &Option<Text>) -> ContainerState {
    let Some(old) = old else { return ContainerState::default() };
    let own = old.state.as_ref().filter(|_| old.container_id != *id);
    let mut ends = own.into_iter().chain(&old.last_state).filter_map(|state| state.terminated.as_ref());
    ends.next().cloned().map(|end| terminated(*end)).unwrap_or_default()
}

/// Whether a container of the pod proper has been made, so that initialization is over (`HasAnyRegularContainerCreated`).
fn any_regular_created(inputs: &Inputs, spec: &PodSpec) -> bool {
    let known = |name: &str| inputs.runtime.container(name).is_some_and(|c| c.state != RunState::Unknown);
    spec.containers.iter().any(|container| known(&container.name))
}

/// The end of an init container that the runtime has forgotten.
fn taken_as_done() -> ContainerState {
    let message = "Unable to get init container status from container runtime and pod has been initialized, treat it as \
                   exited normally";
    terminated(ContainerStateTerminated {
        reason: Some("Completed".into()),
        message: Some(message.into()),
        ..ContainerStateTerminated::default()
    })
}

/// One container's state. A container made but not started waits.
fn state(container: &RuntimeContainer) -> ContainerState {
    match container.state {
        RunState::Running => ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(container.started_at.time()) }),
            ..ContainerState::default()
        },
        RunState::Exited => terminated(ContainerStateTerminated {
            exit_code: container.exit_code,
            reason: some(&container.reason),
            message: some(&container.message),
            started_at: Some(began(container.started_at)),
            finished_at: Some(container.finished_at.time()),
            container_id: Some(id_of(container)),
            signal: None,
        }),
        RunState::Created | RunState::Unknown => {
            ContainerState { waiting: Some(ContainerStateWaiting::default().into()), ..ContainerState::default() }
        }
    }
}

/// When a process began; one that never did, in 1970.
fn began(at: Instant) -> Time {
    if at == Instant::default() { Time(Timestamp::UNIX_EPOCH) } else { at.time() }
}

/// A container that the runtime does not have: not made yet, or gone without a trace.
fn unseen(
    inputs: &Inputs,
    container: &Container,
    old: Option<&ContainerStatus>,
    default_reason: &str,
) -> ContainerStatus {
    let was_there = |old: &&ContainerStatus| old.state.as_ref().is_some_and(|state| state.waiting.is_none());
    let removed = old.filter(was_there).filter(|_| inputs.restarting);
    let ended = old.filter(|old| exit_code(old).is_some());
    if let (Some(ended), None) = (ended, removed) {
        return ended.clone();
    }
    let waiting = ContainerStateWaiting { reason: Some(default_reason.into()), message: None };
    let mut status = ContainerStatus {
        name: container.name.as_str().into(),
        image: container.image.as_deref().unwrap_or_default().into(),
        restart_count: old.map_or(0, |old| old.restart_count),
        last_state: Some(old.and_then(|old| old.last_state.clone()).unwrap_or_default()),
        state: Some(ContainerState { waiting: Some(waiting.into()), ..ContainerState::default() }),
        ..ContainerStatus::default()
    };
    if removed.is_some() {
        return anew(ended.cloned().unwrap_or(status));
    }
    if old.and_then(|old| old.state.as_ref()).is_none_or(|state| state.running.is_none()) {
        return status;
    }
    // Where an earlier end is known already, that is enough to say that it is not a first start that is waited for.
    if status.last_state.as_ref().is_none_or(|last| last.terminated.is_none()) {
        let message = "The container could not be located when the pod was deleted.  The container used to be Running";
        status.last_state = Some(terminated(lost(message)));
    }
    // In that case a real kubelet counts it only when it starts again, and finds its old log.
    if inputs.pod.metadata.deletion_timestamp.is_none() {
        status.restart_count += 1;
    }
    status
}

/// A container that was removed to be started anew with all others.
fn anew(status: ContainerStatus) -> ContainerStatus {
    let (reason, message) = (Some(restart_all::REASON.into()), Some(restart_all::MESSAGE.into()));
    let end = ContainerStateTerminated { exit_code: 137, reason, message, ..ContainerStateTerminated::default() };
    let waiting = ContainerStateWaiting { reason: end.reason.clone(), message: end.message.clone() };
    ContainerStatus {
        restart_count: status.restart_count + 1,
        state: Some(ContainerState { waiting: Some(waiting.into()), ..ContainerState::default() }),
        last_state: Some(terminated(end)),
        ..status
    }
}

/// A container that should run but could not be started says why; its end, if it had one, becomes its last state.
fn explain_waiting(status: &mut ContainerStatus, reason: Option<&WaitingReason>) {
    let Some(reason) = reason else { return };
    if let Some(state) = status.state.take().filter(|s| s.terminated.is_some()) {
        status.last_state = Some(state);
    }
    let waiting = ContainerStateWaiting { reason: some(&reason.reason), message: some(&reason.message) };
    status.state = Some(ContainerState { waiting: Some(waiting.into()), ..ContainerState::default() });
}

/// `volumeMounts`: what is mounted where, and that read-only is not recursive.
fn volume_mounts(pod: &Pod, container: &Container) -> Option<Vec<VolumeMountStatus>> {
    let spec = pod.spec.as_ref()?;
    let mounts = container.volume_mounts.as_ref().filter(|mounts| !mounts.is_empty())?;
    let mount = |m: &k8s_openapi::api::core::v1::VolumeMount| VolumeMountStatus {
        mount_path: m.mount_path.as_str().into(),
        name: spec.name_of(&m.name).into(),
        read_only: m.read_only,
        recursive_read_only: (m.read_only == Some(true)).then(|| "Disabled".into()),
        volume_status: None,
    };
    Some(mounts.iter().map(mount).collect())
}

/// The end of a container that the runtime has lost: 137, ContainerStatusUnknown.
pub fn lost(message: &str) -> ContainerStateTerminated {
    ContainerStateTerminated {
        exit_code: 137,
        reason: Some("ContainerStatusUnknown".into()),
        message: Some(message.into()),
        ..ContainerStateTerminated::default()
    }
}

/// The state of a container that has ended.
pub fn terminated(end: ContainerStateTerminated) -> ContainerState {
    ContainerState { terminated: Some(end.into()), ..ContainerState::default() }
}

/// The container's id without the runtime's scheme, empty before it is made.
pub fn runtime_id(status: &ContainerStatus) -> &str {
    let id = status.container_id.as_deref().unwrap_or_default();
    id.strip_prefix(RUNTIME_SCHEME).unwrap_or(id)
}

/// Whether any container of the pod proper runs or has ended, so that initialization is over. One that waits to be started
/// again does not count (`kubecontainer.HasAnyRegularContainerStarted`).
pub fn any_regular_started(spec: &PodSpec, statuses: Option<&[ContainerStatus]>) -> bool {
    let statuses = statuses.unwrap_or_default();
    let ran = |s: &ContainerState| s.running.is_some() || s.terminated.is_some();
    let started = |status: &ContainerStatus| status.state.as_ref().is_some_and(ran);
    spec.containers.iter().any(|c| statuses.iter().any(|s| s.name == c.name && started(s)))
}

fn id_of(container: &RuntimeContainer) -> Text {
    format!("{RUNTIME_SCHEME}{}", container.id).into()
}

fn some(text: &str) -> Option<Text> {
    (!text.is_empty()).then(|| text.into())
}

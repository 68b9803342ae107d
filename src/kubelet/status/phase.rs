//! The phase: one word for a whole pod.
//!
//! Mirrors `getPhase` (`pkg/kubelet/kubelet_pods.go`). It is computed from the containers' statuses alone, so a
//! pod whose container crashes over and over stays Running: its container counts as stopped, not as waiting.

use k8s_openapi::api::core::v1::PodSpec;

use crate::restart_all;
use object::pod::status::ContainerStatus;
use object::pod::{is_restarted, is_sidecar};

/// Nothing has run yet, or something still waits.
pub const PENDING: &str = "Pending";
/// At least one container runs or will run again.
pub const RUNNING: &str = "Running";
/// Every container ended with 0 and none will run again.
pub const SUCCEEDED: &str = "Succeeded";
/// Every container ended, one of them badly.
pub const FAILED: &str = "Failed";

/// The phase that these statuses amount to. `terminal`: nothing will be started any more. `initialized`: sidecars that are not
/// up (again) hold nothing back.
pub fn of(spec: &PodSpec, statuses: &[&ContainerStatus], terminal: bool, initialized: bool) -> &'static str {
    let init = count_init(spec, statuses);
    let mut count = count_containers(spec, statuses);
    count.running += init.sidecars_running;
    count.waiting += init.sidecars_waiting;
    count.unknown += init.sidecars_unknown;
    let policy = spec.restart_policy.as_deref().unwrap_or("Always");
    if init.fatal > 0 {
        return FAILED;
    }
    let sidecars_hold = !initialized && init.sidecars_pending > 0;
    if init.pending > 0 || sidecars_hold || count.waiting > 0 {
        return PENDING;
    }
    match (count.running > 0, count.stopped > 0, count.unknown > 0) {
        (true, _, false) => RUNNING,
        (false, true, false) if terminal && count.stopped == count.succeeded => SUCCEEDED,
        (false, true, false) if terminal => FAILED,
        (false, true, false) if count.restartable > 0 => RUNNING,
        (false, true, false) if count.stopped == count.succeeded => {
            if policy == "Always" {
                RUNNING
            } else {
                SUCCEEDED
            }
        }
        (false, true, false) => FAILED,
        _ => PENDING,
    }
}

#[derive(Default)]
struct InitCount {
    pending: usize,
    /// Failed, and will not be tried again.
    fatal: usize,
    sidecars_pending: usize,
    sidecars_running: usize,
    sidecars_waiting: usize,
    sidecars_unknown: usize,
}

fn count_init(spec: &PodSpec, statuses: &[&ContainerStatus]) -> InitCount {
    let mut count = InitCount::default();
    for container in spec.init_containers.iter().flatten() {
        let status = statuses.iter().find(|s| s.name == container.name);
        let sidecar = is_sidecar(container);
        match (status.map(|s| seen(s)), sidecar) {
            (Some(Seen::Running), true) => {
                count.sidecars_running += 1;
                let started = status.is_some_and(|s| s.started == Some(true));
                count.sidecars_pending += usize::from(!started);
            }
            (Some(Seen::Stopped(_) | Seen::WaitingAgain(_)), true) => {}
            (Some(Seen::Waiting), true) => {
                count.sidecars_pending += 1;
                count.sidecars_waiting += 1;
            }
            (Some(Seen::Unknown) | None, true) => {
                count.sidecars_pending += 1;
                count.sidecars_unknown += 1;
            }
            (Some(Seen::StartingAnew), true) => {}
            (Some(Seen::Stopped(0) | Seen::WaitingAgain(0)), false) => {}
            (Some(Seen::Stopped(code) | Seen::WaitingAgain(code)), false) => {
                let restarts = is_restarted(spec.restart_policy.as_deref(), container, code);
                count.fatal += usize::from(!restarts);
                count.pending += usize::from(restarts);
            }
            (_, false) => count.pending += 1,
        }
    }
    count
}

#[derive(Default)]
struct Count {
    running: usize,
    waiting: usize,
    stopped: usize,
    succeeded: usize,
    unknown: usize,
    /// Stopped, and will be started again.
    restartable: usize,
}

fn count_containers(spec: &PodSpec, statuses: &[&ContainerStatus]) -> Count {
    let mut count = Count::default();
    for container in &spec.containers {
        let policy = spec.restart_policy.as_deref();
        let mut stop = |code: i32| {
            count.stopped += 1;
            count.restartable += usize::from(is_restarted(policy, container, code));
        };
        match statuses.iter().find(|s| s.name == container.name).map(|s| seen(s)) {
            Some(Seen::Running) => count.running += 1,
            Some(Seen::Stopped(code)) => {
                stop(code);
                count.succeeded += usize::from(code == 0);
            }
            Some(Seen::WaitingAgain(code)) => stop(code),
            Some(Seen::StartingAnew) => {
                count.stopped += 1;
                count.restartable += 1;
            }
            Some(Seen::Waiting) => count.waiting += 1,
            Some(Seen::Unknown) | None => count.unknown += 1,
        }
    }
    count
}

/// What a status says, in the words the phase needs.
enum Seen {
    Running,
    Stopped(i32),
    /// Waits to be started once more; the code it ended with.
    WaitingAgain(i32),
    /// Was removed, with all others, to be started again: the code it ended with does not count.
    StartingAnew,
    Waiting,
    Unknown,
}

fn seen(status: &ContainerStatus) -> Seen {
    let Some(state) = &status.state else { return Seen::Unknown };
    if state.running.is_some() {
        return Seen::Running;
    }
    if let Some(end) = &state.terminated {
        return Seen::Stopped(end.exit_code);
    }
    if state.waiting.is_none() {
        return Seen::Unknown;
    }
    if restart_all::is_of(status) {
        return Seen::StartingAnew;
    }
    match status.last_state.as_ref().and_then(|last| last.terminated.as_ref()) {
        Some(end) => Seen::WaitingAgain(end.exit_code),
        None => Seen::Waiting,
    }
}

//! A Pod in one word. Mirrors `printPod` of `pkg/printers/internalversion/printers.go`.
//!
//! STATUS is not `status.phase`: it is the most telling of phase, reason, init containers, waiting and terminated
//! containers, and deletion, in that order of growing importance.

use jiff::Timestamp;
use serde_json::Value;

use crate::printers::fields::{at, flag, int, list, text, time};
/// What a table says of a Pod.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary {
    /// `Running`, `Init:0/1`, `CrashLoopBackOff`, `Terminating` …
    pub status: String,
    /// Containers that are ready.
    pub ready: usize,
    /// Containers, sidecars included.
    pub containers: usize,
    /// How often any of them was restarted.
    pub restarts: i64,
    /// When last.
    pub last_restart: Option<Timestamp>,
}

/// The status of the condition of this type; empty if there is none. Works for every kind with conditions.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let found = list(object, "status.conditions").iter().find(|c| text(c, "type") == kind);
    found.map_or("", |c| text(c, "status"))
}

/// Whether no container of the Pod will run again.
pub fn is_finished(pod: &Value) -> bool {
    matches!(text(pod, "status.phase"), "Succeeded" | "Failed")
}

/// What a table says of `pod`.
pub fn summary(pod: &Value) -> Summary {
    let sidecars = list(pod, "spec.initContainers").iter().filter(|c| text(c, "restartPolicy") == "Always").count();
    let mut shown = Summary {
        status: phase_or_reason(pod),
        ready: 0,
        containers: list(pod, "spec.containers").len() + sidecars,
        restarts: 0,
        last_restart: None,
    };
    let (waiting, sidecar_restarts) = read_init_containers(pod, &mut shown);
    if !waiting || condition(pod, "Initialized") == "True" {
        (shown.restarts, shown.last_restart) = sidecar_restarts;
        read_containers(pod, &mut shown);
    }
    if !at(pod, "metadata.deletionTimestamp").is_null() {
        if text(pod, "status.reason") == "NodeLost" {
            shown.status = "Unknown".to_owned();
        } else if !is_finished(pod) {
            shown.status = "Terminating".to_owned();
        }
    }
    shown
}

fn phase_or_reason(pod: &Value) -> String {
    let gated = |c: &Value| text(c, "type") == "PodScheduled" && text(c, "reason") == "SchedulingGated";
    if list(pod, "status.conditions").iter().any(gated) {
        return "SchedulingGated".to_owned();
    }
    let reason = text(pod, "status.reason");
    if reason.is_empty() { text(pod, "status.phase").to_owned() } else { reason.to_owned() }
}

/// Whether an init container still has to finish, and the restarts of sidecars alone.
fn read_init_containers(pod: &Value, shown: &mut Summary) -> (bool, (i64, Option<Timestamp>)) {
    let specs = list(pod, "spec.initContainers");
    let mut sidecars = (0, None);
    for (i, status) in list(pod, "status.initContainerStatuses").iter().enumerate() {
        let spec = specs.iter().find(|c| text(c, "name") == text(status, "name"));
        let sidecar = spec.is_some_and(|c| text(c, "restartPolicy") == "Always");
        let last = time(status, "lastState.terminated.finishedAt");
        shown.restarts += int(status, "restartCount");
        shown.last_restart = shown.last_restart.max(last);
        if sidecar {
            sidecars = (sidecars.0 + int(status, "restartCount"), sidecars.1.max(last));
        }
        let terminated = at(status, "state.terminated");
        let done = !terminated.is_null() && int(terminated, "exitCode") == 0;
        if done || (sidecar && flag(status, "started")) {
            shown.ready += usize::from(!done && flag(status, "ready"));
            continue;
        }
        let waiting = text(status, "state.waiting.reason");
        shown.status = match () {
            () if !terminated.is_null() => format!("Init:{}", end_of(terminated)),
            () if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
            () => format!("Init:{i}/{}", specs.len()),
        };
        return (true, sidecars);
    }
    (false, sidecars)
}

fn read_containers(pod: &Value, shown: &mut Summary) {
    let (mut running, mut failure) = (false, None);
    for status in list(pod, "status.containerStatuses").iter().rev() {
        shown.restarts += int(status, "restartCount");
        shown.last_restart = shown.last_restart.max(time(status, "lastState.terminated.finishedAt"));
        let waiting = text(status, "state.waiting.reason");
        let terminated = at(status, "state.terminated");
        if !waiting.is_empty() {
            shown.status = waiting.to_owned();
        } else if !terminated.is_null() {
            shown.status = end_of(terminated);
            if int(terminated, "exitCode") != 0 {
                failure = Some(shown.status.clone());
            }
        } else if flag(status, "ready") && !at(status, "state.running").is_null() {
            running = true;
            shown.ready += 1;
        }
    }
    // One container has completed: what the others do says more.
    if shown.status == "Completed" {
        let other = match failure {
            _ if running && condition(pod, "Ready") == "True" => Some("Running".to_owned()),
            None => running.then(|| "NotReady".to_owned()),
            failure => failure,
        };
        shown.status = other.unwrap_or_else(|| std::mem::take(&mut shown.status));
    }
}

/// How a container ended: the reason, or else signal or exit code.
fn end_of(terminated: &Value) -> String {
    match (text(terminated, "reason"), int(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", int(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn status_says_the_most_telling_thing() {
        let running = json!({"ready": true, "restartCount": 1, "state": {"running": {}}});
        let done = json!({"restartCount": 0, "state": {"terminated": {"reason": "Completed", "exitCode": 0}}});
        let killed = json!({"restartCount": 0, "state": {"terminated": {"exitCode": 137, "signal": 9}}});
        let failed = json!({"restartCount": 0, "state": {"terminated": {"reason": "Error", "exitCode": 1}}});
        let pulling = json!({"restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull"}}});
        #[rustfmt::skip]
        let cases = [
            (json!({"phase": "Pending"}), "Pending", 0),
            (json!({"phase": "Failed", "reason": "Evicted"}), "Evicted", 0),
            (json!({"phase": "Running", "containerStatuses": [running, running]}), "Running", 2),
            (json!({"phase": "Running", "containerStatuses": [running, done]}), "NotReady", 1),
            (json!({"phase": "Running", "containerStatuses": [running, done],
                "conditions": [{"type": "Ready", "status": "True"}]}), "Running", 1),
            (json!({"phase": "Running", "containerStatuses": [done, failed, running]}), "Error", 1),
            (json!({"phase": "Failed", "containerStatuses": [done, failed]}), "Error", 0),
            (json!({"phase": "Succeeded", "containerStatuses": [done, done]}), "Completed", 0),
            (json!({"phase": "Pending", "containerStatuses": [pulling]}), "ErrImagePull", 0),
            (json!({"phase": "Failed", "containerStatuses": [killed]}), "Signal:9", 0),
            (json!({"phase": "Pending", "initContainerStatuses": [done, pulling]}), "Init:ErrImagePull", 0),
            (json!({"phase": "Pending", "initContainerStatuses": [done, {"state": {"running": {}}}]}), "Init:1/2", 0),
            (json!({"phase": "Pending", "initContainerStatuses": [killed]}), "Init:Signal:9", 0),
        ];
        for (status, want, ready) in cases {
            let pod = json!({"spec": {"initContainers": [{}, {}]}, "status": status});
            let shown = summary(&pod);
            assert_eq!((shown.status.as_str(), shown.ready), (want, ready), "{pod}");
        }
    }

    #[test]
    fn a_pod_that_goes_is_terminating_until_it_is_done() {
        let pod =
            |phase| json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": phase}});
        assert_eq!(summary(&pod("Running")).status, "Terminating");
        assert_eq!(summary(&pod("Succeeded")).status, "Succeeded");
    }
}

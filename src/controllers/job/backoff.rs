//! How long a Job waits after a failure: 10 s, 20 s, 40 s … up to ten minutes, and nothing after a success.
//! Mirrors `pkg/controller/job/backoff_utils.go`.

use std::sync::Arc;
use std::time::Duration;

use object::Pod;
use object::pod::{is_sidecar, ready_condition};
use object::time::Instant;

const FIRST: Duration = Duration::from_secs(10);
const MAX: Duration = Duration::from_secs(600);

/// What is remembered of a Job's failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    /// How many Pods have failed since the last success.
    pub failures: u32,
    /// When the last of them did.
    pub last: Option<Instant>,
}

impl Backoff {
    /// After these Pods have newly succeeded and failed.
    pub fn after(mut self, succeeded: &[Arc<Pod>], failed: &[Arc<Pod>]) -> Backoff {
        let mut failures: Vec<Instant> = failed.iter().map(|pod| finished_at(pod)).collect();
        failures.sort_unstable();
        if let Some(success) = succeeded.iter().map(|pod| finished_at(pod)).max() {
            self = Backoff::default();
            failures.retain(|failure| *failure > success);
        }
        self.failures += failures.len() as u32;
        self.last = failures.last().copied().or(self.last);
        self
    }

    /// How long no Pod is to be made.
    pub fn remaining(self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |last| remaining(self.failures, last, now))
    }
}

/// What is left of the backoff after this many failures, with the last one at this time.
pub fn remaining(failures: u32, last: Instant, now: Instant) -> Duration {
    if failures == 0 {
        return Duration::ZERO;
    }
    let pause = FIRST.saturating_mul(1 << (failures - 1).min(16)).min(MAX);
    pause.saturating_sub(now - last)
}

/// When the last container of a Pod that has ended did so. The best guess for one with containers that have not: when it
/// stopped being ready, or when a client asked for its deletion. Mirrors `getFinishedTime`.
pub fn finished_at(pod: &Pod) -> Instant {
    let not_ready = || {
        let condition = ready_condition(pod).filter(|condition| condition.status == "False")?;
        condition.last_transition_time.as_ref().map(Instant::from_time)
    };
    let created = || pod.metadata.creation_timestamp.as_ref().map(Instant::from_time);
    containers_ended(pod).or_else(not_ready).or_else(|| deletion_asked(pod)).or_else(created).unwrap_or_default()
}

/// The latest end of the containers and sidecars, if all have ended.
fn containers_ended(pod: &Pod) -> Option<Instant> {
    let status = pod.status.as_ref()?;
    let init_containers = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
    let of_sidecar = |name: &str| init_containers.iter().any(|init| init.name == name && is_sidecar(init));
    let sidecars = status.init_container_statuses.iter().flatten().filter(|status| of_sidecar(&status.name));
    let all = status.container_statuses.iter().flatten().chain(sidecars);
    let ends = all.map(|status| status.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref());
    ends.collect::<Option<Vec<_>>>()?.into_iter().map(Instant::from_time).max()
}

/// The deletionTimestamp says when the time to end in peace is over; this is when that time began.
fn deletion_asked(pod: &Pod) -> Option<Instant> {
    let at = Instant::from_time(pod.metadata.deletion_timestamp.as_ref()?);
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0) as u64;
    Some(Instant(at.0.saturating_sub(grace.saturating_mul(1_000_000_000))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    fn ended(seconds: u64) -> Arc<Pod> {
        let terminated = json!({"exitCode": 1, "finishedAt": at(seconds).time()});
        let statuses = json!([{"name": "c", "state": {"terminated": terminated}}]);
        Arc::new(serde_json::from_value(json!({"metadata": {}, "status": {"containerStatuses": statuses}})).unwrap())
    }

    #[test]
    fn failures_since_the_last_success_count() {
        let before = Backoff { failures: 2, last: Some(at(5)) };
        for (what, succeeded, failed, want) in [
            ("nothing", vec![], vec![], (2, Some(5))),
            ("a failure", vec![], vec![20], (3, Some(20))),
            ("a success", vec![20], vec![], (0, None)),
            ("a failure before a success", vec![20], vec![10], (0, None)),
            ("failures around a success", vec![20], vec![30, 10, 25], (2, Some(30))),
        ] {
            let pods = |times: Vec<u64>| times.into_iter().map(ended).collect::<Vec<_>>();
            let after = before.after(&pods(succeeded), &pods(failed));
            assert_eq!((after.failures, after.last), (want.0, want.1.map(at)), "{what}");
        }
    }

    #[test]
    fn the_pause_doubles() {
        for (failures, elapsed, want) in
            [(0, 0, 0), (1, 0, 10), (1, 4, 6), (1, 11, 0), (3, 0, 40), (7, 0, 600), (60, 0, 600)]
        {
            let left = remaining(failures, at(100), at(100 + elapsed));
            assert_eq!(left, Duration::from_secs(want), "{failures} failures, {elapsed} s ago");
        }
    }

    #[test]
    fn when_a_pod_has_ended() {
        let (deleted, grace, condition) = ("deletionTimestamp", "deletionGracePeriodSeconds", "lastTransitionTime");
        let ready = |status: &str| json!([{"type": "Ready", "status": status, condition: at(50).time()}]);
        let state = |end: Option<u64>| match end {
            Some(second) => json!({"terminated": {"exitCode": 1, "finishedAt": at(second).time()}}),
            None => json!({"running": {}}),
        };
        for (what, main, sidecar, conditions, want) in [
            ("all have ended", Some(60), Some(70), json!([]), 70),
            ("the sidecar runs on", Some(60), None, ready("False"), 50),
            ("deleted while it ran", None, None, ready("True"), 100),
        ] {
            let pod = json!({
                "metadata": {"creationTimestamp": at(10).time(), deleted: at(130).time(), grace: 30},
                "spec": {"containers": [], "initContainers": [{"name": "s", "restartPolicy": "Always"}]},
                "status": {
                    "conditions": conditions,
                    "containerStatuses": [{"name": "c", "state": state(main)}],
                    "initContainerStatuses": [{"name": "s", "state": state(sidecar)}],
                },
            });
            assert_eq!(finished_at(&serde_json::from_value(pod).unwrap()), at(want), "{what}");
        }
    }
}

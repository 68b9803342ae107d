//! Pods that were marked for a disruption which then did not come: after two minutes the mark is taken back.
//!
//! A component that ends a Pod writes DisruptionTarget first and deletes second; if it is stopped in between, a Pod that goes on
//! running would say for ever that it is about to end. In Kubernetes this is a second queue of the disruption controller
//! (`syncStalePodDisruption`); here it is a row of its own in the table, with the same service account.

use std::rc::Rc;
use std::time::Duration;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::budget::DISRUPTION_TARGET;
use object::pod::has_ended;
use object::pod::status::PodCondition;
use object::time::Instant;
use object::{Key, Kind, Object, Pod};

/// The row of the part of the disruption controller that looks after stale marks.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Pod],
    account: Some("disruption-controller"),
    ..Registration::new("disruption-stale-pods", &|context| Rc::new(StaleMarks::new(context)))
};

/// How long a Pod may be marked without being deleted. `stalePodDisruptionTimeout`.
const STALE_AFTER: Duration = Duration::from_secs(120);

struct StaleMarks {
    client: Client,
    queue: Queue,
    pods: Lister<Pod>,
}

impl StaleMarks {
    fn new(context: &ControllerContext) -> StaleMarks {
        StaleMarks { client: context.client.clone(), queue: context.queue.clone(), pods: context.lister() }
    }
}

impl Controller for StaleMarks {
    fn on_change(&self, change: &Change) {
        if let Change::Added(Object::Pod(pod)) | Change::Updated { new: Object::Pod(pod), .. } = change
            && let Some(left) = stale_in(pod, self.client.now())
        {
            self.queue.add_after_background(change.key(), left);
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(pod) = self.pods.get(&key) else { return Ok(()) };
        match stale_in(&pod, self.client.now()) {
            None => Ok(()),
            Some(left) if !left.is_zero() => {
                self.queue.add_after_background(key, left);
                Ok(())
            }
            Some(_) => Ok(self.client.update_status(unmarked(&pod, self.client.now())).await.map(|_| ())?),
        }
    }
}

/// When the Pod's mark is stale; None if it has none that can be. Mirrors `nonTerminatingPodHasStaleDisruptionCondition`.
fn stale_in(pod: &Pod, now: Instant) -> Option<Duration> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let mark = conditions.iter().find(|c| c.type_ == DISRUPTION_TARGET && c.status == "True")?;
    // A kubelet may take as long as it likes.
    let by_kubelet = mark.reason.as_deref() == Some("TerminationByKubelet");
    if pod.metadata.deletion_timestamp.is_some() || by_kubelet || has_ended(pod) {
        return None;
    }
    let since = mark.last_transition_time.as_ref().map(Instant::from_time).unwrap_or_default();
    Some((since + STALE_AFTER) - now)
}

fn unmarked(pod: &Pod, now: Instant) -> Pod {
    let mut pod = pod.clone();
    let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    for mark in conditions.iter_mut().filter(|condition| condition.type_ == DISRUPTION_TARGET) {
        *mark = PodCondition {
            type_: DISRUPTION_TARGET.into(),
            status: "False".into(),
            last_transition_time: Some(now.time()),
            observed_generation: pod.metadata.generation,
            ..PodCondition::default()
        };
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mark_is_stale_after_two_minutes() {
        let at = |seconds: u64| Instant(seconds * 1_000_000_000);
        for (phase, deleting, status, reason, now, want) in [
            ("Running", false, "True", "EvictionByEvictionAPI", 30, Some(100)),
            ("Running", false, "True", "EvictionByEvictionAPI", 500, Some(0)),
            ("Running", false, "False", "", 30, None),
            ("Running", true, "True", "EvictionByEvictionAPI", 30, None),
            ("Failed", false, "True", "EvictionByEvictionAPI", 30, None),
            ("Running", false, "True", "TerminationByKubelet", 30, None),
        ] {
            let mark = json!({"type": DISRUPTION_TARGET, "status": status, "reason": reason, "lastTransitionTime": at(10).time()});
            let mut pod = json!({"metadata": {}, "status": {"phase": phase, "conditions": [mark]}});
            if deleting {
                pod["metadata"]["deletionTimestamp"] = json!(at(20).time());
            }
            let pod: Pod = serde_json::from_value(pod).unwrap();
            assert_eq!(stale_in(&pod, at(now)), want.map(Duration::from_secs), "{phase} {deleting} {status} {reason}");
            assert_eq!(stale_in(&unmarked(&pod, at(now)), at(now)), None);
        }
    }
}

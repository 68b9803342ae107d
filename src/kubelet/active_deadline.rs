//! `activeDeadlineSeconds`: how long a pod may be active on its node.
//!
//! The clock starts when the kubelet first tells of the pod (`status.startTime`), so waiting for a node does not count and
//! pulling images does. When the time is over, the next status says Failed, whatever the containers do; a pod whose status
//! says that is stopped like any other that has ended, and nothing starts it again.
//!
//! It is the pod's own field. A Job has one of the same name, and counts for itself.
//!
//! Mirrors `pkg/kubelet/active_deadline.go`.

use std::rc::Rc;
use std::time::Duration;

use super::workers::Stage;
use super::{DEADLINE, Shared};
use crate::client::recorder::EventType;
use crate::object::Pod;
use crate::object::pod::status::PodStatus;
use crate::object::time::Instant;

/// The reason of status and Event.
pub const REASON: &str = "DeadlineExceeded";
/// The message of both.
pub const MESSAGE: &str = "Pod was active on the node longer than the specified deadline";

/// When the pod's time is over. None if it has all the time there is, or has not begun.
fn deadline(pod: &Pod, status: &PodStatus) -> Option<Instant> {
    let seconds = pod.spec.as_ref()?.active_deadline_seconds?;
    let start = Instant::from_time(status.start_time.as_ref()?);
    Some(start + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Whether the pod's time is over. Mirrors `pastActiveDeadline`.
pub fn is_over(pod: &Pod, status: &PodStatus, now: Instant) -> bool {
    deadline(pod, status).is_some_and(|at| now >= at)
}

impl Shared {
    /// Sees to it that the pod is synced at the first tick after its time is over. A real kubelet asks this of every pod at
    /// every tick (`ShouldSync`).
    pub(super) fn arm_deadline(&self, uid: &str) {
        let state = &mut *self.state.borrow_mut();
        let Some(worker) = state.workers.get_mut(uid) else { return };
        let at = state.status.get(uid).and_then(|status| deadline(&worker.pod, status));
        if at == std::mem::replace(&mut worker.deadline, at) {
            return;
        }
        if let Some(at) = at {
            self.hub.wake(self.actor, DEADLINE, uid, self.next_tick(at) - self.hub.now());
        }
    }

    /// A pod's time was to be over now; it may have been changed since.
    pub(super) fn deadline_due(self: &Rc<Self>, uid: &str) {
        let now = self.hub.now();
        let due = |at: Instant| at <= now;
        let over =
            self.state.borrow().workers.get(uid).is_some_and(|w| w.stage == Stage::Sync && w.deadline.is_some_and(due));
        if over {
            self.mark(uid);
        }
    }

    /// The Event that comes with every status that says so (`ShouldEvict`).
    pub(super) fn tell_deadline(&self, pod: &Pod, status: &PodStatus) {
        if status.reason.as_deref() == Some(REASON) {
            self.recorder.event(pod, EventType::Normal, REASON, MESSAGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_counts_from_the_start_on_the_node() {
        let second = |s: u64| Instant(s * 1_000_000_000);
        let table = [
            (None, Some(0), 1_000_000, false),
            (Some(5), None, 1_000_000, false),
            (Some(5), Some(10), 14, false),
            (Some(5), Some(10), 15, true),
            (Some(0), Some(10), 10, true),
            (Some(i64::MAX), Some(10), 1_000_000, false),
        ];
        for (seconds, start, now, over) in table {
            let mut pod = super::super::testing::pod(&["web"]);
            pod.spec.as_mut().unwrap().active_deadline_seconds = seconds;
            let start_time = start.map(|start| second(start).time());
            let status = PodStatus { start_time, ..PodStatus::default() };
            assert_eq!(is_over(&pod, &status, second(now)), over, "{seconds:?} from {start:?} at {now}");
        }
    }
}

//! `activeDeadlineSeconds`: how long a pod may be active on its node.
//!
//! The clock starts when the kubelet first reports the pod (`status.startTime`), so waiting for a node does not count and
//! pulling images does. When the time is over, the next status says Failed, even if containers still run; a pod whose status
//! says that is stopped like any other that has ended, and nothing starts it again.
//!
//! It is the pod's own field. A Job has one of the same name, and counts for itself.
//!
//! Mirrors `pkg/kubelet/active_deadline.go`.

use std::rc::Rc;

use crate::shared::Shared;
use crate::status::deadline::{MESSAGE, REASON, deadline};
use crate::timers::Timer;
use crate::worker::Stage;
use client::recorder::EventType;
use object::Pod;
use object::pod::status::PodStatus;
use object::time::Instant;

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
            self.wake(Timer::Deadline { uid }, self.next_tick(at) - self.hub.now());
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

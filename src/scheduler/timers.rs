//! When the scheduler wakes. The real one has goroutines that look every second and every half minute; here it is
//! woken only when it will find something to do, at the same instants.

use std::time::Duration;

use super::queue::SchedulingQueue;
use engine::{ActorId, Hub, Memory};
use object::time::Instant;

/// Wake: the next cycle.
pub(super) const CYCLE: &str = "scheduling cycle";
/// Wake: the backoff of some pods is over.
pub(super) const BACKOFF: &str = "backoff over";
/// Wake: some pods have waited for five minutes.
pub(super) const UNSCHEDULABLE: &str = "unschedulable too long";

/// The wakes that are under way.
pub(super) struct Timers {
    cycle: Memory<bool>,
    backoff: Memory<Option<Instant>>,
    unschedulable: Memory<Option<Instant>>,
}

impl Timers {
    /// No wake is under way.
    pub(super) fn new(hub: &Hub) -> Timers {
        Timers { cycle: hub.memory(false), backoff: hub.memory(None), unschedulable: hub.memory(None) }
    }

    /// Arms a wake for the next thing that the queue has to do.
    pub(super) fn arm(&self, hub: &Hub, actor: ActorId, queue: &SchedulingQueue) {
        let now = hub.now();
        if queue.has_next() {
            self.arm_cycle(hub, actor, Duration::ZERO);
        } else if let Some((due, hopeless)) = queue.next_backoff_flush()
            && self.backoff.get().is_none_or(|armed| due < armed)
        {
            self.backoff.set(Some(due));
            let wake = if hopeless { Hub::wake_background } else { Hub::wake };
            wake(hub, actor, BACKOFF, "", due - now);
        }
        if self.unschedulable.get().is_none()
            && let Some(due) = queue.next_unschedulable_flush()
        {
            self.unschedulable.set(Some(due));
            hub.wake_background(actor, UNSCHEDULABLE, "", due - now);
        }
    }

    pub(super) fn arm_cycle(&self, hub: &Hub, actor: ActorId, after: Duration) {
        if !self.cycle.get() {
            self.cycle.set(true);
            hub.wake(actor, CYCLE, "", after);
        }
    }

    /// A wake has gone off.
    pub(super) fn went_off(&self, what: &str) {
        match what {
            CYCLE => self.cycle.set(false),
            BACKOFF => self.backoff.set(None),
            _ => self.unschedulable.set(None),
        }
    }
}

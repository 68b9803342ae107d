//! The process kube-scheduler: its informers, its timers, and one scheduling cycle at a time.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use super::attempt::Scheduler;
use super::queue::SchedulingQueue;
use super::snapshot::Snapshot;
use crate::apiserver::request::User;
use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::client::informer::RELIST;
use crate::client::{Client, Informer, Recorder, Selection};
use crate::engine::{Actor, ActorId, Delivery, Hub};
use crate::object::Kind;
use crate::object::time::Instant;

/// Requests a second that each of the scheduler's two clients may send, and how many at once: one for Pods, one for
/// Events. The defaults of `clientConnection.qps` and `.burst`.
const QPS: u32 = 50;
const BURST: u32 = 100;

/// Wake: the next cycle.
pub(super) const CYCLE: &str = "scheduling cycle";
/// Wake: the backoff of some pods is over.
const BACKOFF: &str = "backoff over";
/// Wake: some pods have waited for five minutes.
const UNSCHEDULABLE: &str = "unschedulable too long";

/// How often the scheduler looks whether its caches are filled, before it starts to work.
const SYNC_POLL: Duration = Duration::from_millis(100);

/// What is watched. A pod that ends no longer matches, so the informer tells it as deleted.
const LIVE_PODS: &str = "status.phase!=Succeeded,status.phase!=Failed";
const OTHER_KINDS: &[Kind] = &[Kind::Node, Kind::Namespace, Kind::Service, Kind::ReplicaSet];

/// kube-scheduler.
pub struct KubeScheduler {
    hub: Hub,
    actor: ActorId,
    informers: Vec<Informer>,
    scheduler: Rc<Scheduler>,
    /// When the next backoff wake is due, and the next wake for the unschedulable.
    backoff_wake: Option<Instant>,
    unschedulable_wake: Option<Instant>,
}

impl KubeScheduler {
    /// A scheduler with the default profile. `limits` are the requests a second and the burst of its clients, the
    /// shipped ones unless given.
    pub fn new(hub: Hub, actor: ActorId, limits: Option<(u32, u32)>) -> KubeScheduler {
        let user = Rc::new(User::component("system:kube-scheduler", "kube-scheduler"));
        let (qps, burst) = limits.unwrap_or((QPS, BURST));
        let client = || Client::new(hub.clone(), actor, user.clone(), qps, burst);
        let recorder = Recorder::new(client(), "default-scheduler", "");
        let selections = std::iter::once(Selection::fields(Kind::Pod, LIVE_PODS))
            .chain(OTHER_KINDS.iter().map(|kind| Selection::all(*kind)));
        let informers: Vec<Informer> =
            selections.map(|selection| Informer::new(hub.clone(), actor, user.clone(), selection)).collect();
        let scheduler = Rc::new(Scheduler::new(client(), recorder, informers[0].lister()));
        KubeScheduler { hub, actor, informers, scheduler, backoff_wake: None, unschedulable_wake: None }
    }

    /// Its informers.
    pub fn informers(&self) -> &[Informer] {
        &self.informers
    }

    /// For whoever looks inside: the pods that wait, and the nodes as the next cycle will see them.
    pub fn inspect<T>(&self, look: impl FnOnce(&SchedulingQueue, &Snapshot) -> T) -> T {
        let state = self.scheduler.state.borrow();
        look(&state.queue, &state.cache.snapshot)
    }

    fn notify(&mut self, watch: WatchId, event: WatchEvent) {
        let Some(informer) = self.informers.iter_mut().find(|informer| informer.owns(watch)) else { return };
        for change in informer.on_event(event) {
            self.scheduler.on_change(&change);
        }
    }

    /// One cycle, if all caches are filled.
    fn cycle(&mut self) {
        self.scheduler.cycle_armed.set(false);
        if self.informers.iter().all(Informer::has_synced) {
            self.scheduler.schedule_one();
        } else {
            self.scheduler.cycle_armed.set(true);
            self.hub.wake(self.actor, CYCLE, "", SYNC_POLL);
        }
    }

    fn flush_backoff(&mut self) {
        self.backoff_wake = None;
        self.scheduler.state.borrow_mut().queue.flush_backoff(self.hub.now());
    }

    fn flush_unschedulable(&mut self) {
        self.unschedulable_wake = None;
        self.scheduler.state.borrow_mut().queue.flush_unschedulable(self.hub.now());
    }

    /// Sees to it that whatever is to be done next has its timer. The real scheduler has goroutines that look every
    /// second and every half minute; here they are woken only when they will find something, at the same instants.
    fn arm(&mut self) {
        self.scheduler.arm_cycle();
        let (now, state) = (self.hub.now(), self.scheduler.state.borrow());
        if !state.queue.has_next()
            && let Some((due, hopeless)) = state.queue.next_backoff_flush()
            && self.backoff_wake.is_none_or(|armed| due < armed)
        {
            self.backoff_wake = Some(due);
            let wake = if hopeless { Hub::wake_background } else { Hub::wake };
            wake(&self.hub, self.actor, BACKOFF, "", due - now);
        }
        if self.unschedulable_wake.is_none()
            && let Some(due) = state.queue.next_unschedulable_flush()
        {
            self.unschedulable_wake = Some(due);
            self.hub.wake_background(self.actor, UNSCHEDULABLE, "", due - now);
        }
    }
}

impl Actor for KubeScheduler {
    fn name(&self) -> &str {
        "kube-scheduler"
    }

    fn start(&mut self) {
        self.informers.iter_mut().for_each(Informer::start);
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what: CYCLE, .. } => self.cycle(),
            Delivery::Wake { what: BACKOFF, .. } => self.flush_backoff(),
            Delivery::Wake { what: UNSCHEDULABLE, .. } => self.flush_unschedulable(),
            Delivery::Wake { what: RELIST, key } => {
                if let Some(informer) = self.informers.iter_mut().find(|i| i.kind().info().plural == &*key) {
                    informer.start();
                }
            }
            Delivery::Wake { .. } | Delivery::Rpc { .. } => {}
        }
        self.arm();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

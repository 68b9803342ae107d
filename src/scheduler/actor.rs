//! The process kube-scheduler: its informers, its timers, and one scheduling cycle at a time.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use super::attempt::Scheduler;
use super::profile::Profile;
use super::table;
use super::timers::{BACKOFF, CYCLE, UNSCHEDULABLE};
use super::volume_writes::DEADLINE;
use client::informer::RELIST;
use client::{Client, Informer, Informers, Selection};
use engine::{Actor, ActorId, Delivery, Hub, Table};
use object::{Key, Kind};
use wire::{User, WatchEvent, WatchId};

/// Requests a second that each of the scheduler's two clients may send, and how many at once: one for Pods, one for
/// Events. The defaults of `clientConnection.qps` and `.burst`.
const QPS: u32 = 50;
const BURST: u32 = 100;

/// How often the scheduler looks whether its caches are filled, before it starts to work.
const SYNC_POLL: Duration = Duration::from_millis(100);

/// What is watched. A pod that ends no longer matches, so the informer tells it as deleted.
const LIVE_PODS: &str = "status.phase!=Succeeded,status.phase!=Failed";
const OTHER_KINDS: &[Kind] = &[
    Kind::Node,
    Kind::Namespace,
    Kind::Service,
    Kind::ReplicationController,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::StorageClass,
    Kind::CSINode,
    Kind::PodDisruptionBudget,
];

/// kube-scheduler.
pub struct KubeScheduler {
    hub: Hub,
    actor: ActorId,
    informers: Informers,
    scheduler: Rc<Scheduler>,
}

impl KubeScheduler {
    /// A scheduler of these profiles. `limits` are the requests a second and the burst of its clients, the shipped ones
    /// unless given.
    pub fn new(hub: Hub, actor: ActorId, limits: Option<(u32, u32)>, profiles: Vec<Profile>) -> KubeScheduler {
        let user = Rc::new(User::component("system:kube-scheduler", "kube-scheduler"));
        let (qps, burst) = limits.unwrap_or((QPS, BURST));
        let client = || Client::new(hub.clone(), actor, user.clone(), qps, burst);
        let selections = std::iter::once(Selection::fields(Kind::Pod, LIVE_PODS))
            .chain(OTHER_KINDS.iter().map(|kind| Selection::all(*kind)));
        let informers = Informers::new(&hub, actor, &user, selections);
        let scheduler = Rc::new(Scheduler::new(client(), &client(), informers.lister(), profiles));
        KubeScheduler { hub, actor, informers, scheduler }
    }

    /// Its informers.
    pub fn informers(&self) -> &[Informer] {
        &self.informers
    }

    /// The pods that wait, and for what.
    pub fn queue_table(&self) -> Table {
        table::of_queue(&self.scheduler.state.borrow().queue, self.hub.now(), &self.scheduler.profiles)
    }

    /// The nodes as the next cycle will see them.
    pub fn node_table(&self) -> Table {
        let state = &mut *self.scheduler.state.borrow_mut();
        state.cache.snapshot.refresh();
        table::of_nodes(&state.cache.snapshot)
    }

    fn notify(&self, watch: WatchId, event: WatchEvent) {
        for change in self.informers.on_event(watch, event) {
            self.scheduler.on_change(&change);
        }
    }

    /// One cycle, if all caches are filled.
    fn cycle(&self) {
        if self.informers.has_synced() {
            self.scheduler.start_cycle();
        } else {
            self.scheduler.timers.arm_cycle(&self.hub, self.actor, SYNC_POLL);
        }
    }

    fn wake(&self, what: &'static str, key: &str) {
        if what == RELIST {
            return self.informers.relist(key);
        }
        self.scheduler.timers.went_off(what);
        let now = self.hub.now();
        match what {
            CYCLE => self.cycle(),
            BACKOFF => self.scheduler.state.borrow_mut().queue.flush_backoff(now),
            DEADLINE => self.scheduler.look_again(&Key::parse(key)),
            UNSCHEDULABLE => self.scheduler.state.borrow_mut().queue.flush_unschedulable(now),
            _ => {}
        }
    }
}

impl Actor for KubeScheduler {
    fn name(&self) -> &str {
        "kube-scheduler"
    }

    fn start(&self) {
        self.informers.start();
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what, key } => self.wake(what, &key),
            Delivery::Rpc { .. } => {}
        }
        self.scheduler.arm();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

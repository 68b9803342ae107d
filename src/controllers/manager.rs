//! The process kube-controller-manager: informers shared by all controllers, and each controller's workers.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::apiserver::request::User;
use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::client::informer::{Indexer, RELIST};
use crate::client::queue::{READY, WORK};
use crate::client::{Client, Controller, ControllerContext, Error, Informer, Queue, Recorder, Registration, Selection};
use crate::engine::{Actor, ActorId, Delivery, Hub};
use crate::object::{Key, Kind};

/// Requests a second that one controller's client may send, and how many at once. The defaults of
/// kube-controller-manager's `--kube-api-qps` and `--kube-api-burst`.
const QPS: u32 = 20;
const BURST: u32 = 30;

/// How often a controller looks whether its caches are filled, before it starts to work.
const SYNC_POLL: Duration = Duration::from_millis(100);

/// What looking at one listed object costs a worker, and how many it looks at for nothing. The recorded controller
/// manager spends about this much on each Pod of a large ReplicaSet. While it does, changes pile up behind its key and
/// are worked off together: without that, n Pods would cost n reconciles of n Pods each.
const LOOK: Duration = Duration::from_micros(2);
const FREE_LOOKS: u64 = 100;

/// kube-controller-manager.
pub struct ControllerManager {
    hub: Hub,
    actor: ActorId,
    informers: Vec<Informer>,
    slots: Vec<Slot>,
}

/// One controller and its workers.
struct Slot {
    registration: &'static Registration,
    queue: Queue,
    controller: Rc<dyn Controller>,
    busy: Rc<Cell<usize>>,
    caches: Vec<Rc<RefCell<Indexer>>>,
}

impl ControllerManager {
    /// A controller manager that runs the controllers of `table`. `limits` are the requests a second and the burst of
    /// each controller's client, the shipped ones unless given.
    pub fn new(
        hub: Hub,
        actor: ActorId,
        table: &'static [Registration],
        limits: Option<(u32, u32)>,
    ) -> ControllerManager {
        let user = Rc::new(User::component("system:kube-controller-manager", "kube-controller-manager"));
        let mut kinds: Vec<Kind> = table.iter().flat_map(|row| row.watches).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        let watch = |kind| Informer::new(hub.clone(), actor, user.clone(), Selection::all(kind));
        let informers: Vec<Informer> = kinds.into_iter().map(watch).collect();
        let (qps, burst) = limits.unwrap_or((QPS, BURST));
        let slots = table.iter().map(|row| Slot::new(&hub, actor, row, &informers, qps, burst)).collect();
        ControllerManager { hub, actor, informers, slots }
    }

    /// Its informers.
    pub fn informers(&self) -> &[Informer] {
        &self.informers
    }

    /// Its controllers' queues.
    pub fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.slots.iter().map(|slot| &slot.queue)
    }

    fn notify(&mut self, watch: WatchId, event: WatchEvent) {
        let Some(informer) = self.informers.iter_mut().find(|informer| informer.owns(watch)) else { return };
        let kind = informer.kind();
        for change in informer.on_event(event) {
            for slot in self.slots.iter().filter(|slot| slot.registration.watches.contains(&kind)) {
                slot.controller.on_change(&change);
            }
        }
    }

    /// A worker that is free takes a key and reconciles it.
    fn work(&self, name: &str) {
        let Some(slot) = self.slots.iter().find(|slot| slot.registration.name == name) else { return };
        let filled = |kind: &Kind| self.informers.iter().any(|i| i.kind() == *kind && i.has_synced());
        if !slot.registration.watches.iter().all(filled) {
            self.hub.wake(self.actor, WORK, name, SYNC_POLL);
            return;
        }
        if slot.busy.get() >= slot.registration.workers {
            return;
        }
        if let Some(key) = slot.queue.take() {
            slot.start(&self.hub, self.actor, key);
        }
    }

    fn ready(&self, wake: &str) {
        let Some((name, key)) = wake.split_once(' ') else { return };
        if let Some(slot) = self.slots.iter().find(|slot| slot.registration.name == name) {
            slot.queue.ready(&Key::parse(key));
        }
    }
}

impl Slot {
    fn new(
        hub: &Hub,
        actor: ActorId,
        row: &'static Registration,
        informers: &[Informer],
        qps: u32,
        burst: u32,
    ) -> Slot {
        let user = Rc::new(User::service_account("kube-system", account_of(row.name), account_of(row.name)));
        let client = || Client::new(hub.clone(), actor, user.clone(), qps, burst);
        let queue = Queue::new(hub.clone(), actor, row.name);
        // Events go through a client, and so a rate limit, of their own.
        let recorder = Recorder::new(client(), event_source(row.name), "");
        let context = ControllerContext { client: client(), recorder, queue: queue.clone(), informers };
        let watched = informers.iter().filter(|informer| row.watches.contains(&informer.kind()));
        let caches = watched.map(|informer| informer.cache().clone()).collect();
        Slot { registration: row, queue, controller: (row.new)(&context), busy: Rc::default(), caches }
    }

    fn start(&self, hub: &Hub, actor: ActorId, key: Key) {
        let (queue, controller) = (self.queue.clone(), self.controller.clone());
        let (busy, max_retries) = (self.busy.clone(), self.registration.max_retries);
        let (caches, before, hub_of_worker) = (self.caches.clone(), looks(&self.caches), hub.clone());
        busy.set(busy.get() + 1);
        hub.spawn(actor, format!("{} {key}", self.registration.name), async move {
            let result = controller.reconcile(key.clone()).await;
            let looked = looks(&caches) - before;
            if looked > FREE_LOOKS {
                hub_of_worker.sleep(LOOK.saturating_mul(looked as u32)).await;
            }
            busy.set(busy.get() - 1);
            settle(&queue, &key, result, max_retries);
        });
    }
}

/// The service account a controller acts as: its own, but that three who work on Nodes share one.
fn account_of(name: &'static str) -> &'static str {
    match name {
        "node-lifecycle-controller" | "node-ipam-controller" | "taint-eviction-controller" => "node-controller",
        name => name,
    }
}

/// What a controller calls itself in its Events; history gave some a name of its own.
fn event_source(name: &'static str) -> &'static str {
    match name {
        "node-lifecycle-controller" => "node-controller",
        "node-ipam-controller" => "cidrAllocator",
        "endpointslice-controller" => "endpoint-slice-controller",
        "daemon-set-controller" => "daemonset-controller",
        "generic-garbage-collector" => "garbage-collector-controller",
        "disruption-controller" => "controllermanager",
        name => name,
    }
}

/// How many objects were listed from these caches so far.
fn looks(caches: &[Rc<RefCell<Indexer>>]) -> u64 {
    caches.iter().map(|cache| cache.borrow().reads()).sum()
}

/// What becomes of a key after its reconcile.
fn settle(queue: &Queue, key: &Key, result: Result<(), Error>, max_retries: Option<u32>) {
    match result {
        Ok(()) => queue.forget(key),
        Err(_) if max_retries.is_some_and(|max| queue.num_requeues(key) >= max) => queue.forget(key),
        Err(_) => queue.add_rate_limited(key.clone()),
    }
    queue.done(key);
}

impl Actor for ControllerManager {
    fn name(&self) -> &str {
        "kube-controller-manager"
    }

    fn start(&mut self) {
        for informer in &mut self.informers {
            informer.start();
        }
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what: WORK, key } => self.work(&key),
            Delivery::Wake { what: READY, key } => self.ready(&key),
            Delivery::Wake { what: RELIST, key } => {
                if let Some(informer) = self.informers.iter_mut().find(|i| i.kind().info().plural == &*key) {
                    informer.start();
                }
            }
            Delivery::Wake { .. } | Delivery::Rpc { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

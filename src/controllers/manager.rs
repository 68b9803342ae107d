//! The process kube-controller-manager: informers shared by all controllers, and each controller's workers.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use client::informer::RELIST;
use client::queue::{READY, Ready, WORK};
use client::{
    Change, Client, ControllerContext, Informer, Informers, Queue, Recorder, Registration, Selection, Workers,
};
use engine::{Actor, ActorId, Delivery, Hub, Memory};
use object::{Discovery, Kind, Object};
use wire::{User, WatchEvent, WatchId};

use super::apiextensions;

/// Requests a second that one controller's client may send, and how many at once. The defaults of
/// kube-controller-manager's `--kube-api-qps` and `--kube-api-burst`.
const QPS: u32 = 20;
const BURST: u32 = 30;

/// How often a controller looks whether its caches are filled, before it starts to work.
const SYNC_POLL: Duration = Duration::from_millis(100);

/// kube-controller-manager, or an operator: informers, and controllers that share them.
pub struct ControllerManager {
    name: &'static str,
    hub: Hub,
    actor: ActorId,
    informers: Informers,
    /// Informers of kinds that users have defined, for controllers that watch the definitions.
    defined: Memory<BTreeMap<Kind, Informer>>,
    user: Rc<User>,
    slots: Vec<Slot>,
    /// Which of them are told of a kind.
    told: BTreeMap<Kind, Vec<usize>>,
}

/// One controller and its workers.
struct Slot {
    registration: &'static Registration,
    workers: Workers,
}

impl ControllerManager {
    /// A controller manager that runs the controllers of `table`. `limits` are the requests a second and the burst of
    /// each controller's client, the shipped ones unless given; `slow` is how much longer than usual the requests of some
    /// controllers take.
    pub fn new(
        hub: Hub,
        actor: ActorId,
        table: &'static [Registration],
        limits: Option<(u32, u32)>,
        slow: &BTreeMap<String, Duration>,
    ) -> ControllerManager {
        let user = Rc::new(User::component("system:kube-controller-manager", "kube-controller-manager"));
        let (qps, burst) = limits.unwrap_or((QPS, BURST));
        let new_client = |row: &Registration| {
            let slower_by = slow.get(row.name).copied().unwrap_or_default();
            let (qps, burst) = (row.limits.0 * qps, row.limits.1 * burst);
            Client::new(hub.clone(), actor, Rc::new(user_of(row)), qps, burst).slower_by(slower_by)
        };
        ControllerManager::with("kube-controller-manager", &hub, actor, table, user, &new_client)
    }

    /// A process of its own with controllers that are no part of Kubernetes, and informers of its own: an operator.
    pub fn operator(hub: Hub, actor: ActorId, name: &'static str, table: &'static [Registration]) -> ControllerManager {
        let user = |agent: &'static str| Rc::new(User::operator(name, agent));
        let new_client = |row: &Registration| Client::new(hub.clone(), actor, user(row.name), QPS, BURST);
        ControllerManager::with(name, &hub, actor, table, user(name), &new_client)
    }

    /// The controllers that a real kube-apiserver has in its own process, which ask it as itself.
    pub fn of_api_server(hub: Hub, actor: ActorId) -> ControllerManager {
        let user = |agent: &str| Rc::new(User::part_of_server(agent));
        let new_client = |row: &Registration| Client::new(hub.clone(), actor, user(row.name), QPS, BURST);
        let process = apiextensions::PROCESS;
        ControllerManager::with(process, &hub, actor, apiextensions::TABLE, user(process), &new_client)
    }

    fn with(
        name: &'static str,
        hub: &Hub,
        actor: ActorId,
        table: &'static [Registration],
        user: Rc<User>,
        new_client: &dyn Fn(&Registration) -> Client,
    ) -> ControllerManager {
        let mut kinds: Vec<Kind> = table.iter().flat_map(|row| row.watches).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        let informers = Informers::of_kinds(hub, actor, &user, kinds);
        let slots = table.iter().map(|row| Slot::new(row, &informers, || new_client(row))).collect();
        let mut told = BTreeMap::<Kind, Vec<usize>>::new();
        for (n, row) in table.iter().enumerate() {
            let kinds: BTreeSet<Kind> = row.watches.iter().copied().collect();
            kinds.into_iter().for_each(|kind| told.entry(kind).or_default().push(n));
        }
        let defined = hub.memory(BTreeMap::new());
        ControllerManager { name, hub: hub.clone(), actor, informers, defined, user, slots, told }
    }

    /// Its informers, those of kinds that users have defined last.
    pub fn informers(&self) -> Vec<Informer> {
        self.informers.iter().chain(self.defined.borrow().values()).cloned().collect()
    }

    /// Its controllers' queues.
    pub fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.slots.iter().map(|slot| &slot.workers.queue)
    }

    /// What one of its controllers remembers, for a person; none if it has no such controller.
    pub fn look(&self, controller: &str) -> Option<Vec<String>> {
        let slot = self.slot(controller)?;
        Some(slot.workers.controller.look())
    }

    fn notify(&self, watch: WatchId, event: WatchEvent) {
        let informer = self.informers.of_watch(watch).cloned();
        let defined = || self.defined.borrow().values().find(|informer| informer.owns(watch)).cloned();
        let Some(informer) = informer.or_else(defined) else { return };
        for change in informer.on_event(event) {
            self.tell(informer.kind(), &change);
            if let Change::Added(object) | Change::Updated { new: object, .. } | Change::Deleted(object) = &change
                && informer.kind() == Kind::CustomResourceDefinition
            {
                self.follow(object, matches!(change, Change::Deleted(_)));
            }
        }
    }

    /// Tells a change to whom it concerns. Who watches definitions is told of the objects of all kinds that they define.
    fn tell(&self, kind: Kind, change: &Change) {
        let told = |kind: Kind| self.told.get(&kind).map_or(&[][..], Vec::as_slice);
        let tell = |n: &usize| self.slots[*n].workers.controller.on_change(change);
        if !matches!(kind, Kind::Custom(_)) {
            return told(kind).iter().for_each(tell);
        }
        let all: BTreeSet<usize> = [kind, Kind::CustomResourceDefinition].into_iter().flat_map(told).copied().collect();
        all.iter().for_each(tell);
    }

    /// A definition has come, changed or gone: so does the informer of its kind.
    fn follow(&self, definition: &Object, gone: bool) {
        let mut discovery = Discovery::default();
        discovery.note(definition, gone);
        let wanted: Option<Kind> = discovery.custom().next();
        let mut vanished = Vec::new();
        let mut defined = self.defined.borrow_mut();
        let same = |kind: &Kind| kind.info().qualified_plural() == definition.name();
        defined.retain(|kind, informer| {
            let keep = !same(kind) || Some(*kind) == wanted;
            if !keep {
                vanished.extend(informer.stop());
            }
            keep
        });
        if let Some(kind) = wanted
            && !defined.contains_key(&kind)
        {
            let informer = Informer::new(self.hub.clone(), self.actor, self.user.clone(), Selection::all(kind));
            informer.start();
            defined.insert(kind, informer);
        }
        drop(defined);
        // A definition goes when its last object is gone, but its news may be ahead of theirs. In another version they
        // are all still there.
        for change in vanished.iter().filter(|_| gone) {
            self.tell(change.kind(), change);
        }
    }

    fn slot(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.registration.name == name)
    }

    /// A controller has something to do: it is done as soon as its caches are filled.
    fn work(&self, name: &str) {
        let Some(slot) = self.slot(name) else { return };
        let filled = |kind: &Kind| self.informers.of(*kind).is_some_and(Informer::has_synced);
        if slot.registration.watches.iter().all(filled) {
            slot.workers.work();
        } else {
            self.hub.wake(self.actor, WORK, name, SYNC_POLL);
        }
    }

    fn ready(&self, wake: &str) {
        let Some(ready) = Ready::read(wake) else { return };
        if let Some(slot) = self.slot(ready.queue) {
            slot.workers.ready(ready);
        }
    }
}

impl Slot {
    fn new(row: &'static Registration, informers: &Informers, new_client: impl Fn() -> Client) -> Slot {
        // Events go through a client, and so a rate limit, of their own.
        let (client, of_events) = (new_client(), new_client());
        let queue = Queue::new(client.hub().clone(), client.actor(), row.name);
        let recorder = Recorder::new(of_events, row.event_source, "");
        let busy = client.hub().memory(0);
        let context = ControllerContext { client, recorder, queue: queue.clone(), informers };
        let watched = informers.iter().filter(|informer| row.watches.contains(&informer.kind()));
        let reads = watched.map(|informer| informer.reads().clone()).collect();
        let controller = (row.new)(&context);
        let workers = Workers { queue, controller, count: row.workers, max_retries: row.max_retries, reads, busy };
        Slot { registration: row, workers }
    }
}

/// Whom a controller acts as.
fn user_of(row: &Registration) -> User {
    match row.account {
        Some(account) => User::service_account("kube-system", account, account),
        None => User::component("system:kube-controller-manager", row.name),
    }
}

impl Actor for ControllerManager {
    fn name(&self) -> &str {
        self.name
    }

    fn start(&self) {
        self.informers.start();
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what: WORK, key } => self.work(&key),
            Delivery::Wake { what: READY, key } => self.ready(&key),
            Delivery::Wake { what: RELIST, key } => {
                self.informers.relist(&key);
                self.defined.borrow().values().for_each(|informer| informer.relist(&key));
            }
            Delivery::Wake { .. } | Delivery::Rpc { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

//! The engine: virtual clock, pending events, and the one loop that delivers them.
//!
//! In a real cluster a few dozen processes run at once and nobody can say what happens next. Here every message
//! in flight and every armed timer is a [`Pending`] event, ordered by the virtual time at which it is due and
//! then by the order of sending. [`Engine::deliver`] takes one, moves the clock to it, runs exactly one actor until
//! it waits again, and turns what the actor sent into new pending events. Nothing else ever happens.
//!
//! Components are written as straight async code. A task is one reconcile, one pod sync or one command; each of its
//! `.await`s on the API, the runtime or time is a place at which other actors may run. The executor polls a
//! task exactly when the answer it waits for is delivered.
//!
//! - [`event`]: what a pending event can be, as one closed enum.
//! - [`actor`]: what runs here, and what it is handed.
//! - [`call`]: what a task waits for.
//! - [`control`]: what somebody outside decides: hold, delay, drop.
//! - [`failing`]: calls that are to fail.
//! - [`fault`]: what breaks, as a step.
//! - [`hub`]: the handle by which components send, sleep, arm timers and spawn.
//! - [`latency`]: how long each hop takes.
//! - [`memory`]: what components remember.
//! - [`serve`]: a request that has arrived. [`servers`]: several API servers.
//! - [`task`]: the executor.
//! - [`saved`]: how a world is saved and brought back.
//! - [`trace`]: what a step leaves behind.
//! - [`webhook`]: requests that wait for admission webhooks.
//!
//! Must hold: the same actors, seed and choices give the same steps, byte for byte; the work per event does not
//! grow with the number of objects; only the engine owns time and chance; events of one watch stay in order.
//!
//! Left out: real sockets, real threads, and the preemption of a running goroutine between two calls. Go may switch
//! goroutines anywhere; here a component runs undisturbed between two waits.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::apiserver::ApiServer;
use crate::object::time::Instant;
use crate::wire::WatchId;

pub mod actor;
pub mod call;
pub mod control;
pub mod event;
pub mod failing;
pub mod fault;
pub mod hub;
pub mod latency;
pub mod memory;
pub mod place;
pub mod saved;
mod serve;
mod servers;
pub mod task;
pub mod trace;
pub mod webhook;

pub use actor::{Actor, Delivery};
pub use call::{RpcResult, unless};
pub use event::{APISERVER, ActorId, CallId, EventId, Message, Pending, ReplyTo, RpcError, StepId, TimerId, What};
pub use hub::{Hub, LocalBoxFuture};
pub use latency::Latency;
pub use memory::Memory;
pub use place::Place;
pub use saved::Saved;
pub use serve::LEASE_EXPIRES;
pub use task::{Task, Wait};
pub use trace::{Note, Queued, Step, Table};

use call::Outcome;
use hub::{Outgoing, Spawned};

/// A timer at least this far ahead does not keep the cluster from being quiet: progress deadlines, long back-offs.
const DISTANT: Duration = Duration::from_secs(60);

/// The engine and everything that runs on it.
pub struct Engine {
    /// The API server, and behind it the store.
    pub api: ApiServer,
    hub: Hub,
    latency: Latency,
    actors: Vec<Option<Rc<dyn Actor>>>,
    names: Vec<Rc<str>>,
    pending: BTreeMap<(Instant, EventId), Pending>,
    /// Where among them the timers are that can be called off.
    timers: BTreeMap<TimerId, (Instant, EventId)>,
    watches: BTreeMap<WatchId, Stream>,
    tasks: BTreeMap<u64, Task>,
    calls: BTreeMap<CallId, u64>,
    next_task: u64,
    next_event: u64,
    steps: u64,
    now: Instant,
    foreground: usize,
    crashes: Vec<(ActorId, Rc<str>, String)>,
    scratch: Vec<Outgoing>,
    controls: control::Controls,
    servers: servers::Servers,
    webhooks: webhook::Webhooks,
}

/// A watch's connection: whose it is, and when its last event is due, so that events stay in order.
#[derive(Clone)]
struct Stream {
    actor: ActorId,
    /// Who tells.
    server: ActorId,
    /// Its client knows already what happened up to this revision.
    after: u64,
    last_due: Instant,
}

impl Engine {
    /// An engine with its API server and nothing else. `seed` 0 gives every hop its plain length.
    pub fn new(api: ApiServer, seed: u64) -> Engine {
        Engine::with_servers(api, seed, 1)
    }

    /// The same with so many API servers.
    pub fn with_servers(mut api: ApiServer, seed: u64, count: u16) -> Engine {
        let servers = servers::Servers::new(count);
        api.several = servers.several();
        Engine {
            api,
            hub: Hub::new(seed ^ 0x6b75_6265),
            latency: Latency::new(seed),
            actors: vec![None; servers.places()],
            names: servers.names(),
            pending: BTreeMap::new(),
            timers: BTreeMap::new(),
            watches: BTreeMap::new(),
            tasks: BTreeMap::new(),
            calls: BTreeMap::new(),
            next_task: 1,
            next_event: 1,
            steps: 0,
            now: Instant::default(),
            foreground: 0,
            crashes: Vec::new(),
            scratch: Vec::new(),
            controls: control::Controls::default(),
            servers,
            webhooks: webhook::Webhooks::default(),
        }
    }

    /// The handle that components hold.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The virtual time of the last step.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// How many steps have run.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether steps keep notes. A run that nobody looks at is faster without.
    pub fn keep_notes(&mut self, on: bool) {
        self.hub.set_recording(on);
        self.api.keep_stages(on);
    }

    /// The cluster is up: what is pending counts as there from the start, and steps count from 1.
    pub fn begin(&mut self) {
        self.steps = 0;
        for event in self.pending.values_mut() {
            event.cause = StepId(0);
        }
    }

    /// The next free place among the actors; a component needs it before it is made.
    pub fn next_actor(&self) -> ActorId {
        ActorId(self.actors.len() as u32)
    }

    /// Adds a process and starts it.
    pub fn add(&mut self, actor: Rc<dyn Actor>) -> ActorId {
        let id = self.next_actor();
        self.names.push(actor.name().into());
        self.actors.push(Some(actor.clone()));
        self.outside(id, |_| actor.start());
        id
    }

    /// Stops a process: its watches break, its tasks end where they stand, its timers never go off.
    pub fn remove(&mut self, id: ActorId) -> Option<Rc<dyn Actor>> {
        let actor = self.actors.get_mut(id.0 as usize)?.take()?;
        self.servers.left(id);
        self.tasks.retain(|_, task| task.actor != id);
        self.calls.retain(|_, task| self.tasks.contains_key(task));
        let gone: Vec<WatchId> = self.watches.iter().filter(|(_, s)| s.actor == id).map(|(w, _)| *w).collect();
        for watch in gone {
            self.watches.remove(&watch);
            self.api.close_watch(watch);
        }
        let lost: Vec<_> = self.pending.iter().filter(|(_, p)| p.to == id).map(|(k, _)| *k).collect();
        for key in lost {
            self.take_pending(key);
        }
        self.forget_held(|event| event.to == id);
        Some(actor)
    }

    /// An actor's name.
    pub fn name(&self, id: ActorId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The actor with this name that still runs; the newest, if it was restarted.
    pub fn find(&self, name: &str) -> Option<ActorId> {
        (0..self.actors.len())
            .rev()
            .find(|&i| &*self.names[i] == name && (i < self.servers.places() || self.actors[i].is_some()))
            .map(|i| ActorId(i as u32))
    }

    /// The process behind an id.
    pub fn actor(&self, id: ActorId) -> Option<&dyn Actor> {
        self.actors.get(id.0 as usize)?.as_deref()
    }

    /// All processes that run, without the API servers.
    pub fn actors(&self) -> impl Iterator<Item = (ActorId, &dyn Actor)> {
        self.actors.iter().enumerate().filter_map(|(i, a)| Some((ActorId(i as u32), a.as_deref()?)))
    }

    /// Events in flight, in the order in which they would be delivered.
    pub fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.pending.values()
    }

    /// The number that the next event gets.
    pub fn next_event(&self) -> EventId {
        EventId(self.next_event)
    }

    /// The event in flight with this number.
    pub fn in_flight(&self, id: EventId) -> Option<&Pending> {
        self.pending.values().find(|event| event.id == id)
    }

    /// The next event, if nobody chooses otherwise.
    pub fn peek(&self) -> Option<&Pending> {
        self.pending.values().next()
    }

    /// How many pending events are neither background traffic nor timers far ahead.
    pub fn foreground(&self) -> usize {
        self.foreground
    }

    /// Runs `change` as the outside world: what it sends through the hub becomes pending, in the name of `actor`.
    pub fn outside<T>(&mut self, actor: ActorId, change: impl FnOnce(&mut Engine) -> T) -> T {
        self.hub.enter(self.now, StepId(self.steps), actor, false);
        let result = change(self);
        self.settle();
        result
    }

    /// Changes a process from outside, as a fault or a scenario does.
    pub fn with_actor<T>(&mut self, id: ActorId, change: impl FnOnce(&dyn Actor) -> T) -> Option<T> {
        let actor = self.actors.get(id.0 as usize)?.clone()?;
        Some(self.outside(id, |_| change(&*actor)))
    }

    /// Delivers the event that is due first. None: nothing will ever happen again.
    pub fn step(&mut self) -> Option<Step> {
        let key = *self.pending.keys().next()?;
        Some(self.deliver(key))
    }

    fn deliver(&mut self, key: (Instant, EventId)) -> Step {
        let mut event = self.take_pending(key);
        self.now = self.now.max(event.due);
        self.steps += 1;
        let (id, first) = (StepId(self.steps), self.next_event);
        self.hub.enter(self.now, id, event.to, event.background);
        self.dispatch(&mut event);
        self.settle();
        Step { id, time: self.now, event, notes: self.hub.take_notes(), sent: self.sent_since(first) }
    }

    /// What was sent from this number on; nothing unless notes are kept.
    fn sent_since(&self, first: u64) -> Vec<EventId> {
        (first..self.next_event).map(EventId).filter(|_| self.hub.recording()).collect()
    }

    /// The one place that says what each kind of event does.
    fn dispatch(&mut self, event: &mut Pending) {
        match &event.what {
            What::Request { reply, request } => self.handle_request(event, *reply, request),
            What::Response { call, answer, .. } => {
                self.changed_something(*call, event.background);
                self.resume(*call, Outcome::Answer(answer.clone()));
            }
            What::Resume { call } if self.is_server(event.to) => self.heard(*call, None),
            What::Reply { call, result, .. } if self.is_server(event.to) => self.heard(*call, Some(result)),
            What::Resume { call } => self.resume(*call, Outcome::Elapsed),
            What::Reply { call, result, .. } => self.resume(*call, Outcome::Reply(result.clone())),
            What::Notification { event: said, .. } if self.is_server(event.to) => self.hear(event.to, said),
            What::Notification { watch, event: said } => {
                self.hand_over(event.to, Delivery::Notification { watch: *watch, event: said.clone() });
            }
            What::Wake { what, key, .. } if *what == LEASE_EXPIRES => self.lease_expires(key),
            What::Wake { what, key, .. } => self.hand_over(event.to, Delivery::Wake { what, key: key.clone() }),
            What::Rpc { call, message } => {
                let delivery = Delivery::Rpc { call: *call, from: event.from, message: message.clone() };
                self.hand_over(event.to, delivery);
            }
            What::Packet { call, message } => {
                let delivery = Delivery::Rpc { call: *call, from: event.from, message: message.clone() };
                self.hand_over(event.to, delivery);
            }
            // Whoever built the cluster does these, see `fault`.
            What::Fault { .. } => {}
        }
    }

    fn hand_over(&mut self, to: ActorId, delivery: Delivery) {
        if let Some(Some(actor)) = self.actors.get(to.0 as usize) {
            actor.deliver(delivery);
        }
    }

    /// Starts what was spawned and turns what was sent into pending events.
    fn settle(&mut self) {
        loop {
            let spawned = self.hub.take_spawned();
            if spawned.is_empty() {
                break;
            }
            for Spawned { actor, label, background, future } in spawned {
                let id = self.next_task;
                self.next_task += 1;
                self.poll(id, Task { actor, label, waits: Vec::new(), background, future });
            }
        }
        for watch in self.hub.take_closed() {
            self.close_watch(watch);
        }
        let mut outgoing = std::mem::take(&mut self.scratch);
        self.hub.take_outbox(&mut outgoing);
        for out in outgoing.drain(..) {
            self.enqueue(out);
        }
        self.scratch = outgoing;
        for timer in self.hub.take_disarmed() {
            self.call_off(timer);
        }
    }

    fn call_off(&mut self, timer: TimerId) {
        if let Some(key) = self.timers.get(&timer) {
            self.take_pending(*key);
        } else {
            self.forget_held(|event| event.timer() == Some(timer));
        }
    }

    /// The client has gone: the API server forgets the watch, and what was under way is lost with the connection.
    fn close_watch(&mut self, watch: WatchId) {
        if self.watches.remove(&watch).is_none() {
            return;
        }
        self.api.close_watch(watch);
        let of_watch = |event: &Pending| matches!(event.what, What::Notification { watch: of, .. } if of == watch);
        let lost: Vec<_> = self.pending.iter().filter(|(_, event)| of_watch(event)).map(|(key, _)| *key).collect();
        for key in lost {
            self.take_pending(key);
        }
        self.forget_held(of_watch);
    }

    fn enqueue(&mut self, out: Outgoing) {
        let id = EventId(self.next_event);
        self.next_event += 1;
        // What goes on inside an API server or etcd is on no way.
        let inside = out.from == out.to && (self.is_server(out.to) || self.is_etcd(out.to));
        let hop = match out.from {
            _ if inside => Duration::ZERO,
            from if self.is_etcd(from) => self.latency.of_etcd(),
            _ => self.latency.of(&out.what),
        };
        let mut due = self.now + out.delay + hop;
        let (mut background, mut idle) = (out.background, out.idle);
        match &out.what {
            What::Notification { watch, .. } => {
                if let Some(stream) = self.watches.get_mut(watch) {
                    due = due.max(stream.last_due + self.latency.between_notifications);
                    stream.last_due = due;
                }
            }
            // Whatever changes the cluster is to be seen, also if a heartbeat, a probe or a look round sends it.
            What::Request { request, .. } if request.changes() => (background, idle) = (false, false),
            What::Fault { .. } => (background, idle) = (false, false),
            What::Request { request, .. } => background |= request.is_background(),
            _ => {}
        }
        let asks = matches!(out.what, What::Request { .. }) && !inside;
        let to = if asks { self.server_of(out.from) } else { out.to };
        let cause = StepId(self.steps);
        idle |= out.delay >= DISTANT && matches!(out.what, What::Wake { .. });
        self.put_or_hold(Pending { id, due, cause, from: out.from, to, background, idle, what: out.what });
    }

    fn put(&mut self, event: Pending) {
        self.foreground += usize::from(!event.idle);
        if let Some(timer) = event.timer() {
            self.timers.insert(timer, (event.due, event.id));
        }
        self.pending.insert((event.due, event.id), event);
    }

    fn take_pending(&mut self, key: (Instant, EventId)) -> Pending {
        let event = self.pending.remove(&key).expect("the key was just read from the pending events");
        self.foreground -= usize::from(!event.idle);
        if let Some(timer) = event.timer() {
            self.timers.remove(&timer);
        }
        event
    }
}

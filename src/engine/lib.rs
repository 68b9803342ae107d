//! The engine: virtual clock, pending events, and the one loop that delivers them.
//!
//! In a real cluster a few dozen processes run at once, and what happens next cannot be predicted. Here every message
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
//! - [`control`]: what the user decides from outside: hold, delay, drop.
//! - [`fault`]: what breaks, as a step.
//! - [`hub`]: the handle by which components send, sleep, arm timers and spawn.
//! - [`latency`]: how long each hop takes.
//! - [`memory`]: what components remember.
//! - [`server`]: what answers requests and tells watches, known by a trait alone.
//! - [`task`]: the executor.
//! - [`saved`]: how a world is saved and brought back.
//! - [`trace`]: what a step leaves behind.
//!
//! A world is made of three things:
//!
//! 1. A [`Server`], which answers requests and tells watches; an [`Engine`] is made with it ([`Engine::new`]). The API server's
//!    is `Host` in the crate `apiserver`, whose first page has a whole test with it.
//! 2. [`Actor`]s ([`Engine::add`]). Each holds the [`Hub`] of the engine ([`Engine::hub`]) and a number
//!    ([`Engine::next_actor`]). In [`Actor::start`] it opens watches ([`Hub::watch`]) and spawns tasks ([`Hub::spawn`]);
//!    [`Actor::deliver`] hands it what has arrived. What it remembers between steps sits in a [`Memory`] ([`Hub::memory`]).
//! 3. A caller that steps it: [`Engine::step`] delivers what is due first, [`Engine::choose`] another pending event; both return a
//!    [`Step`], the record of what happened and why. None: nothing is pending. [`Engine::save`] and [`Engine::restore`] go back
//!    in time.
//!
//! Must hold:
//! - The same actors, seed and choices give the same steps, byte for byte. Kept by `runs_repeat_and_properties_hold`,
//!   `processes_agree` and `builds_agree`.
//! - The work per event does not grow with the number of objects. Kept by the benchmark `cluster`.
//! - Only the engine owns time and chance. Kept by `the_core_has_no_threads_and_asks_no_environment`.
//! - Events of one watch stay in order. Kept by `events_come_out_of_turn_late_or_never`.
//!
//! Left out: real sockets, real threads, and the preemption of a running goroutine between two calls. Go may switch
//! goroutines anywhere; here a component runs undisturbed between two waits.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use object::time::Instant;
use wire::WatchId;

pub mod actor;
pub mod call;
pub mod control;
pub mod event;
pub mod fault;
pub mod hub;
pub mod latency;
pub mod memory;
pub mod place;
pub mod saved;
pub mod server;
pub mod task;
pub mod trace;

pub use actor::{Actor, Delivery};
pub use call::{RpcResult, unless};
pub use event::{APISERVER, ActorId, CallId, EventId, Message, Pending, ReplyTo, RpcError, StepId, TimerId, What};
pub use hub::{Hub, LocalBoxFuture, Outgoing};
pub use latency::Latency;
pub use memory::Memory;
pub use place::Place;
pub use saved::Saved;
pub use server::{Server, Stream};
pub use task::{Task, Wait};
pub use trace::{Assumed, Note, Queued, Step, Table};

use call::Outcome;
use hub::Spawned;
use saved::World;

/// A timer at least this far ahead does not keep the cluster from being quiet: progress deadlines, long back-offs.
const DISTANT: Duration = Duration::from_secs(60);

/// The engine and everything that runs on it: what answers requests, the world of pending events, and the tasks in flight.
pub struct Engine<S: Server> {
    /// What answers requests.
    pub server: S,
    world: World,
    hub: Hub,
    tasks: BTreeMap<u64, Task>,
    calls: BTreeMap<CallId, u64>,
    crashes: Vec<(ActorId, Rc<str>, String)>,
    scratch: Vec<Outgoing>,
}

impl<S: Server> Engine<S> {
    /// An engine with what answers requests and nothing else. `seed` 0 gives every hop its plain length.
    pub fn new(server: S, seed: u64) -> Engine<S> {
        Engine {
            world: World::new(server.names(), seed),
            server,
            hub: Hub::new(seed ^ 0x6b75_6265),
            tasks: BTreeMap::new(),
            calls: BTreeMap::new(),
            crashes: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The handle that components hold.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The virtual time of the last step.
    pub fn now(&self) -> Instant {
        self.world.now
    }

    /// How many steps have run.
    pub fn steps(&self) -> u64 {
        self.world.steps
    }

    /// Whether steps keep notes. A run without them is faster.
    pub fn keep_notes(&mut self, on: bool) {
        self.hub.set_recording(on);
        self.server.keep_notes(on);
    }

    /// The cluster is up: what is pending counts as there from the start, and steps count from 1.
    pub fn begin(&mut self) {
        self.world.steps = 0;
        for event in self.world.pending.values_mut() {
            event.cause = StepId(0);
        }
    }

    /// The next free place among the actors; a component needs it before it is made.
    pub fn next_actor(&self) -> ActorId {
        ActorId(self.world.actors.len() as u32)
    }

    /// Adds a process and starts it.
    pub fn add(&mut self, actor: Rc<dyn Actor>) -> ActorId {
        let id = self.next_actor();
        self.world.names.push(actor.name().into());
        self.world.actors.push(Some(actor.clone()));
        self.outside(id, |_| actor.start());
        id
    }

    /// Stops a process: its watches break, its tasks end where they stand, its timers never go off.
    pub fn remove(&mut self, id: ActorId) -> Option<Rc<dyn Actor>> {
        let actor = self.world.actors.get_mut(id.0 as usize)?.take()?;
        self.server.client_left(id);
        self.tasks.retain(|_, task| task.actor != id);
        self.calls.retain(|_, task| self.tasks.contains_key(task));
        let gone: Vec<WatchId> = self.world.watches.iter().filter(|(_, s)| s.client == id).map(|(w, _)| *w).collect();
        for watch in gone {
            self.world.watches.remove(&watch);
            self.server.close_watch(watch);
        }
        let lost: Vec<_> = self.world.pending.iter().filter(|(_, p)| p.to == id).map(|(k, _)| *k).collect();
        for key in lost {
            self.take_pending(key);
        }
        self.forget_held(|event| event.to == id);
        Some(actor)
    }

    /// An actor's name.
    pub fn name(&self, id: ActorId) -> &str {
        &self.world.names[id.0 as usize]
    }

    /// The actor with this name that still runs; the newest, if it was restarted.
    pub fn find(&self, name: &str) -> Option<ActorId> {
        (0..self.world.actors.len())
            .rev()
            .find(|&i| &*self.world.names[i] == name && (i < self.world.servers || self.world.actors[i].is_some()))
            .map(|i| ActorId(i as u32))
    }

    /// The process behind an id.
    pub fn actor(&self, id: ActorId) -> Option<&dyn Actor> {
        self.world.actors.get(id.0 as usize)?.as_deref()
    }

    /// The processes that answer requests, and what belongs to them.
    pub fn servers(&self) -> impl Iterator<Item = (ActorId, &str)> {
        (0..self.world.servers).map(|place| (ActorId(place as u32), &*self.world.names[place]))
    }

    /// Whether this is one of them.
    fn is_of_server(&self, id: ActorId) -> bool {
        (id.0 as usize) < self.world.servers
    }

    /// All processes that run, without those.
    pub fn actors(&self) -> impl Iterator<Item = (ActorId, &dyn Actor)> {
        self.world.actors.iter().enumerate().filter_map(|(i, a)| Some((ActorId(i as u32), a.as_deref()?)))
    }

    /// Events in flight, in the order in which they would be delivered.
    pub fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.world.pending.values()
    }

    /// The number that the next event gets.
    pub fn next_event(&self) -> EventId {
        EventId(self.world.next_event)
    }

    /// The event in flight with this number.
    pub fn in_flight(&self, id: EventId) -> Option<&Pending> {
        self.world.pending.values().find(|event| event.id == id)
    }

    /// The next event, if the user does not choose otherwise.
    pub fn peek(&self) -> Option<&Pending> {
        self.world.pending.values().next()
    }

    /// How many pending events are neither background traffic nor timers far ahead.
    pub fn foreground(&self) -> usize {
        self.world.foreground
    }

    /// Runs `change` as the outside world: what it sends through the hub becomes pending, in the name of `actor`.
    pub fn outside<T>(&mut self, actor: ActorId, change: impl FnOnce(&mut Engine<S>) -> T) -> T {
        self.hub.enter(self.world.now, StepId(self.world.steps), actor, false);
        let result = change(self);
        self.settle(actor);
        result
    }

    /// Changes a process from outside, as a fault or a scenario does.
    pub fn with_actor<T>(&mut self, id: ActorId, change: impl FnOnce(&dyn Actor) -> T) -> Option<T> {
        let actor = self.world.actors.get(id.0 as usize)?.clone()?;
        Some(self.outside(id, |_| change(&*actor)))
    }

    /// Delivers the event that is due first. None: nothing will ever happen again.
    pub fn step(&mut self) -> Option<Step> {
        let key = *self.world.pending.keys().next()?;
        Some(self.deliver(key))
    }

    fn deliver(&mut self, key: (Instant, EventId)) -> Step {
        let event = self.take_pending(key);
        self.world.now = self.world.now.max(event.due);
        self.world.steps += 1;
        let (id, first) = (StepId(self.world.steps), self.world.next_event);
        self.hub.enter(self.world.now, id, event.to, event.background);
        self.dispatch(&event);
        self.settle(event.to);
        Step { id, time: self.world.now, event, notes: self.hub.take_notes(), sent: self.sent_since(first) }
    }

    /// What was sent from this number on; nothing unless notes are kept.
    fn sent_since(&self, first: u64) -> Vec<EventId> {
        (first..self.world.next_event).map(EventId).filter(|_| self.hub.recording()).collect()
    }

    /// The one place that says what each kind of event does.
    fn dispatch(&mut self, event: &Pending) {
        match &event.what {
            What::Request { .. } => S::deliver(self, event),
            What::Resume { .. } | What::Reply { .. } | What::Notification { .. } | What::Wake { .. }
                if self.is_of_server(event.to) =>
            {
                S::deliver(self, event);
            }
            What::Response { call, answer, .. } => {
                self.changed_something(*call, event.background);
                self.resume(*call, Outcome::Answer(answer.clone()));
            }
            What::Resume { call } => self.resume(*call, Outcome::Elapsed),
            What::Reply { call, result, .. } => self.resume(*call, Outcome::Reply(result.clone())),
            What::Notification { watch, event: said } => {
                self.hand_over(event.to, Delivery::Notification { watch: *watch, event: said.clone() });
            }
            What::Wake { what, key, .. } => self.hand_over(event.to, Delivery::Wake { what, key: key.clone() }),
            What::Rpc { call, message } | What::Packet { call, message } => {
                let delivery = Delivery::Rpc { call: *call, from: event.from, message: message.clone() };
                self.hand_over(event.to, delivery);
            }
            // The crate that builds the cluster carries these out, see `fault`.
            What::Fault { .. } => {}
        }
    }

    fn hand_over(&mut self, to: ActorId, delivery: Delivery) {
        if let Some(Some(actor)) = self.world.actors.get(to.0 as usize) {
            actor.deliver(delivery);
        }
    }

    /// Ends an actor's turn: starts what was spawned and turns what was sent into pending events.
    fn settle(&mut self, actor: ActorId) {
        self.start_spawned();
        if let Some(Some(actor)) = self.world.actors.get(actor.0 as usize) {
            actor.clone().turn_ended();
            self.start_spawned();
        }
        for watch in self.hub.take_closed() {
            self.close_watch(watch);
        }
        for watch in self.hub.take_asked_after() {
            S::tell_progress(self, watch);
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

    fn start_spawned(&mut self) {
        loop {
            let spawned = self.hub.take_spawned();
            if spawned.is_empty() {
                return;
            }
            for Spawned { actor, label, background, future } in spawned {
                let id = self.world.next_task;
                self.world.next_task += 1;
                self.poll(id, Task { actor, label, waits: Vec::new(), background, future });
            }
        }
    }

    fn call_off(&mut self, timer: TimerId) {
        if let Some(key) = self.world.timers.get(&timer) {
            self.take_pending(*key);
        } else {
            self.forget_held(|event| event.timer() == Some(timer));
        }
    }

    /// The client has gone: the server forgets the watch, and what was under way is lost with the connection.
    pub fn close_watch(&mut self, watch: WatchId) {
        if self.world.watches.remove(&watch).is_none() {
            return;
        }
        self.server.close_watch(watch);
        let of_watch = |event: &Pending| matches!(event.what, What::Notification { watch: of, .. } if of == watch);
        let lost: Vec<_> =
            self.world.pending.iter().filter(|(_, event)| of_watch(event)).map(|(key, _)| *key).collect();
        for key in lost {
            self.take_pending(key);
        }
        self.forget_held(of_watch);
    }

    fn enqueue(&mut self, out: Outgoing) {
        let id = EventId(self.world.next_event);
        self.world.next_event += 1;
        let behind = self.is_of_server(out.from) && self.is_of_server(out.to);
        // What goes on inside one of the servers is on no way.
        let inside = behind && out.from == out.to;
        let hop = match behind {
            _ if inside => Duration::ZERO,
            true => self.world.latency.of_etcd(),
            false => self.world.latency.of(&out.what),
        };
        let mut due = self.world.now + out.delay + hop;
        let (mut background, mut idle) = (out.background, out.idle);
        match &out.what {
            What::Notification { watch, .. } => {
                if let Some(stream) = self.world.watches.get_mut(watch) {
                    due = due.max(stream.last_due + self.world.latency.between_notifications);
                    stream.last_due = due;
                }
            }
            // A request that changes the cluster is to be seen, even if a heartbeat, a probe or a periodic check sends it.
            What::Request { request, .. } if request.changes() => (background, idle) = (false, false),
            What::Fault { .. } => (background, idle) = (false, false),
            What::Request { request, .. } => background |= request.is_background(),
            _ => {}
        }
        let asks = matches!(out.what, What::Request { .. }) && !inside;
        let to = if asks { self.server.connect(out.from, &self.world.names[out.from.0 as usize]) } else { out.to };
        let cause = StepId(self.world.steps);
        idle |= out.delay >= DISTANT && matches!(out.what, What::Wake { .. });
        self.put_or_hold(Pending { id, due, cause, from: out.from, to, background, idle, what: out.what });
    }

    fn put(&mut self, event: Pending) {
        self.world.foreground += usize::from(!event.idle);
        if let Some(timer) = event.timer() {
            self.world.timers.insert(timer, (event.due, event.id));
        }
        self.world.pending.insert((event.due, event.id), event);
    }

    fn take_pending(&mut self, key: (Instant, EventId)) -> Pending {
        let event = self.world.pending.remove(&key).expect("the key was just read from the pending events");
        self.world.foreground -= usize::from(!event.idle);
        if let Some(timer) = event.timer() {
            self.world.timers.remove(&timer);
        }
        event
    }
}

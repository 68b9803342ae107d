//! The handle through which every component reaches the engine: it sends, sleeps, arms timers and spawns here.
//!
//! Nothing sent through the hub happens at once. It is collected while an actor runs, and becomes pending events
//! when the actor waits again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use super::call::{Outcome, RpcResult};
use super::event::{ActorId, CallId, Message, ReplyTo, StepId, TimerId, What};
use super::memory::{Memories, Memory, Remembers};
use super::place::Place;
use super::trace::Note;
use object::random::Random;
use object::time::Instant;
use wire::{Answer, Request, WatchId};

/// A future of one component. It need not be sent anywhere: the engine has one thread.
pub type LocalBoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// A handle to the engine. Cloning copies a pointer.
#[derive(Clone)]
pub struct Hub(Rc<Inner>);

struct Inner {
    now: Cell<Instant>,
    step: Cell<StepId>,
    actor: Cell<ActorId>,
    task: Cell<u64>,
    background: Cell<bool>,
    recording: Cell<bool>,
    next_call: Cell<u64>,
    next_watch: Cell<u64>,
    random: RefCell<Random>,
    outbox: RefCell<Vec<Outgoing>>,
    spawned: RefCell<Vec<Spawned>>,
    waiting: RefCell<Vec<Waiting>>,
    results: RefCell<BTreeMap<CallId, Outcome>>,
    notes: RefCell<Vec<Note>>,
    closed: RefCell<Vec<WatchId>>,
    asked_after: RefCell<Vec<WatchId>>,
    disarmed: RefCell<Vec<TimerId>>,
    memories: RefCell<Vec<Weak<dyn Remembers>>>,
}

/// The hub's own state at a moment at which no task is in flight.
#[derive(Clone)]
struct Counters {
    next_call: u64,
    next_watch: u64,
    random: Random,
}

/// What a hub and all memories made with it held at one moment.
pub(super) struct SavedHub {
    counters: Counters,
    memories: Memories,
}

/// What the engine turns into a pending event.
pub struct Outgoing {
    /// Who sends it.
    pub from: ActorId,
    /// To whom.
    pub to: ActorId,
    /// Added to the hop's own latency.
    pub delay: Duration,
    /// Shown as background traffic.
    pub background: bool,
    /// The cluster counts as quiet while this is pending.
    pub idle: bool,
    /// What it is.
    pub what: What,
}

/// A task to start.
pub(super) struct Spawned {
    pub actor: ActorId,
    pub label: Rc<str>,
    pub background: bool,
    pub future: LocalBoxFuture<()>,
}

/// A call that the running task has just begun to wait for.
pub(super) struct Waiting {
    pub call: CallId,
    pub at: Place,
    pub about: Rc<str>,
}

impl Hub {
    /// A hub at time zero. `seed` feeds names and uids that components make.
    pub fn new(seed: u64) -> Hub {
        Hub(Rc::new(Inner {
            now: Cell::default(),
            step: Cell::default(),
            actor: Cell::default(),
            task: Cell::new(0),
            background: Cell::new(false),
            recording: Cell::new(true),
            next_call: Cell::new(1),
            next_watch: Cell::new(1),
            random: RefCell::new(Random::new(seed)),
            outbox: RefCell::default(),
            spawned: RefCell::default(),
            waiting: RefCell::default(),
            results: RefCell::default(),
            notes: RefCell::default(),
            closed: RefCell::default(),
            asked_after: RefCell::default(),
            disarmed: RefCell::default(),
            memories: RefCell::default(),
        }))
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.0.now.get()
    }

    /// The step that is running.
    pub fn step(&self) -> StepId {
        self.0.step.get()
    }

    /// Draws from the one seeded generator.
    pub fn random<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.0.random.borrow_mut())
    }

    /// A new piece of a component's state.
    pub fn memory<T: Clone + 'static>(&self, value: T) -> Memory<T> {
        Memory::new(value, &mut self.0.memories.borrow_mut())
    }

    /// Leaves a note in the trace; `note` is not even made when notes are not kept.
    pub fn note(&self, note: impl FnOnce() -> Note) {
        if self.0.recording.get() {
            self.0.notes.borrow_mut().push(note());
        }
    }

    /// Whether notes are kept.
    pub fn recording(&self) -> bool {
        self.0.recording.get()
    }

    /// Starts a task of `actor`; it runs, within this step, until its first wait.
    pub fn spawn(&self, actor: ActorId, label: impl Into<Rc<str>>, future: impl Future<Output = ()> + 'static) {
        self.push_spawn(actor, label.into(), self.0.background.get(), Box::pin(future));
    }

    /// The same for traffic that never stops, such as lease renewals.
    pub fn spawn_background(
        &self,
        actor: ActorId,
        label: impl Into<Rc<str>>,
        future: impl Future<Output = ()> + 'static,
    ) {
        self.push_spawn(actor, label.into(), true, Box::pin(future));
    }

    fn push_spawn(&self, actor: ActorId, label: Rc<str>, background: bool, future: LocalBoxFuture<()>) {
        self.0.spawned.borrow_mut().push(Spawned { actor, label, background, future });
    }

    /// Arms a timer: `actor` gets `Wake { what, key }` after `after`.
    pub fn wake(&self, actor: ActorId, what: &'static str, key: impl Into<Rc<str>>, after: Duration) {
        self.send(actor, actor, after, false, What::Wake { what, key: key.into(), timer: None });
    }

    /// The same for a timer that always runs, such as a heartbeat.
    pub fn wake_background(&self, actor: ActorId, what: &'static str, key: impl Into<Rc<str>>, after: Duration) {
        self.send(actor, actor, after, true, What::Wake { what, key: key.into(), timer: None });
    }

    /// Arms a timer as [`Hub::wake`] does, or in the background, that can be called off by what this returns.
    pub fn arm(
        &self,
        actor: ActorId,
        what: &'static str,
        key: impl Into<Rc<str>>,
        after: Duration,
        background: bool,
    ) -> TimerId {
        let timer = TimerId(self.next_call().0);
        self.send(actor, actor, after, background, What::Wake { what, key: key.into(), timer: Some(timer) });
        timer
    }

    /// Calls a timer off: it never goes off, if it has not done so yet.
    pub fn disarm(&self, timer: TimerId) {
        self.0.disarmed.borrow_mut().push(timer);
    }

    /// What this step sends from now on is no background traffic, even if that is how the step came about.
    pub fn come_forward(&self) {
        self.0.background.set(false);
    }

    /// Opens a watch; its events come to `actor` as notifications. A refusal comes as an error event.
    pub fn watch(&self, actor: ActorId, request: Request) -> WatchId {
        let watch = self.new_watch();
        let reply = ReplyTo::Watch(watch);
        self.send(actor, super::APISERVER, Duration::ZERO, false, What::Request { reply, request: Box::new(request) });
        watch
    }

    /// The number of a watch that is yet to be opened.
    pub fn new_watch(&self) -> WatchId {
        let watch = WatchId(self.0.next_watch.get());
        self.0.next_watch.set(watch.0 + 1);
        watch
    }

    /// Closes a watch; nothing more comes from it.
    pub fn close_watch(&self, watch: WatchId) {
        self.0.closed.borrow_mut().push(watch);
    }

    /// Asks how far an open watch has come: a bookmark on it will tell.
    pub fn ask_progress(&self, watch: WatchId) {
        self.0.asked_after.borrow_mut().push(watch);
    }

    /// Tells another part of the node something; no reply is awaited.
    pub fn tell(&self, from: ActorId, to: ActorId, message: Rc<dyn Message>) {
        let call = self.next_call();
        self.send(from, to, Duration::ZERO, false, What::Rpc { call, message });
    }

    /// The same in the background: it stands for something that happens all the time and is not reported.
    pub fn tell_background(&self, from: ActorId, to: ActorId, message: Rc<dyn Message>) {
        let call = self.next_call();
        self.send(from, to, Duration::ZERO, true, What::Rpc { call, message });
    }

    /// Sends a packet to its next hop, `delay` later than the hop itself takes.
    pub fn packet(&self, from: ActorId, to: ActorId, delay: Duration, message: Rc<dyn Message>) {
        let call = self.next_call();
        self.send(from, to, delay, false, What::Packet { call, message });
    }

    /// Asks for something that only the outside does: `from` ends and is to be started anew, a line of a scenario breaks
    /// something. A step of its own does it.
    pub fn fault(&self, from: ActorId, message: Rc<dyn Message>) {
        self.send(from, from, Duration::ZERO, false, What::Fault { message });
    }

    /// Answers a call that was delivered as `Delivery::Rpc`.
    pub fn reply(&self, from: ActorId, to: ActorId, call: CallId, method: &'static str, result: RpcResult) {
        self.send(from, to, Duration::ZERO, false, What::Reply { call, method, result });
    }

    /// Ends the wait of a parked task of `actor`.
    pub fn unpark(&self, actor: ActorId, call: CallId) {
        self.send(actor, actor, Duration::ZERO, false, What::Resume { call });
    }

    pub(super) fn send(&self, from: ActorId, to: ActorId, delay: Duration, background: bool, what: What) {
        let background = background || self.0.background.get();
        self.0.outbox.borrow_mut().push(Outgoing { from, to, delay, background, idle: background, what });
    }

    /// The number of a call that is yet to be made.
    pub fn next_call(&self) -> CallId {
        let call = CallId(self.0.next_call.get());
        self.0.next_call.set(call.0 + 1);
        call
    }

    /// Sets the clock of a hub that no engine drives.
    pub fn set_now(&self, now: Instant) {
        self.0.now.set(now);
    }

    /// Drives one future to its end without an engine: each request is answered by `answer` at once, and a sleep
    /// takes no time. A future that waits for anything else, or is answered nothing, is given up. For looking at a cluster
    /// without touching it.
    pub fn run_aside<T>(
        &self,
        future: impl Future<Output = T>,
        mut answer: impl FnMut(&Request) -> Option<Answer>,
    ) -> Option<T> {
        let mut future = std::pin::pin!(future);
        let mut context = Context::from_waker(std::task::Waker::noop());
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return Some(value);
            }
            let mut answered = false;
            for out in std::mem::take(&mut *self.0.outbox.borrow_mut()) {
                match out.what {
                    What::Request { reply: ReplyTo::Call(call), request } => {
                        self.put_result(call, Outcome::Answer(Box::new(answer(&request)?)));
                        answered = true;
                    }
                    What::Resume { call } => {
                        self.put_result(call, Outcome::Elapsed);
                        answered = true;
                    }
                    _ => {}
                }
            }
            if !answered {
                return None;
            }
        }
    }

    // What follows is the engine's side.

    pub(super) fn save(&self) -> SavedHub {
        let counters = Counters {
            next_call: self.0.next_call.get(),
            next_watch: self.0.next_watch.get(),
            random: self.0.random.borrow().clone(),
        };
        SavedHub { counters, memories: Memories::save(&mut self.0.memories.borrow_mut()) }
    }

    pub(super) fn restore(&self, saved: &SavedHub) {
        let Counters { next_call, next_watch, random } = saved.counters.clone();
        self.0.next_call.set(next_call);
        self.0.next_watch.set(next_watch);
        self.0.random.replace(random);
        self.0.memories.replace(saved.memories.restore());
        // What tasks sent when they were given up.
        self.0.outbox.take();
        self.0.spawned.take();
        self.0.waiting.take();
        self.0.results.take();
        self.0.notes.take();
        self.0.closed.take();
        self.0.asked_after.take();
        self.0.disarmed.take();
    }

    pub(super) fn enter(&self, now: Instant, step: StepId, actor: ActorId, background: bool) {
        self.0.now.set(now);
        self.0.step.set(step);
        self.0.actor.set(actor);
        self.0.background.set(background);
    }

    pub(super) fn set_actor(&self, actor: ActorId, background: bool) {
        self.0.actor.set(actor);
        self.0.background.set(background);
    }

    /// The number of the task that runs, by which [`Engine::end_task`](super::Engine::end_task) knows it.
    pub fn task(&self) -> u64 {
        self.0.task.get()
    }

    pub(super) fn set_task(&self, id: u64) {
        self.0.task.set(id);
    }

    pub(super) fn set_recording(&self, on: bool) {
        self.0.recording.set(on);
    }

    pub(super) fn put_result(&self, call: CallId, outcome: Outcome) {
        self.0.results.borrow_mut().insert(call, outcome);
    }

    pub(super) fn take_result(&self, call: CallId) -> Option<Outcome> {
        self.0.results.borrow_mut().remove(&call)
    }

    pub(super) fn forget_result(&self, call: CallId) {
        self.0.results.borrow_mut().remove(&call);
    }

    pub(super) fn take_outbox(&self, into: &mut Vec<Outgoing>) {
        into.append(&mut self.0.outbox.borrow_mut());
    }

    pub(super) fn take_spawned(&self) -> Vec<Spawned> {
        std::mem::take(&mut self.0.spawned.borrow_mut())
    }

    pub(super) fn take_waiting(&self) -> Vec<Waiting> {
        std::mem::take(&mut self.0.waiting.borrow_mut())
    }

    /// The running actor.
    pub(super) fn actor(&self) -> ActorId {
        self.0.actor.get()
    }

    pub(super) fn wait(&self, waiting: Waiting) {
        self.0.waiting.borrow_mut().push(waiting);
    }

    pub(super) fn take_closed(&self) -> Vec<WatchId> {
        std::mem::take(&mut self.0.closed.borrow_mut())
    }

    pub(super) fn take_asked_after(&self) -> Vec<WatchId> {
        std::mem::take(&mut self.0.asked_after.borrow_mut())
    }

    pub(super) fn take_disarmed(&self) -> Vec<TimerId> {
        std::mem::take(&mut self.0.disarmed.borrow_mut())
    }

    pub(super) fn take_notes(&self) -> Vec<Note> {
        std::mem::take(&mut self.0.notes.borrow_mut())
    }
}

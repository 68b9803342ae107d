//! What answers requests and tells watches: the engine knows it by a trait alone, and delivers to it what is on its way.
//!
//! A server is one process or several, with what they have in common behind them: see [`Server::names`]. It sends by
//! [`Engine::send`], and tells a watch over the [`Stream`] that it has opened for it.

use std::rc::Rc;
use std::time::Duration;

use super::Engine;
use super::event::{ActorId, CallId, EventId, Pending, StepId, What};
use super::hub::Outgoing;
use object::time::Instant;
use wire::{Answer, Error, Transport, WatchEvent, WatchId};

/// What answers requests and tells watches.
pub trait Server: Clone {
    /// The names of its processes, which have the first places among the actors. Clients' requests go to one of them; what
    /// they send one another stays behind them.
    fn names(&self) -> Vec<Rc<str>>;

    /// The process to which this client's requests go.
    fn connect(&mut self, client: ActorId, name: &Rc<str>) -> ActorId;

    /// Something has arrived at one of its processes: a request, or the answer to a question of its own.
    fn deliver(engine: &mut Engine<Self>, event: &Pending);

    /// A watch's client asks how far it has come: a bookmark tells. Mirrors etcd's `WatchProgressRequest`.
    fn tell_progress(engine: &mut Engine<Self>, watch: WatchId);

    /// A client has closed a watch, or has gone.
    fn close_watch(&mut self, watch: WatchId);

    /// A client's process has ended.
    fn client_left(&mut self, client: ActorId);

    /// Whether steps keep notes.
    fn keep_notes(&mut self, on: bool);
}

/// A watch's connection: whose it is, and when its last event is due, so that events stay in order.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Who is told.
    pub client: ActorId,
    /// Who tells.
    pub server: ActorId,
    /// Its client knows already what happened up to this revision.
    pub after: u64,
    pub(super) last_due: Instant,
}

impl Stream {
    /// A connection over which nothing has been told yet.
    pub fn new(client: ActorId, server: ActorId, after: u64) -> Stream {
        Stream { client, server, after, last_due: Instant::default() }
    }
}

/// What a server does with the engine.
impl<S: Server> Engine<S> {
    /// Sends something when this step is over.
    pub fn send(&mut self, out: Outgoing) {
        self.scratch.push(out);
    }

    /// Opens the connection of a watch.
    pub fn open_stream(&mut self, watch: WatchId, stream: Stream) {
        self.world.watches.insert(watch, stream);
    }

    /// The connection of a watch, as long as it is open.
    pub fn stream(&self, watch: WatchId) -> Option<&Stream> {
        self.world.watches.get(&watch)
    }

    /// All open connections.
    pub fn streams(&self) -> impl Iterator<Item = (WatchId, &Stream)> {
        self.world.watches.iter().map(|(watch, stream)| (*watch, stream))
    }

    /// Ends a watch: what was under way is lost, and its client is told why.
    pub fn break_watch(&mut self, watch: WatchId, why: impl Into<Error>) {
        let Some(Stream { client, server, .. }) = self.stream(watch).cloned() else { return };
        self.close_watch(watch);
        self.send_now(server, client, What::Notification { watch, event: WatchEvent::Error(why.into()) });
    }

    /// The same with a watch that was about to be opened by `request`.
    pub fn refuse_watch(&mut self, watch: WatchId, request: &Pending, why: Transport) {
        let event = WatchEvent::Error(why.into());
        self.send_now(request.to, request.from, What::Notification { watch, event });
    }

    /// Tells a client that the connection broke before its call was answered.
    pub fn answer_lost(&mut self, server: ActorId, client: ActorId, call: CallId, about: &str) {
        let result = Err(Transport::Lost.into());
        let answer = Box::new(Answer { code: 0, result, warnings: Vec::new(), wrote: false });
        self.send_now(server, client, What::Response { call, about: about.into(), answer });
    }

    fn send_now(&mut self, from: ActorId, to: ActorId, what: What) {
        self.enqueue(Outgoing { from, to, delay: Duration::ZERO, background: false, idle: false, what });
    }

    /// Lets an event that has arrived arrive once more, not before `until`. Says as which.
    pub fn put_off(&mut self, event: &Pending, until: Instant) -> EventId {
        let id = EventId(self.world.next_event);
        self.world.next_event += 1;
        self.put_or_hold(Pending { id, due: until, cause: StepId(self.world.steps), ..event.clone() });
        id
    }

    /// Lets an event that is in flight and due later arrive now.
    pub fn hurry(&mut self, due: Instant, id: EventId) {
        if due > self.world.now && self.world.pending.contains_key(&(due, id)) {
            let event = self.take_pending((due, id));
            self.put(Pending { due: self.world.now, ..event });
        }
    }

    /// Takes away an event that is due then, unless it has arrived or was put off to another time.
    pub fn call_back(&mut self, due: Instant, is: impl Fn(&Pending) -> bool) {
        let then = self.world.pending.range((due, EventId(0))..=(due, EventId(u64::MAX)));
        if let Some(key) = { then }.find(|(_, event)| is(event)).map(|(key, _)| *key) {
            self.take_pending(key);
        }
    }

    /// Takes away what is lost, be it held back or in flight.
    pub fn take_lost(&mut self, is_lost: impl Fn(&Pending) -> bool) -> Vec<Pending> {
        let keys: Vec<_> = self.world.pending.iter().filter(|(_, event)| is_lost(event)).map(|(key, _)| *key).collect();
        let mut lost = self.take_held(is_lost);
        lost.extend(keys.into_iter().map(|key| self.take_pending(key)));
        lost
    }
}

//! What somebody outside decides about events: hold them back, deliver one early or late, lose one, let a call fail.
//!
//! Everything here could happen in a real cluster: a slow process, a slow or broken connection, a server under load. What
//! could not is refused with the reason. Rules are asked once for each event that is sent; they cost the same in any
//! cluster.
//!
//! Left out: a connection that is held does not time out. Requests in it wait until it is released, where a real client
//! gives up after half a minute or so and tries again.

use std::collections::BTreeSet;
use std::time::Duration;

use super::event::{ActorId, EventId, Pending, ReplyTo, What};
use super::failing::{Failure, lost};
use super::hub::Outgoing;
use super::{Engine, Step, Stream};
use crate::object::glob::matches;
use crate::object::status::Reason;
use crate::object::time::Instant;
use crate::object::{Kind, Status};
use crate::wire::{Answer, Request, WatchEvent, WatchId};

/// Which events are held back. Names of components are globs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// All that a component would get: it hangs.
    Component(String),
    /// All messages between two, in both directions.
    Link(String, String),
    /// What a component's watch of a kind would say.
    Watch(String, Kind),
}

/// The next list of a component's informer shows the past: the API server's watch cache lags behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Whose informer: a glob.
    pub component: String,
    /// Of which kind.
    pub kind: Kind,
    /// As of this revision.
    pub revision: u64,
}

/// All that was decided and still holds.
#[derive(Clone, Debug, Default)]
pub struct Controls {
    /// What is held back.
    pub holds: Vec<Hold>,
    /// What is to fail.
    pub failures: Vec<Failure>,
    /// Whose next list shows the past.
    pub stale: Vec<Stale>,
    /// The API servers that do not answer at all.
    pub servers_down: BTreeSet<ActorId>,
    held: Vec<Pending>,
}

impl Engine {
    /// What was decided and still holds.
    pub fn controls(&self) -> &Controls {
        &self.controls
    }

    /// Events that are held back, oldest first.
    pub fn held(&self) -> impl Iterator<Item = &Pending> {
        self.controls.held.iter()
    }

    /// Holds back what fits from now on, and what fits and is in flight. Says how many events that is at once.
    pub fn hold(&mut self, hold: Hold) -> usize {
        if !self.controls.holds.contains(&hold) {
            self.controls.holds.push(hold);
        }
        let keys: Vec<_> = self.pending.iter().filter(|(_, event)| self.is_held(event)).map(|(key, _)| *key).collect();
        for key in &keys {
            let event = self.take_pending(*key);
            self.controls.held.push(event);
        }
        self.controls.held.sort_by_key(|event| event.id);
        keys.len()
    }

    /// Holds this back no more. Says how many events are on their way now; None if it was not held.
    pub fn release(&mut self, hold: &Hold) -> Option<usize> {
        let at = self.controls.holds.iter().position(|there| there == hold)?;
        self.controls.holds.remove(at);
        let (still, free): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.controls.held).into_iter().partition(|event| self.is_held(event));
        self.controls.held = still;
        let count = free.len();
        for mut event in free {
            event.due = event.due.max(self.now);
            self.put(event);
        }
        Some(count)
    }

    fn is_held(&self, event: &Pending) -> bool {
        // The word for the API server stands for all of several.
        let is =
            |glob: &str, id: ActorId| matches(glob, self.name(id)) || glob == "kube-apiserver" && self.is_server(id);
        let (from, to) = (event.from, event.to);
        self.controls.holds.iter().any(|hold| match hold {
            Hold::Component(component) => is(component, to),
            Hold::Link(a, b) => from != to && (is(a, from) && is(b, to) || is(b, from) && is(a, to)),
            Hold::Watch(component, kind) => match &event.what {
                What::Notification { event: said, .. } => {
                    let of = match said {
                        WatchEvent::Bookmark { kind, .. } => Some(*kind),
                        other => other.kind(),
                    };
                    of == Some(*kind) && is(component, to)
                }
                _ => false,
            },
        })
    }

    /// Puts an event in flight, or aside if it is to be held.
    pub(super) fn put_or_hold(&mut self, event: Pending) {
        if !self.controls.holds.is_empty() && self.is_held(&event) {
            self.controls.held.push(event);
        } else {
            self.put(event);
        }
    }

    /// Delivers an event in flight now, before those that are due earlier.
    pub fn choose(&mut self, id: EventId) -> Result<Step, String> {
        if self.held().any(|event| event.id == id) {
            return Err(format!("{id} is held back; release it first"));
        }
        let event = self.in_flight(id).ok_or_else(|| self.not_pending(id))?;
        if let What::Notification { watch, .. } = &event.what
            && let Some(earlier) = self.of_watch(*watch).into_iter().find(|other| *other < id)
        {
            return Err(format!(
                "{earlier} comes first: events of one watch stay in order; choose that one, or delay {id}"
            ));
        }
        let key = (event.due, id);
        Ok(self.deliver(key))
    }

    fn not_pending(&self, id: EventId) -> String {
        format!("{id} is not pending; pending lists what is")
    }

    /// The numbers of a watch's events in flight, held ones too.
    fn of_watch(&self, watch: WatchId) -> Vec<EventId> {
        let of = |event: &&Pending| matches!(event.what, What::Notification { watch: w, .. } if w == watch);
        let mut ids: Vec<EventId> = self.pending.values().chain(self.held()).filter(of).map(|event| event.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Lets an event arrive later. What follows it in the same watch stays behind it.
    pub fn delay(&mut self, id: EventId, by: Duration) -> Result<(), String> {
        let event = self.in_flight(id).ok_or_else(|| self.not_pending(id))?;
        let due = event.due.max(self.now) + by;
        let later = match &event.what {
            What::Notification { watch, .. } => {
                let watch = *watch;
                if let Some(stream) = self.watches.get_mut(&watch) {
                    stream.last_due = stream.last_due.max(due);
                }
                self.of_watch(watch).into_iter().filter(|other| *other >= id).collect()
            }
            _ => vec![id],
        };
        for id in later {
            let Some(at) = self.in_flight(id).map(|event| event.due) else { continue };
            let mut event = self.take_pending((at, id));
            event.due = at.max(due);
            self.put(event);
        }
        Ok(())
    }

    /// Loses a message in flight. Its sender, or whoever waits for it, is told that the connection is lost.
    pub fn drop_event(&mut self, id: EventId) -> Result<String, String> {
        let event = self.in_flight(id).ok_or_else(|| self.not_pending(id))?;
        let refused = match &event.what {
            What::Notification { .. } if self.is_server(event.to) => {
                Some("etcd's watches lose nothing in between; hold it, or crash the API server")
            }
            What::Request { .. } if self.is_server(event.from) => {
                Some("it has arrived, and goes on inside the API server")
            }
            What::Request { .. } | What::Response { .. } | What::Notification { .. } | What::Packet { .. } => None,
            What::Fault { .. } => Some("what breaks is no message"),
            // To a webhook, and back.
            What::Rpc { .. } | What::Reply { .. } if self.is_server(event.from) || self.is_server(event.to) => None,
            What::Wake { .. } | What::Resume { .. } => Some("a timer is inside its process and cannot get lost"),
            What::Rpc { .. } | What::Reply { .. } => {
                Some("a call on one machine goes through a socket file and cannot get lost; stop the process instead")
            }
        };
        if let Some(reason) = refused {
            return Err(format!("{id} cannot be dropped: {reason}"));
        }
        let event = self.take_pending((event.due, id));
        Ok(match event.what {
            What::Request { reply: ReplyTo::Watch(watch), .. } => {
                self.refuse_watch(watch, &event, &lost());
                "the watch was never opened; its client tries again".to_owned()
            }
            What::Request { reply: ReplyTo::Call(call), request } => {
                let about = request.line();
                self.answer_lost(event.to, event.from, call, &about);
                format!("{about} never arrives; {} sees a lost connection", request.user.agent)
            }
            What::Response { call, about, answer } => {
                self.answer_lost(event.from, event.to, call, &about);
                let done =
                    if answer.wrote { "was carried out, but its client" } else { "was answered, but its client" };
                format!("{about} {done} sees a lost connection")
            }
            What::Packet { .. } => "the packet is lost; nobody is told".to_owned(),
            What::Rpc { .. } | What::Reply { .. } => {
                "the call is lost; the API server waits for its answer until the webhook's time is over".to_owned()
            }
            _ => "the watch goes on without this event, as with a faulty watch cache; its informer cannot know"
                .to_owned(),
        })
    }

    fn answer_lost(&mut self, server: ActorId, to: ActorId, call: super::CallId, about: &str) {
        let answer = Box::new(Answer { code: 0, result: Err(lost()), warnings: Vec::new(), wrote: false });
        self.send_now(server, to, What::Response { call, about: about.into(), answer });
    }

    fn send_now(&mut self, from: ActorId, to: ActorId, what: What) {
        self.enqueue(Outgoing { from, to, delay: Duration::ZERO, background: false, idle: false, what });
    }

    /// The kinds that a process watches.
    pub fn watched_by(&self, actor: ActorId) -> Vec<Kind> {
        let own = |watch: &WatchId| self.watches.get(watch).is_some_and(|stream| stream.actor == actor);
        self.api.watchers.iter().filter(|(watch, _)| own(watch)).map(|(_, watcher)| watcher.kind).collect()
    }

    /// Breaks a component's watches of a kind; its informer tries again and lists anew. Says how many there were.
    pub fn disconnect(&mut self, component: &str, kind: Kind) -> usize {
        let open = self.api.watchers.iter().filter(|(_, watcher)| watcher.kind == kind).map(|(watch, _)| watch);
        let whose = |watch: WatchId| Some((watch, self.watches.get(&watch)?.actor));
        let of: Vec<(WatchId, ActorId)> =
            open.filter_map(whose).filter(|(_, actor)| matches(component, self.name(*actor))).collect();
        for (watch, _) in &of {
            self.break_watch(*watch, &lost());
        }
        of.len()
    }

    /// The next list of this informer will show the past. Refused where a list is always of the newest state.
    pub fn make_stale(&mut self, stale: Stale) -> Result<(), String> {
        if self.api.watch_list {
            return Err("informers ask for the newest state (WatchList), so no old cache can answer them".to_owned());
        }
        if stale.revision < self.api.store.compacted() || stale.revision > self.api.store.revision() {
            return Err(format!("etcd does not have revision {} (any more)", stale.revision));
        }
        self.controls.stale.push(stale);
        Ok(())
    }

    /// The revision that a watch which begins now is shown, if it is an old one.
    pub(super) fn stale_revision(&mut self, request: &Request, from: ActorId) -> Option<u64> {
        if self.controls.stale.is_empty() || request.options.send_initial_events != Some(true) {
            return None;
        }
        let process = self.names[from.0 as usize].clone();
        let fits = |stale: &Stale| stale.kind == request.kind && matches(&stale.component, &process);
        let at = self.controls.stale.iter().position(fits)?;
        Some(self.controls.stale.remove(at).revision)
    }

    /// Lets time pass in which nothing happens: up to `until`, or to the next event. Returns how much has passed.
    pub fn pass(&mut self, until: Instant) -> Duration {
        let next = self.peek().map_or(until, |event| event.due);
        let before = self.now;
        self.now = before.max(until.min(next));
        self.now - before
    }

    /// Compacts etcd. Watches that lag behind what is now forgotten are told 410 and list anew. Says how many.
    pub fn compact(&mut self) -> usize {
        self.api.store.compact(self.api.store.revision());
        let lagging =
            |event: &&Pending| matches!(&event.what, What::Notification { event, .. } if event.object().is_some());
        let mut watches: Vec<WatchId> = Vec::new();
        for event in self.pending.values().chain(self.held()).filter(lagging) {
            if let What::Notification { watch, .. } = event.what
                && !watches.contains(&watch)
            {
                watches.push(watch);
            }
        }
        let expired = Status::new(Reason::Expired, "The resourceVersion for the provided watch is too old.");
        for watch in &watches {
            let Some(actor) = self.watches.get(watch).map(|stream| stream.actor) else { continue };
            match self.followed_by(actor, *watch) {
                Some(kind) => self.list_anew(actor, kind),
                None => self.break_watch(*watch, &expired),
            }
        }
        watches.len()
    }

    /// An API server stops: what it was asked and what it was about to say is lost, and every watch breaks. The store
    /// is etcd's and stays.
    pub fn stop_server(&mut self, server: ActorId) {
        self.controls.servers_down.insert(server);
        self.forget_server(server);
        for watch in self.watches_at(server) {
            self.break_watch(watch, &lost());
        }
        // Timers of one that speaks for etcd are etcd's.
        let with_server = |event: &Pending| match event.what {
            What::Wake { .. } => false,
            What::Response { .. } => event.to == server || event.from == server,
            _ => event.to == server,
        };
        let keys: Vec<_> = self.pending.iter().filter(|(_, event)| with_server(event)).map(|(key, _)| *key).collect();
        let (gone, held) = std::mem::take(&mut self.controls.held).into_iter().partition(with_server);
        self.controls.held = held;
        let mut gone: Vec<Pending> = gone;
        gone.extend(keys.into_iter().map(|key| self.take_pending(key)));
        for (client, call, about) in self.give_up_parked(server) {
            self.answer_lost(server, client, call, &about);
        }
        for event in gone {
            match event.what {
                // One that has waited for webhooks, which was given up just now.
                What::Request { .. } if event.from == server => {}
                What::Request { reply: ReplyTo::Call(call), request } => {
                    self.answer_lost(server, event.from, call, &request.line());
                }
                What::Request { reply: ReplyTo::Watch(watch), .. } => self.refuse_watch(watch, &event, &lost()),
                What::Response { call, about, .. } => self.answer_lost(server, event.to, call, &about),
                _ => {}
            }
        }
    }

    /// An API server answers again.
    pub fn start_server(&mut self, server: ActorId) {
        self.controls.servers_down.remove(&server);
    }

    /// Ends a watch: what was under way is lost, and its client is told why.
    pub(super) fn break_watch(&mut self, watch: WatchId, why: &Status) {
        let Some(Stream { actor, server, .. }) = self.watches.get(&watch).cloned() else { return };
        self.close_watch(watch);
        self.send_now(server, actor, What::Notification { watch, event: WatchEvent::Error(why.clone()) });
    }

    /// The same with a watch that was about to be opened.
    fn refuse_watch(&mut self, watch: WatchId, request: &Pending, why: &Status) {
        let (server, actor) = (request.to, request.from);
        self.send_now(server, actor, What::Notification { watch, event: WatchEvent::Error(why.clone()) });
    }

    /// From now on hops vary as with this seed.
    pub fn reseed(&mut self, seed: u64) {
        self.latency.reseed(seed);
    }

    /// Forgets what is held and will never be wanted.
    pub(super) fn forget_held(&mut self, lost: impl Fn(&Pending) -> bool) {
        self.controls.held.retain(|event| !lost(event));
    }
}

//! What the user decides about events from outside: hold them back, deliver one early or late, lose one.
//!
//! Everything here could happen in a real cluster: a slow process, a slow or broken connection, a server under load. What
//! could not is refused with the reason. Rules are asked once for each event that is sent; they cost the same in any
//! cluster.
//!
//! Left out: a connection that is held does not time out. Requests in it wait until it is released, where a real client
//! gives up after half a minute or so and tries again.

use std::time::Duration;

use super::event::{ActorId, EventId, Pending, ReplyTo, What};
use super::{Engine, Server, Step};
use object::Kind;
use object::glob::matches;
use object::time::Instant;
use wire::{Transport, WatchEvent, WatchId};

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

/// All that was decided and still holds.
#[derive(Clone, Debug, Default)]
pub struct Controls {
    /// What is held back.
    pub holds: Vec<Hold>,
    held: Vec<Pending>,
}

impl<S: Server> Engine<S> {
    /// What was decided and still holds.
    pub fn controls(&self) -> &Controls {
        &self.world.controls
    }

    /// Events that are held back, oldest first.
    pub fn held(&self) -> impl Iterator<Item = &Pending> {
        self.world.controls.held.iter()
    }

    /// Holds back what fits from now on, and what fits and is in flight. Says how many events that is at once.
    pub fn hold(&mut self, hold: Hold) -> usize {
        if !self.world.controls.holds.contains(&hold) {
            self.world.controls.holds.push(hold);
        }
        let keys: Vec<_> =
            self.world.pending.iter().filter(|(_, event)| self.is_held(event)).map(|(key, _)| *key).collect();
        for key in &keys {
            let event = self.take_pending(*key);
            self.world.controls.held.push(event);
        }
        self.world.controls.held.sort_by_key(|event| event.id);
        keys.len()
    }

    /// Holds this back no more. Says how many events are on their way now; None if it was not held.
    pub fn release(&mut self, hold: &Hold) -> Option<usize> {
        let at = self.world.controls.holds.iter().position(|there| there == hold)?;
        self.world.controls.holds.remove(at);
        let (still, free): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.world.controls.held).into_iter().partition(|event| self.is_held(event));
        self.world.controls.held = still;
        let count = free.len();
        for mut event in free {
            event.due = event.due.max(self.world.now);
            self.put(event);
        }
        Some(count)
    }

    fn is_held(&self, event: &Pending) -> bool {
        // The word for the server stands for all of several: `kube-apiserver` for `kube-apiserver/1`.
        let of_several =
            |glob: &str, id: ActorId| self.is_of_server(id) && self.name(id).split('/').next() == Some(glob);
        let is = |glob: &str, id: ActorId| matches(glob, self.name(id)) || of_several(glob, id);
        let (from, to) = (event.from, event.to);
        self.world.controls.holds.iter().any(|hold| match hold {
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
        if !self.world.controls.holds.is_empty() && self.is_held(&event) {
            self.world.controls.held.push(event);
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
        let mut ids: Vec<EventId> =
            self.world.pending.values().chain(self.held()).filter(of).map(|event| event.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Lets an event arrive later. What follows it in the same watch stays behind it.
    pub fn delay(&mut self, id: EventId, by: Duration) -> Result<(), String> {
        let event = self.in_flight(id).ok_or_else(|| self.not_pending(id))?;
        let due = event.due.max(self.world.now) + by;
        let later = match &event.what {
            What::Notification { watch, .. } => {
                let watch = *watch;
                if let Some(stream) = self.world.watches.get_mut(&watch) {
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

    /// Loses a message in flight. Its sender, or the client that waits for it, learns that the connection is lost.
    pub fn drop_event(&mut self, id: EventId) -> Result<String, String> {
        let event = self.in_flight(id).ok_or_else(|| self.not_pending(id))?;
        let refused = match &event.what {
            What::Notification { .. } if self.is_of_server(event.to) => {
                Some("etcd's watches lose nothing in between; hold it, or crash the API server")
            }
            What::Request { .. } if self.is_of_server(event.from) => {
                Some("it has arrived, and goes on inside the API server")
            }
            What::Request { .. } | What::Response { .. } | What::Notification { .. } | What::Packet { .. } => None,
            What::Fault { .. } => Some("what breaks is no message"),
            // To a webhook, and back.
            What::Rpc { .. } | What::Reply { .. } if self.is_of_server(event.from) || self.is_of_server(event.to) => {
                None
            }
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
                self.refuse_watch(watch, &event, Transport::Lost);
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
            What::Packet { .. } => "the packet is lost, and no program learns of it".to_owned(),
            What::Rpc { .. } | What::Reply { .. } => {
                "the call is lost; the API server waits for its answer until the webhook's time is over".to_owned()
            }
            _ => "the watch goes on without this event, as with a faulty watch cache; its informer cannot know"
                .to_owned(),
        })
    }

    /// Lets time pass in which nothing happens: up to `until`, or to the next event. Returns how much has passed.
    pub fn pass(&mut self, until: Instant) -> Duration {
        let next = self.peek().map_or(until, |event| event.due);
        let before = self.world.now;
        self.world.now = before.max(until.min(next));
        self.world.now - before
    }

    /// Whether, from now on, watch events arrive after the answers to the writes that they tell of.
    pub fn watches_are_late(&mut self, late: bool) {
        self.world.latency.watches_are_late(late);
    }

    /// From now on hops vary as with this seed.
    pub fn reseed(&mut self, seed: u64) {
        self.world.latency.reseed(seed);
    }

    /// Forgets what is held and will never be wanted.
    pub(super) fn forget_held(&mut self, lost: impl Fn(&Pending) -> bool) {
        self.world.controls.held.retain(|event| !lost(event));
    }

    /// Takes out of what is held.
    pub(super) fn take_held(&mut self, is_wanted: impl Fn(&Pending) -> bool) -> Vec<Pending> {
        let (wanted, rest) = std::mem::take(&mut self.world.controls.held).into_iter().partition(is_wanted);
        self.world.controls.held = rest;
        wanted
    }
}

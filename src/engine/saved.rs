//! Worlds that are saved and brought back: how a session goes back, and how the explorer tries another order.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::control::Controls;
use super::event::{EventId, Pending, TimerId};
use super::hub::SavedHub;
use super::latency::Latency;
use super::{Actor, Engine, Server, Stream};
use object::time::Instant;
use wire::WatchId;

/// All that the engine knows at a moment at which no task is in flight.
#[derive(Clone)]
pub(super) struct World {
    pub latency: Latency,
    pub actors: Vec<Option<Rc<dyn Actor>>>,
    pub names: Vec<Rc<str>>,
    /// How many of the first places among the actors are the server's.
    pub servers: usize,
    pub pending: BTreeMap<(Instant, EventId), Pending>,
    /// Where among them the timers are that can be called off.
    pub timers: BTreeMap<TimerId, (Instant, EventId)>,
    pub watches: BTreeMap<WatchId, Stream>,
    pub next_task: u64,
    pub next_event: u64,
    pub steps: u64,
    pub now: Instant,
    /// How many pending events keep the cluster from being quiet.
    pub foreground: usize,
    pub controls: Controls,
}

impl World {
    /// A world in which nothing runs but a server with processes of these names.
    pub fn new(names: Vec<Rc<str>>, seed: u64) -> World {
        World {
            latency: Latency::new(seed),
            actors: vec![None; names.len()],
            servers: names.len(),
            names,
            pending: BTreeMap::new(),
            timers: BTreeMap::new(),
            watches: BTreeMap::new(),
            next_task: 1,
            next_event: 1,
            steps: 0,
            now: Instant::default(),
            foreground: 0,
            controls: Controls::default(),
        }
    }
}

/// A world at a quiet moment, to come back to, with its server and what components remember. Objects are shared with the
/// world it was saved from.
pub struct Saved<S> {
    server: S,
    world: World,
    hub: SavedHub,
}

impl<S: Server> Engine<S> {
    /// Saves the world. None while any task is in flight, since half of a task cannot be copied.
    pub fn save(&self) -> Option<Saved<S>> {
        let whole = || Saved { server: self.server.clone(), world: self.world.clone(), hub: self.hub.save() };
        self.tasks.is_empty().then(whole)
    }

    /// Goes back (or forward) to a world that this engine has saved. What runs now is given up.
    pub fn restore(&mut self, saved: &Saved<S>) {
        // Tasks first: what they do when they are dropped must not reach the state that comes back.
        self.tasks.clear();
        self.calls.clear();
        self.hub.restore(&saved.hub);
        self.server = saved.server.clone();
        self.world = saved.world.clone();
        self.crashes.clear();
        self.scratch.clear();
    }
}

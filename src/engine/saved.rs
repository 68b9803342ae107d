//! Worlds that are saved and brought back: how a session goes back, and how the explorer tries another order.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::event::{EventId, Pending, TimerId};
use super::hub::SavedHub;
use super::latency::Latency;
use super::{Actor, Engine, Stream, control, servers, webhook};
use crate::apiserver::ApiServer;
use crate::object::time::Instant;
use crate::wire::WatchId;

/// A world at a quiet moment, to come back to. Objects are shared with the world it was saved from.
pub struct Saved {
    api: ApiServer,
    hub: SavedHub,
    latency: Latency,
    actors: Vec<Option<Rc<dyn Actor>>>,
    names: Vec<Rc<str>>,
    pending: BTreeMap<(Instant, EventId), Pending>,
    timers: BTreeMap<TimerId, (Instant, EventId)>,
    watches: BTreeMap<WatchId, Stream>,
    next_task: u64,
    next_event: u64,
    steps: u64,
    now: Instant,
    foreground: usize,
    controls: control::Controls,
    servers: servers::Servers,
    webhooks: webhook::Webhooks,
}

impl Saved {
    /// How many steps had run.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

impl Engine {
    /// Saves the world. None while any task is in flight, since half of a task cannot be copied.
    pub fn save(&self) -> Option<Saved> {
        self.tasks.is_empty().then(|| Saved {
            api: self.api.clone(),
            hub: self.hub.save(),
            latency: self.latency.clone(),
            actors: self.actors.clone(),
            names: self.names.clone(),
            pending: self.pending.clone(),
            timers: self.timers.clone(),
            watches: self.watches.clone(),
            next_task: self.next_task,
            next_event: self.next_event,
            steps: self.steps,
            now: self.now,
            foreground: self.foreground,
            controls: self.controls.clone(),
            servers: self.servers.clone(),
            webhooks: self.webhooks.clone(),
        })
    }

    /// Goes back (or forward) to a world that this engine has saved. What runs now is given up.
    pub fn restore(&mut self, saved: &Saved) {
        // Tasks first: what they do when they are dropped must not reach the state that comes back.
        self.tasks.clear();
        self.calls.clear();
        self.hub.restore(&saved.hub);
        self.api = saved.api.clone();
        self.latency = saved.latency.clone();
        self.actors.clone_from(&saved.actors);
        self.names.clone_from(&saved.names);
        self.pending.clone_from(&saved.pending);
        self.timers.clone_from(&saved.timers);
        self.watches.clone_from(&saved.watches);
        self.next_task = saved.next_task;
        self.next_event = saved.next_event;
        self.steps = saved.steps;
        self.now = saved.now;
        self.foreground = saved.foreground;
        self.controls = saved.controls.clone();
        self.servers = saved.servers.clone();
        self.webhooks = saved.webhooks.clone();
        self.crashes.clear();
        self.scratch.clear();
    }
}

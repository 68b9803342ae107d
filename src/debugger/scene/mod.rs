//! Scenes: a part of a run as values, from which every picture of it is drawn: in the course, in its live sessions, in the
//! playground, in a replay that someone saved.
//!
//! - A [`Scene`] has what was there before its first [`Step`], and of each step what it changed: objects in etcd, caches,
//!   work queues, code that waits. [`Start::of`], [`of_step`] and [`Scene::close`] read them off a
//!   session.
//! - [`words`]: a step as sentences. [`data`]: a scene as the JSON that a page draws. [`since()`]: what a page is told that has
//!   drawn a session as far as an earlier step.

use std::collections::BTreeMap;

use object::patch;
use serde_json::Value;

pub mod data;
mod record;
mod since;
pub mod words;

pub use network::kernel::frame::Spot;
pub use record::of_step;
pub use since::{Drawn, Told, nodes, since};

/// A part of a run.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Which scenario ran.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// With which seed.
    pub seed: u64,
    /// The nodes, by name.
    pub nodes: Vec<String>,
    /// What was there before the first step.
    pub start: Start,
    /// The steps, without background traffic.
    pub steps: Vec<Step>,
    /// What was sent and has not arrived at the end.
    pub under_way: Vec<Flight>,
}

/// What was there before the first step of a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// The objects in the scenario's namespace, by `Kind namespace/name`.
    pub objects: BTreeMap<String, Value>,
    /// What waited in work queues: queue and key.
    pub queues: Vec<(String, String)>,
}

/// A delivery and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number in the run.
    pub number: u64,
    /// Virtual time since the user's part began, in microseconds.
    pub t_us: u64,
    /// `request`, `response`, `notification`, `timer`, `runtime`, `packet`.
    pub class: &'static str,
    /// The process that sent it.
    pub from: String,
    /// The process that got it.
    pub to: String,
    /// What it says.
    pub what: String,
    /// The number of the step that sent it.
    pub cause: u64,
    /// What happened, as a sentence.
    pub text: String,
    /// What came of it, a line each.
    pub effects: Vec<String>,
    /// The stages of the API server's pipeline that it passed: each with what was decided there.
    pub stages: Vec<(&'static str, String)>,
    /// The status code with which it was answered.
    pub answer: Option<u16>,
    /// What the author says of it.
    pub caption: Option<String>,
    /// What the store changed.
    pub changes: Vec<Change>,
    /// What caches changed.
    pub caches: Vec<Cached>,
    /// What went into work queues and out of them.
    pub queues: Vec<Moved>,
    /// Where the code that acts has come to.
    pub code: Option<Code>,
    /// The packet that arrives.
    pub packet: Option<Packet>,
    /// What kernels decided about packets: what has decided (`route`, `nat`, `bridge`), and what. Before the scene is closed,
    /// what any component has said of itself.
    pub decisions: Vec<(&'static str, String)>,
}

/// A packet that comes to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The packet in words.
    pub what: String,
    /// The device.
    pub at: Spot,
    /// The devices by which it has left the place before.
    pub by: Vec<Spot>,
}

/// An object in the store that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// `Kind namespace/name`.
    pub object: String,
    /// The store's revision.
    pub revision: u64,
    /// What became of it.
    pub after: After,
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    /// It is gone.
    Gone,
    /// What turns the object before into the one after, as a JSON merge patch.
    Patched(Value),
    /// The whole object, which the scene has not shown before.
    Whole(Value),
}

/// An object in a cache that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// Whose cache.
    pub actor: String,
    /// `Kind namespace/name`.
    pub object: String,
    /// The revision that is known there now; 0 if the object is gone.
    pub revision: u64,
}

impl After {
    /// The object after, from the object before; none if it is gone.
    pub fn of(&self, before: Option<Value>) -> Option<Value> {
        match self {
            After::Gone => None,
            After::Patched(changes) => Some(patch::merge(before.unwrap_or_default(), changes)),
            After::Whole(object) => Some(object.clone()),
        }
    }
}

/// A key that came into a work queue, was taken out of it, or is done with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Whose queue.
    pub queue: String,
    /// The key.
    pub key: String,
    /// What happened to it.
    pub how: How,
}

/// What happens to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It waits for a worker.
    Added,
    /// A worker has it.
    Taken,
    /// The worker is done.
    Done,
    /// It will be added later.
    Later,
}

/// A line of source at which a reconcile or pod worker waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    /// Which of them.
    pub task: String,
    /// What it waits for.
    pub awaits: String,
    /// The file, as the compiler names it.
    pub file: String,
    /// The line's number.
    pub line: u32,
}

/// A message that has not arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The number of the step that sent it.
    pub cause: u64,
    /// Who sent it.
    pub from: String,
    /// Who will get it.
    pub to: String,
    /// What it says.
    pub what: String,
}

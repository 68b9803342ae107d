//! Exercise 04: a watch and a cache.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::process;

/// An object: its key and the revision at which it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// `default/web`.
    pub key: String,
    /// Grows with every write.
    pub revision: u64,
}

/// What the API server says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Event {
    /// The watch: it is new.
    Added(Item),
    /// The watch: it has changed.
    Modified(Item),
    /// The watch: it is gone; this was its last state.
    Deleted(Item),
    /// The watch broke and could not go on, and this is all there is now. No event says what happened meanwhile.
    Relisted(Vec<Item>),
}

/// A call of the handlers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// It is new to the cache.
    Added(Item),
    /// It was in the cache, and was written or listed again.
    Updated {
        /// What the cache had.
        old: Item,
        /// What it has now.
        new: Item,
    },
    /// It is gone; this was the last that was known of it.
    Deleted(Item),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of revision {}", self.key, self.revision)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Told::Added(item) => write!(f, "Added {item}"),
            Told::Deleted(item) => write!(f, "Deleted {item}"),
            Told::Updated { old, new } if old.key == new.key => {
                write!(f, "Updated {} from revision {} to {}", old.key, old.revision, new.revision)
            }
            Told::Updated { old, new } => write!(f, "Updated {old} to {new}"),
        }
    }
}

/// All objects by key.
pub type Cache = BTreeMap<String, Item>;

/// What came of a history: the calls after each event, and the cache at the end.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The calls.
    pub told: Vec<Vec<Told>>,
    /// What the cache has, by key.
    pub cache: Vec<Item>,
}

/// Answers with this function, which is asked event by event.
pub fn answer(apply: fn(&mut Cache, &Event) -> Vec<Told>) {
    process::answer(|history: &Vec<Event>| {
        let mut cache = Cache::new();
        let told = history.iter().map(|event| apply(&mut cache, event)).collect();
        let cache = cache.into_iter().map(|(key, item)| Item { key, ..item });
        Outcome { told, cache: cache.collect() }
    });
}

//! Exercise 05: what does a work queue promise?
//!
//! Handlers add keys of objects that changed; workers get a key, reconcile that object, and are done with it. A key that is
//! added several times waits once. A key that is added while a worker holds it waits after that worker is done, so that two
//! workers never hold the same one. Keys come in the order in which they began to wait.
//!
//! When a reconcile fails the worker calls `retry`, which says how long that key has to wait before it is added again: 5 ms,
//! doubled with each failure in a row, at most 1000 s. The caller adds it then. `forget` ends the row of failures.

#![allow(unused_imports)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use kubestep_exercise::queue::WorkQueue;

// Yours from here.

/// One map: each key's state says all of it.
#[derive(Default)]
pub struct Queue {
    keys: BTreeMap<String, State>,
    clock: u64,
}

#[derive(Default)]
struct State {
    waits_since: Option<u64>,
    again: bool,
    held: bool,
    delay_ms: u64,
}

pub fn new() -> Queue {
    Queue::default()
}

impl WorkQueue for Queue {
    fn add(&mut self, key: &str) {
        self.clock += 1;
        let state = self.keys.entry(key.into()).or_default();
        if state.held {
            state.again = true;
        } else if state.waits_since.is_none() {
            state.waits_since = Some(self.clock);
        }
    }

    fn get(&mut self) -> Option<String> {
        let waiting = self.keys.iter_mut().filter(|(_, state)| state.waits_since.is_some());
        let (key, state) = waiting.min_by_key(|(_, state)| state.waits_since)?;
        state.waits_since = None;
        state.held = true;
        Some(key.clone())
    }

    fn done(&mut self, key: &str) {
        self.clock += 1;
        let state = self.keys.entry(key.into()).or_default();
        state.held = false;
        if std::mem::take(&mut state.again) {
            state.waits_since = Some(self.clock);
        }
    }

    fn retry(&mut self, key: &str) -> Duration {
        let state = self.keys.entry(key.into()).or_default();
        state.delay_ms = if state.delay_ms == 0 { 5 } else { (state.delay_ms * 2).min(1_000_000) };
        Duration::from_millis(state.delay_ms)
    }

    fn forget(&mut self, key: &str) {
        if let Some(state) = self.keys.get_mut(key) {
            state.delay_ms = 0;
        }
    }
}

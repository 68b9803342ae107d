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

const FIRST_DELAY: Duration = Duration::from_millis(5);
const LONGEST_DELAY: Duration = Duration::from_secs(1000);

/// A queue of keys.
#[derive(Default)]
pub struct Queue {
    /// Those that wait, the oldest first.
    order: VecDeque<String>,
    /// Added, and not got since.
    dirty: BTreeSet<String>,
    /// In the hands of a worker.
    held: BTreeSet<String>,
    /// Failures in a row.
    failures: BTreeMap<String, u32>,
}

/// An empty queue.
pub fn new() -> Queue {
    Queue::default()
}

impl WorkQueue for Queue {
    fn add(&mut self, key: &str) {
        let is_new = self.dirty.insert(key.to_owned());
        if is_new && !self.held.contains(key) {
            self.order.push_back(key.to_owned());
        }
    }

    fn get(&mut self) -> Option<String> {
        let key = self.order.pop_front()?;
        self.dirty.remove(&key);
        self.held.insert(key.clone());
        Some(key)
    }

    fn done(&mut self, key: &str) {
        self.held.remove(key);
        if self.dirty.contains(key) {
            self.order.push_back(key.to_owned());
        }
    }

    fn retry(&mut self, key: &str) -> Duration {
        let failures = self.failures.entry(key.to_owned()).or_insert(0);
        let delay = delay_after(*failures);
        *failures += 1;
        delay
    }

    fn forget(&mut self, key: &str) {
        self.failures.remove(key);
    }
}

/// How long to wait after that many failures before.
fn delay_after(failures: u32) -> Duration {
    (0..failures).fold(FIRST_DELAY, |delay, _| LONGEST_DELAY.min(2 * delay))
}

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

/// Floating point, as client-go does it.
#[derive(Default)]
pub struct Queue {
    order: VecDeque<String>,
    dirty: BTreeSet<String>,
    processing: BTreeSet<String>,
    failures: BTreeMap<String, i32>,
}

pub fn new() -> Queue {
    Default::default()
}

impl WorkQueue for Queue {
    fn add(&mut self, key: &str) {
        if self.dirty.contains(key) {
            return;
        }
        self.dirty.insert(key.to_string());
        if self.processing.contains(key) {
            return;
        }
        self.order.push_back(key.to_string());
    }

    fn get(&mut self) -> Option<String> {
        match self.order.pop_front() {
            Some(key) => {
                self.processing.insert(key.clone());
                self.dirty.remove(&key);
                Some(key)
            }
            None => None,
        }
    }

    fn done(&mut self, key: &str) {
        self.processing.remove(key);
        if self.dirty.contains(key) {
            self.order.push_back(key.to_string());
        }
    }

    fn retry(&mut self, key: &str) -> Duration {
        let failures = self.failures.get(key).copied().unwrap_or_default();
        self.failures.insert(key.to_string(), failures + 1);
        let seconds = 0.005 * 2f64.powi(failures);
        if seconds > 1000.0 { Duration::from_secs(1000) } else { Duration::from_secs_f64(seconds) }
    }

    fn forget(&mut self, key: &str) {
        self.failures.remove(key);
    }
}

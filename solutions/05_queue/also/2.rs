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

/// Plain vectors, searched.
pub struct Queue {
    waiting: Vec<String>,
    held: Vec<String>,
    again: Vec<String>,
    failed: Vec<String>,
}

pub fn new() -> Queue {
    Queue { waiting: vec![], held: vec![], again: vec![], failed: vec![] }
}

impl WorkQueue for Queue {
    fn add(&mut self, key: &str) {
        let key = key.to_string();
        if self.held.contains(&key) {
            if !self.again.contains(&key) {
                self.again.push(key);
            }
        } else if !self.waiting.contains(&key) {
            self.waiting.push(key);
        }
    }

    fn get(&mut self) -> Option<String> {
        if self.waiting.is_empty() {
            return None;
        }
        let key = self.waiting.remove(0);
        self.held.push(key.clone());
        Some(key)
    }

    fn done(&mut self, key: &str) {
        self.held.retain(|one| one != key);
        if let Some(n) = self.again.iter().position(|one| one == key) {
            let key = self.again.remove(n);
            self.waiting.push(key);
        }
    }

    fn retry(&mut self, key: &str) -> Duration {
        let before = self.failed.iter().filter(|one| *one == key).count();
        self.failed.push(key.to_string());
        Duration::from_millis(if before > 17 { 1_000_000 } else { 5 << before })
    }

    fn forget(&mut self, key: &str) {
        self.failed.retain(|one| one != key);
    }
}

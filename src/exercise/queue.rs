//! Exercise 05: a work queue.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process;

/// A queue of keys, between the handlers that add and the workers that reconcile.
pub trait WorkQueue {
    /// Something happened to this object.
    fn add(&mut self, key: &str);
    /// A worker asks for a key, and holds it until it is done. None if nothing waits.
    fn get(&mut self) -> Option<String>;
    /// The worker that holds this key lets go of it.
    fn done(&mut self, key: &str);
    /// The reconcile of this key has failed. How long it is to wait before it is added again, which the caller does.
    fn retry(&mut self, key: &str) -> Duration;
    /// The reconcile of this key has gone well.
    fn forget(&mut self, key: &str);
}

/// A call of a [`WorkQueue`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Call {
    /// [`WorkQueue::add`].
    Add(String),
    /// [`WorkQueue::get`].
    Get,
    /// [`WorkQueue::done`].
    Done(String),
    /// [`WorkQueue::retry`].
    Retry(String),
    /// [`WorkQueue::forget`].
    Forget(String),
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Add(key) => write!(f, "add {key}"),
            Call::Get => f.write_str("get"),
            Call::Done(key) => write!(f, "done {key}"),
            Call::Retry(key) => write!(f, "retry {key}"),
            Call::Forget(key) => write!(f, "forget {key}"),
        }
    }
}

/// What it gives back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Said {
    /// Nothing.
    Nothing,
    /// A key, or none.
    Got(Option<String>),
    /// How long to wait.
    Wait {
        /// In thousandths of a second.
        ms: u64,
    },
}

/// What a queue says to a call.
pub fn say(queue: &mut impl WorkQueue, call: &Call) -> Said {
    match call {
        Call::Add(key) => queue.add(key),
        Call::Done(key) => queue.done(key),
        Call::Forget(key) => queue.forget(key),
        Call::Get => return Said::Got(queue.get()),
        Call::Retry(key) => return Said::Wait { ms: u64::try_from(queue.retry(key).as_millis()).unwrap_or(u64::MAX) },
    }
    Said::Nothing
}

/// Answers with the queues that this function makes.
pub fn answer<Q: WorkQueue>(new: fn() -> Q) {
    process::answer(|calls: &Vec<Call>| -> Vec<Said> {
        let mut queue = new();
        calls.iter().map(|call| say(&mut queue, call)).collect()
    });
}

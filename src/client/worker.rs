//! The workers of one controller: each takes a key from the queue, has it reconciled, and settles what becomes of it.

use std::rc::Rc;
use std::time::Duration;

use engine::Memory;
use object::Key;

use super::controller::{Controller, Error};
use super::queue::{Queue, Ready};

/// What looking at one listed object costs a worker, and how many it looks at for nothing. The recorded controller
/// manager spends about this much on each Pod of a large ReplicaSet. While it does, changes pile up behind its key and
/// are worked off together: without that, n Pods would cost n reconciles of n Pods each.
const LOOK: Duration = Duration::from_micros(2);
const FREE_LOOKS: u64 = 100;

/// A controller, its queue, and its workers.
pub struct Workers {
    /// The queue that they work off.
    pub queue: Queue,
    /// What they run.
    pub controller: Rc<dyn Controller>,
    /// How many there are.
    pub count: usize,
    /// After so many failures in a row a key is dropped; None: never.
    pub max_retries: Option<u32>,
    /// How many objects were listed from each cache that the controller reads, if that is to cost them time.
    pub reads: Vec<Memory<u64>>,
    /// How many of them have a key in hand.
    pub busy: Memory<usize>,
}

impl Workers {
    /// A worker that is free takes a key and reconciles it.
    pub fn work(&self) {
        if self.busy.get() >= self.count {
            return;
        }
        let Some(key) = self.queue.take() else { return };
        let (queue, controller) = (self.queue.clone(), self.controller.clone());
        let (busy, max_retries) = (self.busy.clone(), self.max_retries);
        let (reads, before, hub) = (self.reads.clone(), looks(&self.reads), self.queue.hub().clone());
        busy.set(busy.get() + 1);
        let task = format!("{} {key}", self.queue.name());
        self.queue.hub().spawn(self.queue.actor(), task, async move {
            let result = controller.reconcile_boxed(key.clone()).await;
            let looked = looks(&reads) - before;
            if looked > FREE_LOOKS {
                hub.sleep(LOOK.saturating_mul(looked as u32)).await;
            }
            busy.set(busy.get() - 1);
            settle(&queue, &key, result, max_retries);
        });
    }

    /// A delayed key's time has come.
    pub fn ready(&self, ready: Ready<'_>) {
        self.queue.ready(&Key::parse(ready.key));
    }
}

/// How many objects were listed from these caches so far.
fn looks(reads: &[Memory<u64>]) -> u64 {
    reads.iter().map(Memory::get).sum()
}

/// What becomes of a key after its reconcile.
fn settle(queue: &Queue, key: &Key, result: Result<(), Error>, max_retries: Option<u32>) {
    match result {
        Ok(()) => queue.forget(key),
        Err(_) if max_retries.is_some_and(|max| queue.num_requeues(key) >= max) => queue.forget(key),
        Err(Error::Unchanged(_)) => queue.add_rate_limited_background(key.clone()),
        Err(_) => queue.add_rate_limited(key.clone()),
    }
    queue.done(key);
}

//! The work queue. Mirrors `client-go/util/workqueue`: base queue, delaying queue and rate limiter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use engine::{ActorId, Hub, Memory, Note, Queued};
use object::Key;
use object::time::Instant;

use super::limiter::TokenBucket;

/// Wake: a worker should look into the queue named by the wake's key.
pub const WORK: &str = "work";
/// Wake: a delayed key of a queue is ready. The wake's key is a [`Ready`].
pub const READY: &str = "ready";

/// The first failure waits this long, each further one twice as long.
const BASE_DELAY: Duration = Duration::from_millis(5);
const MAX_DELAY: Duration = Duration::from_secs(1000);

/// The delayed key that is ready, and its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready<'a> {
    /// The queue's name, which is one word.
    pub queue: &'a str,
    /// The key.
    pub key: &'a str,
}

impl<'a> Ready<'a> {
    /// What `Display` has written; None: that is something else.
    pub fn read(wake: &'a str) -> Option<Ready<'a>> {
        wake.split_once(' ').map(|(queue, key)| Ready { queue, key })
    }
}

impl fmt::Display for Ready<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.queue, self.key)
    }
}

/// A handle to a controller's queue of keys. Clones share it.
#[derive(Clone)]
pub struct Queue(Rc<Inner>);

struct Inner {
    hub: Hub,
    actor: ActorId,
    name: Rc<str>,
    state: Memory<State>,
}

/// All that a queue is: plain data, to be looked at and copied.
#[derive(Clone, Debug)]
pub struct State {
    /// Waiting for a worker, oldest first.
    pub queue: VecDeque<Key>,
    /// Added, and not yet taken by a worker since.
    pub dirty: BTreeSet<Key>,
    /// Held by a worker.
    pub processing: BTreeSet<Key>,
    /// Added later, at this time.
    pub delayed: BTreeMap<Key, Instant>,
    /// Failures in a row.
    pub failures: BTreeMap<Key, u32>,
    bucket: TokenBucket,
    base_delay: Duration,
    max_delay: Duration,
}

impl Queue {
    /// An empty queue of `actor`. Its wakes carry `name`.
    pub fn new(hub: Hub, actor: ActorId, name: impl Into<Rc<str>>) -> Queue {
        let state = State {
            queue: VecDeque::new(),
            dirty: BTreeSet::new(),
            processing: BTreeSet::new(),
            delayed: BTreeMap::new(),
            failures: BTreeMap::new(),
            bucket: TokenBucket::new(10, 100),
            base_delay: BASE_DELAY,
            max_delay: MAX_DELAY,
        };
        let state = hub.memory(state);
        Queue(Rc::new(Inner { hub, actor, name: name.into(), state }))
    }

    /// The queue's name: its controller's.
    pub fn name(&self) -> &Rc<str> {
        &self.0.name
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    pub(super) fn actor(&self) -> ActorId {
        self.0.actor
    }

    /// Looks at the queue's state.
    pub fn with<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.state.borrow())
    }

    /// Adds a key. It is queued once however often it is added; if a worker holds it, it is queued again after.
    pub fn add(&self, key: Key) {
        let mut state = self.0.state.borrow_mut();
        if !state.dirty.insert(key.clone()) {
            self.note(&key, Queued::AlreadyQueued);
            return;
        }
        if state.processing.contains(&key) {
            self.note(&key, Queued::WhileProcessing);
            return;
        }
        state.queue.push_back(key.clone());
        self.note(&key, Queued::Added);
        self.0.hub.wake(self.0.actor, WORK, self.0.name.clone(), Duration::ZERO);
    }

    /// Adds a key after `delay`. Of several delays for one key the shortest counts.
    pub fn add_after(&self, key: Key, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        if self.delay(&key, delay) {
            self.0.hub.wake(self.0.actor, READY, self.ready_key(&key), delay);
        }
    }

    /// The same for a look round that is repeated for ever: it does not keep the cluster from being quiet.
    pub fn add_after_background(&self, key: Key, delay: Duration) {
        if self.delay(&key, delay) {
            self.0.hub.wake_background(self.0.actor, READY, self.ready_key(&key), delay);
        }
    }

    /// Notes when the key is ready; says no if it is ready sooner anyway.
    fn delay(&self, key: &Key, delay: Duration) -> bool {
        let ready = self.0.hub.now() + delay;
        let mut state = self.0.state.borrow_mut();
        if state.delayed.get(key).is_some_and(|there| *there <= ready) {
            return false;
        }
        state.delayed.insert(key.clone(), ready);
        self.note(key, Queued::Later(ready));
        true
    }

    /// From now on the first failure of a key waits this long, instead of 5 ms.
    pub fn retry_from(&self, base_delay: Duration) {
        self.0.state.borrow_mut().base_delay = base_delay;
    }

    /// From now on no key waits longer than this for its failures, instead of 1000 s.
    pub fn retry_within(&self, max_delay: Duration) {
        self.0.state.borrow_mut().max_delay = max_delay;
    }

    /// Adds a key after as long as its failures in a row ask for.
    pub fn add_rate_limited(&self, key: Key) {
        let delay = self.delay_of_failure(&key);
        self.add_after(key, delay);
    }

    /// The same for a failure that may last for ever: it does not keep the cluster from being quiet.
    pub fn add_rate_limited_background(&self, key: Key) {
        let delay = self.delay_of_failure(&key);
        self.add_after_background(key, delay);
    }

    /// Counts one more failure of the key. How long it is to wait for that.
    pub fn delay_of_failure(&self, key: &Key) -> Duration {
        let mut state = self.0.state.borrow_mut();
        let (base, max) = (state.base_delay, state.max_delay);
        let failures = state.failures.entry(key.clone()).or_insert(0);
        let exponential = base.saturating_mul(1 << (*failures).min(18)).min(max);
        *failures += 1;
        exponential.max(state.bucket.reserve(self.0.hub.now()))
    }

    /// Clears the key's failures.
    pub fn forget(&self, key: &Key) {
        self.0.state.borrow_mut().failures.remove(key);
    }

    /// How often the key has failed in a row.
    pub fn num_requeues(&self, key: &Key) -> u32 {
        self.0.state.borrow().failures.get(key).copied().unwrap_or(0)
    }

    /// A delayed key's time has come. A wake that an earlier one overtook does nothing.
    pub fn ready(&self, key: &Key) {
        let due = self.0.state.borrow().delayed.get(key).is_some_and(|ready| *ready <= self.0.hub.now());
        if due {
            self.0.state.borrow_mut().delayed.remove(key);
            self.add(key.clone());
        }
    }

    /// The oldest key, for a worker to hold until [`Queue::done`].
    pub fn take(&self) -> Option<Key> {
        let mut state = self.0.state.borrow_mut();
        let key = state.queue.pop_front()?;
        state.dirty.remove(&key);
        state.processing.insert(key.clone());
        self.note(&key, Queued::Taken);
        Some(key)
    }

    /// A worker lets go of a key. If it was added meanwhile it is queued again.
    pub fn done(&self, key: &Key) {
        let mut state = self.0.state.borrow_mut();
        state.processing.remove(key);
        self.note(key, Queued::Done);
        if state.dirty.contains(key) {
            state.queue.push_back(key.clone());
        }
        if !state.queue.is_empty() {
            self.0.hub.wake(self.0.actor, WORK, self.0.name.clone(), Duration::ZERO);
        }
    }

    fn ready_key(&self, key: &Key) -> String {
        Ready { queue: &self.0.name, key: key.as_str() }.to_string()
    }

    fn note(&self, key: &Key, how: Queued) {
        self.0.hub.note(|| Note::Queue { queue: self.0.name.clone(), key: key.clone(), how });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_worked_on_twice_at_once() {
        let (hub, web) = (Hub::new(0), Key::new("default", "web"));
        let queue = Queue::new(hub, ActorId(0), "test");
        queue.add(web.clone());
        queue.add(web.clone());
        assert_eq!(queue.take(), Some(web.clone()));
        queue.add(web.clone());
        assert_eq!(queue.take(), None, "a worker has it");
        queue.done(&web);
        assert_eq!((queue.take(), queue.take()), (Some(web), None), "it was added meanwhile, and is queued once");
    }

    #[test]
    fn which_key_is_ready_is_read_as_it_was_written() {
        let ready = Ready { queue: "garbage-collector", key: "default/web 6a1f" };
        assert_eq!(ready.to_string(), "garbage-collector default/web 6a1f");
        assert_eq!((Ready::read(&ready.to_string()), Ready::read("work")), (Some(ready), None));
    }
}

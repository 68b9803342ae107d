//! Back-off that doubles: how long to wait before a container is started, or an image pulled, once more.
//!
//! Mirrors `client-go/util/flowcontrol.Backoff`. An entry is made by the first failure's successor: a container
//! that ends for the first time is started again at once, and only then is a delay of 10 s written down.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::params::{BACK_OFF_INITIAL, BACK_OFF_MAX};
use object::time::Instant;

/// Delays by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backoff {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    delay: Duration,
    /// When the delay was last raised.
    updated: Instant,
}

impl Backoff {
    /// The delay of `key`, zero if it has none.
    pub fn get(&self, key: &str) -> Duration {
        self.entries.get(key).map_or(Duration::ZERO, |entry| entry.delay)
    }

    /// When a try that follows `event` (a container's end) may be made, if that lies ahead of `now`.
    pub fn wait_since(&self, key: &str, event: Instant, now: Instant) -> Option<Instant> {
        let entry = self.entries.get(key)?;
        let allowed = event + entry.delay;
        (!expired(entry, event) && now < allowed).then_some(allowed)
    }

    /// When a try may be made that counts from the last failure (a failed pull), if that lies ahead of `now`.
    pub fn wait_since_update(&self, key: &str, now: Instant) -> Option<Instant> {
        let entry = self.entries.get(key)?;
        let allowed = entry.updated + entry.delay;
        (!expired(entry, now) && now < allowed).then_some(allowed)
    }

    /// Writes down one more try: 10 s, then double up to 300 s; back to 10 s after ten quiet minutes.
    pub fn next(&mut self, key: &str, event: Instant, now: Instant) {
        let delay = match self.entries.get(key) {
            Some(entry) if !expired(entry, event) => (entry.delay * 2).min(BACK_OFF_MAX),
            _ => BACK_OFF_INITIAL,
        };
        self.entries.insert(key.to_owned(), Entry { delay, updated: now });
    }

    /// Forgets every key that starts with `prefix`: the pod is gone.
    pub fn forget(&mut self, prefix: &str) {
        self.entries.retain(|key, _| !key.starts_with(prefix));
    }
}

/// An entry is forgotten after twice the longest delay without a failure.
fn expired(entry: &Entry, event: Instant) -> bool {
    event - entry.updated > BACK_OFF_MAX * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    #[test]
    fn a_crashing_container_waits_10_20_40_and_at_most_300_seconds() {
        let mut backoff = Backoff::default();
        let mut now = at(5);
        assert_eq!(backoff.wait_since("web", now, now), None, "the first restart is immediate");
        for expected in [10, 20, 40, 80, 160, 300, 300] {
            backoff.next("web", now, now);
            let end = now + Duration::from_secs(1);
            assert_eq!(backoff.get("web"), Duration::from_secs(expected));
            assert_eq!(backoff.wait_since("web", end, end), Some(end + Duration::from_secs(expected)));
            now = end + Duration::from_secs(expected);
            assert_eq!(backoff.wait_since("web", end, now), None);
        }
        now = now + Duration::from_secs(601);
        backoff.next("web", now, now);
        assert_eq!(backoff.get("web"), Duration::from_secs(10), "ten quiet minutes and it starts over");
    }
}

//! Back-off that doubles: how long to wait before a container is started, or an image pulled, once more.
//!
//! Mirrors `client-go/util/flowcontrol.Backoff`. An entry is made by the first failure's successor: a container
//! that ends for the first time is started again at once, and only then is a delay of 10 s written down.

use std::collections::BTreeMap;
use std::time::Duration;

use super::params::{BACK_OFF_INITIAL, BACK_OFF_MAX};
use crate::object::time::Instant;

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

/// A duration the way Go prints it: `10s`, `1m20s`, `401ms`, `1.234s`.
pub fn go_duration(d: Duration) -> String {
    let seconds = d.as_secs();
    if seconds == 0 {
        return match d.as_nanos() {
            0 => "0s".to_owned(),
            n if n < 1_000 => format!("{n}ns"),
            n if n < 1_000_000 => format!("{}µs", fraction(n as f64 / 1e3)),
            n => format!("{}ms", fraction(n as f64 / 1e6)),
        };
    }
    let rest = fraction((d - Duration::from_secs(seconds - seconds % 60)).as_secs_f64());
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

/// At most three decimals, and no zeros at the end.
fn fraction(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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

    #[test]
    fn durations_print_as_in_go() {
        let table = [(10_000, "10s"), (80_000, "1m20s"), (300_000, "5m0s"), (401, "401ms"), (1_234, "1.234s")];
        for (ms, text) in table {
            assert_eq!(go_duration(Duration::from_millis(ms)), text);
        }
    }
}

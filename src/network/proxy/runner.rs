//! When to write the rules: soon after a change, but not too often, and now and then without any.
//! Mirrors `pkg/proxy/runner/bounded_frequency_runner.go`.

use std::time::Duration;

use object::time::Instant;

/// Two syncs are at least so far apart.
pub const MIN_SYNC_PERIOD: Duration = Duration::from_secs(1);
/// A sync that failed is tried again after so long: `--iptables-sync-period`.
pub const RETRY: Duration = Duration::from_secs(30);
/// All rules are written again after so long, in any case.
pub const FULL_SYNC_PERIOD: Duration = Duration::from_secs(60 * 60);

/// When the last sync was, and when the next one is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runner {
    last: Option<Instant>,
    due: Option<Instant>,
}

impl Runner {
    /// Something has changed: says after how long to sync, unless that is settled already.
    pub fn request(&mut self, now: Instant) -> Option<Duration> {
        let earliest = self.last.map_or(now, |last| last + MIN_SYNC_PERIOD);
        self.arm(now, earliest - now)
    }

    /// The sync failed: says after how long to try again.
    pub fn failed(&mut self, now: Instant) -> Option<Duration> {
        self.arm(now, RETRY)
    }

    fn arm(&mut self, now: Instant, after: Duration) -> Option<Duration> {
        let at = now + after;
        if self.due.is_some_and(|due| due <= at) {
            return None;
        }
        self.due = Some(at);
        Some(after)
    }

    /// A timer went off: says whether it is the one that counts.
    pub fn run(&mut self, now: Instant) -> bool {
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        (self.due, self.last) = (None, Some(now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_changes_is_two_syncs() {
        let at = |ms: u64| Instant(ms * 1_000_000);
        let mut runner = Runner::default();
        assert_eq!(runner.request(at(5)), Some(Duration::ZERO));
        assert_eq!(runner.request(at(5)), None, "one is due");
        assert!(runner.run(at(5)) && !runner.run(at(5)));
        assert_eq!(runner.request(at(105)), Some(Duration::from_millis(900)));
        assert_eq!(runner.request(at(605)), None);
        assert!(!runner.run(at(900)) && runner.run(at(1005)));
        assert_eq!(runner.failed(at(1005)), Some(RETRY));
        assert_eq!(runner.request(at(1105)), Some(Duration::from_millis(900)), "a change does not wait for the retry");
    }
}

//! How long a reflector waits before it tries again. Mirrors `client-go/tools/cache/reflector.go` and
//! `apimachinery/pkg/util/wait`.

use std::time::Duration;

use object::time::Instant;

/// The reflector's first wait after an error. `defaultBackoffInit`.
const BACKOFF: Duration = Duration::from_millis(800);
/// No wait is longer. `defaultBackoffMax`.
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// After so long the waits are short again. `defaultBackoffReset`.
const BACKOFF_RESET: Duration = Duration::from_secs(2 * 60);

/// How long a reflector waits after an error: twice as long each time, and every two minutes it begins anew. Mirrors
/// `wait.Backoff.DelayWithReset` without its chance.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    next: Duration,
    since: Instant,
}

impl Backoff {
    /// Nothing has failed yet.
    pub fn new(now: Instant) -> Backoff {
        Backoff { next: BACKOFF, since: now }
    }

    /// Something has failed: how long to wait.
    pub fn step(&mut self, now: Instant) -> Duration {
        if now - self.since > BACKOFF_RESET {
            *self = Backoff::new(now);
        }
        let wait = self.next;
        self.next = (wait * 2).min(BACKOFF_MAX);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_gone_is_asked_ever_more_seldom() {
        let (mut now, mut backoff) = (Instant(0), Backoff::new(Instant(0)));
        let waits: Vec<u128> = (0..10)
            .map(|_| {
                let wait = backoff.step(now);
                now = now + wait;
                wait.as_millis()
            })
            .collect();
        assert_eq!(waits, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000, 800]);
    }
}

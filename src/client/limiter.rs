//! Token buckets: how client-go keeps a component from flooding the API server.

use std::time::Duration;

use object::time::Instant;

/// A token bucket. Mirrors `flowcontrol.NewTokenBucketRateLimiter`.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// Nanoseconds in which one token grows.
    interval: u64,
    /// Nanoseconds' worth of tokens that the bucket holds at most.
    capacity: u64,
    /// The instant, in nanoseconds, at which the bucket would be full again.
    full_at: u64,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens that regains `qps` tokens a second.
    pub fn new(qps: u32, burst: u32) -> TokenBucket {
        let interval = 1_000_000_000 / u64::from(qps.max(1));
        TokenBucket { interval, capacity: interval * u64::from(burst.max(1)), full_at: 0 }
    }

    /// Takes one token, on credit if there is none, and says how long to wait for it.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        self.full_at = self.full_at.max(now.0) + self.interval;
        Duration::from_nanos(self.full_at.saturating_sub(now.0 + self.capacity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_the_rest_waits() {
        let mut bucket = TokenBucket::new(10, 2);
        let now = Instant(5_000_000_000);
        let waits: Vec<u128> = (0..4).map(|_| bucket.reserve(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200]);
        assert_eq!(bucket.reserve(now + Duration::from_secs(10)).as_millis(), 0);
    }
}

//! Virtual time. The cluster's clock starts at a fixed instant and moves only when an event is delivered.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1;

/// Seconds since 1970 at which every run starts: 2026-01-01T00:00:00Z. Fixed, so that two runs print the same.
const EPOCH_SECONDS: i64 = 1_767_225_600;

/// An instant of virtual time, in nanoseconds since the run started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// The time since the run started.
    pub fn since_start(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The wall-clock reading that objects carry, to the nanosecond.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::new(EPOCH_SECONDS + (self.0 / 1_000_000_000) as i64, (self.0 % 1_000_000_000) as i32)
            .expect("a run is shorter than the 8,000 years a timestamp can hold")
    }

    /// `metav1.Time`: whole seconds, as in creationTimestamp.
    pub fn time(self) -> v1::Time {
        v1::Time(Instant(self.0 / 1_000_000_000 * 1_000_000_000).timestamp())
    }

    /// `metav1.MicroTime`, as in Leases.
    pub fn micro_time(self) -> v1::MicroTime {
        v1::MicroTime(Instant(self.0 / 1_000 * 1_000).timestamp())
    }

    /// The instant an object's timestamp stands for; times before the start count as the start.
    pub fn from_time(time: &v1::Time) -> Instant {
        let since = time.0.as_nanosecond() - i128::from(EPOCH_SECONDS) * 1_000_000_000;
        Instant(u64::try_from(since.max(0)).unwrap_or(u64::MAX))
    }

    /// How long it is until the next of the rounds that began at `start`, one each `period`: a whole one where one begins now.
    pub fn until_round(self, start: Instant, period: Duration) -> Duration {
        let since = (self - start).as_nanos() % period.as_nanos();
        period - Duration::from_nanos(u64::try_from(since).unwrap_or(0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;
    /// The time from `earlier` to this, zero if it lies ahead.
    fn sub(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Instant {
    /// Seconds since the start, with milliseconds: `12.345s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}s", self.0 / 1_000_000_000, self.0 / 1_000_000 % 1_000)
    }
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

    #[test]
    fn durations_print_as_in_go() {
        let table = [(10_000, "10s"), (80_000, "1m20s"), (300_000, "5m0s"), (401, "401ms"), (1_234, "1.234s")];
        for (ms, text) in table {
            assert_eq!(go_duration(Duration::from_millis(ms)), text);
        }
    }
}

//! Which times a CronJob has had, and when the next one is. Mirrors `mostRecentScheduleTime` and
//! `nextScheduleTimeDuration` of `pkg/controller/cronjob/utils.go`.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::CronJob;

use object::cron::Schedule;

/// So many missed times are a reason to complain.
pub const TOO_MANY: i64 = 100;

/// A little later than the time itself, for the clocks of two machines.
const NEXT_LOOK_DELTA: Duration = Duration::from_millis(100);

/// The times since the last one that had a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// From when on times count: the last one, or the CronJob's creation, or the starting deadline.
    pub earliest: Timestamp,
    /// The latest one that is not in the future. None too where the estimate leads past it, as it can where the times lie
    /// unevenly: such a time gets no Job, in Kubernetes neither.
    pub latest: Option<Timestamp>,
    /// How many there were, by estimate where there were many.
    pub missed: i64,
}

impl Times {
    /// The times of `cron_job` until `now`. `in_time` leaves out those whose starting deadline is over.
    pub fn of(cron_job: &CronJob, schedule: &Schedule, zone: &TimeZone, now: Timestamp, in_time: bool) -> Times {
        let last = cron_job.status.as_ref().and_then(|status| status.last_schedule_time.as_ref());
        let since = last.or(cron_job.metadata.creation_timestamp.as_ref());
        let mut earliest = since.map_or(now, |since| since.0);
        if let Some(seconds) = cron_job.spec.starting_deadline_seconds.filter(|_| in_time) {
            earliest = earliest.max(before(now, seconds));
        }
        let none = Times { earliest, latest: None, missed: 0 };
        let Some(first) = schedule.next(earliest, zone).filter(|first| *first <= now) else { return none };
        let second = schedule.next(first, zone).filter(|second| *second <= now);
        let Some(second) = second else { return Times { latest: Some(first), missed: 1, ..none } };
        // So that years of absence cost no years of steps: jump near to now, then go step by step.
        let between = (second.as_second() - first.as_second()).max(1);
        let missed = (now.as_second() - first.as_second()) / between + 1;
        let near = Timestamp::from_second(first.as_second() + (missed - 2).max(0) * between).unwrap_or(first);
        let until_now = |at: &Timestamp| schedule.next(*at, zone).filter(|next| *next <= now);
        let latest = std::iter::successors(until_now(&near), until_now).last();
        Times { latest, missed, ..none }
    }
}

/// So many seconds ago.
pub fn before(now: Timestamp, seconds: i64) -> Timestamp {
    now.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN)
}

/// How long until just after the next time. None if there is none.
pub fn next_look(cron_job: &CronJob, schedule: &Schedule, zone: &TimeZone, now: Timestamp) -> Option<Duration> {
    let times = Times::of(cron_job, schedule, zone, now, false);
    let since = times.latest.unwrap_or(if times.missed == 0 { times.earliest } else { now });
    let next = schedule.next(since, zone)?;
    let until = Duration::try_from(next.duration_since(now)).unwrap_or_default();
    Some(until + NEXT_LOOK_DELTA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cron_job(last: Option<&str>, deadline: Option<i64>) -> CronJob {
        let spec = json!({"schedule": "", "jobTemplate": {}, "startingDeadlineSeconds": deadline});
        let meta = json!({"creationTimestamp": "2026-01-01T00:00:30Z"});
        serde_json::from_value(json!({"metadata": meta, "spec": spec, "status": {"lastScheduleTime": last}})).unwrap()
    }

    #[test]
    fn the_latest_time_counts() {
        let schedule = Schedule::parse("*/10 * * * *").unwrap();
        for (last, deadline, now, latest, missed) in [
            (None, None, "2026-01-01T00:09:59Z", None, 0),
            (None, None, "2026-01-01T00:10:00Z", Some("2026-01-01T00:10:00Z"), 1),
            (None, None, "2026-01-01T00:35:00Z", Some("2026-01-01T00:30:00Z"), 3),
            (Some("2026-01-01T00:30:00Z"), None, "2026-01-01T00:35:00Z", None, 0),
            (None, None, "2026-01-02T00:05:00Z", Some("2026-01-02T00:00:00Z"), 144),
            (None, Some(200), "2026-01-01T00:35:00Z", None, 0),
            (None, Some(400), "2026-01-01T00:35:00Z", Some("2026-01-01T00:30:00Z"), 1),
        ] {
            let times = Times::of(&cron_job(last, deadline), &schedule, &TimeZone::UTC, now.parse().unwrap(), true);
            let want = latest.map(|time: &str| time.parse().unwrap());
            assert_eq!((times.latest, times.missed), (want, missed), "{last:?} {deadline:?} {now}");
        }
    }

    /// At 6:30, 10:30 and 14:30 on workdays; the first of January 2026 is a Thursday.
    #[test]
    fn where_times_lie_unevenly_the_latest_may_be_overlooked() {
        let schedule = Schedule::parse("30 6-16/4 * * 1-5").unwrap();
        let friday = cron_job(Some("2026-01-02T06:30:00Z"), None);
        for (now, latest, next_look_in) in [
            ("2026-01-02T15:00:00Z", Some("2026-01-02T14:30:00Z"), "2026-01-05T06:30:00.1Z"),
            ("2026-01-04T12:00:00Z", None, "2026-01-05T06:30:00.1Z"),
        ] {
            let now: Timestamp = now.parse().unwrap();
            let times = Times::of(&friday, &schedule, &TimeZone::UTC, now, true);
            assert_eq!(times.latest, latest.map(|time: &str| time.parse().unwrap()), "{now}");
            let at = now + next_look(&friday, &schedule, &TimeZone::UTC, now).unwrap();
            assert_eq!(at, next_look_in.parse().unwrap(), "{now}");
        }
    }

    #[test]
    fn the_next_look_is_just_after_the_next_time() {
        let schedule = Schedule::parse("*/10 * * * *").unwrap();
        let now = "2026-01-01T00:12:00Z".parse().unwrap();
        let delay = next_look(&cron_job(Some("2026-01-01T00:10:00Z"), None), &schedule, &TimeZone::UTC, now);
        assert_eq!(delay, Some(Duration::from_millis(480_100)));
    }
}

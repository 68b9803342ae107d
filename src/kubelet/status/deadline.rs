//! Whether a pod has been active for longer than it may. What follows from that is in [`crate::active_deadline`].

use std::time::Duration;

use object::Pod;
use object::pod::status::PodStatus;
use object::time::Instant;

/// The reason of status and Event.
pub const REASON: &str = "DeadlineExceeded";
/// The message of both.
pub const MESSAGE: &str = "Pod was active on the node longer than the specified deadline";

/// When the pod's time is over. None if it has all the time there is, or has not begun.
pub fn deadline(pod: &Pod, status: &PodStatus) -> Option<Instant> {
    let seconds = pod.spec.as_ref()?.active_deadline_seconds?;
    let start = Instant::from_time(status.start_time.as_ref()?);
    Some(start + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Whether the pod's time is over. Mirrors `pastActiveDeadline`.
pub fn is_over(pod: &Pod, status: &PodStatus, now: Instant) -> bool {
    deadline(pod, status).is_some_and(|at| now >= at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_counts_from_the_start_on_the_node() {
        let second = |s: u64| Instant(s * 1_000_000_000);
        let table = [
            (None, Some(0), 1_000_000, false),
            (Some(5), None, 1_000_000, false),
            (Some(5), Some(10), 14, false),
            (Some(5), Some(10), 15, true),
            (Some(0), Some(10), 10, true),
            (Some(i64::MAX), Some(10), 1_000_000, false),
        ];
        for (seconds, start, now, over) in table {
            let mut pod = crate::testing::pod(&["web"]);
            pod.spec.as_mut().unwrap().active_deadline_seconds = seconds;
            let start_time = start.map(|start| second(start).time());
            let status = PodStatus { start_time, ..PodStatus::default() };
            assert_eq!(is_over(&pod, &status, second(now)), over, "{seconds:?} from {start:?} at {now}");
        }
    }
}

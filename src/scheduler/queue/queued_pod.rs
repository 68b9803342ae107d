//! A pod in the queue, and how long it must wait after a failure.

use std::sync::Arc;
use std::time::Duration;

use crate::cycle::PluginSet;
use crate::pod_info::PodInfo;
use object::Pod;
use object::time::Instant;

/// `podInitialBackoffSeconds`.
const BACKOFF_SECONDS_INITIAL: u64 = 1;
/// `podMaxBackoffSeconds`.
const BACKOFF_SECONDS_MAX: u64 = 10;
/// After so many errors in a row the backoff has reached its end.
pub(super) const HOPELESS: u32 = 5;

pub(super) const SECOND: u64 = 1_000_000_000;

/// A pod in the queue, or in an attempt, with its history.
#[derive(Clone, Debug)]
pub struct QueuedPod {
    /// The pod.
    pub info: Arc<PodInfo>,
    /// The number of the profile that it names.
    pub profile: usize,
    /// When it was put into the queue this time.
    pub timestamp: Instant,
    /// When it was first tried.
    pub initial_attempt: Option<Instant>,
    /// How often it was tried.
    pub attempts: u32,
    /// Attempts that ended with a rejection; they set the backoff …
    pub unschedulable_count: u32,
    /// … unless the last ones ended with errors.
    pub consecutive_errors: u32,
    /// The plugins that rejected it the last time.
    pub rejected_by: PluginSet,
    /// The number of the plugin that will not have it queued at all.
    pub gated_by: Option<usize>,
}

impl QueuedPod {
    /// The same with the pod as it is now.
    pub fn with_pod(self, pod: Arc<Pod>) -> QueuedPod {
        if Arc::ptr_eq(&pod, &self.info.pod) {
            return self;
        }
        QueuedPod { info: Arc::new(PodInfo::new(pod)), ..self }
    }

    /// The second at which the pod may be tried again; none if it never failed.
    pub fn backoff_expiry(&self) -> Option<Instant> {
        let failures = if self.consecutive_errors > 0 { self.consecutive_errors } else { self.unschedulable_count };
        let doublings = failures.checked_sub(1)?;
        let seconds = BACKOFF_SECONDS_INITIAL.checked_shl(doublings.min(32)).unwrap_or(u64::MAX);
        Some(whole_second(self.timestamp + Duration::from_secs(seconds.min(BACKOFF_SECONDS_MAX))))
    }
}

/// Backoffs are kept by the second, so that pods of one second stay in order of priority.
pub(super) fn whole_second(instant: Instant) -> Instant {
    Instant(instant.0 / SECOND * SECOND)
}

//! Failures counted index by index. Mirrors `pkg/controller/job/indexed_job_utils.go`.
//!
//! How often an index has failed is written in an annotation of its newest Pod. So the last failed Pod of an index keeps
//! its finalizer until its successor has been made with one failure more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use object::Pod;
use object::time::Instant;

use super::backoff;
use super::indexes::Indexes;
use super::policy::{FailureAction, judge};
use super::sync::Sync;
use super::{is_tracked, uid_of};

/// How often the Pod's index had failed before it.
const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// How often it had failed without that being counted.
const IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

fn count(pod: &Pod, annotation: &str) -> i32 {
    pod.metadata.annotations.as_ref().and_then(|all| all.get(annotation)?.parse().ok()).unwrap_or(0)
}

/// The indexes that may not be tried again.
pub(super) fn failed(sync: &Sync, completions: i32) -> Indexes {
    let mut failed = Indexes::parse(sync.status.failed_indexes.as_deref().unwrap_or_default(), completions);
    let limit = sync.spec.backoff_limit_per_index.unwrap_or(0);
    let has_failed = |pod: &&Arc<Pod>| {
        let tries_over = count(pod, FAILURES) >= limit;
        is_tracked(pod)
            && sync.has_failed(pod)
            && match judge(&sync.spec, pod) {
                FailureAction::FailIndex => true,
                FailureAction::Ignore => false,
                _ => tries_over,
            }
    };
    failed.extend(sync.pods.iter().filter(has_failed).filter_map(|pod| sync.index_of(pod)));
    failed
}

/// The last failed Pod of each index that nothing works on and that is to be tried again.
/// Mirrors `getPodsWithDelayedDeletionPerIndex`.
pub(super) fn remembered(sync: &Sync) -> BTreeMap<i32, Arc<Pod>> {
    let active: BTreeSet<i32> = sync.active.iter().filter_map(|pod| sync.index_of(pod)).collect();
    let is_over = |index: i32| {
        sync.succeeded_indexes.has(index) || sync.failed_indexes.as_ref().is_some_and(|failed| failed.has(index))
    };
    let tries = |pod: &Pod| count(pod, FAILURES) + count(pod, IGNORED);
    let mut last: BTreeMap<i32, Arc<Pod>> = BTreeMap::new();
    for pod in sync.pods.iter().filter(|pod| sync.is_open(pod) && sync.has_failed(pod)) {
        let Some(index) = sync.index_of(pod).filter(|index| !active.contains(index) && !is_over(*index)) else {
            continue;
        };
        if last.get(&index).is_none_or(|there| tries(there) <= tries(pod)) {
            last.insert(index, pod.clone());
        }
    }
    last
}

/// Whether the Pod is the one that knows how often its index has failed.
pub(super) fn is_remembered(sync: &Sync, pod: &Pod) -> bool {
    sync.spec.backoff_limit_per_index.is_some()
        && remembered(sync).values().any(|remembered| uid_of(remembered) == uid_of(pod))
}

/// Which of `indexes` may be tried now; if none, how long the first has to wait.
pub(super) fn due(sync: &Sync, indexes: &[i32], now: Instant) -> (Vec<i32>, Duration) {
    let last = remembered(sync);
    let pause = |index: &i32| {
        let Some(pod) = last.get(index) else { return Duration::ZERO };
        let failures = count(pod, FAILURES) + count(pod, IGNORED) + 1;
        backoff::remaining(failures as u32, backoff::finished_at(pod), now)
    };
    let due = indexes.iter().copied().filter(|index| pause(index).is_zero()).collect();
    (due, indexes.iter().map(pause).min().unwrap_or_default())
}

/// What the next Pod of an index is to know of the failures before it; None if they are not counted by index.
pub(super) fn annotations(sync: &Sync, index: i32) -> Option<BTreeMap<String, String>> {
    sync.spec.backoff_limit_per_index?;
    let (mut failures, mut ignored) = (0, 0);
    if let Some(pod) = remembered(sync).get(&index) {
        (failures, ignored) = (count(pod, FAILURES), count(pod, IGNORED));
        match judge(&sync.spec, pod) {
            FailureAction::Ignore => ignored += 1,
            _ => failures += 1,
        }
    }
    let mut annotations = BTreeMap::from([(FAILURES.to_owned(), failures.to_string())]);
    if ignored > 0 {
        annotations.insert(IGNORED.to_owned(), ignored.to_string());
    }
    Some(annotations)
}

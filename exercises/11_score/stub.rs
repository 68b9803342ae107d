//! Exercise 11: which nodes may a Pod go to, and which is best?
//!
//! Two plugins of the scheduler. TaintToleration: a taint keeps off every Pod that does not tolerate it, if its effect is
//! NoSchedule or NoExecute; PreferNoSchedule only costs points, if the Pod does not tolerate it: of 100 points
//! `100 × such taints ÷ the most that any node still possible has` are taken off, nothing if none has any. LeastAllocated: the share of cpu and of
//! memory that would be free with the Pod there, in percent and never below 0, the mean of both.
//!
//! A node's score is three times the first and once the second, in whole numbers, rounded down at each division. A toleration
//! without `operator` means `Equal`; one without `key` or `effect` is meant for all of them.

#![allow(unused_imports)]

use k8s_openapi::api::core::v1::{Taint, Toleration};
use kubestep_exercise::score::{Candidate, Share, Wanted};

// Yours from here.

/// For each node its score, or None if the Pod must not go there.
pub fn scores(pod: &Wanted, nodes: &[Candidate]) -> Vec<Option<i64>> {
    let _ = (pod, nodes);
    kubestep_exercise::not_started()
}

//! Exercise 21: what does a Job still need?
//!
//! A Job wants `completions` Pods to succeed, at most `parallelism` at a time. You get its spec and the Pods that it has
//! ever made, except for those that it has deleted itself (they count for nothing), and say what to do next:
//!
//! - a Pod has *succeeded* or *failed* if its phase says so. One that another client deletes before it has succeeded has failed
//!   too. All others are *active*;
//! - more failures than `backoffLimit` (6 if it is not given): the Job has failed, and its active Pods are deleted;
//! - as many successes as `completions`: it is complete, and active Pods that are left are deleted. Without `completions` it is
//!   complete when one Pod has succeeded and none is active any more. A Job that has failed is not complete;
//! - else, while it is suspended, nothing is to run;
//! - else so many are to run as are still missing, but not more than `parallelism` (1 if it is not given). Without
//!   `completions` that is `parallelism`, until one has succeeded: then those that run may go on, and no more begin.

#![allow(unused_imports)]

use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::api::core::v1::Pod;
use kubestep_exercise::job::{End, Step};

// Yours from here.

/// With a queue: first the Pods that run and may stay, then as many new ones as there is room for.
pub fn sync(job: &JobSpec, pods: &[Pod]) -> Step {
    let is =
        |pod: &&Pod, wanted: &str| pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some(wanted));
    let succeeded = pods.iter().filter(|pod| is(pod, "Succeeded")).count();
    let is_active =
        |pod: &&Pod| !is(pod, "Succeeded") && !is(pod, "Failed") && pod.metadata.deletion_timestamp.is_none();
    let active = pods.iter().filter(is_active).count();
    let failed = pods.len() - succeeded - active;
    let failed_too_often = failed as i64 > i64::from(job.backoff_limit.unwrap_or(6));
    let completions = job.completions.unwrap_or(i32::MAX) as usize;
    let has_end = succeeded >= completions || (job.completions.is_none() && succeeded > 0 && active == 0);
    let end = match (failed_too_often, has_end) {
        (true, _) => Some(End::Failed),
        (_, true) => Some(End::Complete),
        _ => None,
    };
    let mut room = match end {
        Some(_) => 0,
        None if job.suspend.unwrap_or(false) => 0,
        None if job.completions.is_none() && succeeded > 0 => active,
        None => (job.parallelism.unwrap_or(1) as usize).min(completions - succeeded),
    };
    let mut delete = 0;
    for _ in 0..active {
        if room == 0 {
            delete += 1;
        } else {
            room -= 1;
        }
    }
    Step { create: room, delete, end }
}

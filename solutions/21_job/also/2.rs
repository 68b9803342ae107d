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

/// By partitions, and first what is to run, then whether there is an end.
pub fn sync(job: &JobSpec, pods: &[Pod]) -> Step {
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
    let (succeeded, others): (Vec<&Pod>, Vec<&Pod>) = pods.iter().partition(|pod| phase(pod) == "Succeeded");
    let (failed, active): (Vec<&Pod>, Vec<&Pod>) =
        others.into_iter().partition(|pod| phase(pod) == "Failed" || pod.metadata.deletion_timestamp.is_some());
    let (running, done) = (active.len(), succeeded.len());
    let missing = job.completions.map(|completions| (completions as usize).saturating_sub(done));
    let end = if failed.len() as i32 > job.backoff_limit.unwrap_or(6) {
        Some(End::Failed)
    } else if missing == Some(0) || missing.is_none() && done > 0 && running == 0 {
        Some(End::Complete)
    } else {
        None
    };
    let parallelism = job.parallelism.unwrap_or(1) as usize;
    let wanted = match (missing, done) {
        _ if end.is_some() || job.suspend == Some(true) => 0,
        (Some(missing), _) => missing.min(parallelism),
        (None, 0) => parallelism,
        (None, _) => running,
    };
    if wanted >= running {
        Step { create: wanted - running, delete: 0, end }
    } else {
        Step { create: 0, delete: running - wanted, end }
    }
}

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

/// In one pass over the Pods, with whole numbers that may fall below zero.
pub fn sync(job: &JobSpec, pods: &[Pod]) -> Step {
    let (mut active, mut succeeded, mut failed) = (0_i32, 0_i32, 0_i32);
    for pod in pods {
        let phase = pod.status.clone().unwrap_or_default().phase.unwrap_or_default();
        match (phase.as_str(), &pod.metadata.deletion_timestamp) {
            ("Succeeded", _) => succeeded += 1,
            ("Failed", _) | (_, Some(_)) => failed += 1,
            (_, None) => active += 1,
        }
    }
    let all = |end| Step { create: 0, delete: active as usize, end: Some(end) };
    if failed > job.backoff_limit.unwrap_or(6) {
        return all(End::Failed);
    }
    if job.completions.is_some_and(|wanted| succeeded >= wanted) {
        return all(End::Complete);
    }
    if job.completions.is_none() && succeeded > 0 && active == 0 {
        return all(End::Complete);
    }
    let at_once = job.parallelism.unwrap_or(1);
    let mut wanted = match job.completions {
        Some(completions) => (completions - succeeded).clamp(0, at_once),
        None => {
            if succeeded > 0 {
                active
            } else {
                at_once
            }
        }
    };
    if job.suspend.unwrap_or_default() {
        wanted = 0;
    }
    let more = wanted - active;
    Step { create: more.max(0) as usize, delete: (-more).max(0) as usize, end: None }
}

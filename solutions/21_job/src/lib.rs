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

/// How many Pods to create and to delete, and whether this is the end. A step that is the end creates nothing.
pub fn sync(job: &JobSpec, pods: &[Pod]) -> Step {
    let count = |state: State| pods.iter().filter(|pod| state_of(pod) == state).count();
    let (active, succeeded, failed) = (count(State::Active), count(State::Succeeded), count(State::Failed));
    if failed > job.backoff_limit.unwrap_or(6) as usize {
        return Step { create: 0, delete: active, end: Some(End::Failed) };
    }
    let is_complete = match job.completions {
        Some(completions) => succeeded >= completions as usize,
        None => succeeded > 0 && active == 0,
    };
    if is_complete {
        return Step { create: 0, delete: active, end: Some(End::Complete) };
    }
    let parallelism = job.parallelism.unwrap_or(1) as usize;
    let wanted = match job.completions {
        _ if job.suspend == Some(true) => 0,
        Some(completions) => parallelism.min(completions as usize - succeeded),
        None if succeeded > 0 => active,
        None => parallelism,
    };
    Step { create: wanted.saturating_sub(active), delete: active.saturating_sub(wanted), end: None }
}

#[derive(PartialEq)]
enum State {
    Active,
    Succeeded,
    Failed,
}

fn state_of(pod: &Pod) -> State {
    match pod.status.as_ref().and_then(|status| status.phase.as_deref()) {
        Some("Succeeded") => State::Succeeded,
        Some("Failed") => State::Failed,
        _ if pod.metadata.deletion_timestamp.is_some() => State::Failed,
        _ => State::Active,
    }
}

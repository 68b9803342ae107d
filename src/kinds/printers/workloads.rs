//! What is shown of workloads.

use jiff::Timestamp;
use serde_json::Value;

use crate::printers::duration::since;
use crate::printers::fields::time;

/// Where most workloads have their template.
pub const TEMPLATE: &str = "spec.template";

/// From the Job's start to its completion, or until now.
pub fn job_duration(job: &Value, now: Timestamp) -> String {
    let Some(start) = time(job, "status.startTime") else { return String::new() };
    since(time(job, "status.completionTime").unwrap_or(now), start)
}

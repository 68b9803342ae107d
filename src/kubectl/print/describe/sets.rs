//! The pages about a DaemonSet, a StatefulSet, a Job and a CronJob.

use serde_json::Value;

use super::super::fields::{at, int, labels, list, long_time, map, plain, selector, text};
use super::super::workloads::job_duration;
use super::page::{Page, go_list, joined};
use super::workloads::{describe_template, pod_phases};

pub(super) fn describe_daemon_set(page: &mut Page, set: &Value, pods: &[Value]) {
    page.name(set);
    page.namespace(set);
    page.field("Selector", selector(set, "spec.selector"));
    page.field("Node-Selector", labels(set, "spec.template.spec.nodeSelector"));
    page.labels("Labels", set, "metadata.labels");
    page.annotations("Annotations", set, "metadata.annotations");
    for (title, field) in [
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ] {
        page.line(format!("{title}: {}", int(at(set, "status"), field)));
    }
    page.field("Pods Status", pod_phases(set, pods));
    describe_template(page, at(set, "spec.template"));
}

pub(super) fn describe_stateful_set(page: &mut Page, set: &Value, pods: &[Value]) {
    page.name(set);
    page.namespace(set);
    page.field("CreationTimestamp", long_time(set, "metadata.creationTimestamp").unwrap_or_default());
    page.field("Selector", selector(set, "spec.selector"));
    page.labels("Labels", set, "metadata.labels");
    page.annotations("Annotations", set, "metadata.annotations");
    let (wanted, all) = (int(set, "spec.replicas"), int(set, "status.replicas"));
    page.field("Replicas", format!("{wanted} desired | {all} total"));
    page.field("Update Strategy", text(set, "spec.updateStrategy.type"));
    if let Some(partition) = at(set, "spec.updateStrategy.rollingUpdate.partition").as_i64() {
        page.field("  Partition", partition.to_string());
        let most = at(set, "spec.updateStrategy.rollingUpdate.maxUnavailable");
        if !most.is_null() {
            page.field("  MaxUnavailable", plain(most));
        }
    }
    page.field("Pods Status", pod_phases(set, pods));
    describe_template(page, at(set, "spec.template"));
    describe_claims(page, list(set, "spec.volumeClaimTemplates"));
}

/// Mirrors `describeVolumeClaimTemplates`.
fn describe_claims(page: &mut Page, claims: &[Value]) {
    if claims.is_empty() {
        return page.field("Volume Claims", "<none>");
    }
    page.line("Volume Claims:");
    for claim in claims {
        page.field("  Name", text(claim, "metadata.name"));
        page.field("  StorageClass", text(claim, "spec.storageClassName"));
        page.labels("  Labels", claim, "metadata.labels");
        // They are printed as labels are.
        page.labels("  Annotations", claim, "metadata.annotations");
        let capacity = map(claim, "spec.resources.requests").find(|(name, _)| *name == "storage");
        page.field("  Capacity", capacity.map_or_else(|| "<default>".to_owned(), |(_, amount)| plain(amount)));
        page.field("  Access Modes", go_list(list(claim, "spec.accessModes")));
    }
}

pub(super) fn describe_job(page: &mut Page, job: &Value) {
    page.name(job);
    page.namespace(job);
    page.field("Selector", selector(job, "spec.selector"));
    page.labels("Labels", job, "metadata.labels");
    page.annotations("Annotations", job, "metadata.annotations");
    page.controlled_by(job);
    describe_size(page, job);
    for (title, field) in [
        ("Completion Mode", "completionMode"),
        ("Suspend", "suspend"),
        ("Backoff Limit", "backoffLimit"),
        ("TTL Seconds After Finished", "ttlSecondsAfterFinished"),
    ] {
        let value = at(at(job, "spec"), field);
        if !value.is_null() {
            page.field(title, plain(value));
        }
    }
    let [start, end] = ["status.startTime", "status.completionTime"].map(|path| long_time(job, path));
    let both = start.is_some() && end.is_some();
    for (title, time) in [("Start Time", start), ("Completed At", end)] {
        if let Some(time) = time {
            page.field(title, time);
        }
    }
    if both {
        page.field("Duration", job_duration(job, page.now));
    }
    describe_deadline(page, job);
    let [active, ready, succeeded, failed] =
        ["active", "ready", "succeeded", "failed"].map(|field| int(at(job, "status"), field));
    let ready = if at(job, "status.ready").is_null() { String::new() } else { format!(" ({ready} Ready)") };
    page.field("Pods Statuses", format!("{active} Active{ready} / {succeeded} Succeeded / {failed} Failed"));
    if text(job, "spec.completionMode") == "Indexed" {
        page.field("Completed Indexes", indexes(text(job, "status.completedIndexes")));
    }
    describe_template(page, at(job, "spec.template"));
}

fn describe_size(page: &mut Page, job: &Value) {
    for (title, field) in [("Parallelism", "parallelism"), ("Completions", "completions")] {
        let count = at(at(job, "spec"), field).as_i64();
        page.field(title, count.map_or_else(|| "<unset>".to_owned(), |count| count.to_string()));
    }
}

fn describe_deadline(page: &mut Page, job: &Value) {
    if let Some(seconds) = at(job, "spec.activeDeadlineSeconds").as_i64() {
        page.field("Active Deadline Seconds", format!("{seconds}s"));
    }
}

/// A list of indexes, cut at the first comma at which it is long. Mirrors `capIndexesListOrNone`.
fn indexes(text: &str) -> String {
    const LONG: usize = 50;
    let comma = text.get(LONG..).and_then(|rest| rest.find(',')).map(|at| LONG + at);
    match comma {
        _ if text.is_empty() => "<none>".to_owned(),
        None => text.to_owned(),
        Some(comma) => format!("{},...", &text[..comma]),
    }
}

pub(super) fn describe_cron_job(page: &mut Page, job: &Value) {
    page.name(job);
    page.namespace(job);
    page.labels("Labels", job, "metadata.labels");
    page.annotations("Annotations", job, "metadata.annotations");
    page.field("Schedule", text(job, "spec.schedule"));
    page.field("Concurrency Policy", text(job, "spec.concurrencyPolicy"));
    let suspended = at(job, "spec.suspend").as_bool();
    page.field("Suspend", suspended.map_or("<unset>", |on| if on { "True" } else { "False" }));
    let zone = text(job, "spec.timeZone");
    page.field("Time Zone", if zone.is_empty() { "<unset>" } else { zone });
    for (title, field, unit) in [
        ("Successful Job History Limit", "successfulJobsHistoryLimit", ""),
        ("Failed Job History Limit", "failedJobsHistoryLimit", ""),
        ("Starting Deadline Seconds", "startingDeadlineSeconds", "s"),
    ] {
        let count = at(at(job, "spec"), field).as_i64();
        page.field(title, count.map_or_else(|| "<unset>".to_owned(), |count| format!("{count}{unit}")));
    }
    let template = at(job, "spec.jobTemplate");
    let unset = at(template, "spec.selector").is_null();
    page.field("Selector", if unset { "<unset>".to_owned() } else { selector(template, "spec.selector") });
    describe_size(page, template);
    describe_deadline(page, template);
    describe_template(page, at(template, "spec.template"));
    let last = long_time(job, "status.lastScheduleTime").unwrap_or_else(|| "<unset>".to_owned());
    page.field("Last Schedule Time", last);
    let active: Vec<String> = list(job, "status.active").iter().map(|job| text(job, "name").to_owned()).collect();
    page.field("Active Jobs", joined(&active));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_at_a_comma() {
        let long: Vec<String> = (0..40).map(|n| (2 * n).to_string()).collect();
        let cut = "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,...";
        // No number is cut off, and what ends without another comma is shown whole.
        let whole = &cut[..cut.len() - 4];
        for (text, want) in [("", "<none>"), ("0-3,5", "0-3,5"), (long.join(",").as_str(), cut), (whole, whole)] {
            assert_eq!(indexes(text), want);
        }
    }
}

//! Table cells of DaemonSets, StatefulSets, Jobs, CronJobs and autoscalers. Mirrors
//! `pkg/printers/internalversion/printers.go`.

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::printers::cells::{containers, created, name};
use crate::kinds::printers::duration::since;
use crate::kinds::printers::fields::{at, flag, int, labels, list, plain, selector, text, text_or_none, time};
use crate::object::Kind;
const TEMPLATE: &str = "spec.template";

pub fn daemon_set_cells(set: &Value, now: Timestamp) -> Vec<Value> {
    let count = |field: &str| int(at(set, "status"), field);
    let (containers, images) = containers(set, TEMPLATE);
    cells![
        name(set),
        count("desiredNumberScheduled"),
        count("currentNumberScheduled"),
        count("numberReady"),
        count("updatedNumberScheduled"),
        count("numberAvailable"),
        labels(set, "spec.template.spec.nodeSelector"),
        created(set, now),
        containers,
        images,
        selector(set, "spec.selector"),
    ]
}

pub fn stateful_set_cells(set: &Value, now: Timestamp) -> Vec<Value> {
    let ready = format!("{}/{}", int(set, "status.readyReplicas"), int(set, "spec.replicas"));
    let (containers, images) = containers(set, TEMPLATE);
    cells![name(set), ready, created(set, now), containers, images]
}

pub fn revision_cells(revision: &Value, now: Timestamp) -> Vec<Value> {
    let owners = list(revision, "metadata.ownerReferences");
    let owner = owners.iter().find(|owner| flag(owner, "controller"));
    let controller = owner.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let kind = Kind::from_manifest(text(owner, "apiVersion"), text(owner, "kind"));
            let kind = kind.map_or_else(|| text(owner, "kind").to_owned(), |kind| kind.info().qualified_kind());
            format!("{}/{}", kind.to_ascii_lowercase(), text(owner, "name"))
        },
    );
    cells![name(revision), controller, int(revision, "revision"), created(revision, now)]
}

pub fn pod_template_cells(object: &Value, _: Timestamp) -> Vec<Value> {
    let (containers, images) = containers(object, "template");
    cells![name(object), containers, images, labels(object, "template.metadata.labels")]
}

pub fn job_cells(job: &Value, now: Timestamp) -> Vec<Value> {
    let (containers, images) = containers(job, TEMPLATE);
    cells![
        name(job),
        job_status(job),
        completions(job),
        job_duration(job, now),
        created(job, now),
        containers,
        images,
        selector(job, "spec.selector"),
    ]
}

/// The weightiest thing that the conditions say.
fn job_status(job: &Value) -> &'static str {
    let conditions = list(job, "status.conditions");
    let holds = |type_: &str| conditions.iter().any(|c| text(c, "type") == type_ && text(c, "status") == "True");
    match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if !at(job, "metadata.deletionTimestamp").is_null() => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let succeeded = int(job, "status.succeeded");
    match (at(job, "spec.completions").as_i64(), int(job, "spec.parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

/// From the Job's start to its completion, or until now.
pub fn job_duration(job: &Value, now: Timestamp) -> String {
    let Some(start) = time(job, "status.startTime") else { return String::new() };
    since(time(job, "status.completionTime").unwrap_or(now), start)
}

pub fn cron_job_cells(job: &Value, now: Timestamp) -> Vec<Value> {
    let last = time(job, "status.lastScheduleTime").map_or_else(|| "<none>".to_owned(), |last| since(now, last));
    let (containers, images) = containers(job, "spec.jobTemplate.spec.template");
    let suspended = if flag(job, "spec.suspend") { "True" } else { "False" };
    cells![
        name(job),
        text(job, "spec.schedule"),
        text_or_none(job, "spec.timeZone"),
        suspended,
        list(job, "status.active").len(),
        last,
        created(job, now),
        containers,
        images,
        selector(job, "spec.jobTemplate.spec.selector"),
    ]
}

/// How many metrics are shown before the rest is only counted.
const METRICS_SHOWN: usize = 2;

pub fn autoscaler_cells(hpa: &Value, now: Timestamp) -> Vec<Value> {
    let [kind, target] = ["kind", "name"].map(|field| text(at(hpa, "spec.scaleTargetRef"), field));
    let min = at(hpa, "spec.minReplicas");
    cells![
        name(hpa),
        format!("{kind}/{target}"),
        autoscaler_targets(hpa),
        if min.is_null() { "<unset>".to_owned() } else { plain(min) },
        int(hpa, "spec.maxReplicas"),
        int(hpa, "status.currentReplicas"),
        created(hpa, now),
    ]
}

/// `cpu: 90%/50%, memory: <unknown>/200Mi + 1 more...`. Mirrors `formatHPAMetrics`.
fn autoscaler_targets(hpa: &Value) -> String {
    let (metrics, statuses) = (list(hpa, "spec.metrics"), list(hpa, "status.currentMetrics"));
    let shown = |(i, metric): (usize, &Value)| {
        let (field, average) = match text(metric, "type") {
            "Resource" => ("resource", ""),
            "ContainerResource" => ("containerResource", ""),
            "Pods" => ("pods", ""),
            "Object" => ("object", " (avg)"),
            _ => ("external", " (avg)"),
        };
        let (source, status) = (at(metric, field), at(statuses.get(i).unwrap_or(&Value::Null), field));
        let of = |field: &str, unit: &str| {
            let part = |value: &Value| if value.is_null() { "<unknown>".to_owned() } else { plain(value) + unit };
            format!("{}/{}", part(at(at(status, "current"), field)), part(at(at(source, "target"), field)))
        };
        let is_set = |field: &str| !at(at(source, "target"), field).is_null();
        let values = match () {
            () if is_set("averageValue") => of("averageValue", "") + average,
            () if is_set("value") => of("value", ""),
            () => of("averageUtilization", "%"),
        };
        if average.is_empty() && field != "pods" { format!("{}: {values}", text(source, "name")) } else { values }
    };
    let all = metrics.iter().enumerate().take(METRICS_SHOWN).map(shown).collect::<Vec<_>>().join(", ");
    match metrics.len() {
        0 => "<none>".to_owned(),
        count if count > METRICS_SHOWN => format!("{all} + {} more...", count - METRICS_SHOWN),
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_says_how_far_it_is() {
        for (spec, succeeded, want) in [
            (json!({"completions": 3, "parallelism": 2}), 2, "2/3"),
            (json!({"parallelism": 4}), 1, "1/1 of 4"),
            (json!({"parallelism": 1}), 0, "0/1"),
        ] {
            assert_eq!(completions(&json!({"spec": spec, "status": {"succeeded": succeeded}})), want);
        }
        let job = json!({"status": {"conditions": [{"type": "FailureTarget", "status": "True"},
            {"type": "Failed", "status": "True"}]}});
        assert_eq!(job_status(&job), "Failed");
        assert_eq!(job_status(&json!({})), "Running");
    }
}

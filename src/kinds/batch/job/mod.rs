//! Jobs. Mirrors `pkg/registry/batch/job`, and `pkg/apis/batch/v1/defaults.go`.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use serde_json::Value;

use crate::defaults::fields::{or, or_text};
use crate::pod_template::defaults::template_defaults;
use crate::printers::cells::{containers, created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::{at, int, list, selector, text};
use crate::printers::workloads::{TEMPLATE, job_duration};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use object::time::Instant;

pub mod selector;
pub mod validation;

/// What the server knows of Jobs.
pub const ROW: Row<Job> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::job,
        update: validation::job_update,
        status: validation::job_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        orphans_by_default: true,
        table: Table {
            columns: &[
                NAME,
                column("Status"),
                column("Completions"),
                column("Duration"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells,
        },
        ..Facts::new("/registry/jobs/", 16)
    })
};

fn prepare_for_create(job: &mut Job, _: Instant) {
    job.status = Some(Default::default());
    selector::generate_selector(job);
}

fn defaults(job: &mut Job) {
    let spec = job.spec.get_or_insert_default();
    // Neither said: one Pod is to succeed. Only parallelism said: a work queue, and any Pod may see its end.
    if spec.completions.is_none() && spec.parallelism.is_none() {
        spec.completions = Some(1);
    }
    or(&mut spec.parallelism, 1);
    let limit = if spec.backoff_limit_per_index.is_some() { i32::MAX } else { 6 };
    or(&mut spec.backoff_limit, limit);
    or(&mut spec.suspend, false);
    or(&mut spec.manual_selector, false);
    or_text(&mut spec.completion_mode, "NonIndexed");
    let replacement = if spec.pod_failure_policy.is_some() { "Failed" } else { "TerminatingOrFailed" };
    or_text(&mut spec.pod_replacement_policy, replacement);
    spec_defaults(spec);
}

/// What a Job's template says of its Pods, and which of their conditions its failure policy means.
pub fn spec_defaults(spec: &mut JobSpec) {
    template_defaults(&mut spec.template);
    for rule in spec.pod_failure_policy.iter_mut().flat_map(|policy| policy.rules.iter_mut()) {
        for pattern in rule.on_pod_conditions.iter_mut().flatten() {
            or_text(&mut pattern.status, "True");
        }
    }
}

fn cells(job: &Value, now: Timestamp) -> Vec<Value> {
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
pub fn job_status(job: &Value) -> &'static str {
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

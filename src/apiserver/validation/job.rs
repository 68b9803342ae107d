//! Jobs and CronJobs. Mirrors `pkg/apis/batch/validation`.
//!
//! Left out: the checks of a Job's status, and of the names of the Pods that an Indexed Job would make.

use k8s_openapi::api::batch::v1::{CronJob, Job, JobSpec, PodFailurePolicyRule, SuccessPolicyRule};
use serde_json::json;

use crate::object::cron::Schedule;
use crate::object::selector::Selector;
use crate::object::zone;

use super::field::{Json, Path, Problems};
use super::metadata;
use super::workload::{not_selected, selector_text, template_body};

const SPEC: Path = Path::new("spec");
const TEMPLATE: &str = "template";
/// How many Pods of an Indexed Job may be there at once.
const INDEXED_PARALLELISM_MAX: i32 = 100_000;

/// The spec of a Job. Mirrors `ValidateJob`.
pub fn job(problems: &mut Problems, job: &Job) {
    let default = JobSpec::default();
    let spec = job.spec.as_ref().unwrap_or(&default);
    generated_selector(problems, job, spec);
    let path = SPEC.child("selector");
    match &spec.selector {
        None => problems.required(&path, ""),
        Some(selector) => {
            metadata::label_selector(problems, &path, selector);
            let labels = spec.template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
            if Selector::of(selector).is_ok_and(|selector| !selector.matches(labels)) {
                not_selected(problems, &SPEC.child(TEMPLATE), labels);
            }
        }
    }
    job_spec(problems, &SPEC, spec);
}

/// A selector that the server was to make must be the one that it makes. Mirrors `ValidateGeneratedSelector`.
fn generated_selector(problems: &mut Problems, job: &Job, spec: &JobSpec) {
    const UID: &str = "batch.kubernetes.io/controller-uid";
    if spec.manual_selector == Some(true) {
        return;
    }
    let Some(selector) = &spec.selector else { return };
    let labels = selector.match_labels.as_ref();
    let uid = labels.and_then(|labels| labels.get(UID).or_else(|| labels.get("controller-uid")));
    let only = labels.is_some_and(|labels| labels.keys().all(|key| key == UID || key == "controller-uid"));
    if uid != job.metadata.uid.as_ref() || !only || selector.match_expressions.is_some() {
        problems.invalid(&SPEC.child("selector"), Json(selector), "`selector` not auto-generated");
    }
}

/// What Jobs and the templates of CronJobs have in common. Mirrors `validateJobSpec`.
fn job_spec(problems: &mut Problems, at: &Path, spec: &JobSpec) {
    let counts = [
        ("parallelism", spec.parallelism.map(i64::from)),
        ("completions", spec.completions.map(i64::from)),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit.map(i64::from)),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished.map(i64::from)),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index.map(i64::from)),
        ("maxFailedIndexes", spec.max_failed_indexes.map(i64::from)),
    ];
    for (field, count) in counts {
        problems.not_negative(&at.child(field), count.unwrap_or(0));
    }
    let indexes = at.child("backoffLimitPerIndex");
    if spec.max_failed_indexes.is_some() && spec.backoff_limit_per_index.is_none() {
        problems.required(&indexes, "when maxFailedIndexes is specified");
    }
    match spec.completion_mode.as_deref().unwrap_or("NonIndexed") {
        "Indexed" => indexed(problems, at, spec),
        "NonIndexed" => {
            const WHY: &str = "requires indexed completion mode";
            if let Some(limit) = spec.backoff_limit_per_index {
                problems.invalid(&indexes, limit, WHY);
            }
            if let Some(limit) = spec.max_failed_indexes {
                problems.invalid(&at.child("maxFailedIndexes"), limit, WHY);
            }
            if let Some(policy) = &spec.success_policy {
                problems.invalid(&at.child("successPolicy"), Json(policy), WHY);
            }
        }
        other => problems.not_supported(&at.child("completionMode"), other, &["Indexed", "NonIndexed"]),
    }
    for (i, rule) in spec.pod_failure_policy.iter().flat_map(|policy| &policy.rules).enumerate() {
        let (policy, rules) = (at.child("podFailurePolicy"), "rules");
        failure_rule(problems, &policy.child(rules).index(i), rule, spec);
    }
    replacement_policy(problems, at, spec);
    job_template(problems, at, spec);
}

fn indexed(problems: &mut Problems, at: &Path, spec: &JobSpec) {
    let path = at.child("completions");
    let Some(completions) = spec.completions else {
        return problems.required(&path, "when completion mode is Indexed");
    };
    if let Some(parallelism) = spec.parallelism.filter(|parallelism| *parallelism > INDEXED_PARALLELISM_MAX) {
        let why = format!("must be less than or equal to {INDEXED_PARALLELISM_MAX} when completion mode is Indexed");
        problems.invalid(&at.child("parallelism"), parallelism, &why);
    }
    if let Some(limit) = spec.max_failed_indexes.filter(|limit| *limit > completions) {
        problems.invalid(&at.child("maxFailedIndexes"), limit, "must be less than or equal to completions");
    }
    if let Some(policy) = &spec.success_policy {
        let path = at.child("successPolicy");
        let rules = path.child("rules");
        if policy.rules.is_empty() {
            problems.required(&rules, "at least one rules must be specified when the successPolicy is specified");
        }
        for (i, rule) in policy.rules.iter().enumerate() {
            success_rule(problems, &rules.index(i), rule, completions);
        }
    }
}

fn success_rule(problems: &mut Problems, at: &Path, rule: &SuccessPolicyRule, completions: i32) {
    if rule.succeeded_count.is_none() && rule.succeeded_indexes.is_none() {
        problems.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    }
    if let Some(count) = rule.succeeded_count {
        problems.not_negative(&at.child("succeededCount"), count);
        if count > completions {
            let why = format!("must be less than or equal to {completions} (the number of specified completions)");
            problems.invalid(&at.child("succeededCount"), count, &why);
        }
    }
    if let Some(indexes) = rule.succeeded_indexes.as_deref() {
        let number = |text: &str| text.parse::<i32>().is_ok_and(|index| (0..completions).contains(&index));
        let interval = |text: &str| text.split_once('-').map_or(number(text), |(a, b)| number(a) && number(b));
        if !indexes.split(',').all(interval) {
            problems.invalid(
                &at.child("succeededIndexes"),
                indexes,
                "error parsing succeededIndexes: invalid interval",
            );
        }
    }
}

fn failure_rule(problems: &mut Problems, at: &Path, rule: &PodFailurePolicyRule, spec: &JobSpec) {
    const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
    match rule.action.as_str() {
        "" => problems.required(&at.child("action"), &format!("valid values: {ACTIONS:?}")),
        "FailIndex" if spec.backoff_limit_per_index.is_none() => {
            problems.invalid(&at.child("action"), "FailIndex", "requires the backoffLimitPerIndex to be set");
        }
        action if ACTIONS.contains(&action) => {}
        other => problems.not_supported(&at.child("action"), other, ACTIONS),
    }
    let conditions = rule.on_pod_conditions.as_ref().is_some_and(|patterns| !patterns.is_empty());
    match (&rule.on_exit_codes, conditions) {
        (Some(_), true) => {
            const WHY: &str = "specifying both OnExitCodes and OnPodConditions is not supported";
            problems.invalid(at, Json(&json!(null)), WHY);
        }
        (None, false) => {
            problems.invalid(at, Json(&json!(null)), "specifying one of OnExitCodes and OnPodConditions is required");
        }
        (Some(codes), false) => {
            let path = at.child("onExitCodes");
            let values = path.child("values");
            if !matches!(codes.operator.as_str(), "In" | "NotIn") {
                problems.not_supported(&path.child("operator"), codes.operator.as_str(), &["In", "NotIn"]);
            }
            if codes.values.is_empty() {
                problems.invalid(&values, Json(&codes.values), "at least one value is required");
            }
            for (i, _) in codes.values.iter().enumerate().filter(|(_, code)| codes.operator == "In" && **code == 0) {
                problems.invalid(&values.index(i), 0, "must not be 0 for the In operator");
            }
        }
        (None, true) => {}
    }
}

fn replacement_policy(problems: &mut Problems, at: &Path, spec: &JobSpec) {
    let path = at.child("podReplacementPolicy");
    let allowed: &[&str] =
        if spec.pod_failure_policy.is_some() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    if let Some(policy) = spec.pod_replacement_policy.as_deref().filter(|policy| !allowed.contains(policy)) {
        problems.not_supported(&path, policy, allowed);
    }
}

fn job_template(problems: &mut Problems, at: &Path, spec: &JobSpec) {
    let path = at.child(TEMPLATE);
    template_body(problems, &path, &spec.template);
    let Some(pod) = &spec.template.spec else { return };
    let path = path.child("spec");
    let path = path.child("restartPolicy");
    match pod.restart_policy.as_deref().unwrap_or_default() {
        "Always" => problems.required(&path, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if spec.pod_failure_policy.is_some() => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            problems.invalid(&path, "OnFailure", why);
        }
        "OnFailure" | "Never" => {}
        other => problems.not_supported(&path, other, &["OnFailure", "Never"]),
    }
}

/// What may not change in a Job. Mirrors `ValidateJobSpecUpdate`.
pub fn job_update(problems: &mut Problems, new: &Job, old: &Job) {
    let (Some(wanted), Some(there)) = (&new.spec, &old.spec) else { return };
    if wanted == there {
        return;
    }
    job(problems, new);
    let shown = |value: serde_json::Value| value.to_string();
    let at = SPEC.child("completions");
    match wanted.completions {
        // An Indexed Job may be stretched or cut, if all its Pods may run at once.
        completions if wanted.completion_mode.as_deref() == Some("Indexed") => {
            let changed = completions.filter(|_| completions != there.completions && completions != wanted.parallelism);
            if let Some(number) = changed {
                problems.invalid(&at, number, "can only be modified in tandem with spec.parallelism");
            }
        }
        completions => problems.immutable(&at, &completions, &there.completions, |n| shown(json!(n))),
    }
    problems.immutable(&SPEC.child("selector"), &wanted.selector, &there.selector, |s| {
        s.as_ref().map_or_else(|| "null".to_owned(), selector_text)
    });
    problems.immutable(&SPEC.child(TEMPLATE), &wanted.template, &there.template, |t| shown(json!(t)));
    problems
        .immutable(&SPEC.child("completionMode"), &wanted.completion_mode, &there.completion_mode, |m| shown(json!(m)));
    let (new_policy, old_policy) = (&wanted.pod_failure_policy, &there.pod_failure_policy);
    problems.immutable(&SPEC.child("podFailurePolicy"), new_policy, old_policy, |p| shown(json!(p)));
    let (new_limit, old_limit) = (&wanted.backoff_limit_per_index, &there.backoff_limit_per_index);
    problems.immutable(&SPEC.child("backoffLimitPerIndex"), new_limit, old_limit, |n| shown(json!(n)));
    problems
        .immutable(&SPEC.child("successPolicy"), &wanted.success_policy, &there.success_policy, |p| shown(json!(p)));
}

/// The spec of a CronJob. Mirrors `ValidateCronJobCreate`.
pub fn cron_job(problems: &mut Problems, job: &CronJob) {
    /// The names of its Jobs have eleven characters more.
    const NAME_MAX: usize = 52;
    let name = job.metadata.name.as_deref().unwrap_or_default();
    if name.len() > NAME_MAX {
        problems.invalid(&Path::new("metadata").child("name"), name, "must be no more than 52 characters");
    }
    let spec = &job.spec;
    if spec.schedule.is_empty() {
        problems.required(&SPEC.child("schedule"), "");
    } else {
        schedule(problems, &spec.schedule);
    }
    time_zone(problems, spec.time_zone.as_deref());
    problems.not_negative(&SPEC.child("startingDeadlineSeconds"), spec.starting_deadline_seconds.unwrap_or(0));
    let policies = ["Allow", "Forbid", "Replace"];
    problems.one_of(&SPEC.child("concurrencyPolicy"), spec.concurrency_policy.as_deref(), &policies);
    let path = SPEC.child("jobTemplate");
    job_spec(problems, &path.child("spec"), &spec.job_template.spec.clone().unwrap_or_default());
    problems.not_negative(&SPEC.child("successfulJobsHistoryLimit"), spec.successful_jobs_history_limit.unwrap_or(0));
    problems.not_negative(&SPEC.child("failedJobsHistoryLimit"), spec.failed_jobs_history_limit.unwrap_or(0));
}

/// Mirrors `validateScheduleFormat`.
fn schedule(problems: &mut Problems, schedule: &str) {
    let path = SPEC.child("schedule");
    if schedule.contains("TZ") {
        return problems.invalid(&path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    }
    if let Err(error) = Schedule::parse(schedule) {
        problems.invalid(&path, schedule, &error);
    }
}

/// Mirrors `validateTimeZone`.
fn time_zone(problems: &mut Problems, name: Option<&str>) {
    let path = SPEC.child("timeZone");
    match name {
        None => {}
        Some("") => problems.invalid(&path, "", "timeZone must be nil or non-empty string"),
        Some("Local") => {
            let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
            problems.invalid(&path, "Local", why);
        }
        Some(name) => {
            if let Err(error) = zone::named(name) {
                problems.invalid(&path, name, &error);
            }
        }
    }
}

/// What is wrong with a CronJob's new version.
pub fn cron_job_update(problems: &mut Problems, new: &CronJob, old: &CronJob) {
    if new.spec != old.spec {
        cron_job(problems, new);
    }
}

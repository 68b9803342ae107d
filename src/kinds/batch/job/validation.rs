//! Jobs. Mirrors `pkg/apis/batch/validation`.

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::{
    Job, JobCondition, JobSpec, JobStatus, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule,
    SuccessPolicyRule,
};
use k8s_openapi::api::core::v1::{Affinity, Container, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use crate::batch::job::selector::generated_labels;
use crate::pod_template::template::{not_selected, selector_text, template_body};
use crate::validation::metadata;
use object::Accessor;
use object::selector::Selector;
use object::selector::names::check_label_key;
use object::validation::field::{Json, Path, Problems, Shown};
use object::validation::internal::Internal;
use object::validation::names::{check_dns_label, prefixed_path};

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");
const TEMPLATE: &str = "template";

/// How many Pods of an Indexed Job may be there at once, and how many may fail.
const INDEXES_MAX: i32 = 100_000;

/// The same of a Job with more indexes than that, where each index may fail some times.
const INDEXES_MAX_OF_MANY: i32 = 10_000;

/// The most rules that say how the failure of a Pod counts.
const FAILURE_RULES_MAX: usize = 20;

/// The most exit codes that one of them may name.
const EXIT_CODES_MAX: usize = 255;
const NOT_INDEXED: &str = "requires indexed completion mode";

/// The longest name of a controller that takes care of a Job.
const MANAGER_LEN_MAX: usize = 63;

/// A new Job. Mirrors `ValidateJob`.
pub fn job(problems: &mut Problems, job: &Job) {
    let default = JobSpec::default();
    let spec = job.spec.as_ref().unwrap_or(&default);
    generated_selector(problems, job, spec);
    whole_spec(problems, spec);
    pod_names(problems, job, spec);
}

/// The spec of a Job. Mirrors `ValidateJobSpec`.
fn whole_spec(problems: &mut Problems, spec: &JobSpec) {
    job_spec(problems, &SPEC, spec);
    let path = SPEC.child("selector");
    match &spec.selector {
        None => problems.required(&path, ""),
        Some(selector) => metadata::label_selector(problems, &path, selector),
    }
    let labels = spec.template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    let selected = spec.selector.as_ref().map_or(Ok(false), |all| Selector::of(all).map(|all| all.matches(labels)));
    if selected == Ok(false) {
        not_selected(problems, &SPEC.child(TEMPLATE), labels);
    }
}

/// The last Pod of an Indexed Job has the longest name, and that must be one that a host may have.
fn pod_names(problems: &mut Problems, job: &Job, spec: &JobSpec) {
    let Some(last) = spec.completions.filter(|completions| *completions > 0).map(|completions| completions - 1) else {
        return;
    };
    let name = job.metadata.name();
    let pod = format!("{name}-{last}");
    if spec.completion_mode.as_deref() == Some("Indexed") && !check_dns_label(&pod).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {pod}");
        problems.invalid(&Path::new("metadata").child("name"), name, &why);
    }
}

/// A selector that the server was to make must be the one that it makes, and so must the labels that it selects by:
/// there may have been others, of another Job. Mirrors `validateGeneratedSelector`.
fn generated_selector(problems: &mut Problems, job: &Job, spec: &JobSpec) {
    let Some(selector) = spec.selector.as_ref().filter(|_| spec.manual_selector != Some(true)) else { return };
    let (uid, name) = (job.metadata.uid.clone().unwrap_or_default(), job.metadata.name.clone().unwrap_or_default());
    if uid.is_empty() {
        problems.required(&Path::new("metadata").child("uid"), "");
    }
    let path = SPEC.child(TEMPLATE);
    let path = path.child("metadata");
    let list = path.child("labels");
    let labels = spec.template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    let generated = generated_labels(&uid, &name);
    for (key, wanted) in &generated {
        let why = format!("must be '{wanted}'");
        match labels.and_then(|labels| labels.get(key)) {
            None => problems.required(&list.key(key), &why),
            Some(there) if there != wanted => problems.invalid(&list.key(key), Json(&labels), &why),
            Some(_) => {}
        }
    }
    if Selector::of(selector).is_ok_and(|all| !all.matches(Some(&generated.into()))) {
        problems.invalid(&SPEC.child("selector"), Internal("LabelSelector", selector), "`selector` not auto-generated");
    }
}

/// What Jobs and the templates of CronJobs have in common. Mirrors `validateJobSpec`.
pub fn job_spec(problems: &mut Problems, at: &Path, spec: &JobSpec) {
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
    if let Some(manager) = &spec.managed_by {
        let path = at.child("managedBy");
        prefixed_path(problems, &path, manager);
        if manager.len() > MANAGER_LEN_MAX {
            problems.too_long(&path, MANAGER_LEN_MAX);
        }
    }
    match spec.completion_mode.as_deref().unwrap_or("NonIndexed") {
        "Indexed" => indexed(problems, at, spec),
        "NonIndexed" => {
            if let Some(limit) = spec.backoff_limit_per_index {
                problems.invalid(&indexes, limit, NOT_INDEXED);
            }
            if let Some(limit) = spec.max_failed_indexes {
                problems.invalid(&at.child("maxFailedIndexes"), limit, NOT_INDEXED);
            }
        }
        other => problems.not_supported(&at.child("completionMode"), other, &["NonIndexed", "Indexed"]),
    }
    failure_policy(problems, &at.child("podFailurePolicy"), spec);
    success_policy(problems, &at.child("successPolicy"), spec);
    replacement_policy(problems, at, spec);
    job_template(problems, at, spec);
}

fn indexed(problems: &mut Problems, at: &Path, spec: &JobSpec) {
    if spec.completions.is_none() {
        problems.required(&at.child("completions"), "when completion mode is Indexed");
    }
    let (parallelism, failures) = (at.child("parallelism"), at.child("maxFailedIndexes"));
    at_most(problems, &parallelism, spec.parallelism, INDEXES_MAX, " when completion mode is Indexed");
    if let (Some(limit), Some(all)) = (spec.max_failed_indexes, spec.completions)
        && limit > all
    {
        problems.invalid(&failures, limit, "must be less than or equal to completions");
    }
    at_most(problems, &failures, spec.max_failed_indexes, INDEXES_MAX, "");
    // What is known of each index is kept in the status, which would grow too long.
    if spec.completions.is_some_and(|all| all > INDEXES_MAX) && spec.backoff_limit_per_index.is_some() {
        if spec.max_failed_indexes.is_none() {
            problems.required(&failures, &format!("must be specified when completions is above {INDEXES_MAX}"));
        }
        let when = format!(" when completions are above {INDEXES_MAX} and used with backoff limit per index");
        at_most(problems, &parallelism, spec.parallelism, INDEXES_MAX_OF_MANY, &when);
        at_most(problems, &failures, spec.max_failed_indexes, INDEXES_MAX_OF_MANY, &when);
    }
}

fn at_most(problems: &mut Problems, path: &Path, number: Option<i32>, max: i32, when: &str) {
    if let Some(number) = number.filter(|number| *number > max) {
        problems.invalid(path, number, &format!("must be less than or equal to {max}{when}"));
    }
}

fn success_policy(problems: &mut Problems, at: &Path, spec: &JobSpec) {
    let Some(policy) = &spec.success_policy else { return };
    if spec.completion_mode.as_deref() != Some("Indexed") {
        return problems.invalid(at, Internal("SuccessPolicy", policy), NOT_INDEXED);
    }
    let rules = at.child("rules");
    if policy.rules.is_empty() {
        problems.required(&rules, "at least one rules must be specified when the successPolicy is specified");
    }
    for (i, rule) in policy.rules.iter().enumerate() {
        success_rule(problems, &rules.index(i), rule, spec.completions.unwrap_or(0));
    }
}

fn success_rule(problems: &mut Problems, at: &Path, rule: &SuccessPolicyRule, completions: i32) {
    if rule.succeeded_count.is_none() && rule.succeeded_indexes.is_none() {
        problems.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let listed = rule.succeeded_indexes.as_deref().map(|indexes| {
        intervals(indexes, completions).unwrap_or_else(|error| {
            let why = format!("error parsing succeededIndexes: {error}");
            problems.invalid(&at.child("succeededIndexes"), indexes, &why);
            0
        })
    });
    let Some(count) = rule.succeeded_count else { return };
    let path = at.child("succeededCount");
    problems.not_negative(&path, count);
    if count > completions {
        let why = format!("must be less than or equal to {completions} (the number of specified completions)");
        problems.invalid(&path, count, &why);
    }
    if let Some(listed) = listed.filter(|listed| count > *listed) {
        let why = format!(
            "must be less than or equal to {listed} (the number of indexes in the specified succeededIndexes field)"
        );
        problems.invalid(&path, count, &why);
    }
}

/// How many indexes a list of indexes and intervals has. Mirrors `validateIndexesFormat`.
fn intervals(text: &str, completions: i32) -> Result<i32, String> {
    let index = |text: &str| match text.parse::<i32>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if index >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    };
    let order = |before: i32, next: i32| {
        if before < next { Ok(()) } else { Err(format!("non-increasing order, previous: {before}, current: {next}")) }
    };
    let (mut last, mut total) = (None, 0);
    for fragment in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = match fragment.split('-').collect::<Vec<_>>().as_slice() {
            [first] => (index(first)?, None),
            [first, end] => (index(first)?, Some(index(end)?)),
            _ => {
                return Err(format!(
                    "the fragment {fragment:?} violates the requirement that an index interval can have at most two \
                     parts separated by '-'"
                ));
            }
        };
        end.map_or(Ok(()), |end| order(first, end))?;
        last.map_or(Ok(()), |last| order(last, first))?;
        let end = end.unwrap_or(first);
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

fn failure_policy(problems: &mut Problems, at: &Path, spec: &JobSpec) {
    let Some(policy) = &spec.pod_failure_policy else { return };
    let rules = at.child("rules");
    if policy.rules.len() > FAILURE_RULES_MAX {
        problems.too_many(&rules, policy.rules.len(), FAILURE_RULES_MAX);
    }
    for (i, rule) in policy.rules.iter().enumerate() {
        failure_rule(problems, &rules.index(i), rule, spec);
    }
}

fn failure_rule(problems: &mut Problems, at: &Path, rule: &PodFailurePolicyRule, spec: &JobSpec) {
    let path = at.child("action");
    match rule.action.as_str() {
        "FailIndex" if spec.backoff_limit_per_index.is_none() => {
            problems.invalid(&path, "FailIndex", "requires the backoffLimitPerIndex to be set");
        }
        action => one_of_valid(problems, &path, action, &["Count", "FailIndex", "FailJob", "Ignore"]),
    }
    let conditions = rule.on_pod_conditions.as_deref().unwrap_or_default();
    if let Some(codes) = &rule.on_exit_codes {
        exit_codes(problems, &at.child("onExitCodes"), codes, spec);
    }
    let list = at.child("onPodConditions");
    for (i, condition) in conditions.iter().enumerate() {
        let path = list.index(i);
        problems.all_invalid(&path.child("type"), &condition.type_, check_label_key(&condition.type_));
        let status = condition.status.as_deref().unwrap_or_default();
        one_of_valid(problems, &path.child("status"), status, &["False", "True", "Unknown"]);
    }
    match (&rule.on_exit_codes, conditions) {
        (Some(_), [_, ..]) => problems.wrong(at, "specifying both OnExitCodes and OnPodConditions is not supported"),
        (None, []) => problems.wrong(at, "specifying one of OnExitCodes and OnPodConditions is required"),
        _ => {}
    }
}

fn exit_codes(problems: &mut Problems, at: &Path, codes: &PodFailurePolicyOnExitCodesRequirement, spec: &JobSpec) {
    one_of_valid(problems, &at.child("operator"), &codes.operator, &["In", "NotIn"]);
    let pod = spec.template.spec.as_ref();
    let containers = pod.into_iter().flat_map(|pod| pod.containers.iter().chain(pod.init_containers.iter().flatten()));
    if let Some(name) = codes.container_name.as_deref()
        && !containers.into_iter().any(|container| container.name == name)
    {
        const WHY: &str = "must be one of the container or initContainer names in the pod template";
        problems.invalid(&at.child("containerName"), name, WHY);
    }
    let (path, list) = (at.child("values"), &codes.values);
    match list.len() {
        0 => problems.invalid(&path, Json(list), "at least one value is required"),
        len if len > EXIT_CODES_MAX => problems.too_many(&path, len, EXIT_CODES_MAX),
        _ => {}
    }
    for (i, code) in list.iter().enumerate() {
        if codes.operator == "In" && *code == 0 {
            problems.invalid(&path.index(i), 0, "must not be 0 for the In operator");
        }
        if list[..i].contains(code) {
            problems.duplicate(&path.index(i), *code);
        }
    }
    if !list.is_sorted() {
        problems.invalid(&path, Json(list), "must be ordered");
    }
}

/// A value that must be one of a few, where a missing one is told which there are.
fn one_of_valid(problems: &mut Problems, path: &Path, value: &str, supported: &[&str]) {
    if value.is_empty() {
        let list: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        problems.required(path, &format!("valid values: [{}]", list.join(" ")));
    } else if !supported.contains(&value) {
        problems.not_supported(path, value, supported);
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
    whole_spec(problems, wanted);
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
    template_update(problems, old, there, &wanted.template);
    problems
        .immutable(&SPEC.child("completionMode"), &wanted.completion_mode, &there.completion_mode, |m| shown(json!(m)));
    let (new_policy, old_policy) = (&wanted.pod_failure_policy, &there.pod_failure_policy);
    let shown_policy = |policy: &_| Internal("*PodFailurePolicy", policy).shown();
    problems.immutable(&SPEC.child("podFailurePolicy"), new_policy, old_policy, shown_policy);
    let (new_limit, old_limit) = (&wanted.backoff_limit_per_index, &there.backoff_limit_per_index);
    problems.immutable(&SPEC.child("backoffLimitPerIndex"), new_limit, old_limit, |n| shown(json!(n)));
    problems.immutable(&SPEC.child("managedBy"), &wanted.managed_by, &there.managed_by, |name| shown(json!(name)));
    let (new_policy, old_policy) = (&wanted.success_policy, &there.success_policy);
    let shown_policy = |policy: &_| Internal("*SuccessPolicy", policy).shown();
    problems.immutable(&SPEC.child("successPolicy"), new_policy, old_policy, shown_policy);
}

/// A Job's template does not change. While it is suspended, and none of its Pods is there, it may: where they may run,
/// and how large they are. Mirrors `validatePodTemplateUpdate`.
fn template_update(problems: &mut Problems, job: &Job, there: &JobSpec, wanted: &PodTemplateSpec) {
    let path = SPEC.child(TEMPLATE);
    if !has_no_pods_yet(job, there) {
        let shown = |template: &_| Internal("PodTemplateSpec", template).shown();
        return problems.immutable(&path, wanted, &there.template, shown);
    }
    let mut template = moved(&there.template, wanted);
    if let (Some(pod), Some(wanted)) = (&mut template.spec, &wanted.spec) {
        as_large_as(&mut pod.containers, &wanted.containers);
        let inits = wanted.init_containers.as_deref().unwrap_or_default();
        as_large_as(pod.init_containers.as_deref_mut().unwrap_or_default(), inits);
    }
    let shown = |pod: &_| Internal("PodSpec", pod).shown();
    problems.immutable(&path.child("spec"), &wanted.spec, &template.spec, shown);
}

/// Whether a Job is suspended, and has no Pods: it never had any, or they are gone. Mirrors
/// `shouldAllowMutablePodTemplate`.
fn has_no_pods_yet(job: &Job, spec: &JobSpec) -> bool {
    let Some(status) = &job.status else { return spec.suspend == Some(true) };
    let is_suspended = |condition: &JobCondition| condition.type_ == "Suspended" && condition.status == "True";
    let stopped = status.conditions.iter().flatten().any(is_suspended);
    spec.suspend == Some(true) && (status.start_time.is_none() || stopped) && status.active.unwrap_or(0) == 0
}

fn as_large_as(containers: &mut [Container], wanted: &[Container]) {
    if containers.len() == wanted.len() {
        for (container, wanted) in containers.iter_mut().zip(wanted).filter(|(there, wanted)| there.name == wanted.name)
        {
            container.resources.clone_from(&wanted.resources);
        }
    }
}

/// A template with what another says of where its Pods may run.
fn moved(there: &PodTemplateSpec, wanted: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = there.clone();
    if let (Some(pod), Some(wanted)) = (&mut template.spec, &wanted.spec) {
        let to = wanted.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone());
        if wanted.affinity.is_some() || pod.affinity.is_some() {
            pod.affinity.get_or_insert_default().node_affinity = to;
        }
        if wanted.affinity.is_none() {
            pod.affinity.take_if(|affinity| *affinity == Affinity::default());
        }
        pod.node_selector.clone_from(&wanted.node_selector);
        pod.tolerations.clone_from(&wanted.tolerations);
        pod.scheduling_gates.clone_from(&wanted.scheduling_gates);
    }
    let (labels, annotations) = wanted
        .metadata
        .as_ref()
        .map_or((None, None), |metadata| (metadata.labels.clone(), metadata.annotations.clone()));
    let metadata = template.metadata.get_or_insert_default();
    (metadata.labels, metadata.annotations) = (labels, annotations);
    if wanted.metadata.is_none() {
        template.metadata.take_if(|metadata| *metadata == ObjectMeta::default());
    }
    template
}

/// What a Job's status says: counts that make sense, and of its end all that belongs to it. What did not change is not looked
/// at. Mirrors `validateJobStatus` and `ValidateJobStatusUpdate`, with what `getStatusValidationOptions` has looked at.
pub fn job_status(problems: &mut Problems, new: &Job, old: &Job) {
    let (status, before) = (&new.status.clone().unwrap_or_default(), &old.status.clone().unwrap_or_default());
    let holds = |status: &JobStatus, type_: &str| {
        let mut conditions = status.conditions.iter().flatten();
        conditions.any(|condition| condition.type_ == type_ && condition.status == "True")
    };
    let is = |type_: &str| holds(status, type_);
    let changed = |type_: &str| is(type_) != holds(before, type_);
    let (complete, failed) = (is("Complete"), is("Failed"));
    let finished = complete || failed;
    let ends = finished != (holds(before, "Complete") || holds(before, "Failed"));
    let conditions = STATUS.child("conditions");
    counts_of_status(problems, status);
    if (changed("Complete") || changed("Failed")) && complete && failed {
        problems.wrong(&conditions, "cannot set Complete=True and Failed=true conditions");
    }
    if (changed("Complete") || changed("FailureTarget")) && complete && is("FailureTarget") {
        problems.wrong(&conditions, "cannot set Complete=True and FailureTarget=true conditions");
    }
    let at = STATUS.child("completionTime");
    if changed("Complete") || status.completion_time != before.completion_time {
        match &status.completion_time {
            Some(time) if !complete => {
                problems.invalid(&at, Json(time), "cannot set completionTime when there is no Complete=True condition");
            }
            None if complete => problems.required(&at, "completionTime is required for Complete jobs"),
            _ => {}
        }
    }
    let times = |status: &JobStatus| (status.start_time.clone(), status.completion_time.clone());
    if let (Some(start), Some(end)) = times(status)
        && end < start
        && times(status) != times(before)
    {
        problems.invalid(&at, Json(&end), "completionTime cannot be set before startTime");
    }
    if (changed("Failed") || changed("FailureTarget")) && failed && !is("FailureTarget") {
        problems.wrong(&conditions, "cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if (changed("Complete") || changed("SuccessCriteriaMet")) && complete && !is("SuccessCriteriaMet") {
        problems.wrong(&conditions, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    }
    for (field, count, before) in
        [("active", status.active, before.active), ("terminating", status.terminating, before.terminating)]
    {
        if let Some(count) = count.filter(|count| finished && *count > 0 && (ends || Some(*count) != before)) {
            problems.invalid(&STATUS.child(field), count, &format!("{field}>0 is invalid for finished job"));
        }
    }
    if finished && status.start_time.is_none() && (ends || before.start_time.is_some()) {
        problems.required(&STATUS.child("startTime"), "startTime is required for finished job");
    }
    indexes_of_status(problems, new.spec.as_ref(), status, before);
    let more = status.ready.filter(|ready| *ready > status.active.unwrap_or(0));
    if let Some(ready) = more.filter(|_| (status.ready, status.active) != (before.ready, before.active)) {
        problems.invalid(&STATUS.child("ready"), ready, "cannot set more ready pods than active");
    }
    for type_ in ["Failed", "Complete", "FailureTarget"] {
        if holds(before, type_) && !is(type_) {
            problems.wrong(&conditions, &format!("cannot disable the terminal {type_}=True condition"));
        }
    }
}

/// No count is negative, and no Pod that is yet to be counted stands twice.
fn counts_of_status(problems: &mut Problems, status: &JobStatus) {
    for (field, count) in [
        ("active", status.active),
        ("succeeded", status.succeeded),
        ("failed", status.failed),
        ("ready", status.ready),
        ("terminating", status.terminating),
    ] {
        problems.not_negative(&STATUS.child(field), count.unwrap_or(0));
    }
    let (path, mut seen) = (STATUS.child("uncountedTerminatedPods"), BTreeSet::new());
    let Some(uncounted) = &status.uncounted_terminated_pods else { return };
    for (field, pods) in [("succeeded", &uncounted.succeeded), ("failed", &uncounted.failed)] {
        let list = path.child(field);
        for (i, pod) in pods.iter().flatten().enumerate() {
            if pod.is_empty() {
                problems.invalid(&list.index(i), "", "must not be empty");
            } else if !seen.insert(pod) {
                problems.duplicate(&list.index(i), pod.as_str());
            }
        }
    }
}

/// Which Pods of an Indexed Job have succeeded, and which have failed.
fn indexes_of_status(problems: &mut Problems, spec: Option<&JobSpec>, status: &JobStatus, before: &JobStatus) {
    let default = JobSpec::default();
    let spec = spec.unwrap_or(&default);
    let (completed, failed) =
        (status.completed_indexes.as_deref().unwrap_or_default(), status.failed_indexes.as_deref());
    let completed_changed = completed != before.completed_indexes.as_deref().unwrap_or_default();
    let failed = failed.filter(|_| status.failed_indexes != before.failed_indexes);
    let (at, at_failed) = (STATUS.child("completedIndexes"), STATUS.child("failedIndexes"));
    if let Some(completions) = spec.completions {
        if let Err(error) = intervals(completed, completions)
            && completed_changed
        {
            problems.invalid(&at, completed, &format!("error parsing completedIndexes: {error}"));
        }
        if let Some(failed) = failed.filter(|_| spec.backoff_limit_per_index.is_some())
            && let Err(error) = intervals(failed, completions)
        {
            problems.invalid(&at_failed, failed, &format!("error parsing failedIndexes: {error}"));
        }
    }
    if completed_changed && !completed.is_empty() && spec.completion_mode.as_deref() != Some("Indexed") {
        const WHY: &str = "cannot set non-empty completedIndexes when non-indexed completion mode";
        problems.invalid(&at, completed, WHY);
    }
    if let Some(failed) = failed.filter(|_| spec.backoff_limit_per_index.is_none()) {
        problems.invalid(&at_failed, failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
}

//! Deployments, ReplicaSets and ReplicationControllers. Mirrors `pkg/apis/apps/validation`, and of
//! `pkg/apis/core/validation` what is about the last.

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus, Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::{PodTemplate, PodTemplateSpec, ReplicationController, ReplicationControllerSpec, ReplicationControllerStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::kinds::validation::{metadata, pod};
use crate::object::selector::{Labels, Selector, is_empty};
use crate::object::validation::field::{Json, Path, Problems, Shown};
use crate::object::validation::internal::Internal;
const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");

/// The spec of a Deployment. Mirrors `ValidateDeploymentSpec`.
pub fn deployment(problems: &mut Problems, deployment: &Deployment) {
    let default = DeploymentSpec::default();
    let spec = deployment.spec.as_ref().unwrap_or(&default);
    problems.not_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    selector_and_template(problems, &spec.selector, &spec.template);
    if let Some(strategy) = &spec.strategy {
        deployment_strategy(problems, &SPEC.child("strategy"), strategy);
    }
    let ready_after = spec.min_ready_seconds.unwrap_or(0);
    problems.not_negative(&SPEC.child("minReadySeconds"), ready_after);
    problems.not_negative(&SPEC.child("revisionHistoryLimit"), spec.revision_history_limit.unwrap_or(0));
    if let Some(deadline) = spec.progress_deadline_seconds {
        let path = SPEC.child("progressDeadlineSeconds");
        problems.not_negative(&path, deadline);
        if deadline <= ready_after {
            problems.invalid(&path, deadline, "must be greater than minReadySeconds");
        }
    }
}

/// What may not change in a Deployment.
pub fn deployment_update(problems: &mut Problems, new: &Deployment, old: &Deployment) {
    if new.spec == old.spec {
        return;
    }
    deployment(problems, new);
    if let (Some(new), Some(old)) = (&new.spec, &old.spec) {
        problems.immutable(&SPEC.child("selector"), &new.selector, &old.selector, selector_text);
    }
}

/// The spec of a ReplicaSet. Mirrors `ValidateReplicaSetSpec`.
pub fn replica_set(problems: &mut Problems, set: &ReplicaSet) {
    let default = ReplicaSetSpec::default();
    let spec = set.spec.as_ref().unwrap_or(&default);
    problems.not_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    problems.not_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds.unwrap_or(0));
    selector_and_template(problems, &spec.selector, spec.template.as_ref().unwrap_or(&PodTemplateSpec::default()));
}

/// What may not change in a ReplicaSet.
pub fn replica_set_update(problems: &mut Problems, new: &ReplicaSet, old: &ReplicaSet) {
    if new.spec == old.spec {
        return;
    }
    replica_set(problems, new);
    if let (Some(new), Some(old)) = (&new.spec, &old.spec) {
        problems.immutable(&SPEC.child("selector"), &new.selector, &old.selector, selector_text);
    }
}

/// The spec of a ReplicationController. Mirrors `ValidateReplicationControllerSpec`.
pub fn replication_controller(problems: &mut Problems, controller: &ReplicationController) {
    let default = ReplicationControllerSpec::default();
    let spec = controller.spec.as_ref().unwrap_or(&default);
    problems.not_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds.unwrap_or(0));
    let selector = spec.selector.as_ref().filter(|selector| !selector.is_empty());
    if selector.is_none() {
        problems.required(&SPEC.child("selector"), "");
    }
    problems.not_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    let path = SPEC.child("template");
    let Some(template) = &spec.template else { return problems.required(&path, "") };
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    if selector.is_some_and(|selector| !Selector::of_labels(selector).matches(labels)) {
        not_selected(problems, &path, labels);
    }
    pod_template(problems, &path, template, "ReplicationController");
}

/// What may not change in a ReplicationController: nothing, not even the selector.
pub fn replication_controller_update(
    problems: &mut Problems,
    new: &ReplicationController,
    old: &ReplicationController,
) {
    if new.spec != old.spec {
        replication_controller(problems, new);
    }
}

/// Who belongs, and what is made: the template's Pods must belong. Mirrors `ValidatePodTemplateSpecForReplicaSet`.
fn selector_and_template(problems: &mut Problems, selector: &LabelSelector, template: &PodTemplateSpec) {
    let path = SPEC.child("selector");
    let missing = *selector == LabelSelector::default();
    if missing {
        // The typed struct does not tell a missing selector from an empty one; a missing one is the usual slip.
        problems.required(&path, "");
    }
    metadata::label_selector(problems, &path, selector);
    if !missing && is_empty(selector) {
        problems.invalid(&path, Internal("LabelSelector", selector), "empty selector is invalid for deployment");
    }
    let Ok(parsed) = Selector::of(selector) else {
        problems.invalid(&path, Internal("LabelSelector", selector), "invalid label selector");
        return;
    };
    let path = SPEC.child("template");
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    if missing || !parsed.matches(labels) {
        not_selected(problems, &path, labels);
    }
    pod_template(problems, &path, template, "ReplicaSet");
}

/// The complaint about labels that the selector does not match.
pub(super) fn not_selected(problems: &mut Problems, template: &Path, labels: Option<&Labels>) {
    let meta = template.child("metadata");
    problems.invalid(&meta.child("labels"), Json(&labels), "`selector` does not match template `labels`");
}

/// What is to be made. `owner` is the kind that the error names: a Deployment speaks as its ReplicaSets do.
pub(super) fn pod_template(problems: &mut Problems, path: &Path, template: &PodTemplateSpec, owner: &str) {
    template_body(problems, path, template);
    runs_forever(problems, path, template, owner);
}

/// A template that stands for itself. Mirrors `ValidatePodTemplate`.
pub fn pod_template_object(problems: &mut Problems, object: &PodTemplate) {
    let empty = PodTemplateSpec::default();
    template_body(problems, &Path::new("template"), object.template.as_ref().unwrap_or(&empty));
}

/// What a template must not say if its Pods are to be there always.
pub(super) fn runs_forever(problems: &mut Problems, path: &Path, template: &PodTemplateSpec, owner: &str) {
    let Some(spec) = &template.spec else { return };
    let path = path.child("spec");
    let policy = spec.restart_policy.as_deref().unwrap_or_default();
    if policy != "Always" {
        problems.not_supported(&path.child("restartPolicy"), policy, &["Always"]);
    }
    if spec.active_deadline_seconds.is_some() {
        let why = format!("activeDeadlineSeconds in {owner} is not Supported");
        problems.forbidden(&path.child("activeDeadlineSeconds"), &why);
    }
}

/// What is true of any template. Mirrors `ValidatePodTemplateSpec`.
pub(super) fn template_body(problems: &mut Problems, path: &Path, template: &PodTemplateSpec) {
    template_metadata(problems, path, template);
    let path = path.child("spec");
    let Some(spec) = &template.spec else { return problems.required(&path.child("containers"), "") };
    pod::pod_spec(problems, &path, spec, pod::Owner::Template);
    pod::restarted_inits(problems, &path, spec);
    if spec.ephemeral_containers.as_ref().is_some_and(|containers| !containers.is_empty()) {
        const WHY: &str = "ephemeral containers not allowed in pod template";
        problems.forbidden(&path.child("ephemeralContainers"), WHY);
    }
}

/// The labels and annotations of a template.
pub(super) fn template_metadata(problems: &mut Problems, path: &Path, template: &PodTemplateSpec) {
    if let Some(meta) = &template.metadata {
        metadata::labels(problems, &path.child("labels"), meta.labels.as_ref());
        metadata::annotations(problems, &path.child("annotations"), meta.annotations.as_ref());
    }
}

/// A selector as Go prints it.
pub(super) fn selector_text(selector: &LabelSelector) -> String {
    Internal("LabelSelector", selector).shown()
}

/// Mirrors `ValidateDeploymentStrategy`.
fn deployment_strategy(problems: &mut Problems, path: &Path, strategy: &DeploymentStrategy) {
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref().unwrap_or_default(), &strategy.rolling_update) {
        ("Recreate", Some(_)) => {
            problems.forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
        }
        ("Recreate", None) => {}
        ("RollingUpdate", None) => problems.required(&rolling, "this should be defaulted and never be nil"),
        ("RollingUpdate", Some(update)) => {
            let zero = IntOrString::Int(0);
            let unavailable = update.max_unavailable.as_ref().unwrap_or(&zero);
            let surge = update.max_surge.as_ref().unwrap_or(&zero);
            let unavailable_path = rolling.child("maxUnavailable");
            int_or_percent(problems, &unavailable_path, unavailable);
            int_or_percent(problems, &rolling.child("maxSurge"), surge);
            if amount(unavailable) == 0 && amount(surge) == 0 {
                problems.invalid(&unavailable_path, unavailable, "may not be 0 when `maxSurge` is 0");
            }
            not_more_than_all(problems, &unavailable_path, unavailable);
        }
        _ => problems.not_supported(path, Internal("DeploymentStrategy", strategy), &["Recreate", "RollingUpdate"]),
    }
}

const NO_PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
    regex used for validation is '[0-9]+%')";

/// Mirrors `ValidatePositiveIntOrPercent`.
pub(super) fn int_or_percent(problems: &mut Problems, path: &Path, value: &IntOrString) {
    match value {
        IntOrString::Int(number) => problems.not_negative(path, *number),
        IntOrString::String(_) if percent(value).is_some() => {}
        IntOrString::String(_) => problems.invalid(path, value, NO_PERCENT),
    }
}

/// Mirrors `IsNotMoreThan100Percent`.
pub(super) fn not_more_than_all(problems: &mut Problems, path: &Path, value: &IntOrString) {
    if percent(value).is_some_and(|percent| percent > 100) {
        problems.invalid(path, value, "must not be greater than 100%");
    }
}

fn percent(value: &IntOrString) -> Option<u32> {
    let IntOrString::String(text) = value else { return None };
    let digits = text.strip_suffix('%')?;
    digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The number, or the number before the percent sign. Mirrors `getIntOrPercentValue`.
pub(super) fn amount(value: &IntOrString) -> i64 {
    match value {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(text) => percent(value).map(i64::from).or_else(|| text.parse().ok()).unwrap_or(0),
    }
}

/// Mirrors `ValidateDeploymentStatusUpdate`.
pub fn deployment_status(problems: &mut Problems, new: &Deployment, old: &Deployment) {
    let (default, path) = (DeploymentStatus::default(), STATUS);
    let status = new.status.as_ref().unwrap_or(&default);
    let count = |count: Option<i32>| count.unwrap_or(0);
    problems.not_negative(&path.child("observedGeneration"), status.observed_generation.unwrap_or(0));
    let (all, ready, available) =
        (count(status.replicas), count(status.ready_replicas), count(status.available_replicas));
    for (name, value) in [
        ("replicas", all),
        ("updatedReplicas", count(status.updated_replicas)),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("unavailableReplicas", count(status.unavailable_replicas)),
        ("collisionCount", count(status.collision_count)),
    ] {
        problems.not_negative(&path.child(name), value);
    }
    for (name, value) in [
        ("updatedReplicas", count(status.updated_replicas)),
        ("readyReplicas", ready),
        ("availableReplicas", available),
    ] {
        no_more_than_all(problems, name, value, all);
    }
    no_more_than_ready(problems, available, ready);
    let before = old.status.as_ref().and_then(|status| status.collision_count);
    never_decremented(problems, count(status.collision_count), before);
}

/// Mirrors `ValidateReplicaSetStatus`.
pub fn replica_set_status(problems: &mut Problems, set: &ReplicaSet) {
    let default = ReplicaSetStatus::default();
    let status = set.status.as_ref().unwrap_or(&default);
    let counts = [status.fully_labeled_replicas, status.ready_replicas, status.available_replicas];
    replica_counts(problems, status.replicas, counts, status.observed_generation);
}

/// Mirrors `ValidateReplicationControllerStatus`.
pub fn replication_controller_status(problems: &mut Problems, controller: &ReplicationController) {
    let default = ReplicationControllerStatus::default();
    let status = controller.status.as_ref().unwrap_or(&default);
    let counts = [status.fully_labeled_replicas, status.ready_replicas, status.available_replicas];
    replica_counts(problems, status.replicas, counts, status.observed_generation);
}

/// Mirrors `ValidateStatefulSetStatusUpdate`.
pub fn stateful_set_status(problems: &mut Problems, new: &StatefulSet, old: &StatefulSet) {
    let default = StatefulSetStatus::default();
    let status = new.status.as_ref().unwrap_or(&default);
    let count = |count: Option<i32>| count.unwrap_or(0);
    let (all, ready, available) = (status.replicas, count(status.ready_replicas), count(status.available_replicas));
    let parts = [
        ("readyReplicas", ready),
        ("currentReplicas", count(status.current_replicas)),
        ("updatedReplicas", count(status.updated_replicas)),
        ("availableReplicas", available),
    ];
    problems.not_negative(&STATUS.child("replicas"), all);
    for (name, value) in parts {
        problems.not_negative(&STATUS.child(name), value);
    }
    problems.not_negative(&STATUS.child("observedGeneration"), status.observed_generation.unwrap_or(0));
    problems.not_negative(&STATUS.child("collisionCount"), count(status.collision_count));
    for (name, value) in parts {
        no_more_than_all(problems, name, value, all);
    }
    if available > ready {
        problems.invalid(&STATUS.child("availableReplicas"), available, "cannot be greater than status.readyReplicas");
    }
    never_decremented(
        problems,
        count(status.collision_count),
        old.status.as_ref().and_then(|status| status.collision_count),
    );
}

/// Mirrors `ValidateDaemonSetStatusUpdate`.
pub fn daemon_set_status(problems: &mut Problems, new: &DaemonSet, old: &DaemonSet) {
    let default = DaemonSetStatus::default();
    let status = new.status.as_ref().unwrap_or(&default);
    let count = |count: Option<i32>| i64::from(count.unwrap_or(0));
    for (name, value) in [
        ("currentNumberScheduled", status.current_number_scheduled.into()),
        ("numberMisscheduled", status.number_misscheduled.into()),
        ("desiredNumberScheduled", status.desired_number_scheduled.into()),
        ("numberReady", status.number_ready.into()),
        ("observedGeneration", status.observed_generation.unwrap_or(0)),
        ("updatedNumberScheduled", count(status.updated_number_scheduled)),
        ("numberAvailable", count(status.number_available)),
        ("numberUnavailable", count(status.number_unavailable)),
        ("collisionCount", count(status.collision_count)),
    ] {
        problems.not_negative(&STATUS.child(name), value);
    }
    let before = old.status.as_ref().and_then(|status| status.collision_count);
    never_decremented(problems, status.collision_count.unwrap_or(0), before);
}

/// The count of hash collisions only grows.
fn never_decremented(problems: &mut Problems, collisions: i32, before: Option<i32>) {
    if before.is_some_and(|before| collisions < before) {
        problems.invalid(&STATUS.child("collisionCount"), collisions, "cannot be decremented");
    }
}

/// All replicas, those with all labels, those ready, those available, and the generation observed.
fn replica_counts(problems: &mut Problems, all: i32, counts: [Option<i32>; 3], observed: Option<i64>) {
    let [labeled, ready, available] = counts.map(|count| count.unwrap_or(0));
    let parts = [("fullyLabeledReplicas", labeled), ("readyReplicas", ready), ("availableReplicas", available)];
    problems.not_negative(&STATUS.child("replicas"), all);
    for (name, value) in parts {
        problems.not_negative(&STATUS.child(name), value);
    }
    problems.not_negative(&STATUS.child("observedGeneration"), observed.unwrap_or(0));
    for (name, value) in parts {
        no_more_than_all(problems, name, value, all);
    }
    no_more_than_ready(problems, available, ready);
}

fn no_more_than_all(problems: &mut Problems, name: &str, value: i32, all: i32) {
    if value > all {
        problems.invalid(&STATUS.child(name), value, "cannot be greater than status.replicas");
    }
}

fn no_more_than_ready(problems: &mut Problems, available: i32, ready: i32) {
    if available > ready {
        problems.invalid(&STATUS.child("availableReplicas"), available, "cannot be greater than readyReplicas");
    }
}

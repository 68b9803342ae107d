//! Deployments. Mirrors `ValidateDeployment` of `pkg/apis/apps/validation`, and `pkg/registry/apps/deployment`.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, RollingUpdateDeployment,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use crate::defaults::fields::{or, or_text};
use crate::pod_template::defaults::template_defaults;
use crate::pod_template::template::{selector_and_template, selector_text};
use crate::printers::cells::{containers, created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::{int, selector};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::validation::counts::{
    amount, int_or_percent, never_decremented, no_more_than_all, no_more_than_ready, not_more_than_all,
};
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;

/// What the server knows of Deployments.
pub const ROW: Row<Deployment> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| {
            new.spec != old.spec || new.metadata.annotations != old.metadata.annotations
        }),
        prepare_for_create: Some(|deployment, _| deployment.status = Some(Default::default())),
        prepare_for_status_update: Some(|new, old, _| new.metadata.labels.clone_from(&old.metadata.labels)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: validate_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                column("Ready"),
                column("Up-to-date"),
                column("Available"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells,
        },
        ..Facts::new("/registry/deployments/", 7)
    })
};

const STATUS: Path = Path::new("status");
const SPEC: Path = Path::new("spec");

fn defaults(deployment: &mut Deployment) {
    let spec = deployment.spec.get_or_insert_default();
    or(&mut spec.replicas, 1);
    or(&mut spec.revision_history_limit, 10);
    or(&mut spec.progress_deadline_seconds, 600);
    let strategy = spec.strategy.get_or_insert_with(DeploymentStrategy::default);
    or_text(&mut strategy.type_, "RollingUpdate");
    if strategy.type_.as_deref() == Some("RollingUpdate") {
        let rolling = strategy.rolling_update.get_or_insert_with(RollingUpdateDeployment::default);
        or(&mut rolling.max_unavailable, IntOrString::String("25%".into()));
        or(&mut rolling.max_surge, IntOrString::String("25%".into()));
    }
    template_defaults(&mut spec.template);
}

/// The spec of a Deployment. Mirrors `ValidateDeploymentSpec`.
fn validate(problems: &mut Problems, deployment: &Deployment) {
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
fn validate_update(problems: &mut Problems, new: &Deployment, old: &Deployment) {
    if new.spec == old.spec {
        return;
    }
    validate(problems, new);
    if let (Some(new), Some(old)) = (&new.spec, &old.spec) {
        problems.immutable(&SPEC.child("selector"), &new.selector, &old.selector, selector_text);
    }
}

/// Mirrors `ValidateDeploymentStatusUpdate`.
fn validate_status(problems: &mut Problems, new: &Deployment, old: &Deployment) {
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

fn cells(deployment: &Value, now: Timestamp) -> Vec<Value> {
    let count = |path| int(deployment, path);
    let (containers, images) = containers(deployment, "spec.template");
    cells![
        name(deployment),
        format!("{}/{}", int(deployment, "status.readyReplicas"), int(deployment, "spec.replicas")),
        count("status.updatedReplicas"),
        count("status.availableReplicas"),
        created(deployment, now),
        containers,
        images,
        selector(deployment, "spec.selector"),
    ]
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

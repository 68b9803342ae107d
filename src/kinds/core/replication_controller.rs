//! ReplicationControllers, the ReplicaSets of old. Mirrors `ValidateReplicationController` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{ReplicationController, ReplicationControllerSpec, ReplicationControllerStatus};

use crate::apps::replica_set;
use crate::defaults::fields::or;
use crate::pod_template::defaults::template_defaults;
use crate::pod_template::template;
use crate::pod_template::template::not_selected;
use crate::row::{Facts, Generation, Row, Strategy, Validation, Warnings, spec_and_status};
use crate::validation::counts::replica_counts;
use object::selector::Selector;
use object::selector::names::check_long_name;
use object::validation::field::{Path, Problems};

/// What the server knows of ReplicationControllers.
pub const ROW: Row<ReplicationController> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|controller, _| controller.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: |problems, new, _| validate_status(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        orphans_by_default: true,
        check_name: check_long_name,
        table: replica_set::TABLE,
        ..Facts::new("/registry/controllers/", 6)
    })
};

const SPEC: Path = Path::new("spec");

/// What a ReplicationController does not say it takes from its template: its selector, and its own labels.
fn defaults(controller: &mut ReplicationController) {
    let spec = controller.spec.get_or_insert_default();
    if let Some(template) = &mut spec.template {
        let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
        for missing in [&mut spec.selector, &mut controller.metadata.labels] {
            if let Some(labels) = labels.filter(|_| missing.as_ref().is_none_or(|there| there.is_empty())) {
                *missing = Some(labels.clone());
            }
        }
        template_defaults(template);
    }
    or(&mut spec.replicas, 1);
}

/// The spec of a ReplicationController. Mirrors `ValidateReplicationControllerSpec`.
fn validate(problems: &mut Problems, controller: &ReplicationController) {
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
    template::validate_template(problems, &path, template, "ReplicationController");
}

/// What may not change in a ReplicationController: nothing, not even the selector.
fn validate_update(problems: &mut Problems, new: &ReplicationController, old: &ReplicationController) {
    if new.spec != old.spec {
        validate(problems, new);
    }
}

/// Mirrors `ValidateReplicationControllerStatus`.
fn validate_status(problems: &mut Problems, controller: &ReplicationController) {
    let default = ReplicationControllerStatus::default();
    let status = controller.status.as_ref().unwrap_or(&default);
    let counts = [status.fully_labeled_replicas, status.ready_replicas, status.available_replicas];
    replica_counts(problems, status.replicas, counts, status.observed_generation);
}

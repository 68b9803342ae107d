//! ReplicaSets. Mirrors `ValidateReplicaSet` of `pkg/apis/apps/validation`, and `pkg/registry/apps/replicaset`.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;

use crate::defaults::fields::or;
use crate::pod_template::defaults::template_defaults;
use crate::pod_template::template::{selector_and_template, selector_text};
use crate::printers::cells::{containers, created, name};
use crate::printers::columns::{AGE, NAME, integer, wide};
use crate::printers::fields::{int, selector};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::validation::counts::replica_counts;
use object::validation::field::{Path, Problems};

/// What the server knows of ReplicaSets.
pub const ROW: Row<ReplicaSet> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|set, _| set.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: |problems, new, _| validate_status(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts { table: TABLE, ..Facts::new("/registry/replicasets/", 6) })
};

const SPEC: Path = Path::new("spec");

fn defaults(set: &mut ReplicaSet) {
    let spec = set.spec.get_or_insert_default();
    or(&mut spec.replicas, 1);
    template_defaults(spec.template.get_or_insert_default());
}

/// The spec of a ReplicaSet. Mirrors `ValidateReplicaSetSpec`.
fn validate(problems: &mut Problems, set: &ReplicaSet) {
    let default = ReplicaSetSpec::default();
    let spec = set.spec.as_ref().unwrap_or(&default);
    problems.not_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    problems.not_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds.unwrap_or(0));
    selector_and_template(problems, &spec.selector, spec.template.as_ref().unwrap_or(&PodTemplateSpec::default()));
}

/// What may not change in a ReplicaSet.
fn validate_update(problems: &mut Problems, new: &ReplicaSet, old: &ReplicaSet) {
    if new.spec == old.spec {
        return;
    }
    validate(problems, new);
    if let (Some(new), Some(old)) = (&new.spec, &old.spec) {
        problems.immutable(&SPEC.child("selector"), &new.selector, &old.selector, selector_text);
    }
}

/// Mirrors `ValidateReplicaSetStatus`.
fn validate_status(problems: &mut Problems, set: &ReplicaSet) {
    let default = ReplicaSetStatus::default();
    let status = set.status.as_ref().unwrap_or(&default);
    let counts = [status.fully_labeled_replicas, status.ready_replicas, status.available_replicas];
    replica_counts(problems, status.replicas, counts, status.observed_generation);
}

/// The table of ReplicaSets, or of ReplicationControllers.
pub const TABLE: Table = Table {
    columns: &[
        NAME,
        integer("Desired"),
        integer("Current"),
        integer("Ready"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells,
};

fn cells(set: &Value, now: Timestamp) -> Vec<Value> {
    let count = |path| int(set, path);
    let (containers, images) = containers(set, "spec.template");
    cells![
        name(set),
        count("spec.replicas"),
        count("status.replicas"),
        count("status.readyReplicas"),
        created(set, now),
        containers,
        images,
        selector(set, "spec.selector"),
    ]
}

//! DaemonSets. Mirrors `ValidateDaemonSet` of `pkg/apis/apps/validation`, and `pkg/registry/apps/daemonset`.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{
    DaemonSet, DaemonSetSpec, DaemonSetStatus, DaemonSetUpdateStrategy, RollingUpdateDaemonSet,
};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use crate::defaults::fields::{or, or_text};
use crate::pod_template::defaults::template_defaults;
use crate::pod_template::template;
use crate::pod_template::template::{selected_template, selector_text};
use crate::printers::cells::{containers, created, name};
use crate::printers::columns::{AGE, NAME, column, integer, wide};
use crate::printers::fields::{at, int, labels, selector};
use crate::printers::workloads::TEMPLATE;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::validation::counts::{amount, int_or_percent, never_decremented, not_more_than_all};
use crate::validation::metadata;
use object::selector::is_empty;
use object::time::Instant;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;

/// What the server knows of DaemonSets.
pub const ROW: Row<DaemonSet> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_update: Some(prepare_for_update),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: validate_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { asks_for_other_pods: Some(|new, old| template(new) != template(old)), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                integer("Desired"),
                integer("Current"),
                integer("Ready"),
                integer("Up-to-date"),
                integer("Available"),
                column("Node Selector"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells,
        },
        ..Facts::new("/registry/daemonsets/", 16)
    })
};

/// The annotation in which a DaemonSet counts its templates, since `apps/v1` has no field for it.
pub const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
const STATUS: Path = Path::new("status");
const SPEC: Path = Path::new("spec");

fn prepare_for_create(set: &mut DaemonSet, _: Instant) {
    set.status = Some(Default::default());
    number_template(set, template_generation(set).max(1));
}

fn prepare_for_update(new: &mut DaemonSet, old: &DaemonSet) {
    let rolls = u64::from(template(new) != template(old));
    number_template(new, template_generation(old) + rolls);
}

fn template(set: &DaemonSet) -> Option<&PodTemplateSpec> {
    set.spec.as_ref().map(|spec| &spec.template)
}

fn template_generation(set: &DaemonSet) -> u64 {
    let annotations = set.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(TEMPLATE_GENERATION)?.parse().ok()).unwrap_or(0)
}

fn number_template(set: &mut DaemonSet, number: u64) {
    set.metadata.annotations.get_or_insert_default().insert(TEMPLATE_GENERATION.into(), number.to_string());
}

fn defaults(set: &mut DaemonSet) {
    let spec = set.spec.get_or_insert_default();
    let strategy = spec.update_strategy.get_or_insert_default();
    or_text(&mut strategy.type_, "RollingUpdate");
    if strategy.type_.as_deref() == Some("RollingUpdate") {
        let rolling = strategy.rolling_update.get_or_insert_with(RollingUpdateDaemonSet::default);
        or(&mut rolling.max_unavailable, IntOrString::Int(1));
        or(&mut rolling.max_surge, IntOrString::Int(0));
    }
    or(&mut spec.revision_history_limit, 10);
    template_defaults(&mut spec.template);
}

/// The spec of a DaemonSet. Mirrors `ValidateDaemonSetSpec`.
fn validate(problems: &mut Problems, set: &DaemonSet) {
    let default = DaemonSetSpec::default();
    let spec = set.spec.as_ref().unwrap_or(&default);
    let path = SPEC.child("selector");
    let missing = spec.selector == LabelSelector::default();
    metadata::label_selector(problems, &path, &spec.selector);
    selected_template(problems, &spec.selector, missing, &spec.template);
    if !missing && is_empty(&spec.selector) {
        problems.invalid(&path, Internal("LabelSelector", &spec.selector), "empty selector is invalid for daemonset");
    }
    template::validate_template(problems, &SPEC.child("template"), &spec.template, "DaemonSet");
    problems.not_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds.unwrap_or(0));
    if let Some(strategy) = &spec.update_strategy {
        daemon_set_strategy(problems, &SPEC.child("updateStrategy"), strategy);
    }
    problems.not_negative(&SPEC.child("revisionHistoryLimit"), spec.revision_history_limit.unwrap_or(0));
}

/// What may not change in a DaemonSet.
fn validate_update(problems: &mut Problems, new: &DaemonSet, old: &DaemonSet) {
    if new.spec == old.spec {
        return;
    }
    if let (Some(new), Some(old)) = (&new.spec, &old.spec) {
        problems.immutable(&SPEC.child("selector"), &new.selector, &old.selector, selector_text);
    }
    validate(problems, new);
}

/// Mirrors `ValidateDaemonSetStatusUpdate`.
fn validate_status(problems: &mut Problems, new: &DaemonSet, old: &DaemonSet) {
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

fn cells(set: &Value, now: Timestamp) -> Vec<Value> {
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

/// Mirrors `ValidateDaemonSetUpdateStrategy`.
fn daemon_set_strategy(problems: &mut Problems, path: &Path, strategy: &DaemonSetUpdateStrategy) {
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref().unwrap_or_default(), &strategy.rolling_update) {
        ("OnDelete", _) => {}
        ("RollingUpdate", None) => problems.required(&rolling, ""),
        ("RollingUpdate", Some(update)) => {
            let zero = IntOrString::Int(0);
            let unavailable = update.max_unavailable.as_ref().unwrap_or(&zero);
            let surge = update.max_surge.as_ref().unwrap_or(&zero);
            let (unavailable_at, surge_at) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            int_or_percent(problems, &unavailable_at, unavailable);
            int_or_percent(problems, &surge_at, surge);
            not_more_than_all(problems, &unavailable_at, unavailable);
            not_more_than_all(problems, &surge_at, surge);
            match (amount(unavailable) != 0, amount(surge) != 0) {
                (true, true) => problems.invalid(&surge_at, surge, "may not be set when maxUnavailable is non-zero"),
                (false, false) => problems.required(&unavailable_at, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => {
            problems.not_supported(path, Internal("DaemonSetUpdateStrategy", strategy), &["RollingUpdate", "OnDelete"])
        }
    }
}

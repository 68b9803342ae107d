//! StatefulSets. Mirrors `ValidateStatefulSet` of `pkg/apis/apps/validation`, and `pkg/registry/apps/statefulset`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec,
    StatefulSetStatus,
};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, PodTemplateSpec, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use crate::core::persistent_volume_claim;
use crate::defaults::fields::{or, or_text};
use crate::pod_template::defaults::template_defaults;
use crate::pod_template::template::{runs_forever, selected_template, template_body, template_metadata};
use crate::printers::cells::{containers, created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::int;
use crate::printers::workloads::TEMPLATE;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::validation::counts::{amount, int_or_percent, never_decremented, no_more_than_all, not_more_than_all};
use crate::validation::metadata;
use object::selector::{Selector, is_empty};
use object::time::Instant;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::check_dns_label;

/// What the server knows of StatefulSets.
pub const ROW: Row<StatefulSet> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_update: Some(|new, _| drop_max_unavailable(new)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: validate_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        create: |told, set| warn(told, set, ""),
        update: |told, new, _| warn(told, new, ".Spec"),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        check_name: check_dns_label,
        table: Table { columns: &[NAME, column("Ready"), AGE, wide("Containers"), wide("Images")], cells },
        ..Facts::new("/registry/statefulsets/", 16)
    })
};

const STATUS: Path = Path::new("status");
const SPEC: Path = Path::new("spec");

fn prepare_for_create(set: &mut StatefulSet, _: Instant) {
    // Go prints this count even when it is zero.
    set.status = Some(StatefulSetStatus { available_replicas: Some(0), ..Default::default() });
    drop_max_unavailable(set);
}

/// A field behind a gate that is off by default, MaxUnavailableStatefulSet, is not stored: there is one at a time. Mirrors
/// `dropStatefulSetDisabledFields`.
fn drop_max_unavailable(set: &mut StatefulSet) {
    let strategy = set.spec.as_mut().and_then(|spec| spec.update_strategy.as_mut());
    if let Some(rolling) = strategy.and_then(|strategy| strategy.rolling_update.as_mut()) {
        rolling.max_unavailable = None;
    }
}

fn defaults(set: &mut StatefulSet) {
    let spec = set.spec.get_or_insert_default();
    or_text(&mut spec.pod_management_policy, "OrderedReady");
    let strategy = spec.update_strategy.get_or_insert_default();
    if strategy.type_.is_none() {
        strategy.type_ = Some("RollingUpdate".into());
        strategy.rolling_update.get_or_insert_with(RollingUpdateStatefulSetStrategy::default);
    }
    if let Some(rolling) = &mut strategy.rolling_update {
        or(&mut rolling.partition, 0);
    }
    let retention = spec
        .persistent_volume_claim_retention_policy
        .get_or_insert_with(StatefulSetPersistentVolumeClaimRetentionPolicy::default);
    or_text(&mut retention.when_deleted, "Retain");
    or_text(&mut retention.when_scaled, "Retain");
    or(&mut spec.replicas, 1);
    or(&mut spec.revision_history_limit, 10);
    spec.volume_claim_templates.iter_mut().flatten().for_each(persistent_volume_claim::defaults);
    template_defaults(&mut spec.template);
}

/// The spec of a new StatefulSet.
fn validate(problems: &mut Problems, set: &StatefulSet) {
    stateful_set(
        problems,
        set.spec.as_ref().unwrap_or(&StatefulSetSpec::default()),
        StatefulSetValidationOptions { fixed: true, pods: true },
    );
}

/// What may not change in a StatefulSet: nearly all. Mirrors `ValidateStatefulSetUpdate`.
fn validate_update(problems: &mut Problems, new: &StatefulSet, old: &StatefulSet) {
    const WHY: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
        'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
        forbidden";
    let (Some(wanted), Some(there)) = (&new.spec, &old.spec) else { return };
    if wanted == there {
        return;
    }
    let mut before = Problems::default();
    stateful_set(&mut before, there, StatefulSetValidationOptions { fixed: false, pods: true });
    stateful_set(problems, wanted, StatefulSetValidationOptions { fixed: false, pods: before.0.is_empty() });
    let changed = StatefulSetSpec {
        replicas: wanted.replicas,
        ordinals: wanted.ordinals.clone(),
        template: wanted.template.clone(),
        update_strategy: wanted.update_strategy.clone(),
        revision_history_limit: wanted.revision_history_limit,
        persistent_volume_claim_retention_policy: wanted.persistent_volume_claim_retention_policy.clone(),
        min_ready_seconds: wanted.min_ready_seconds,
        ..there.clone()
    };
    if *wanted != changed {
        problems.forbidden(&SPEC, WHY);
    }
}

/// Mirrors `ValidateStatefulSetStatusUpdate`.
fn validate_status(problems: &mut Problems, new: &StatefulSet, old: &StatefulSet) {
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

/// What a StatefulSet says of claims and of its past. In an update the claims go by a slightly different name.
fn warn(told: &mut Vec<String>, set: &StatefulSet, spec_of_claim: &str) {
    let Some(spec) = &set.spec else { return };
    for (i, claim) in spec.volume_claim_templates.iter().flatten().enumerate() {
        let path = format!("spec.volumeClaimTemplates[{i}]{spec_of_claim}");
        claim.spec.iter().for_each(|spec| persistent_volume_claim::warn_of_spec(told, &path, spec));
    }
    if spec.revision_history_limit.is_some_and(|limit| limit < 0) {
        told.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
}

fn cells(set: &Value, now: Timestamp) -> Vec<Value> {
    let ready = format!("{}/{}", int(set, "status.readyReplicas"), int(set, "spec.replicas"));
    let (containers, images) = containers(set, TEMPLATE);
    cells![name(set), ready, created(set, now), containers, images]
}

/// The spec of a StatefulSet. Mirrors `ValidateStatefulSetSpec`.
fn stateful_set(problems: &mut Problems, spec: &StatefulSetSpec, asked: StatefulSetValidationOptions) {
    let policy = SPEC.child("podManagementPolicy");
    match spec.pod_management_policy.as_deref().unwrap_or_default() {
        "" => problems.required(&policy, ""),
        "OrderedReady" | "Parallel" => {}
        other => problems.invalid(&policy, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    stateful_set_strategy(problems, spec);
    let retention = spec.persistent_volume_claim_retention_policy.as_ref();
    let path = SPEC.child("persistentVolumeClaimRetentionPolicy");
    for (field, value) in [
        ("whenDeleted", retention.and_then(|policy| policy.when_deleted.as_deref())),
        ("whenScaled", retention.and_then(|policy| policy.when_scaled.as_deref())),
    ] {
        if let Some(value) = value.filter(|value| !matches!(*value, "Retain" | "Delete")) {
            problems.not_supported(&path.child(field), value, &["Retain", "Delete"]);
        }
    }
    let list = SPEC.child("volumeClaimTemplates");
    for (i, template) in spec.volume_claim_templates.iter().flatten().enumerate().filter(|_| asked.fixed) {
        let default = PersistentVolumeClaimSpec::default();
        persistent_volume_claim::validate_spec(
            problems,
            &list.index(i).child("spec"),
            template.spec.as_ref().unwrap_or(&default),
        );
    }
    problems.not_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    problems.not_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds.unwrap_or(0));
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0);
    problems.not_negative(&SPEC.child("ordinals").child("start"), start);
    let service = spec.service_name.as_deref().filter(|name| asked.fixed && !name.is_empty());
    if let Some(service) = service {
        problems.all_invalid(&SPEC.child("serviceName"), service, check_dns_label(service));
    }
    let path = SPEC.child("selector");
    let missing = spec.selector == LabelSelector::default();
    if missing {
        problems.required(&path, "");
    } else {
        metadata::label_selector(problems, &path, &spec.selector);
        if is_empty(&spec.selector) {
            let shown = Internal("LabelSelector", &spec.selector);
            problems.invalid(&path, shown, "empty selector is invalid for statefulset");
        }
    }
    let at = SPEC.child("template");
    if Selector::of(&spec.selector).is_ok() {
        selected_template(problems, &spec.selector, missing, &spec.template);
        if asked.pods {
            template_body(problems, &at, &with_claims(spec));
        }
        template_metadata(problems, &at, &spec.template);
    } else {
        problems.invalid(&path, Internal("LabelSelector", &spec.selector), "");
    }
    runs_forever(problems, &at, &spec.template, "StatefulSet");
}

/// The template as its Pods will have it: with volumes for the claims that are made for each, and host names by the
/// controller. Mirrors `volumesToAddForTemplates`.
fn with_claims(spec: &StatefulSetSpec) -> PodTemplateSpec {
    let mut template = spec.template.clone();
    let Some(pod) = &mut template.spec else { return template };
    (pod.hostname, pod.subdomain) = (None, None);
    let claims = spec.volume_claim_templates.iter().flatten().filter_map(|claim| claim.metadata.name.as_deref());
    let names: BTreeSet<&str> = claims.collect();
    if names.is_empty() {
        return template;
    }
    let claimed = |name: &str| PersistentVolumeClaimVolumeSource { claim_name: name.to_owned(), read_only: None };
    let volume = |name: &&str| Volume {
        name: (*name).to_owned(),
        persistent_volume_claim: Some(claimed(name)),
        ..Volume::default()
    };
    let own = pod.volumes.take().into_iter().flatten().filter(|volume| !names.contains(volume.name.as_str()));
    pod.volumes = Some(names.iter().map(volume).chain(own).collect());
    template
}

fn stateful_set_strategy(problems: &mut Problems, spec: &StatefulSetSpec) {
    let path = SPEC.child("updateStrategy");
    let strategy = spec.update_strategy.clone().unwrap_or_default();
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref().unwrap_or_default(), &strategy.rolling_update) {
        ("", _) => problems.required(&path, ""),
        ("OnDelete", Some(update)) => {
            let shown = Internal("RollingUpdateStatefulSetStrategy", update);
            problems.invalid(&rolling, shown, "only allowed for updateStrategy 'RollingUpdate'");
        }
        ("RollingUpdate", Some(update)) => {
            problems.not_negative(&rolling.child("partition"), update.partition.unwrap_or(0));
            if let Some(unavailable) = &update.max_unavailable {
                int_or_percent(problems, &rolling.child("maxUnavailable"), unavailable);
                if amount(unavailable) == 0 {
                    problems.invalid(&rolling.child("maxUnavailable"), unavailable, "cannot be 0");
                }
                not_more_than_all(problems, &rolling.child("maxUnavailable"), unavailable);
            }
        }
        ("OnDelete" | "RollingUpdate", None) => {}
        _ => {
            let shown = Internal("StatefulSetUpdateStrategy", &strategy);
            problems.invalid(&path, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// What was not always asked of a StatefulSet: one that is there may stay as it is. Mirrors
/// `StatefulSetValidationOptions`.
#[derive(Clone, Copy)]
struct StatefulSetValidationOptions {
    /// The name of the Service, and what claims are made from: neither ever changes.
    fixed: bool,
    /// What is wrong with its Pods.
    pods: bool,
}

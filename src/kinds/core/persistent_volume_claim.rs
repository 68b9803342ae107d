//! PersistentVolumeClaims. Mirrors `ValidatePersistentVolumeClaim` of `pkg/apis/core/validation`, and
//! `pkg/api/persistentvolumeclaim/util.go`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus, PersistentVolumeClaimTemplate,
    TypedLocalObjectReference, TypedObjectReference,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::defaults::fields::or_text;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::text;
use crate::printers::storage::{access_modes, class_of, or_unset, phase, size};
use crate::row::{Facts, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::validation::metadata::label_selector;
use crate::validation::volumes::{class_name, known_access_modes, positive, volume_mode};
use crate::validation::{diff, metadata};
use crate::warnings::amounts::fraction;
use object::quantity::Amount;
use object::resources::is_native;
use object::selector::names::{check_label_key, check_subdomain};
use object::time::Instant;
use object::validation::field::{Json, Literal, Path, Problems, Shown};
use object::volume::phase_of;

/// What the server knows of PersistentVolumeClaims.
pub const ROW: Row<PersistentVolumeClaim> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_update: Some(|new, _| new.spec.iter_mut().for_each(name_source_twice)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: validate_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warn, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                column("Status"),
                column("Volume"),
                column("Capacity"),
                column("Access Modes"),
                column("StorageClass"),
                column("VolumeAttributesClass"),
                AGE,
                wide("VolumeMode"),
            ],
            cells,
        },
        ..Facts::new("/registry/persistentvolumeclaims/", 14)
    })
};

/// The annotation that once said the class, and what says it now.
pub const BETA_CLASS: (&str, &str) =
    ("volume.beta.kubernetes.io/storage-class", "deprecated since v1.8; use \"storageClassName\" attribute instead");

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");

/// Also of a claim that a StatefulSet is to make.
pub fn defaults(claim: &mut PersistentVolumeClaim) {
    or_text(&mut claim.status.get_or_insert_default().phase, "Pending");
    spec_defaults(claim.spec.get_or_insert_default());
}

fn prepare_for_create(claim: &mut PersistentVolumeClaim, _: Instant) {
    claim.status = Some(PersistentVolumeClaimStatus { phase: Some("Pending".into()), ..Default::default() });
    claim.spec.iter_mut().for_each(name_source_twice);
}

/// What a claim is filled from has two fields. The older one takes claims and snapshots only, and is emptied without a word; each
/// is filled in from the other. Mirrors `EnforceDataSourceBackwardsCompatibility` and `NormalizeDataSources`.
fn name_source_twice(spec: &mut PersistentVolumeClaimSpec) {
    // A source in another namespace is behind a gate that is off.
    spec.data_source_ref.take_if(|source| source.namespace.is_some());
    spec.data_source.take_if(|source| {
        let group = source.api_group.as_deref().unwrap_or_default();
        ![("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")].contains(&(group, &source.kind))
    });
    match (&spec.data_source, &spec.data_source_ref) {
        (Some(TypedLocalObjectReference { api_group, kind, name }), None) => {
            let (api_group, kind, name) = (api_group.clone(), kind.clone(), name.clone());
            spec.data_source_ref = Some(TypedObjectReference { api_group, kind, name, namespace: None });
        }
        (None, Some(TypedObjectReference { api_group, kind, name, .. })) => {
            let (api_group, kind, name) = (api_group.clone(), kind.clone(), name.clone());
            spec.data_source = Some(TypedLocalObjectReference { api_group, kind, name });
        }
        _ => {}
    }
}

/// Mirrors `ValidatePersistentVolumeClaim`.
fn validate(problems: &mut Problems, claim: &PersistentVolumeClaim) {
    validate_spec(problems, &SPEC, claim.spec.as_ref().unwrap_or(&PersistentVolumeClaimSpec::default()));
}

/// What may not change in a claim: all but its size, once it is bound, and its volume, once.
fn validate_update(problems: &mut Problems, new: &PersistentVolumeClaim, old: &PersistentVolumeClaim) {
    validate(problems, new);
    let (Some(spec), Some(before)) = (&new.spec, &old.spec) else { return };
    let mut allowed = spec.clone();
    if before.volume_name.as_deref().unwrap_or_default().is_empty() {
        allowed.volume_name.clone_from(&before.volume_name);
    }
    if before.storage_class_name.is_none() {
        // The class that a later default gives to a claim without one.
        allowed.storage_class_name = None;
    }
    let bound = phase_of(old) == "Bound";
    let (size, size_before) = (requested(spec).map(Amount::of), requested(before).map(Amount::of));
    if bound || size == size_before {
        allowed.resources.clone_from(&before.resources);
    }
    allowed.volume_attributes_class_name.clone_from(&before.volume_attributes_class_name);
    if allowed != *before {
        const WHY: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName \
            for bound claims";
        let why = format!("{WHY}\n{}", diff::of_structs("PersistentVolumeClaimSpec", before, spec));
        problems.forbidden(&SPEC, &why);
    }
    let capacity = old.status.as_ref().and_then(|status| status.capacity.as_ref()?.get("storage")).map(Amount::of);
    if bound && size < size_before && capacity.is_some_and(|capacity| size.is_some_and(|size| size <= capacity)) {
        let path = SPEC.child("resources");
        let path = path.child("requests");
        problems.forbidden(&path.child("storage"), "field can not be less than status.capacity");
    }
    let shown = |mode: &Option<String>| Json(mode).shown();
    problems.immutable(&SPEC.child("volumeMode"), &spec.volume_mode, &before.volume_mode, shown);
}

/// Mirrors `ValidatePersistentVolumeClaimSpec`.
pub fn validate_spec(problems: &mut Problems, path: &Path, spec: &PersistentVolumeClaimSpec) {
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    if modes.is_empty() {
        problems.required(&path.child("accessModes"), "at least 1 access mode is required");
    }
    if let Some(selector) = &spec.selector {
        label_selector(problems, &path.child("selector"), selector);
    }
    known_access_modes(problems, path, modes);
    let resources = path.child("resources");
    let size = resources.key("storage");
    match requested(spec) {
        None => problems.required(&size, ""),
        Some(amount) => positive(problems, &size, amount),
    }
    class_name(problems, path, spec.storage_class_name.as_deref());
    volume_mode(problems, path, spec.volume_mode.as_deref());
    let (source, other) = (spec.data_source.as_ref(), spec.data_source_ref.as_ref());
    if let Some(TypedLocalObjectReference { api_group, kind, name }) = source {
        data_source(problems, &path.child("dataSource"), api_group.as_deref(), kind, name);
    }
    if let Some(TypedObjectReference { api_group, kind, name, .. }) = other {
        data_source(problems, &path.child("dataSourceRef"), api_group.as_deref(), kind, name);
    }
    if let (Some(source), Some(other)) = (source, other)
        && (&source.api_group, &source.kind, &source.name) != (&other.api_group, &other.kind, &other.name)
    {
        // What is shown is the path to the other, a struct with nothing to show.
        problems.invalid(path, Literal("{}"), "must match dataSourceRef");
    }
    if let Some(class) = spec.volume_attributes_class_name.as_deref().filter(|class| !class.is_empty()) {
        problems.all_invalid(&path.child("volumeAttributesClassName"), class, check_subdomain(class));
    }
}

/// Mirrors `validateDataSource`.
fn data_source(problems: &mut Problems, path: &Path, group: Option<&str>, kind: &str, name: &str) {
    for (field, value) in [("name", name), ("kind", kind)] {
        if value.is_empty() {
            problems.required(&path.child(field), "");
        }
    }
    match group.unwrap_or_default() {
        "" if kind != "PersistentVolumeClaim" => {
            problems.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
        }
        "" => {}
        group => problems.all_invalid(&path.child("apiGroup"), group, check_subdomain(group)),
    }
}

/// What a claim has, or is to have. Mirrors `ValidatePersistentVolumeClaimStatusUpdate`.
fn validate_status(problems: &mut Problems, new: &PersistentVolumeClaim, _: &PersistentVolumeClaim) {
    let Some(status) = &new.status else { return };
    amounts(problems, &STATUS.child("capacity"), status.capacity.as_ref());
    // Its path is that of no field.
    let path = STATUS.child("allocatedResourceStatus");
    for name in status.allocated_resource_statuses.iter().flat_map(|statuses| statuses.keys()) {
        resource_name(problems, &path, name);
    }
    let path = STATUS.child("allocatedResources");
    for name in status.allocated_resources.iter().flat_map(|amounts| amounts.keys()) {
        resource_name(problems, &path, name);
    }
    amounts(problems, &path, status.allocated_resources.as_ref());
}

/// Mirrors `validateBasicResource`.
fn amounts(problems: &mut Problems, path: &Path, amounts: Option<&BTreeMap<String, Quantity>>) {
    for (name, amount) in amounts.into_iter().flatten() {
        let value = Amount::of(amount).value();
        if value < 0 {
            problems.invalid(&path.key(name), value, "must be a valid resource quantity");
        }
    }
}

/// Mirrors `validatePersistentVolumeClaimResourceKey`.
fn resource_name(problems: &mut Problems, path: &Path, name: &str) {
    let wrong = check_label_key(name);
    if !wrong.is_empty() {
        problems.all_invalid(path, name, wrong);
    } else if name != "storage" && is_native(name) {
        problems.not_supported(path, name, &["storage"]);
    }
}

/// The claim that is made for each Pod with such a volume. Of its metadata only labels and annotations are taken over, so
/// there may be no more. Mirrors `ValidatePersistentVolumeClaimTemplate`.
pub fn validate_template(problems: &mut Problems, path: &Path, template: &PersistentVolumeClaimTemplate) {
    let at = path.child("metadata");
    if let Some(metadata) = &template.metadata {
        metadata::annotations(problems, &at.child("annotations"), metadata.annotations.as_ref());
        metadata::labels(problems, &at.child("labels"), metadata.labels.as_ref());
        for field in other_fields(metadata) {
            problems.forbidden(&at.child(field), "cannot be set");
        }
    }
    validate_spec(problems, &path.child("spec"), &template.spec);
}

fn warn(told: &mut Vec<String>, claim: &PersistentVolumeClaim) {
    let (key, instead) = BETA_CLASS;
    if claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(key)) {
        told.push(format!("metadata.annotations[{key}]: {instead}"));
    }
    claim.spec.iter().for_each(|spec| warn_of_spec(told, "spec", spec));
}

/// Also of a claim that is yet to be made.
pub fn warn_of_spec(told: &mut Vec<String>, path: &str, spec: &PersistentVolumeClaimSpec) {
    let Some(resources) = &spec.resources else { return };
    for (list, amounts) in [("requests", &resources.requests), ("limits", &resources.limits)] {
        fraction(told, &format!("{path}.resources.{list}"), amounts.as_ref(), "storage");
    }
}

/// Also of a claim that a Pod brings.
pub fn spec_defaults(spec: &mut PersistentVolumeClaimSpec) {
    or_text(&mut spec.volume_mode, "Filesystem");
}

fn cells(claim: &Value, now: Timestamp) -> Vec<Value> {
    let bound = !text(claim, "spec.volumeName").is_empty();
    let if_bound = |value: String| if bound { value } else { String::new() };
    cells![
        name(claim),
        phase(claim),
        text(claim, "spec.volumeName"),
        if_bound(size(claim, "status.capacity")),
        if_bound(access_modes(claim, "status.accessModes")),
        class_of(claim),
        or_unset(claim, "spec.volumeAttributesClassName"),
        created(claim, now),
        or_unset(claim, "spec.volumeMode"),
    ]
}

/// The fields of the metadata that are set, but for labels and annotations, by their names in Go.
fn other_fields(metadata: &ObjectMeta) -> impl Iterator<Item = &'static str> {
    let text = |field: &Option<String>| field.as_ref().is_some_and(|text| !text.is_empty());
    [
        ("name", text(&metadata.name)),
        ("generateName", text(&metadata.generate_name)),
        ("namespace", text(&metadata.namespace)),
        ("selfLink", text(&metadata.self_link)),
        ("uID", text(&metadata.uid)),
        ("resourceVersion", text(&metadata.resource_version)),
        ("generation", metadata.generation.is_some_and(|generation| generation != 0)),
        ("creationTimestamp", metadata.creation_timestamp.is_some()),
        ("deletionTimestamp", metadata.deletion_timestamp.is_some()),
        ("deletionGracePeriodSeconds", metadata.deletion_grace_period_seconds.is_some()),
        ("ownerReferences", metadata.owner_references.is_some()),
        ("finalizers", metadata.finalizers.is_some()),
        ("managedFields", metadata.managed_fields.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, set)| set.then_some(name))
}

fn requested(spec: &PersistentVolumeClaimSpec) -> Option<&Quantity> {
    spec.resources.as_ref()?.requests.as_ref()?.get("storage")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_claim_is_filled_from_is_said_twice() {
        let claim = json!({"kind": "PersistentVolumeClaim", "name": "a"});
        let other = json!({"apiGroup": "example.com", "kind": "Image", "name": "a"});
        for (sent, source, source_ref) in [
            (json!({"dataSource": claim}), &claim, &claim),
            (json!({"dataSource": {"kind": "Pod", "name": "a"}}), &Value::Null, &Value::Null),
            (json!({"dataSource": other, "dataSourceRef": claim}), &claim, &claim),
            (json!({"dataSourceRef": other}), &other, &other),
            (json!({"dataSourceRef": {"kind": "Image", "name": "a", "namespace": "n"}}), &Value::Null, &Value::Null),
        ] {
            let mut spec: PersistentVolumeClaimSpec = serde_json::from_value(sent.clone()).unwrap();
            name_source_twice(&mut spec);
            let said = serde_json::to_value(&spec).unwrap();
            assert_eq!((&said["dataSource"], &said["dataSourceRef"]), (source, source_ref), "{sent}");
        }
    }

    #[test]
    fn what_is_not_said_of_a_claim() {
        let beta = json!({"volume.beta.kubernetes.io/storage-class": "old"});
        let claim = json!({"metadata": {"name": "c", "annotations": beta}, "spec": {"volumeName": "pv"}});
        let cells = cells(&claim, Timestamp::UNIX_EPOCH);
        assert_eq!((&cells[3], &cells[5]), (&json!("0"), &json!("old")), "a volume that is not bound yet has no size");
    }
}

//! Volumes and claims, and their classes. Mirrors `ValidatePersistentVolume…` of
//! `pkg/apis/core/validation` and `pkg/apis/storage/validation`.
//!
//! Left out: the volume types of clouds and old storage systems count as one source each, unchecked; data sources of
//! claims.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate, PersistentVolumeSpec, TopologySelectorLabelRequirement, TopologySelectorTerm};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::kinds::pod_template::scheduling::node_selector;
use crate::kinds::validation::metadata::label_selector;
use crate::kinds::validation::{diff, metadata};
use crate::object::quantity::Amount;
use crate::object::selector::names::{check_label_key, check_subdomain};
use crate::object::validation::field::{Json, Path, Problems, Shown};
use crate::object::volume::phase_of;

const SPEC: Path = Path::new("spec");
const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];
const RECLAIM_POLICIES: &[&str] = &["Delete", "Recycle", "Retain"];
/// The longest name of a driver.
const DRIVER_NAME_LEN_MAX: usize = 63;
/// The most parameters of a class, and the most bytes that they may have together.
const PARAMETERS_MAX: usize = 512;
const PARAMETERS_BYTES_MAX: usize = 256 * 1024;

/// Mirrors `ValidatePersistentVolume`.
pub fn volume(problems: &mut Problems, volume: &PersistentVolume) {
    let default = PersistentVolumeSpec::default();
    let spec = volume.spec.as_ref().unwrap_or(&default);
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    if modes.is_empty() {
        problems.required(&SPEC.child("accessModes"), "");
    }
    access_modes(problems, &SPEC, modes);
    let path = SPEC.child("capacity");
    let capacity = spec.capacity.iter().flatten();
    if spec.capacity.as_ref().is_none_or(|capacity| capacity.is_empty()) {
        problems.required(&path, "");
    }
    if !spec.capacity.iter().flatten().map(|(name, _)| name.as_str()).eq(["storage"]) {
        problems.not_supported(&path, Json(&spec.capacity), &["storage"]);
    }
    for (name, amount) in capacity {
        positive(problems, &path.key(name), amount);
    }
    let policy = spec.persistent_volume_reclaim_policy.as_deref().unwrap_or_default();
    if !policy.is_empty() && !RECLAIM_POLICIES.contains(&policy) {
        problems.not_supported(&SPEC.child("persistentVolumeReclaimPolicy"), policy, RECLAIM_POLICIES);
    }
    if let Some(affinity) = &spec.node_affinity {
        let path = SPEC.child("nodeAffinity");
        let path = path.child("required");
        match &affinity.required {
            Some(selector) => node_selector(problems, &path, selector),
            None => problems.required(&path, "must specify required node constraints"),
        }
    }
    source(problems, spec);
    class_name(problems, &SPEC, spec.storage_class_name.as_deref());
    volume_mode(problems, &SPEC, spec.volume_mode.as_deref());
}

/// What may not change in a volume: what it is.
pub fn volume_update(problems: &mut Problems, new: &PersistentVolume, old: &PersistentVolume) {
    volume(problems, new);
    let (Some(spec), Some(before)) = (&new.spec, &old.spec) else { return };
    if source_of(spec) != source_of(before) {
        const WHY: &str = "spec.persistentvolumesource is immutable after creation";
        let why =
            format!("{WHY}\n{}", diff::of_structs("PersistentVolumeSource", &source_of(before), &source_of(spec)));
        problems.forbidden(&SPEC.child("persistentvolumesource"), &why);
    }
    let shown = |mode: &Option<String>| Json(mode).shown();
    problems.immutable(&Path::new("volumeMode"), &spec.volume_mode, &before.volume_mode, shown);
    if before.node_affinity.is_some() {
        let shown = |affinity: &_| Json(affinity).shown();
        problems.immutable(&Path::new("nodeAffinity"), &spec.node_affinity, &before.node_affinity, shown);
    }
}

/// The volume source alone: the spec without what may change.
fn source_of(spec: &PersistentVolumeSpec) -> PersistentVolumeSpec {
    PersistentVolumeSpec {
        access_modes: None,
        capacity: None,
        claim_ref: None,
        mount_options: None,
        node_affinity: None,
        persistent_volume_reclaim_policy: None,
        storage_class_name: None,
        volume_attributes_class_name: None,
        volume_mode: None,
        ..spec.clone()
    }
}

fn source(problems: &mut Problems, spec: &PersistentVolumeSpec) {
    let sources = serde_json::to_value(source_of(spec)).unwrap_or_default();
    let mut names = sources.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    if names.next().is_none() {
        problems.required(&SPEC, "must specify a volume type");
    }
    for name in names {
        problems.forbidden(&SPEC.child(name), "may not specify more than 1 volume type");
    }
    if let Some(host) = &spec.host_path {
        let path = SPEC.child("hostPath");
        directory(problems, &path, &host.path);
        if host.path == "/" && spec.persistent_volume_reclaim_policy.as_deref() == Some("Recycle") {
            const WHY: &str = "may not be 'recycle' for a hostPath mount of '/'";
            problems.forbidden(&SPEC.child("persistentVolumeReclaimPolicy"), WHY);
        }
    }
    if let Some(local) = &spec.local {
        directory(problems, &SPEC.child("local"), &local.path);
        if spec.node_affinity.is_none() {
            problems.required(&SPEC.child("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if let Some(csi) = &spec.csi {
        let path = SPEC.child("csi");
        driver_name(problems, &path.child("driver"), &csi.driver);
        if csi.volume_handle.is_empty() {
            problems.required(&path.child("volumeHandle"), "");
        }
    }
}

/// A path on a node that does not lead back up.
fn directory(problems: &mut Problems, path: &Path, directory: &str) {
    let path = path.child("path");
    if directory.is_empty() {
        problems.required(&path, "");
    } else if directory.split('/').any(|part| part == "..") {
        problems.invalid(&path, directory, "must not contain '..'");
    }
}

/// Mirrors `ValidatePersistentVolumeClaim`.
pub fn claim(problems: &mut Problems, claim: &PersistentVolumeClaim) {
    claim_spec(problems, &SPEC, claim.spec.as_ref().unwrap_or(&PersistentVolumeClaimSpec::default()));
}

/// Mirrors `ValidatePersistentVolumeClaimSpec`.
pub(super) fn claim_spec(problems: &mut Problems, path: &Path, spec: &PersistentVolumeClaimSpec) {
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    if modes.is_empty() {
        problems.required(&path.child("accessModes"), "at least 1 access mode is required");
    }
    if let Some(selector) = &spec.selector {
        label_selector(problems, &path.child("selector"), selector);
    }
    access_modes(problems, path, modes);
    let resources = path.child("resources");
    let size = resources.key("storage");
    match requested(spec) {
        None => problems.required(&size, ""),
        Some(amount) => positive(problems, &size, amount),
    }
    class_name(problems, path, spec.storage_class_name.as_deref());
    volume_mode(problems, path, spec.volume_mode.as_deref());
}

/// The claim that is made for each Pod with such a volume. Of its metadata only labels and annotations are taken over, so
/// there may be no more. Mirrors `ValidatePersistentVolumeClaimTemplate`.
pub fn claim_template(problems: &mut Problems, path: &Path, template: &PersistentVolumeClaimTemplate) {
    let at = path.child("metadata");
    if let Some(metadata) = &template.metadata {
        metadata::annotations(problems, &at.child("annotations"), metadata.annotations.as_ref());
        metadata::labels(problems, &at.child("labels"), metadata.labels.as_ref());
        for field in other_fields(metadata) {
            problems.forbidden(&at.child(field), "cannot be set");
        }
    }
    claim_spec(problems, &path.child("spec"), &template.spec);
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

/// What may not change in a claim: all but its size, once it is bound, and its volume, once.
pub fn claim_update(problems: &mut Problems, new: &PersistentVolumeClaim, old: &PersistentVolumeClaim) {
    claim(problems, new);
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

fn requested(spec: &PersistentVolumeClaimSpec) -> Option<&Quantity> {
    spec.resources.as_ref()?.requests.as_ref()?.get("storage")
}

fn access_modes(problems: &mut Problems, spec: &Path, modes: &[String]) {
    let path = spec.child("accessModes");
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(&mode.as_str())) {
        problems.not_supported(&path, mode.as_str(), ACCESS_MODES);
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        problems.forbidden(&path, "may not use ReadWriteOncePod with other access modes");
    }
}

fn positive(problems: &mut Problems, path: &Path, quantity: &Quantity) {
    let amount = Amount::of(quantity);
    if amount.is_negative() || amount.is_zero() {
        problems.invalid(path, quantity.0.as_str(), "must be greater than zero");
    }
}

fn class_name(problems: &mut Problems, spec: &Path, name: Option<&str>) {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        problems.all_invalid(&spec.child("storageClassName"), name, check_subdomain(name));
    }
}

fn volume_mode(problems: &mut Problems, spec: &Path, mode: Option<&str>) {
    if let Some(mode) = mode.filter(|mode| !VOLUME_MODES.contains(mode)) {
        problems.not_supported(&spec.child("volumeMode"), mode, VOLUME_MODES);
    }
}

pub(super) fn driver_name(problems: &mut Problems, path: &Path, name: &str) {
    match name {
        "" => problems.required(path, ""),
        name => {
            if name.len() > DRIVER_NAME_LEN_MAX {
                problems.too_long(path, DRIVER_NAME_LEN_MAX);
            }
            problems.all_invalid(path, name, check_subdomain(&name.to_lowercase()));
        }
    }
}

/// Mirrors `ValidateStorageClass`.
pub fn class(problems: &mut Problems, class: &StorageClass) {
    let path = Path::new("provisioner");
    match class.provisioner.as_str() {
        "" => problems.required(&path, ""),
        // Kubernetes shows the name in small letters, too.
        name => {
            let name = name.to_lowercase();
            problems.all_invalid(&path, &name, check_label_key(&name));
        }
    }
    parameters(problems, class.parameters.as_ref());
    let policy = class.reclaim_policy.as_deref().unwrap_or_default();
    if !policy.is_empty() && !["Delete", "Retain"].contains(&policy) {
        problems.not_supported(&Path::new("reclaimPolicy"), policy, &["Delete", "Retain"]);
    }
    const BINDING_MODES: &[&str] = &["Immediate", "WaitForFirstConsumer"];
    problems.one_of(&Path::new("volumeBindingMode"), class.volume_binding_mode.as_deref(), BINDING_MODES);
    topologies(problems, class.allowed_topologies.as_deref().unwrap_or_default());
}

/// What a class tells its driver: not too many things, and not too much. Mirrors `validateParameters`.
fn parameters(problems: &mut Problems, parameters: Option<&BTreeMap<String, String>>) {
    let (path, Some(parameters)) = (Path::new("parameters"), parameters) else { return };
    if parameters.len() > PARAMETERS_MAX {
        return problems.too_long(&path, PARAMETERS_MAX);
    }
    if parameters.contains_key("") {
        problems.invalid(&path, "", "field can not be empty.");
    }
    let bytes: usize = parameters.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > PARAMETERS_BYTES_MAX {
        problems.too_long(&path, PARAMETERS_BYTES_MAX);
    }
}

/// Where volumes of a class may be: no term says what another says. Mirrors `validateAllowedTopologies`.
fn topologies(problems: &mut Problems, terms: &[TopologySelectorTerm]) {
    let list = Path::new("allowedTopologies");
    let mut seen: Vec<BTreeMap<&str, BTreeSet<&str>>> = vec![BTreeMap::new(); terms.len()];
    for (i, term) in terms.iter().enumerate() {
        let path = list.index(i);
        let path = path.child("matchLabelExpressions");
        let mut asked: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (j, wanted) in term.match_label_expressions.iter().flatten().enumerate() {
            let values = topology_values(problems, &path.index(j), wanted);
            if asked.insert(&wanted.key, values).is_some() {
                problems.duplicate(&path.index(j).child("key"), wanted.key.as_str());
            }
        }
        // The list of those before begins with as many empty ones as there are terms, so an empty term is never alone.
        seen.iter().filter(|before| **before == asked).for_each(|_| problems.duplicate(&path, ""));
        seen.push(asked);
    }
}

fn topology_values<'a>(
    problems: &mut Problems,
    path: &Path,
    wanted: &'a TopologySelectorLabelRequirement,
) -> BTreeSet<&'a str> {
    let list = path.child("values");
    if wanted.values.is_empty() {
        problems.required(&list, "");
    }
    let mut values = BTreeSet::new();
    for (i, value) in wanted.values.iter().enumerate() {
        if !values.insert(value.as_str()) {
            problems.duplicate(&list.index(i), value.as_str());
        }
    }
    problems.all_invalid(&path.child("key"), &wanted.key, check_label_key(&wanted.key));
    values
}

/// What may not change in a class: nearly everything. Mirrors `ValidateStorageClassUpdate`.
pub fn class_update(problems: &mut Problems, new: &StorageClass, old: &StorageClass) {
    class(problems, new);
    let parameters = |class: &StorageClass| class.parameters.clone().filter(|parameters| !parameters.is_empty());
    let shown = |_: &_| Json(&new.parameters).shown();
    problems.immutable(&Path::new("parameters"), &parameters(new), &parameters(old), shown);
    let shown = |name: &String| Json(name).shown();
    problems.immutable(&Path::new("provisioner"), &new.provisioner, &old.provisioner, shown);
    let shown = |word: &Option<String>| Json(word).shown();
    problems.immutable(&Path::new("reclaimPolicy"), &new.reclaim_policy, &old.reclaim_policy, shown);
    problems.immutable(&Path::new("volumeBindingMode"), &new.volume_binding_mode, &old.volume_binding_mode, shown);
}

#[cfg(test)]
mod tests;

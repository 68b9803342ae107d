//! What is said of storage: of what nobody serves any more, and of what is better said in another way.
//!
//! Mirrors `pkg/api/persistentvolume/util.go`, `pkg/api/persistentvolumeclaim/util.go`, `pkg/api/storage/util.go` and the
//! strategy of CSIDrivers.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeSpec};
use k8s_openapi::api::storage::v1::{CSIDriver, CSIStorageCapacity, StorageClass};

use crate::kinds::warnings::{deprecated_label, fraction, of_term};
const BETA_CLASS: (&str, &str) =
    ("volume.beta.kubernetes.io/storage-class", "deprecated since v1.8; use \"storageClassName\" attribute instead");
const BETA_OPTIONS: (&str, &str) =
    ("volume.beta.kubernetes.io/mount-options", "deprecated since v1.31; use \"mountOptions\" attribute instead");

pub fn of_volume(told: &mut Vec<String>, volume: &PersistentVolume) {
    let annotations = volume.metadata.annotations.as_ref();
    for (key, instead) in [BETA_CLASS, BETA_OPTIONS] {
        if annotations.is_some_and(|all| all.contains_key(key)) {
            told.push(format!("metadata.annotations[{key}]: {instead}"));
        }
    }
    let Some(spec) = &volume.spec else { return };
    if spec.persistent_volume_reclaim_policy.as_deref() == Some("Recycle") {
        told.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended \
             approach is to use dynamic provisioning."
                .to_owned(),
        );
    }
    let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    for (i, term) in required.into_iter().flat_map(|required| &required.node_selector_terms).enumerate() {
        of_term(told, &format!("spec.nodeAffinity.required.nodeSelectorTerms[{i}]"), term);
    }
    told.extend(removed(spec).map(|(plugin, since)| format!("spec.{plugin}: {since}")));
}

/// Plugins that no kubelet has any more.
fn removed(spec: &PersistentVolumeSpec) -> impl Iterator<Item = (&'static str, &'static str)> {
    [
        (spec.cephfs.is_some(), "cephfs"),
        (spec.photon_persistent_disk.is_some(), "photonPersistentDisk"),
        (spec.scale_io.is_some(), "scaleIO"),
        (spec.storageos.is_some(), "storageOS"),
        (spec.glusterfs.is_some(), "glusterfs"),
        (spec.rbd.is_some(), "rbd"),
    ]
    .into_iter()
    .filter_map(|(used, plugin)| Some((plugin, super::volumes::since(plugin)?)).filter(|_| used))
}

pub fn of_claim(told: &mut Vec<String>, claim: &PersistentVolumeClaim) {
    let (key, instead) = BETA_CLASS;
    if claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(key)) {
        told.push(format!("metadata.annotations[{key}]: {instead}"));
    }
    claim.spec.iter().for_each(|spec| of_claim_spec(told, "spec", spec));
}

/// Also of a claim that is yet to be made.
pub(super) fn of_claim_spec(told: &mut Vec<String>, path: &str, spec: &PersistentVolumeClaimSpec) {
    let Some(resources) = &spec.resources else { return };
    for (list, amounts) in [("requests", &resources.requests), ("limits", &resources.limits)] {
        fraction(told, &format!("{path}.resources.{list}"), amounts.as_ref(), "storage");
    }
}

pub fn of_class(told: &mut Vec<String>, class: &StorageClass) {
    for (i, term) in class.allowed_topologies.iter().flatten().enumerate() {
        for (j, expression) in term.match_label_expressions.iter().flatten().enumerate() {
            let path = format!("allowedTopologies[{i}].matchLabelExpressions[{j}].key");
            told.extend(deprecated_label(&expression.key).map(|instead| format!("{path}: {instead}")));
        }
    }
}

pub fn of_capacity(told: &mut Vec<String>, capacity: &CSIStorageCapacity) {
    let Some(selector) = &capacity.node_topology else { return };
    for (i, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let key = &expression.key;
        let path = format!("nodeTopology.matchExpressions[{i}].key");
        told.extend(deprecated_label(key).map(|instead| format!("{path}: {key} is {instead}")));
    }
    for key in selector.match_labels.iter().flatten().map(|(key, _)| key) {
        told.extend(deprecated_label(key).map(|instead| format!("nodeTopology.matchLabels.{key}: {instead}")));
    }
}

/// Tokens that the driver asks for anew, and that may end in a log.
pub fn of_driver(told: &mut Vec<String>, new: &CSIDriver, old: Option<&CSIDriver>) {
    let requests = new.spec.token_requests.as_deref().unwrap_or_default();
    let same = old.is_some_and(|old| old.spec.token_requests.as_deref().unwrap_or_default() == requests);
    if !requests.is_empty() && !same && new.spec.service_account_token_in_secrets.is_none() {
        told.push(
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
             logging of tokens in volume attributes"
                .to_owned(),
        );
    }
}

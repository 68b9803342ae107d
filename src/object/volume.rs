//! What volumes and claims say of one another: read by the binder, the scheduler and the kubelet alike.
//!
//! Mirrors `k8s.io/component-helpers/storage/volume` and `…/ephemeral`.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{
    ObjectReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimCondition, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::meta::controller_of;
use super::quantity::Amount;
use super::{Accessor, Key, Pod, sha256};

/// On a claim or volume: the reference in it was made by a controller, and may be taken back.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// On a claim: it was bound once.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// On a claim: the node of its first consumer.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// On a claim: who is to make a volume for it.
pub const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// On a volume: who made it.
pub const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// On a volume that has grown: how large it was, until the file system on it has grown too.
pub const PRE_RESIZE_CAPACITY: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";
/// The provisioner of a class whose volumes are all made by hand.
pub const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// The claim behind a Pod's volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedClaim<'a> {
    /// Its name, in the Pod's namespace.
    pub name: Cow<'a, str>,
    /// Whether the Pod may only read.
    pub read_only: bool,
    /// Whether it is made for this Pod (`ephemeral`): then it must be the Pod's own, see [`made_for`].
    pub ephemeral: bool,
}

/// The claim behind a volume of this Pod: the one that it names, or the one that is made for it, under the Pod's name and
/// the volume's. None for volumes of other kinds.
pub fn claim_behind<'a>(pod: &ObjectMeta, volume: &'a Volume) -> Option<UsedClaim<'a>> {
    if let Some(source) = &volume.persistent_volume_claim {
        let name = source.claim_name.as_str().into();
        return Some(UsedClaim { name, read_only: source.read_only == Some(true), ephemeral: false });
    }
    volume.ephemeral.as_ref()?;
    let name = name_of_made(pod.name.as_deref().unwrap_or_default(), &volume.name);
    Some(UsedClaim { name: name.into(), read_only: false, ephemeral: true })
}

/// The name of the claim that is made for a volume of a Pod. Mirrors `ephemeral.VolumeClaimName`.
pub fn name_of_made(pod: &str, volume: &str) -> String {
    format!("{pod}-{volume}")
}

/// The claims behind a Pod's volumes, in their order.
pub fn claims_behind(pod: &Pod) -> impl Iterator<Item = UsedClaim<'_>> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| claim_behind(&pod.metadata, volume))
}

/// Whether the claim is the one that was made for the Pod, and not one of the same name; why it is not. Mirrors
/// `ephemeral.VolumeIsForPod`.
pub fn made_for(pod: &ObjectMeta, claim: &PersistentVolumeClaim) -> Result<(), String> {
    if controller_of(&claim.metadata).is_some_and(|owner| Some(&owner.uid) == pod.uid.as_ref()) {
        return Ok(());
    }
    let (pod, claim) = (Key::of_meta(pod), Key::of_meta(&claim.metadata));
    Err(format!("PVC {claim} was not created for pod {pod} (pod is not owner)"))
}

/// How claims and volumes named their class before there was a field for it. It still comes first.
const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

fn beta_class(meta: &ObjectMeta) -> Option<&str> {
    meta.annotations.as_ref()?.get(BETA_STORAGE_CLASS).map(String::as_str)
}

/// A volume's class; empty if it has none. Mirrors `GetPersistentVolumeClass`.
pub fn class_of_volume(volume: &PersistentVolume) -> &str {
    if let Some(class) = beta_class(&volume.metadata) {
        return class;
    }
    volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()).unwrap_or_default()
}

/// Whether a claim sets its class, even to the empty one. Mirrors `PersistentVolumeClaimHasClass`.
pub fn has_class(claim: &PersistentVolumeClaim) -> bool {
    beta_class(&claim.metadata).is_some() || claim.spec.as_ref().is_some_and(|spec| spec.storage_class_name.is_some())
}

/// A claim's class; empty if it wants none, or has none yet. Mirrors `GetPersistentVolumeClaimClass`.
pub fn class_of(claim: &PersistentVolumeClaim) -> &str {
    if let Some(class) = beta_class(&claim.metadata) {
        return class;
    }
    claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()).unwrap_or_default()
}

/// A volume's phase; empty before it has one.
pub fn phase_of_volume(volume: &PersistentVolume) -> &str {
    volume.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// A claim's phase; empty before it has one.
pub fn phase_of(claim: &PersistentVolumeClaim) -> &str {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// How large a volume is.
pub fn capacity(volume: &PersistentVolume) -> Amount {
    let capacity = volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref());
    capacity.and_then(|capacity| capacity.get("storage")).map(Amount::of).unwrap_or_default()
}

/// How much a claim asks for.
pub fn requested(claim: &PersistentVolumeClaim) -> Amount {
    let requests = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
    requests.and_then(|requests| requests.get("storage")).map(Amount::of).unwrap_or_default()
}

/// How much a claim has got.
pub fn granted(claim: &PersistentVolumeClaim) -> Amount {
    let capacity = claim.status.as_ref().and_then(|status| status.capacity.as_ref());
    capacity.and_then(|capacity| capacity.get("storage")).map(Amount::of).unwrap_or_default()
}

/// How much is being given to a claim while it grows, and was given last once it has grown.
pub fn allocated(claim: &PersistentVolumeClaim) -> Option<Amount> {
    let allocated = claim.status.as_ref().and_then(|status| status.allocated_resources.as_ref());
    allocated.and_then(|allocated| allocated.get("storage")).map(Amount::of)
}

/// Whether a volume waits for the file system on it to grow.
pub fn awaits_node_expansion(volume: &PersistentVolume) -> bool {
    volume.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(PRE_RESIZE_CAPACITY))
}

/// The conditions of a claim with this one about its growing, in the place of one of the same type; others about that are
/// kept or not. Mirrors `MergeResizeConditionsOfPVC`.
pub fn with_resize_condition(
    claim: &PersistentVolumeClaim,
    condition: Option<PersistentVolumeClaimCondition>,
    keep_others: bool,
) -> Vec<PersistentVolumeClaimCondition> {
    const RESIZE: &[&str] = &["Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"];
    let mut new = condition;
    let there = claim.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut merged: Vec<PersistentVolumeClaimCondition> = there
        .filter_map(|old| match new.take_if(|new| new.type_ == old.type_) {
            None if !keep_others && RESIZE.contains(&old.type_.as_str()) => None,
            None => Some(old.clone()),
            replaced => replaced,
        })
        .collect();
    merged.extend(new);
    merged
}

/// The claim that a volume is promised to.
pub fn claim_key(volume: &PersistentVolume) -> Option<Key> {
    let reference = volume.spec.as_ref()?.claim_ref.as_ref()?;
    Some(Key::new(reference.namespace.as_deref()?, reference.name.as_deref()?))
}

/// The uid in a volume's promise; empty if the promise was made by hand, before there was a claim.
pub fn claim_uid(volume: &PersistentVolume) -> &str {
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    reference.and_then(|reference| reference.uid.as_deref()).unwrap_or_default()
}

/// How a volume names the claim that it is promised to.
pub fn reference_to(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("PersistentVolumeClaim".into()),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        resource_version: claim.metadata.resource_version.clone(),
        field_path: None,
    }
}

/// The volume promised to the claim; None if it is already. Mirrors `GetBindVolumeToClaim`.
pub fn promised_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<PersistentVolume> {
    let before = claim_key(volume);
    let uid = claim.metadata.uid();
    if before == Some(Key::of_meta(&claim.metadata)) && claim_uid(volume) == uid {
        return None;
    }
    let mut promised = volume.clone();
    if before.is_none() {
        promised.metadata.annotations.get_or_insert_default().insert(BOUND_BY_CONTROLLER.into(), "yes".into());
    }
    promised.spec.get_or_insert_default().claim_ref = Some(reference_to(claim));
    Some(promised)
}

/// The volume that a claim names; empty if none.
pub fn volume_name(claim: &PersistentVolumeClaim) -> &str {
    claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).unwrap_or_default()
}

/// Whether a claim has its volume and the binding was seen through.
pub fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    let completed = claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(BIND_COMPLETED));
    completed && !volume_name(claim).is_empty()
}

/// Whether the volume is promised to this claim, or to one of its name.
pub fn is_promised_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let uid = claim_uid(volume);
    claim_key(volume) == Some(Key::of_meta(&claim.metadata))
        && (uid.is_empty() || claim.metadata.uid.as_deref() == Some(uid))
}

/// `Filesystem` or `Block`.
pub fn mode_of_volume(volume: &PersistentVolume) -> &str {
    volume.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref()).unwrap_or("Filesystem")
}

/// `Filesystem` or `Block`.
pub fn mode_of(claim: &PersistentVolumeClaim) -> &str {
    claim.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref()).unwrap_or("Filesystem")
}

/// Whether the volume can be used in every way the claim asks for.
pub fn modes_cover(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let offered = volume.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()).unwrap_or_default();
    let wanted = claim.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()).unwrap_or_default();
    wanted.iter().all(|mode| offered.contains(mode))
}

/// Whether size and modes are what the claim asks for.
pub fn fits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    capacity(volume) >= requested(claim) && mode_of_volume(volume) == mode_of(claim) && modes_cover(volume, claim)
}

/// What nodes call a CSI volume in their status.
pub fn unique_name(volume: &PersistentVolume) -> String {
    let csi = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref());
    csi.map(|csi| format!("kubernetes.io/csi/{}^{}", csi.driver, csi.volume_handle)).unwrap_or_default()
}

/// The name of the VolumeAttachment of a CSI volume to a node.
pub fn attachment_name(volume_handle: &str, driver: &str, node: &str) -> String {
    format!("csi-{}", sha256::hex(&format!("{volume_handle}{driver}{node}")))
}

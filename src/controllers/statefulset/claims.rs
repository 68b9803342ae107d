//! The claims of a StatefulSet's Pods, and what becomes of them. Mirrors the claims of `stateful_pod_control.go`, and
//! `updateClaimOwnerRefForSetAndPod`.
//!
//! Claims stay when their Pods go: the next Pod of the number finds its data. A user who wants otherwise says so in
//! `persistentVolumeClaimRetentionPolicy`, and the controller does no deleting itself: it makes the StatefulSet
//! (`whenDeleted: Delete`) or a Pod that is to be scaled away (`whenScaled: Delete`) an owner of the claim, and the garbage
//! collector does the rest.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::claim::aggregate;
use client::{Error, EventType};
use object::meta::controller_ref;
use object::{Accessor, Key, Kind, Pod, Resource};

use super::identity::{claims, ordinals};
use super::{StatefulSets, Sync};

/// Who is to own the claims of one Pod.
struct Owners<'a> {
    set: &'a StatefulSet,
    pod: &'a Pod,
    /// The Pod's number is not asked for any more.
    scaled_away: bool,
    /// Whether the claims go with a Pod that is scaled away, and with the StatefulSet.
    when: (bool, bool),
}

impl<'a> Owners<'a> {
    fn new(context: &'a Sync, ordinal: i32, pod: &'a Pod) -> Owners<'a> {
        let policy = context.spec.persistent_volume_claim_retention_policy.as_ref();
        let deletes = |when: Option<&String>| when.is_some_and(|when| when == "Delete");
        let when_scaled = deletes(policy.and_then(|policy| policy.when_scaled.as_ref()));
        let when_deleted = deletes(policy.and_then(|policy| policy.when_deleted.as_ref()));
        let scaled_away = !ordinals(&context.spec).contains(&ordinal);
        Owners { set: &context.set, pod, scaled_away, when: (when_scaled, when_deleted) }
    }

    /// Whether the Pod is to be an owner, and whether the StatefulSet is.
    fn wanted(&self) -> (bool, bool) {
        let by_pod = self.when.0 && self.scaled_away;
        (by_pod, self.when.1 && !by_pod)
    }

    /// Whether an earlier Pod of the name is an owner: the claim goes with it. Mirrors `PodClaimIsStale`.
    fn is_left_over(&self, owners: &[OwnerReference]) -> bool {
        self.when.0 && is_stale(owners, self.pod)
    }

    /// Whether another object controls the claim. Mirrors `hasUnexpectedController`.
    fn is_anothers(&self, owners: &[OwnerReference]) -> bool {
        let is_other = |owner: &OwnerReference| match owner {
            owner if names(owner, self.set) => !is(owner, self.set),
            owner if names(owner, self.pod) => !is(owner, self.pod),
            owner => owner.controller == Some(true),
        };
        self.when != (false, false) && owners.iter().any(is_other)
    }

    /// Mirrors `isClaimOwnerUpToDate`.
    fn are_right(&self, owners: &[OwnerReference]) -> bool {
        // What belongs to an earlier StatefulSet or Pod of the name is the garbage collector's.
        if is_stale(owners, self.set) || is_stale(owners, self.pod) {
            return true;
        }
        let has_pod = owners.iter().any(|owner| is(owner, self.pod));
        let has_set = owners.iter().any(|owner| is(owner, self.set));
        if self.is_anothers(owners) {
            return !has_pod && !has_set;
        }
        let ours = owners.iter().filter(|owner| is(owner, self.pod) || is(owner, self.set));
        ours.into_iter().all(|owner| owner.controller == Some(true)) && (has_pod, has_set) == self.wanted()
    }

    /// Mirrors `updateClaimOwnerRefForSetAndPod`.
    fn set_right(&self, owners: &[OwnerReference]) -> Vec<OwnerReference> {
        let others = owners.iter().filter(|owner| !names(owner, self.set) && !names(owner, self.pod));
        let (by_pod, by_set) = match self.is_anothers(owners) {
            true => (false, false),
            false => self.wanted(),
        };
        let pod = by_pod.then(|| controller_ref(self.pod));
        let set = by_set.then(|| controller_ref(self.set));
        others.cloned().chain(pod).chain(set).collect()
    }
}

/// Whether `owner` means an object of this name, be it this one or an earlier one.
fn names<T: Resource>(owner: &OwnerReference, object: &T) -> bool {
    let info = T::kind().info();
    owner.api_version == info.api_version
        && owner.kind == info.kind
        && object.metadata().name.as_ref() == Some(&owner.name)
}

/// Whether `owner` means this object.
fn is<T: Resource>(owner: &OwnerReference, object: &T) -> bool {
    object.metadata().uid.as_ref() == Some(&owner.uid)
}

/// Whether an earlier object of this name is an owner. Mirrors `hasStaleOwnerRef`.
fn is_stale<T: Resource>(owners: &[OwnerReference], object: &T) -> bool {
    owners.iter().find(|owner| names(owner, object)).is_some_and(|owner| !is(owner, object))
}

fn owners_of(claim: &PersistentVolumeClaim) -> &[OwnerReference] {
    claim.metadata.owner_references.as_deref().unwrap_or_default()
}

impl StatefulSets {
    /// Makes the claims of this number that are missing. Mirrors `createPersistentVolumeClaims`.
    pub(super) async fn create_claims(&self, context: &Sync, ordinal: i32, pod: &str) -> Result<(), Error> {
        let mut errors = Vec::new();
        for (_, claim) in claims(&context.set, &context.spec, ordinal) {
            let key = Key::of_meta(&claim.metadata);
            let (set, name) = (context.key.name(), key.name());
            if let Some(there) = self.claims.get(&key) {
                if there.metadata.deletion_timestamp.is_some() {
                    errors.push(Error::Other(format!("pvc {name} is being deleted")));
                }
                continue;
            }
            match self.client.create(claim).await {
                Ok(claim) => {
                    self.wrote_claim(context, &claim);
                    let message = format!("Create Claim {name} Pod {pod} in StatefulSet {set} success");
                    self.recorder.event(&*context.set, EventType::Normal, "SuccessfulCreate", message);
                }
                Err(status) => {
                    // The cache may not show it yet: nothing to tell of.
                    if !status.is_already_exists() {
                        let message =
                            format!("Create Claim {name} for Pod {pod} in StatefulSet {set} failed error: {status}");
                        self.recorder.event(&*context.set, EventType::Warning, "FailedCreate", message);
                    }
                    errors.push(Error::Other(format!("failed to create PVC {name}: {status}")));
                }
            }
        }
        aggregate(errors).map_or(Ok(()), Err)
    }

    fn wrote_claim(&self, context: &Sync, claim: &PersistentVolumeClaim) {
        let version = claim.metadata.resource_version.as_deref();
        self.consistency.wrote(&context.key, Kind::PersistentVolumeClaim, version);
    }

    /// The claims of this number that the cache shows.
    fn claims_there(&self, context: &Sync, ordinal: i32) -> Vec<Arc<PersistentVolumeClaim>> {
        let wanted = claims(&context.set, &context.spec, ordinal);
        wanted.iter().filter_map(|(_, claim)| self.claims.get(&Key::of_meta(&claim.metadata))).collect()
    }

    /// Whether the Pod, which is to be made, must wait until the claims of the one before it are gone. No watch notifies the
    /// controller when they are, as in Kubernetes: it looks again at the next change of the StatefulSet or its Pods.
    pub(super) fn are_claims_left_over(&self, context: &Sync, ordinal: i32, pod: &Pod) -> bool {
        let owners = Owners::new(context, ordinal, pod);
        self.claims_there(context, ordinal).iter().any(|claim| owners.is_left_over(owners_of(claim)))
    }

    /// Whether the claims of the Pod have the owners that the retention policy asks for. One that is missing has.
    /// Mirrors `ClaimsMatchRetentionPolicy`.
    pub(super) fn claims_in_line(&self, context: &Sync, ordinal: i32, pod: &Pod) -> bool {
        let owners = Owners::new(context, ordinal, pod);
        self.claims_there(context, ordinal).iter().all(|claim| owners.are_right(owners_of(claim)))
    }

    /// Gives the claims of the Pod the owners that the retention policy asks for.
    /// Mirrors `UpdatePodClaimForRetentionPolicy`.
    pub(super) async fn keep_claims_in_line(&self, context: &Sync, ordinal: i32, pod: &Pod) -> Result<(), Error> {
        let owners = Owners::new(context, ordinal, pod);
        for there in self.claims_there(context, ordinal) {
            let name = there.metadata.name();
            if owners.is_anothers(owners_of(&there)) {
                let message = format!(
                    "PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim"
                );
                self.recorder.event(&*context.set, EventType::Warning, "ConflictingController", message);
            }
            if !owners.are_right(owners_of(&there)) {
                let mut update = PersistentVolumeClaim::clone(&there);
                let right = owners.set_right(owners_of(&there));
                update.metadata.owner_references = (!right.is_empty()).then_some(right);
                let updated = self.client.update(update).await.map_err(|status| {
                    Error::Other(format!("could not update claim {name} for delete policy ownerRefs: {status}"))
                })?;
                self.wrote_claim(context, &updated);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reference(kind: &str, name: &str, uid: &str, controller: bool) -> OwnerReference {
        let api_version = if kind == "Pod" { "v1" } else { "apps/v1" }.to_owned();
        let (kind, name, uid) = (kind.to_owned(), name.to_owned(), uid.to_owned());
        OwnerReference { api_version, kind, name, uid, controller: Some(controller), block_owner_deletion: None }
    }

    #[test]
    fn claims_go_with_their_owners() {
        let set: StatefulSet = serde_json::from_value(json!({"metadata": {"name": "db", "uid": "s"}})).unwrap();
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "db-1", "uid": "p"}})).unwrap();
        let (by_set, by_pod) = (reference("StatefulSet", "db", "s", true), reference("Pod", "db-1", "p", true));
        let other = reference("Backup", "b", "o", true);
        let both = (true, true);
        // what, owners there, the Pod is scaled away, (when scaled, when deleted) -> owners, None if they stay
        for (what, there, scaled_away, when, want) in [
            ("retained", vec![], true, (false, false), None),
            ("with the set", vec![], true, (false, true), Some(vec!["s"])),
            ("with the set, and so it is", vec![by_set.clone()], true, (false, true), None),
            ("with either", vec![], false, both, Some(vec!["s"])),
            ("with either, scaled away", vec![by_set.clone()], true, both, Some(vec!["p"])),
            ("with either, wanted again", vec![by_pod.clone()], false, both, Some(vec!["s"])),
            ("not any more", vec![by_set.clone()], false, (false, false), Some(vec![])),
            ("half an owner", vec![reference("StatefulSet", "db", "s", false)], false, both, Some(vec!["s"])),
            ("of an earlier set", vec![reference("StatefulSet", "db", "old", true)], false, both, None),
            ("of an earlier Pod", vec![reference("Pod", "db-1", "old", true)], false, both, None),
            ("another's", vec![other.clone()], false, both, None),
            ("another's and ours", vec![other, by_set], false, both, Some(vec!["o"])),
        ] {
            let owners = Owners { set: &set, pod: &pod, scaled_away, when };
            let right = (!owners.are_right(&there)).then(|| owners.set_right(&there));
            let uids = right.map(|owners| owners.into_iter().map(|owner| owner.uid).collect::<Vec<_>>());
            assert_eq!(uids, want.map(|uids| uids.into_iter().map(str::to_owned).collect()), "{what}");
        }
        let next: Pod = serde_json::from_value(json!({"metadata": {"name": "db-1"}})).unwrap();
        for (when, want) in [(both, true), ((false, true), false)] {
            let owners = Owners { set: &set, pod: &next, scaled_away: false, when };
            assert_eq!(owners.is_left_over(std::slice::from_ref(&by_pod)), want);
        }
    }
}

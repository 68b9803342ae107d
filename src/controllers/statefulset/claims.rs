//! The claims of a StatefulSet's Pods, and what becomes of them. Mirrors the claims of `stateful_pod_control.go`, and
//! `updateClaimOwnerRefForSetAndPod`.
//!
//! Claims stay when their Pods go: the next Pod of the number finds its data. Whoever wants otherwise says so in
//! `persistentVolumeClaimRetentionPolicy`, and the controller does no deleting itself: it makes the StatefulSet
//! (`whenDeleted: Delete`) or a Pod that is to be scaled away (`whenScaled: Delete`) an owner of the claim, and the garbage
//! collector does the rest.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::client::{Error, EventType};
use crate::object::meta::controller_ref;
use crate::object::{Key, Pod};

use super::identity::claims;
use super::{StatefulSets, Sync};

impl StatefulSets {
    /// Makes the claims of this number that are missing.
    pub(super) async fn create_claims(&self, context: &Sync, ordinal: i32, pod: &str) -> Result<(), Error> {
        for (_, claim) in claims(&context.set, &context.spec, ordinal) {
            let key = Key::of_meta(&claim.metadata);
            if let Some(there) = self.claims.get(&key) {
                if there.metadata.deletion_timestamp.is_some() {
                    return Err(Error::Other(format!("pvc {} is being deleted", key.name())));
                }
                continue;
            }
            let (set, name) = (context.key.name(), key.name());
            match self.client.create(claim).await {
                Ok(_) => {
                    let message = format!("Create Claim {name} Pod {pod} in StatefulSet {set} success");
                    self.recorder.event(&*context.set, EventType::Normal, "SuccessfulCreate", message);
                }
                Err(status) => {
                    let message =
                        format!("Create Claim {name} for Pod {pod} in StatefulSet {set} failed error: {status}");
                    self.recorder.event(&*context.set, EventType::Warning, "FailedCreate", message);
                    return Err(Error::Other(format!("failed to create PVC {name}: {status}")));
                }
            }
        }
        Ok(())
    }

    /// Whether the claims of this number have the owners that the retention policy asks for. One that is missing has.
    /// Mirrors `ClaimsMatchRetentionPolicy`.
    pub(super) fn claims_in_line(&self, context: &Sync, ordinal: i32) -> bool {
        let is_in_line = |claim: &PersistentVolumeClaim| {
            let there = self.claims.get(&Key::of_meta(&claim.metadata));
            there.is_none_or(|there| {
                there.metadata.owner_references.as_deref().unwrap_or_default() == self.owners(context, &there, None)
            })
        };
        claims(&context.set, &context.spec, ordinal).iter().all(|(_, claim)| is_in_line(claim))
    }

    /// Gives the claims of this number the owners that the retention policy asks for. `condemned` is the Pod if it is to be
    /// scaled away.
    pub(super) async fn keep_claims_in_line(
        &self,
        context: &Sync,
        ordinal: i32,
        condemned: Option<&Pod>,
    ) -> Result<(), Error> {
        for (_, claim) in claims(&context.set, &context.spec, ordinal) {
            let Some(there) = self.claims.get(&Key::of_meta(&claim.metadata)) else { continue };
            let owners = self.owners(context, &there, condemned);
            if there.metadata.owner_references.as_deref().unwrap_or_default() != owners {
                let mut update = PersistentVolumeClaim::clone(&there);
                update.metadata.owner_references = (!owners.is_empty()).then_some(owners);
                self.client.update(update).await?;
            }
        }
        Ok(())
    }

    fn owners(&self, context: &Sync, claim: &PersistentVolumeClaim, condemned: Option<&Pod>) -> Vec<OwnerReference> {
        let policy = context.spec.persistent_volume_claim_retention_policy.clone().unwrap_or_default();
        let deletes = |when: &Option<String>| when.as_deref() == Some("Delete");
        let by_pod = condemned.filter(|_| deletes(&policy.when_scaled)).map(controller_ref);
        let by_set = || deletes(&policy.when_deleted).then(|| controller_ref(&*context.set));
        let wanted = by_pod.or_else(by_set);
        let set_uid = context.set.metadata.uid.as_deref();
        let is_ours = |owner: &OwnerReference| Some(owner.uid.as_str()) == set_uid || owner.kind == "Pod";
        let others = claim.metadata.owner_references.clone().unwrap_or_default().into_iter();
        others.filter(|owner| !is_ours(owner)).chain(wanted).collect()
    }
}

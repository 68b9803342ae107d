//! One look at a claim. Mirrors `syncClaim`, `syncUnboundClaim`, `syncBoundClaim` and `provisionClaim` of
//! `pv_controller.go`.

use std::cmp::Reverse;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;

use crate::pods::is_active;
use crate::volumes::{PODS_BY_CLAIM, annotation};
use client::{Error, EventType};
use object::pod::assigned_node;
use object::volume::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE, STORAGE_PROVISIONER, claim_key, claim_uid, class_of, has_class,
    is_promised_to, volume_name,
};
use object::well_known::DEFAULT_STORAGE_CLASS;
use object::{Key, Pod};

use super::{BETA_STORAGE_PROVISIONER, Binder, copy, matching};

/// Provisioners that once were built into Kubernetes, and the drivers that have taken their place. Mirrors
/// `k8s.io/csi-translation-lib`.
const MIGRATED: &[(&str, &str)] = &[
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

/// Who provisions for a class that names this provisioner.
fn in_place_of(provisioner: &str) -> &str {
    MIGRATED.iter().find(|(old, _)| *old == provisioner).map_or(provisioner, |(_, driver)| driver)
}

impl Binder {
    pub(super) async fn sync_claim(&self, claim: Arc<PersistentVolumeClaim>) -> Result<(), Error> {
        if annotation(&*claim, BIND_COMPLETED) == "yes" {
            return self.sync_bound_claim(claim).await;
        }
        let result = match volume_name(&claim) {
            "" => self.find_volume(claim.clone()).await,
            _ => self.take_named_volume(claim.clone()).await,
        };
        // The claims that still wait are looked at again, whether anything happened or not.
        if self.claims.get(&Key::of_meta(&claim.metadata)).is_some_and(|c| annotation(&*c, BIND_COMPLETED).is_empty()) {
            self.look_again(Key::of_meta(&claim.metadata));
        }
        result
    }

    /// Any volume will do that suits.
    async fn find_volume(&self, claim: Arc<PersistentVolumeClaim>) -> Result<(), Error> {
        let delayed = self.is_delayed(&claim);
        if let Some(volume) = self.best_volume(&claim, delayed) {
            return self.bind(volume, claim).await;
        }
        if self.assign_default_class(&claim).await? {
            return Ok(());
        }
        if delayed && annotation(&*claim, SELECTED_NODE).is_empty() {
            self.tell_why_it_waits(&claim);
        } else if !class_of(&claim).is_empty() {
            return self.provision(claim).await;
        } else {
            const WHY: &str = "no persistent volumes available for this claim and no storage class is set";
            self.recorder.event(&*claim, EventType::Normal, "FailedBinding", WHY);
        }
        self.set_claim_status(claim, "Pending", None).await.map(|_| ())
    }

    /// Whether the claim's volume is chosen by where its first Pod goes. Then the scheduler alone takes volumes that are
    /// free: it knows which of them the Pod's node reaches.
    fn is_delayed(&self, claim: &PersistentVolumeClaim) -> bool {
        let class = self.classes.get(&Key::new("", class_of(claim)));
        class.is_some_and(|class| class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"))
    }

    fn best_volume(&self, claim: &PersistentVolumeClaim, only_promised: bool) -> Option<Arc<PersistentVolume>> {
        let key = Key::of_meta(&claim.metadata);
        let lister = self.volumes.lister();
        let mut candidates = lister.by_index(matching::FREE, &matching::for_claim(&key));
        if !only_promised {
            candidates.extend(lister.by_index(matching::FREE, &matching::of_class(class_of(claim))));
        }
        // What was written a moment ago counts.
        let newest = candidates.iter().filter_map(|volume| self.volumes.get(&Key::of_meta(&volume.metadata)));
        matching::best(newest, claim, only_promised)
    }

    /// A claim that was made when there was no default class gets the one there is now.
    async fn assign_default_class(&self, claim: &Arc<PersistentVolumeClaim>) -> Result<bool, Error> {
        if has_class(claim) {
            return Ok(false);
        }
        let classes =
            self.classes.list().into_iter().filter(|class| annotation(&**class, DEFAULT_STORAGE_CLASS) == "true");
        let newest = |c: &Arc<StorageClass>| (Reverse(c.metadata.creation_timestamp.clone()), c.metadata.name.clone());
        let Some(default) = classes.min_by_key(newest) else { return Ok(false) };
        let mut new = copy(claim);
        new.spec.get_or_insert_default().storage_class_name.clone_from(&default.metadata.name);
        let written = self.client.update(new).await?;
        self.claims.put(&written);
        Ok(true)
    }

    fn tell_why_it_waits(&self, claim: &PersistentVolumeClaim) {
        let key = Key::of_meta(&claim.metadata).to_string();
        let unscheduled = |pod: &&Arc<Pod>| is_active(pod) && assigned_node(pod).is_none();
        let pods = self.pods.by_index(PODS_BY_CLAIM, &key);
        let names: Vec<&str> = pods.iter().filter(unscheduled).filter_map(|pod| pod.metadata.name.as_deref()).collect();
        let (reason, message) = match names.as_slice() {
            [] => ("WaitForFirstConsumer", "waiting for first consumer to be created before binding".to_owned()),
            [pod] => ("WaitForPodScheduled", format!("waiting for pod {pod} to be scheduled")),
            pods => ("WaitForPodScheduled", format!("waiting for pods {} to be scheduled", pods.join(","))),
        };
        self.recorder.event(claim, EventType::Normal, reason, message);
    }

    /// An external provisioner makes the volume; an annotation tells it to.
    async fn provision(&self, claim: Arc<PersistentVolumeClaim>) -> Result<(), Error> {
        let name = class_of(&claim);
        let Some(class) = self.classes.get(&Key::new("", name)) else {
            let missing = format!("storageclass.storage.k8s.io {name:?} not found");
            self.recorder.event(&*claim, EventType::Warning, "ProvisioningFailed", missing);
            return Ok(());
        };
        let provisioner = in_place_of(&class.provisioner);
        if provisioner.starts_with("kubernetes.io/") {
            let message = format!("no volume plugin matched name: {provisioner}");
            self.recorder.event(&*claim, EventType::Warning, "ProvisioningFailed", message);
            return Ok(());
        }
        let mut claim = claim;
        if annotation(&*claim, STORAGE_PROVISIONER) != provisioner {
            let mut new = copy(&claim);
            let annotations = new.metadata.annotations.get_or_insert_default();
            annotations.insert(BETA_STORAGE_PROVISIONER.into(), provisioner.to_owned());
            annotations.insert(STORAGE_PROVISIONER.into(), provisioner.to_owned());
            claim = match self.client.update(new).await {
                Ok(written) => written,
                Err(status) => {
                    let message = format!("Error saving claim: {status}");
                    self.recorder.event(&*claim, EventType::Warning, "ProvisioningFailed", message);
                    return Ok(());
                }
            };
            self.claims.put(&claim);
        }
        let message = format!(
            "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the \
             system administrator. If volume creation is delayed, please verify that the provisioner is running and \
             correctly registered."
        );
        self.recorder.event(&*claim, EventType::Normal, "ExternalProvisioning", message);
        Ok(())
    }

    /// The claim names the volume that it wants.
    async fn take_named_volume(&self, claim: Arc<PersistentVolumeClaim>) -> Result<(), Error> {
        let name = volume_name(&claim).to_owned();
        let tell = |reason: &str, message: String| {
            self.recorder.event(&*claim, EventType::Warning, reason, message);
        };
        match self.volumes.get(&Key::new("", &name)) {
            None => {}
            Some(volume) if claim_key(&volume).is_none() => match matching::why_not(&volume, &claim) {
                None => return self.bind(volume, claim).await,
                Some(why) => tell("VolumeMismatch", format!("Cannot bind to requested volume \"{name}\": {why}")),
            },
            Some(volume) if is_promised_to(&volume, &claim) => return self.bind(volume, claim).await,
            Some(volume) => {
                tell("FailedBinding", format!("volume \"{name}\" already bound to a different claim."));
                // A client has removed the annotation that marks the binding as complete.
                if claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(BOUND_BY_CONTROLLER)) {
                    let (key, other) = (
                        Key::of_meta(&claim.metadata),
                        claim_key(&volume).expect("a volume without a claim is bound above"),
                    );
                    return Err(Error::Other(format!(
                        "invalid binding of claim \"{key}\" to volume \"{name}\": volume already claimed by \"{other}\""
                    )));
                }
            }
        }
        self.set_claim_status(claim.clone(), "Pending", None).await.map(|_| ())
    }

    /// A claim that was bound before: its volume should still be there, and point back.
    async fn sync_bound_claim(&self, claim: Arc<PersistentVolumeClaim>) -> Result<(), Error> {
        if volume_name(&claim).is_empty() {
            const LOST: &str = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
            return self.lose_claim(claim, "ClaimLost", LOST).await;
        }
        match self.volumes.get(&Key::new("", volume_name(&claim))) {
            None => {
                const LOST: &str = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
                self.lose_claim(claim, "ClaimLost", LOST).await
            }
            // Here a promise without a uid is another's.
            Some(volume)
                if claim_key(&volume).is_none() || claim.metadata.uid.as_deref() == Some(claim_uid(&volume)) =>
            {
                self.bind(volume, claim).await
            }
            Some(_) => {
                const TWO: &str = "Two claims are bound to the same volume, this one is bound incorrectly";
                self.lose_claim(claim, "ClaimMisbound", TWO).await
            }
        }
    }
}

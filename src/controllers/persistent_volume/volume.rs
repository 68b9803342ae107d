//! One look at a volume. Mirrors `syncVolume`, `unbindVolume` and `reclaimVolume` of `pv_controller.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use crate::volumes::annotation;
use client::{Error, EventType};
use object::volume::{
    BOUND_BY_CONTROLLER, PROVISIONED_BY, claim_key, claim_uid, mode_of, mode_of_volume, phase_of_volume, volume_name,
};
use object::{Accessor, Key};
use wire::DeleteOptions;

use super::{Binder, copy};

impl Binder {
    pub(super) async fn sync_volume(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let Some(key) = claim_key(&volume) else {
            return self.set_volume_phase(volume, "Available", "").await.map(|_| ());
        };
        if claim_uid(&volume).is_empty() {
            // Promised by hand; the claim may come.
            return self.set_volume_phase(volume, "Available", "").await.map(|_| ());
        }
        match self.living_claim(&key, &volume).await? {
            None => self.release(volume).await,
            Some(claim) if volume_name(&claim).is_empty() && mode_of(&claim) != mode_of_volume(&volume) => {
                self.tell_modes_differ(&volume, &claim);
                self.look_again(Key::of_meta(&volume.metadata));
                Ok(())
            }
            Some(claim) if volume_name(&claim).is_empty() => {
                // The binding is under way, and the claim's sync goes on with it.
                self.queue.add(key);
                Ok(())
            }
            Some(claim) if Some(volume_name(&claim)) == volume.metadata.name.as_deref() => {
                self.set_volume_phase(volume, "Bound", "").await.map(|_| ())
            }
            Some(_) => self.give_up(volume).await,
        }
    }

    /// The claim, if it is the one that the volume was promised to. An old cache is no proof that it is gone, the API server
    /// is asked; but not about a volume that was released before.
    async fn living_claim(
        &self,
        key: &Key,
        volume: &PersistentVolume,
    ) -> Result<Option<Arc<PersistentVolumeClaim>>, Error> {
        let same = |claim: &Arc<PersistentVolumeClaim>| claim.metadata.uid.as_deref() == Some(claim_uid(volume));
        match self.claims.get(key) {
            Some(claim) if same(&claim) => return Ok(Some(claim)),
            None if matches!(phase_of_volume(volume), "Released" | "Failed") => return Ok(None),
            _ => {}
        }
        match self.client.get::<PersistentVolumeClaim>(key.namespace(), key.name()).await {
            Ok(claim) => Ok(Some(claim).filter(same)),
            Err(status) if status.is_not_found() => Ok(None),
            Err(status) => Err(status.into()),
        }
    }

    /// The claim is gone.
    async fn release(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let failed = phase_of_volume(&volume) == "Failed";
        let volume = if failed { volume } else { self.set_volume_phase(volume, "Released", "").await? };
        let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
        match policy {
            _ if failed => Ok(()),
            Some("Delete") => self.delete_volume(volume).await,
            Some("Recycle") => self.recycle(volume).await,
            _ => Ok(()),
        }
    }

    /// Only volumes of two kinds can be emptied for the next claim, and here these are not either: that takes a Pod which
    /// removes what is in them. Mirrors the beginning of `recycleVolumeOperation`.
    async fn recycle(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let name = volume.metadata.name();
        let Ok(now) = self.client.get::<PersistentVolume>("", name).await else { return Ok(()) };
        if now.spec.as_ref().is_some_and(|spec| spec.host_path.is_some() || spec.nfs.is_some()) {
            return Ok(());
        }
        const WHY: &str = "No recycler plugin found for the volume!";
        let volume = self.set_volume_phase(now, "Failed", WHY).await?;
        self.recorder.event(&*volume, EventType::Warning, "VolumeFailedRecycle", WHY);
        Ok(())
    }

    /// Deletes what the volume stands for, and then the volume; unless that is an external provisioner's business. It may
    /// have changed meanwhile, so the API server is asked for it. What it stands for is deleted even where a client has
    /// deleted the object before: since `HonorPVReclaimPolicy` the order does not matter. Mirrors `deleteVolumeOperation`.
    async fn delete_volume(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let name = volume.metadata.name.clone().unwrap_or_default();
        let spec = volume.spec.as_ref();
        if spec.is_some_and(|spec| spec.csi.is_some()) || !annotation(&*volume, PROVISIONED_BY).is_empty() {
            return Ok(());
        }
        let Some(path) = spec.and_then(|spec| Some(spec.host_path.as_ref()?.path.clone())) else {
            let why = format!(
                "error getting deleter volume plugin for volume \"{name}\": no deletable volume plugin matched"
            );
            return self.fail(volume, why).await;
        };
        let Ok(now) = self.client.get::<PersistentVolume>("", &name).await else { return Ok(()) };
        if claim_uid(&now).is_empty() {
            return Ok(());
        }
        // Anywhere in the path.
        if path.split_once("/tmp/").is_none_or(|(_, below)| below.is_empty()) {
            let why = format!("host_path deleter only supports /tmp/.+ but received provided {path}");
            return self.fail(volume, why).await;
        }
        // A finalizer may have to come off now that the storage is gone. Mirrors `removeDeletionProtectionFinalizer`.
        if let Err(status) = self.client.get::<PersistentVolume>("", &name).await {
            return self.fail(volume, status.to_string()).await;
        }
        // What fails is left to the next round.
        if self.client.delete::<PersistentVolume>("", &name, DeleteOptions::default()).await.is_err() {
            self.look_again(Key::new("", &name));
        }
        Ok(())
    }

    /// The volume cannot be deleted.
    async fn fail(&self, volume: Arc<PersistentVolume>, why: String) -> Result<(), Error> {
        let volume = self.set_volume_phase(volume, "Failed", &why).await?;
        self.recorder.event(&*volume, EventType::Warning, "VolumeFailedDelete", why);
        Ok(())
    }

    /// One is a file system and the other a block device, so the claim's own look will never choose the volume.
    fn tell_modes_differ(&self, volume: &PersistentVolume, claim: &PersistentVolumeClaim) {
        const WHY: &str = "due to incompatible volumeMode.";
        let [of_volume, of_claim] = [&volume.metadata, &claim.metadata].map(|meta| meta.name());
        let message = format!("Cannot bind PersistentVolume to requested PersistentVolumeClaim {of_claim:?} {WHY}");
        self.recorder.event(volume, EventType::Warning, "VolumeMismatch", message);
        let message = format!("Cannot bind PersistentVolume {of_volume:?} to requested PersistentVolumeClaim {WHY}");
        self.recorder.event(claim, EventType::Warning, "VolumeMismatch", message);
    }

    /// The claim has found another volume. What this controller promised it takes back.
    async fn give_up(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
        if !annotation(&*volume, PROVISIONED_BY).is_empty() && policy == Some("Delete") {
            // It was made for this claim alone.
            return self.release(volume).await;
        }
        let mut new = copy(&volume);
        let spec = new.spec.get_or_insert_default();
        if annotation(&*volume, BOUND_BY_CONTROLLER) == "yes" {
            spec.claim_ref = None;
            let annotations = new.metadata.annotations.take().unwrap_or_default();
            let others =
                annotations.into_iter().filter(|(name, _)| name != BOUND_BY_CONTROLLER).collect::<BTreeMap<_, _>>();
            new.metadata.annotations = (!others.is_empty()).then_some(others);
        } else if let Some(claim) = &mut spec.claim_ref {
            claim.uid = None;
        }
        let written = self.client.update(new).await?;
        self.volumes.put(&written);
        self.set_volume_phase(written, "Available", "").await.map(|_| ())
    }
}

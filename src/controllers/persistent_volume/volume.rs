//! One look at a volume. Mirrors `syncVolume`, `unbindVolume` and `reclaimVolume` of `pv_controller.go`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use crate::apiserver::request::DeleteOptions;
use crate::client::{Error, EventType};
use crate::controllers::volumes::annotation;
use crate::object::Key;
use crate::object::volume::{BOUND_BY_CONTROLLER, PROVISIONED_BY, claim_key, claim_uid, volume_name};

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
        match self.living_claim(&key, claim_uid(&volume)).await? {
            None => self.release(volume).await,
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

    /// The claim, if it is the one with this uid. An old cache is no proof that it is gone: the API server is asked.
    async fn living_claim(&self, key: &Key, uid: &str) -> Result<Option<Arc<PersistentVolumeClaim>>, Error> {
        let same = |claim: &Arc<PersistentVolumeClaim>| claim.metadata.uid.as_deref() == Some(uid);
        if let Some(claim) = self.claims.get(key).filter(same) {
            return Ok(Some(claim));
        }
        match self.client.get::<PersistentVolumeClaim>(key.namespace(), key.name()).await {
            Ok(claim) => Ok(Some(claim).filter(same)),
            Err(status) if status.is_not_found() => Ok(None),
            Err(status) => Err(status.into()),
        }
    }

    /// The claim is gone.
    async fn release(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let phase = volume.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
        let volume = match phase.as_str() {
            "Failed" => volume,
            _ => self.set_volume_phase(volume, "Released", "").await?,
        };
        let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
        if policy != Some("Delete") || phase == "Failed" || volume.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        self.delete_volume(volume).await
    }

    /// Deletes what the volume stands for, and then the volume; unless that is an external provisioner's business.
    async fn delete_volume(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let name = volume.metadata.name.clone().unwrap_or_default();
        let spec = volume.spec.as_ref();
        if spec.is_some_and(|spec| spec.csi.is_some()) || !annotation(&*volume, PROVISIONED_BY).is_empty() {
            return Ok(());
        }
        let why = match spec.and_then(|spec| spec.host_path.as_ref()) {
            Some(host) if host.path.starts_with("/tmp/") => None,
            Some(host) => Some(format!("host_path deleter only supports /tmp/.+ but received provided {}", host.path)),
            None => Some(format!(
                "error getting deleter volume plugin for volume \"{name}\": no deletable volume plugin matched"
            )),
        };
        let Some(why) = why else {
            return Ok(self.client.delete::<PersistentVolume>("", &name, DeleteOptions::default()).await?);
        };
        self.recorder.event(&*volume, EventType::Warning, "VolumeFailedDelete", why.clone());
        self.set_volume_phase(volume, "Failed", &why).await.map(|_| ())
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
            new.metadata.annotations.get_or_insert_default().remove(BOUND_BY_CONTROLLER);
        } else if let Some(claim) = &mut spec.claim_ref {
            claim.uid = None;
        }
        let written = self.client.update(new).await?;
        self.volumes.put(&written);
        self.set_volume_phase(written, "Available", "").await.map(|_| ())
    }
}

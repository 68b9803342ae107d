//! The four writes of a binding. Each is skipped if it was made before, so a binding can be taken up at any point.
//! Mirrors `bind`, `bindVolumeToClaim`, `bindClaimToVolume` and their neighbours of `pv_controller.go`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus};

use crate::volumes::annotation;
use client::{Error, EventType};
use object::volume::{BIND_COMPLETED, BOUND_BY_CONTROLLER, phase_of, phase_of_volume, promised_to, volume_name};

use super::{Binder, copy};

impl Binder {
    /// Volume, volume status, claim, claim status.
    pub(super) async fn bind(
        &self,
        volume: Arc<PersistentVolume>,
        claim: Arc<PersistentVolumeClaim>,
    ) -> Result<(), Error> {
        let volume = self.promise_volume(volume, &claim).await?;
        let volume = self.set_volume_phase(volume, "Bound", "").await?;
        let claim = self.name_volume(claim, &volume).await?;
        self.set_claim_status(claim, "Bound", Some(&volume)).await?;
        Ok(())
    }

    /// The first write: `spec.claimRef` with the claim's uid.
    async fn promise_volume(
        &self,
        volume: Arc<PersistentVolume>,
        claim: &PersistentVolumeClaim,
    ) -> Result<Arc<PersistentVolume>, Error> {
        let Some(promised) = promised_to(&volume, claim) else { return Ok(volume) };
        let written = self.client.update(promised).await?;
        self.volumes.put(&written);
        Ok(written)
    }

    /// The second write. Writes nothing if the phase is the same.
    pub(super) async fn set_volume_phase(
        &self,
        volume: Arc<PersistentVolume>,
        phase: &str,
        message: &str,
    ) -> Result<Arc<PersistentVolume>, Error> {
        if phase_of_volume(&volume) == phase {
            return Ok(volume);
        }
        let mut new = copy(&volume);
        let status = new.status.get_or_insert_default();
        status.phase = Some(phase.to_owned());
        status.message = Some(message.to_owned()).filter(|message| !message.is_empty());
        let written = self.client.update_status(new).await?;
        self.volumes.put(&written);
        Ok(written)
    }

    /// The third write: `spec.volumeName`.
    async fn name_volume(
        &self,
        claim: Arc<PersistentVolumeClaim>,
        volume: &PersistentVolume,
    ) -> Result<Arc<PersistentVolumeClaim>, Error> {
        let named = Some(volume_name(&claim)) == volume.metadata.name.as_deref();
        if named && annotation(&*claim, BIND_COMPLETED) == "yes" {
            return Ok(claim);
        }
        let mut new = copy(&claim);
        let annotations = new.metadata.annotations.get_or_insert_default();
        annotations.insert(BIND_COMPLETED.into(), "yes".into());
        if !named {
            annotations.insert(BOUND_BY_CONTROLLER.into(), "yes".into());
            new.spec.get_or_insert_default().volume_name.clone_from(&volume.metadata.name);
        }
        let written = self.client.update(new).await?;
        self.claims.put(&written);
        Ok(written)
    }

    /// The fourth write. A claim that is bound has the modes and the size of its volume.
    pub(super) async fn set_claim_status(
        &self,
        claim: Arc<PersistentVolumeClaim>,
        phase: &str,
        volume: Option<&PersistentVolume>,
    ) -> Result<Arc<PersistentVolumeClaim>, Error> {
        let none = PersistentVolumeClaimStatus::default();
        let there = claim.status.as_ref().unwrap_or(&none);
        let spec = volume.and_then(|volume| volume.spec.as_ref());
        let mut status = PersistentVolumeClaimStatus { phase: Some(phase.to_owned()), ..there.clone() };
        match spec {
            None => (status.access_modes, status.capacity) = (None, None),
            Some(spec) => {
                status.access_modes.clone_from(&spec.access_modes);
                // Once it is bound, its size changes by expansion only.
                if there.phase.as_deref() != Some(phase) {
                    status.capacity.clone_from(&spec.capacity);
                }
            }
        }
        if status == *there {
            return Ok(claim);
        }
        let written = self.client.update_status(PersistentVolumeClaim { status: Some(status), ..copy(&claim) }).await?;
        self.claims.put(&written);
        Ok(written)
    }

    /// The same, and an Event the first time.
    pub(super) async fn lose_claim(
        &self,
        claim: Arc<PersistentVolumeClaim>,
        reason: &str,
        message: &str,
    ) -> Result<(), Error> {
        if phase_of(&claim) == "Lost" {
            return Ok(());
        }
        let lost = self.set_claim_status(claim, "Lost", None).await?;
        self.recorder.event(&*lost, EventType::Warning, reason, message);
        Ok(())
    }
}

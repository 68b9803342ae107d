//! A volume that has grown: the file system on it grows too.
//!
//! The resizer has made the volume larger and says so in its capacity; what the claim has got, by its status, is still
//! what it had. The kubelet notices when it looks at a pod's claims again, as it does with each of its regular syncs, or
//! when it mounts the volume. Mirrors `checkVolumeFSResize` of the volume manager and `nodeExpandVolume` of
//! `operationexecutor`.
//!
//! Left out: trying again more seldom after a driver has said that it never can.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Volume};
use serde_json::{Value, json};

use crate::csi::CsiRequest;
use crate::csi::sidecar::Driver;
use crate::params::SYNC_PERIOD;
use crate::shared::Shared;
use crate::timers::Timer;
use client::recorder::EventType;
use object::volume::{capacity, claim_behind, granted, volume_name, with_resize_condition};
use object::{Accessor, Key, Pod};
use wire::Patch;

impl Shared {
    /// The pod's next regular sync will look at this volume again.
    pub(super) fn look_again(&self, uid: &str, index: usize) {
        let period = SYNC_PERIOD.as_nanos() as u64;
        let wait = SYNC_PERIOD + Duration::from_nanos(self.hub.random(|random| random.below(period / 2)));
        self.wake_background(Timer::Remount { uid, volume: index }, wait);
    }

    /// Looks whether a mounted claim's volume has become larger than its file system, and if so makes that larger. `path`
    /// is where the volume is mounted. What fails is tried again with the next look.
    pub(super) async fn grow_file_system(self: &Rc<Self>, pod: &Pod, volume: &Volume, path: &str) {
        let Some(used) = claim_behind(&pod.metadata, volume).filter(|used| !used.read_only) else { return };
        let Some(driver) = self.storage_driver() else { return };
        let namespace = pod.metadata.namespace();
        let Ok(claim) = self.client.get::<PersistentVolumeClaim>(namespace, &used.name).await else { return };
        let Ok(behind) = self.client.get::<PersistentVolume>("", volume_name(&claim)).await else { return };
        if capacity(&behind) <= granted(&claim) {
            return;
        }
        let name = behind.metadata.name();
        let node = &self.config.name;
        match self.expand_on_node(&driver, &claim, &behind, path).await {
            Ok(claim) => {
                let message = format!("MountVolume.NodeExpandVolume succeeded for volume {name:?} {node}");
                self.recorder.event(pod, EventType::Normal, "FileSystemResizeSuccessful", message.clone());
                self.recorder.event(&*claim, EventType::Normal, "FileSystemResizeSuccessful", message);
            }
            Err(why) => {
                let message = format!("NodeExpandVolume.NodeExpandVolume failed for volume {name:?} : {why}");
                self.recorder.event(pod, EventType::Warning, "VolumeResizeFailed", message);
            }
        }
    }

    async fn expand_on_node(
        &self,
        driver: &Driver,
        claim: &Arc<PersistentVolumeClaim>,
        behind: &PersistentVolume,
        path: &str,
    ) -> Result<Arc<PersistentVolumeClaim>, String> {
        let under_way = json!({"allocatedResourceStatuses": {"storage": "NodeResizeInProgress"}});
        let claim = self.patch_claim(claim, under_way).await?;
        let csi = behind.spec.as_ref().and_then(|spec| spec.csi.as_ref());
        let size = capacity(behind);
        let request = CsiRequest::NodeExpandVolume {
            volume_id: csi.map(|csi| csi.volume_handle.clone()).unwrap_or_default(),
            volume_path: path.to_owned(),
            required_bytes: size.value(),
        };
        driver.call(request).await.map_err(|error| error.to_string())?;
        let finished = json!({
            "capacity": {"storage": size.to_quantity()},
            "conditions": with_resize_condition(&claim, None, false),
            "allocatedResourceStatuses": null,
        });
        self.patch_claim(&claim, finished).await
    }

    async fn patch_claim(
        &self,
        claim: &PersistentVolumeClaim,
        status: Value,
    ) -> Result<Arc<PersistentVolumeClaim>, String> {
        let (key, version) = (Key::of_meta(&claim.metadata), &claim.metadata.resource_version);
        let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version}, "status": status}));
        let patched = self.client.patch_status::<PersistentVolumeClaim>(key.namespace(), key.name(), patch).await;
        patched.map_err(|status| status.to_string())
    }
}

//! Volumes behind claims: attached, staged, published, and all the way back.
//!
//! A claim's volume is looked up in the API server. What an administrator prepared on the node (hostPath, local) is
//! used as it is. A CSI volume takes more: the kubelet says in its node's status that it uses the volume, waits until
//! the attach-detach controller says there that it is attached, has the driver mount it once for the node
//! (NodeStageVolume) and once for each pod (NodePublishVolume). When the last pod of the node is gone it is unmounted,
//! and the status no longer names it: only then may it be detached. Mirrors `operationexecutor` and `pkg/volume/csi`.
//!
//! Simplified: a volume that waits is looked at again when the node's status or its device changed, instead of every
//! 100 ms. Left out: block volumes, fsGroup, limits of sizes.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, HostPathVolumeSource, Node, PersistentVolume, PersistentVolumeClaim,
};
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSINodeDriver, CSINodeSpec, VolumeAttachment, VolumeNodeResources,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use super::host_path;
use super::slots::{Device, NotReady};
use crate::csi::sidecar::Driver;
use crate::csi::{CsiRequest, CsiResponse};
use crate::shared::Shared;
use crate::worker::Stage;
use engine::RpcError;
use object::volume::{UsedClaim, attachment_name, is_bound, made_for, phase_of, unique_name, volume_name};
use object::{Accessor, Key, Pod, sha256};
use wire::Patch;

impl Shared {
    /// The claim's volume on the node's disk, where the pod will find it.
    pub(super) async fn set_up_claim(
        self: &Rc<Self>,
        pod: &Pod,
        volume: &PersistentVolume,
        claim: &UsedClaim<'_>,
    ) -> Result<String, NotReady> {
        let name = volume.metadata.name();
        let failed = |why: String| NotReady::Failed(format!("MountVolume.SetUp failed for volume {name:?} : {why}"));
        let Some(spec) = &volume.spec else { return Err(failed("the volume has no source".into())) };
        if let Some(host) = &spec.host_path {
            host_path::check_type(&self.disk, host).map_err(failed)?;
            return Ok(host.path.clone());
        }
        if let Some(local) = &spec.local {
            let directory = HostPathVolumeSource { path: local.path.clone(), type_: Some("Directory".into()) };
            let missing = |_| failed(format!("path {:?} does not exist", local.path));
            host_path::check_type(&self.disk, &directory).map_err(missing)?;
            return Ok(local.path.clone());
        }
        match &spec.csi {
            Some(csi) => {
                let readonly = claim.read_only || csi.read_only == Some(true);
                self.set_up_csi(pod, volume, csi, readonly).await
            }
            None => Err(failed("no volume plugin matched".into())),
        }
    }

    /// The volume that a claim is bound to.
    pub(super) async fn find_volume(&self, pod: &Pod, used: &UsedClaim<'_>) -> Result<Arc<PersistentVolume>, NotReady> {
        let namespace = pod.metadata.namespace();
        let why = |why: String| NotReady::Unprocessed(format!("error processing PVC {namespace}/{}: {why}", used.name));
        let found = self.client.get::<PersistentVolumeClaim>(namespace, &used.name).await;
        let claim = found.map_err(|status| why(format!("failed to fetch PVC from API server: {status}")))?;
        if phase_of(&claim) != "Bound" || !is_bound(&claim) {
            return Err(why("PVC is not bound".into()));
        }
        if used.ephemeral {
            made_for(&pod.metadata, &claim).map_err(NotReady::Unprocessed)?;
        }
        let name = volume_name(&claim);
        let found = self.client.get::<PersistentVolume>("", name).await;
        found.map_err(|status| why(format!("failed to fetch PV {name} from API server: {status}")))
    }

    async fn set_up_csi(
        self: &Rc<Self>,
        pod: &Pod,
        volume: &PersistentVolume,
        csi: &CSIPersistentVolumeSource,
        readonly: bool,
    ) -> Result<String, NotReady> {
        let (uid, name) = (part(&pod.metadata.uid), part(&volume.metadata.name));
        let unique = unique_name(volume);
        self.use_device(&unique, csi, &uid);
        let Some(driver) = self.storage_driver() else {
            let why = format!("driver name {} not found in the list of registered CSI drivers", csi.driver);
            return Err(NotReady::Failed(format!(
                "MountVolume.MountDevice failed for volume {name:?} : kubernetes.io/csi: {why}"
            )));
        };
        self.stage(&driver, &unique, csi, &name).await?;
        let target_path = format!("/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/{name}/mount");
        let request = CsiRequest::NodePublishVolume {
            volume_id: csi.volume_handle.clone(),
            staging_target_path: staging_path(csi),
            target_path: target_path.clone(),
            readonly,
        };
        match driver.call(request).await {
            Ok(_) => Ok(target_path),
            Err(error) => {
                let why = error.to_string();
                Err(NotReady::Failed(format!("MountVolume.SetUp failed for volume {name:?} : {why}")))
            }
        }
    }

    /// Notes that a pod uses the volume. The node's status will say so.
    fn use_device(&self, unique: &str, csi: &CSIPersistentVolumeSource, uid: &str) {
        let new = {
            let mut state = self.state.borrow_mut();
            let new = !state.devices.contains_key(unique);
            let device = state.devices.entry(unique.to_owned()).or_insert_with(|| Device {
                volume_id: csi.volume_handle.clone(),
                staging_path: staging_path(csi),
                ..Device::default()
            });
            device.users.insert(uid.to_owned());
            new
        };
        if new {
            self.status_changed();
        }
    }

    /// `MountDevice`: once for the node, when the volume is attached.
    async fn stage(
        self: &Rc<Self>,
        driver: &Driver,
        unique: &str,
        csi: &CSIPersistentVolumeSource,
        name: &str,
    ) -> Result<(), NotReady> {
        let fail =
            |why: String| NotReady::Failed(format!("MountVolume.MountDevice failed for volume {name:?} : {why}"));
        let publish_context = match self.needs_attach(csi).await {
            false => Default::default(),
            true if !self.is_attached(unique) => return Err(NotReady::Waits),
            true => {
                let id = attachment_name(&csi.volume_handle, &csi.driver, &self.config.name);
                let found = self.client.get::<VolumeAttachment>("", &id).await;
                let status = found.map_err(|status| fail(status.to_string()))?.status.clone().unwrap_or_default();
                if !status.attached {
                    return Err(fail(format!("volume attachment {id} is not attached")));
                }
                status.attachment_metadata.unwrap_or_default()
            }
        };
        {
            let mut state = self.state.borrow_mut();
            let Some(device) = state.devices.get_mut(unique) else { return Err(NotReady::Waits) };
            if device.staged {
                return Ok(());
            }
            if std::mem::replace(&mut device.busy, true) {
                return Err(NotReady::Waits);
            }
        }
        let staged = self.call_stage(driver, csi, publish_context).await;
        if let Some(device) = self.state.borrow_mut().devices.get_mut(unique) {
            device.busy = false;
            device.staged = staged.is_ok();
        }
        self.retry_claims();
        staged.map_err(|error| fail(error.to_string()))
    }

    async fn call_stage(
        &self,
        driver: &Driver,
        csi: &CSIPersistentVolumeSource,
        publish_context: std::collections::BTreeMap<String, String>,
    ) -> Result<(), RpcError> {
        let capabilities = driver.call(CsiRequest::NodeGetCapabilities).await?;
        let stages =
            matches!(capabilities, CsiResponse::Capabilities(list) if list.iter().any(|c| c == "STAGE_UNSTAGE_VOLUME"));
        if !stages {
            return Ok(());
        }
        let (volume_id, staging_target_path) = (csi.volume_handle.clone(), staging_path(csi));
        driver.call(CsiRequest::NodeStageVolume { volume_id, publish_context, staging_target_path }).await.map(|_| ())
    }

    async fn needs_attach(&self, csi: &CSIPersistentVolumeSource) -> bool {
        let driver = self.client.get::<CSIDriver>("", &csi.driver).await;
        driver.map_or(true, |driver| driver.spec.attach_required != Some(false))
    }

    /// The node's status names the volume twice: used by the kubelet, attached by the controller.
    fn is_attached(&self, unique: &str) -> bool {
        let reported = self.state.borrow().agent.in_use.contains(unique);
        let node = self.nodes.get(&Key::new("", &self.config.name));
        let status = node.as_ref().and_then(|node| node.status.as_ref());
        let attached = status.into_iter().flat_map(|status| status.volumes_attached.iter().flatten());
        reported && { attached }.any(|volume| volume.name == unique)
    }

    /// The volumes that pods of this node use, for the node's status.
    pub(crate) fn volumes_in_use(&self) -> Vec<String> {
        self.state.borrow().devices.keys().cloned().collect()
    }

    /// Something has changed that volumes may have waited for.
    pub(crate) fn retry_claims(self: &Rc<Self>) {
        let mut due = Vec::new();
        for (uid, stage, volumes) in self.state.borrow_mut().workers.volumes_mut() {
            for (index, slot) in volumes.slots.iter_mut().enumerate() {
                if std::mem::take(&mut slot.waits) && stage == Stage::Sync {
                    due.push((uid.clone(), index));
                }
            }
        }
        due.iter().for_each(|(uid, index)| self.mount_again(uid, *index));
    }

    /// `UnmountVolume`, and `UnmountDevice` if this was the last pod that used it.
    pub(super) async fn take_down_claim(self: &Rc<Self>, uid: &str, volume: &PersistentVolume, path: &str) {
        let Some(csi) = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()) else { return };
        let unique = unique_name(volume);
        if let Some(driver) = self.storage_driver().filter(|_| !path.is_empty()) {
            let (volume_id, target_path) = (csi.volume_handle.clone(), path.to_owned());
            // What is not mounted is unmounted: the driver has nothing to refuse.
            let _ = driver.call(CsiRequest::NodeUnpublishVolume { volume_id, target_path }).await;
        }
        let last = {
            let mut state = self.state.borrow_mut();
            let Some(device) = state.devices.get_mut(&unique) else { return };
            device.users.remove(uid);
            device.users.is_empty() && !std::mem::replace(&mut device.busy, true)
        };
        if last {
            let (me, label) = (self.clone(), format!("kubelet {} unmounts {unique}", self.config.name));
            self.hub.spawn(self.actor, label, async move { me.unstage(&unique).await });
        }
    }

    async fn unstage(self: Rc<Self>, unique: &str) {
        let device = self.state.borrow().devices.get(unique).cloned().unwrap_or_default();
        if let Some(driver) = self.storage_driver().filter(|_| device.staged) {
            let (volume_id, staging_target_path) = (device.volume_id, device.staging_path);
            let _ = driver.call(CsiRequest::NodeUnstageVolume { volume_id, staging_target_path }).await;
        }
        {
            let mut state = self.state.borrow_mut();
            match state.devices.get_mut(unique) {
                // A pod has come meanwhile.
                Some(device) if !device.users.is_empty() => (device.staged, device.busy) = (false, false),
                _ => drop(state.devices.remove(unique)),
            }
        }
        self.status_changed();
        self.retry_claims();
    }

    pub(super) fn storage_driver(&self) -> Option<Driver> {
        self.driver.map(|actor| Driver::new(self.hub.clone(), actor))
    }

    /// The driver's node half has put its socket where the kubelet looks (node-driver-registrar). The node says how
    /// the driver calls it, and CSINode says what the driver can do here.
    pub(crate) async fn register_driver(&self) {
        let Some(driver) = self.storage_driver() else { return };
        let Ok(CsiResponse::PluginInfo { name, .. }) = driver.call(CsiRequest::GetPluginInfo).await else { return };
        let Ok(CsiResponse::NodeInfo { node_id, max_volumes_per_node, accessible_topology }) =
            driver.call(CsiRequest::NodeGetInfo).await
        else {
            return;
        };
        let ids = json!({(name.clone()): node_id}).to_string();
        let annotations = json!({"csi.volume.kubernetes.io/nodeid": ids});
        let patch = Patch::Strategic(json!({"metadata": {"annotations": annotations}}));
        let node = &self.config.name;
        let _ = self.client.patch::<Node>("", node, patch).await;
        let entry = CSINodeDriver {
            name,
            node_id,
            topology_keys: Some(accessible_topology.into_keys().collect()),
            allocatable: Some(VolumeNodeResources { count: Some(max_volumes_per_node) }),
        };
        match self.client.get::<CSINode>("", node).await {
            Ok(there) if there.spec.drivers.contains(&entry) => {}
            Ok(there) => {
                let mut new = CSINode::clone(&there);
                new.spec.drivers.retain(|driver| driver.name != entry.name);
                new.spec.drivers.push(entry);
                let _ = self.client.update(new).await;
            }
            Err(_) => {
                let _ = self.client.create(self.csi_node(entry)).await;
            }
        }
    }

    fn csi_node(&self, entry: CSINodeDriver) -> CSINode {
        let name = self.config.name.clone();
        let node = self.nodes.get(&Key::new("", &name));
        let owner = OwnerReference {
            api_version: "v1".into(),
            kind: "Node".into(),
            name: name.clone(),
            uid: node.and_then(|node| node.metadata.uid.clone()).unwrap_or_default(),
            ..OwnerReference::default()
        };
        let owner_references = (!owner.uid.is_empty()).then(|| vec![owner]);
        let metadata = ObjectMeta { name: Some(name), owner_references, ..ObjectMeta::default() };
        CSINode { metadata, spec: CSINodeSpec { drivers: vec![entry] } }
    }
}

/// Where a volume is mounted for the whole node.
fn staging_path(csi: &CSIPersistentVolumeSource) -> String {
    let (driver, digest) = (&csi.driver, sha256::hex(&csi.volume_handle));
    format!("/var/lib/kubelet/plugins/kubernetes.io/csi/{driver}/{digest}/globalmount")
}

fn part(field: &Option<String>) -> String {
    field.clone().unwrap_or_default()
}

//! external-resizer: makes a volume as large as its claim asks for.
//!
//! When somebody raises `spec.resources.requests.storage` of a bound claim, it writes into the claim's status what it is
//! about to do, calls ControllerExpandVolume, and writes the new capacity into the volume. The file system on the volume
//! is still as small as it was: the claim gets the condition FileSystemResizePending, and the kubelet of a node that has
//! the volume mounted does the rest. Mirrors `external-resizer`.
//!
//! Left out: drivers that cannot expand a volume in use, or have no node half; volume attributes classes.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimCondition};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use super::sidecar::{Driver, Sidecar};
use super::{CsiRequest, CsiResponse, DRIVER};
use crate::apiserver::request::Patch;
use crate::client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder};
use crate::engine::{ActorId, Hub, RpcError};
use crate::object::quantity::Amount;
use crate::object::volume::{
    PRE_RESIZE_CAPACITY, awaits_node_expansion, capacity, granted, is_bound, is_promised_to, requested, volume_name,
    with_resize_condition,
};
use crate::object::{Key, Kind, Object};

/// The process's name and service account.
pub const NAME: &str = "csi-resizer";
const PENDING: &str = "Waiting for user to (re-)start a pod to finish file system resize of volume on node.";

/// The process.
pub fn new(hub: Hub, actor: ActorId, driver: ActorId) -> Sidecar {
    const KINDS: &[Kind] = &[Kind::PersistentVolumeClaim, Kind::PersistentVolume];
    let events = format!("external-resizer {DRIVER}");
    Sidecar::new(hub.clone(), actor, NAME, &events, KINDS, |context| Rc::new(Resizer::new(context, hub, driver)))
}

/// Keys are claims.
struct Resizer {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    driver: Driver,
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
}

impl Resizer {
    fn new(context: &ControllerContext, hub: Hub, driver: ActorId) -> Resizer {
        Resizer {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            driver: Driver::new(hub, driver),
            claims: context.lister(),
            volumes: context.lister(),
        }
    }
}

impl Controller for Resizer {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::PersistentVolumeClaim(_)) => self.queue.add(change.key()),
            Change::Updated { old: Object::PersistentVolumeClaim(old), new: Object::PersistentVolumeClaim(new) }
                if requested(new) != requested(old) || granted(new) > granted(old) =>
            {
                self.queue.add(change.key());
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(claim) = self.claims.get(&key).filter(|claim| is_bound(claim)) else { return Ok(()) };
        let Some(volume) = self.volumes.get(&Key::new("", volume_name(&claim))) else { return Ok(()) };
        if !is_of_driver(&volume) || !is_promised_to(&volume, &claim) {
            return Ok(());
        }
        if requested(&claim) <= granted(&claim) {
            return self.finish(&claim, &volume).await;
        }
        // What the kubelet has still to do is done before anything else begins.
        if matches!(resize_status(&claim), "NodeResizePending" | "NodeResizeInProgress") {
            return Ok(());
        }
        self.expand(&claim, &volume).await
    }
}

impl Resizer {
    /// The file system has grown: nobody needs to know any more how large the volume was.
    async fn finish(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Result<(), Error> {
        if !awaits_node_expansion(volume) || granted(claim) < capacity(volume) {
            return Ok(());
        }
        self.patch_volume(volume, json!({"metadata": {"annotations": {PRE_RESIZE_CAPACITY: null}}})).await
    }

    /// Mirrors `expandAndRecover`.
    async fn expand(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Result<(), Error> {
        let wanted = requested(claim);
        // Nobody has asked for another size since this one could not be had.
        let again = resize_status(claim) == "ControllerResizeInfeasible" && allocated(claim) == Some(wanted);
        let mut claim = Arc::new(claim.clone());
        if !again {
            let resizing = with_resize_condition(&claim, Some(self.condition("Resizing", "")));
            let begun = json!({
                "conditions": resizing,
                "allocatedResources": {"storage": wanted.to_quantity()},
                "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
            });
            claim = self.patch_status(&claim, begun).await?;
        }
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        self.tell(&claim, EventType::Normal, "Resizing", format!("External resizer is resizing volume {name}"));
        let volume_id = volume.spec.as_ref().and_then(|spec| Some(spec.csi.as_ref()?.volume_handle.clone()));
        let required_bytes = wanted.value();
        let request = CsiRequest::ControllerExpandVolume { volume_id: volume_id.unwrap_or_default(), required_bytes };
        match self.driver.call(request).await {
            Ok(CsiResponse::Expanded { capacity_bytes, .. }) => self.expanded(&claim, volume, capacity_bytes).await,
            Ok(other) => Err(Error::Other(format!("unexpected response {other:?}"))),
            Err(error) => self.failed(&claim, name, &error, again).await,
        }
    }

    /// The volume has its new size; the file system is next.
    async fn expanded(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
        bytes: i64,
    ) -> Result<(), Error> {
        let (size, before) = (Amount::bytes(bytes).to_quantity(), granted(claim).to_quantity());
        let mut patch = json!({"spec": {"capacity": {"storage": size}}});
        if !awaits_node_expansion(volume) {
            patch["metadata"] = json!({"annotations": {PRE_RESIZE_CAPACITY: before}});
        }
        self.patch_volume(volume, patch).await?;
        let pending = with_resize_condition(claim, Some(self.condition("FileSystemResizePending", PENDING)));
        let status = json!({"conditions": pending, "allocatedResourceStatuses": {"storage": "NodeResizePending"}});
        self.patch_status(claim, status).await?;
        let message = "Require file system resize of volume on node";
        self.tell(claim, EventType::Normal, "FileSystemResizeRequired", message.to_owned());
        Ok(())
    }

    async fn failed(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &str,
        error: &RpcError,
        again: bool,
    ) -> Result<(), Error> {
        let why = error.to_string();
        let infeasible = matches!(error.code, "OutOfRange" | "InvalidArgument" | "NotFound");
        if infeasible && !again {
            let condition = self.condition("ControllerResizeError", &format!("failed to expand pvc with {why}"));
            let status = json!({
                "conditions": with_resize_condition(claim, Some(condition)),
                "allocatedResourceStatuses": {"storage": "ControllerResizeInfeasible"},
            });
            self.patch_status(claim, status).await?;
        }
        let message = format!("resize volume {volume:?} by resizer {DRIVER:?} failed: {why}");
        self.tell(claim, EventType::Warning, "VolumeResizeFailed", message.clone());
        Err(if infeasible { Error::Unchanged(message) } else { Error::Other(message) })
    }

    fn condition(&self, what: &str, message: &str) -> PersistentVolumeClaimCondition {
        PersistentVolumeClaimCondition {
            type_: what.to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some(self.client.now().time()),
            message: (!message.is_empty()).then(|| message.to_owned()),
            ..PersistentVolumeClaimCondition::default()
        }
    }

    fn tell(&self, claim: &PersistentVolumeClaim, type_: EventType, reason: &str, message: String) {
        self.recorder.event(claim, type_, reason, message);
    }

    async fn patch_volume(&self, volume: &PersistentVolume, patch: Value) -> Result<(), Error> {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        self.client.patch::<PersistentVolume>("", name, Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Refused if the claim has changed since it was read.
    async fn patch_status(
        &self,
        claim: &PersistentVolumeClaim,
        status: Value,
    ) -> Result<Arc<PersistentVolumeClaim>, Error> {
        let (key, version) = (Key::of_meta(&claim.metadata), &claim.metadata.resource_version);
        let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version}, "status": status}));
        Ok(self.client.patch_status::<PersistentVolumeClaim>(key.namespace(), key.name(), patch).await?)
    }
}

fn is_of_driver(volume: &PersistentVolume) -> bool {
    volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()).is_some_and(|csi| csi.driver == DRIVER)
}

/// How far the growing of a claim has come; empty: it does not grow.
fn resize_status(claim: &PersistentVolumeClaim) -> &str {
    let statuses = claim.status.as_ref().and_then(|status| status.allocated_resource_statuses.as_ref());
    statuses.and_then(|statuses| statuses.get("storage")).map_or("", String::as_str)
}

/// The size that was last tried.
fn allocated(claim: &PersistentVolumeClaim) -> Option<Amount> {
    let resources = claim.status.as_ref().and_then(|status| status.allocated_resources.as_ref())?;
    resources.get("storage").map(|quantity: &Quantity| Amount::of(quantity))
}

//! external-provisioner: makes a volume for each claim that asks for one, and destroys it when it is released.
//!
//! A claim is its business once the binder has written the annotation `storage-provisioner` with the driver's name; and
//! if the class waits for the first consumer, once the scheduler has written the node. It calls CreateVolume and then
//! makes a PersistentVolume that is already promised to the claim. A released volume whose policy is Delete is
//! destroyed once no node has it; a finalizer keeps its object until then, and is taken off when the policy is changed to
//! Retain. Mirrors `sig-storage-lib-external-provisioner` and `external-provisioner`.
//!
//! Left out: asking for another node when a zone is full; clones and snapshots; CSIStorageCapacity.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume,
    PersistentVolumeClaim, PersistentVolumeSpec, VolumeNodeAffinity,
};
use k8s_openapi::api::storage::v1::{StorageClass, VolumeAttachment};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::sidecar::{Driver, Sidecar};
use super::{CsiRequest, CsiResponse, DRIVER};
use client::{Change, Client, Controller, Error, EventType, Lister, Queue, Recorder};
use engine::{ActorId, Hub, Memory};
use object::meta::has_finalizer;
use object::patch::diff_strategic;
use object::quantity::Amount;
use object::time::Instant;
use object::volume::{
    PROVISIONED_BY, SELECTED_NODE, STORAGE_PROVISIONER, class_of, phase_of_volume, reference_to, requested, volume_name,
};
use object::well_known::ZONE;
use object::{Accessor, Key, Kind, Object};
use wire::{self, DeleteOptions, Patch};

/// The process's name and service account.
pub const NAME: &str = "csi-provisioner";
/// Keeps a volume's object until the volume itself is destroyed.
const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
/// Among a volume's attributes: the provisioner that made it.
const IDENTITY: &str = "storage.kubernetes.io/csiProvisionerIdentity";
/// The index of attachments by volume.
const BY_VOLUME: &str = "attachments by volume";

/// The sidecar as a process of its own, which calls the controller half of `driver`.
pub fn new(hub: Hub, actor: ActorId, driver: ActorId) -> Sidecar {
    const KINDS: &[Kind] =
        &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::StorageClass, Kind::Node, Kind::VolumeAttachment];
    let events = format!("{DRIVER}_csi-controller-0");
    Sidecar::new(hub.clone(), actor, NAME, &events, KINDS, |context| {
        context.add_index::<VolumeAttachment>(BY_VOLUME, volume_of);
        Rc::new(Provisioner {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            started: hub.now(),
            number: hub.memory(None),
            driver: Driver::new(hub, driver),
            claims: context.lister(),
            volumes: context.lister(),
            classes: context.lister(),
            nodes: context.lister(),
            attachments: context.lister(),
        })
    })
}

/// The volume that an attachment is about.
pub(super) fn volume_of(object: &Object) -> Vec<String> {
    let Object::VolumeAttachment(attachment) = object else { return Vec::new() };
    attachment.spec.source.persistent_volume_name.iter().cloned().collect()
}

/// Keys are claims, and volumes, which have no namespace.
struct Provisioner {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    driver: Driver,
    started: Instant,
    /// Tells it from others that started in the same millisecond. Drawn when the first volume is made.
    number: Memory<Option<u64>>,
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
    classes: Lister<StorageClass>,
    nodes: Lister<Node>,
    attachments: Lister<VolumeAttachment>,
}

impl Controller for Provisioner {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Deleted(_) => {}
            Change::Added(Object::PersistentVolumeClaim(claim))
            | Change::Updated { new: Object::PersistentVolumeClaim(claim), .. }
                if self.class_to_provision(claim).is_some() =>
            {
                self.queue.add(change.key());
            }
            Change::Added(Object::PersistentVolume(volume))
            | Change::Updated { new: Object::PersistentVolume(volume), .. }
                if is_ours(volume) =>
            {
                self.queue.add(change.key());
            }
            Change::Added(Object::StorageClass(class)) => {
                // Claims may have come before their class did.
                let of_class =
                    |claim: &Arc<PersistentVolumeClaim>| Some(class_of(claim)) == class.metadata.name.as_deref();
                let claims = self.claims.list().into_iter().filter(of_class);
                claims.for_each(|claim| self.queue.add(Key::of_meta(&claim.metadata)));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        if key.namespace().is_empty() {
            return match self.volumes.get(&key).filter(|volume| is_ours(volume)) {
                Some(volume) => self.sync_volume(volume).await,
                None => Ok(()),
            };
        }
        let Some(claim) = self.claims.get(&key) else { return Ok(()) };
        let Some(class) = self.class_to_provision(&claim) else { return Ok(()) };
        self.provision(&claim, &class).await
    }
}

impl Provisioner {
    /// Mirrors `shouldProvision`.
    fn class_to_provision(&self, claim: &PersistentVolumeClaim) -> Option<Arc<StorageClass>> {
        let annotation = |name: &str| claim.metadata.annotations.as_ref().and_then(|all| all.get(name));
        let ours = annotation(STORAGE_PROVISIONER).is_some_and(|name| name == DRIVER);
        let class = self.classes.get(&Key::new("", class_of(claim)))?;
        let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
        let placed = !waits || annotation(SELECTED_NODE).is_some();
        let wanted = volume_name(claim).is_empty() && claim.metadata.deletion_timestamp.is_none();
        (ours && wanted && placed && class.provisioner == DRIVER).then_some(class)
    }

    /// `provisionClaimOperation`.
    async fn provision(&self, claim: &PersistentVolumeClaim, class: &StorageClass) -> Result<(), Error> {
        let name = format!("pvc-{}", claim.metadata.uid());
        if self.volumes.get(&Key::new("", &name)).is_some() {
            return Ok(());
        }
        let tell = |type_: EventType, reason: &str, message: String| {
            self.recorder.event(claim, type_, reason, message);
        };
        let key = Key::of_meta(&claim.metadata);
        let message = format!("External provisioner is provisioning volume for claim \"{key}\"");
        tell(EventType::Normal, "Provisioning", message);
        let request = CsiRequest::CreateVolume {
            name: name.clone(),
            required_bytes: requested(claim).value(),
            access_modes: modes_of(claim),
            parameters: class.parameters.clone().unwrap_or_default(),
            topology: self.topology(claim),
        };
        let volume = match self.driver.call(request).await {
            Ok(CsiResponse::Volume { volume_id, capacity_bytes, accessible_topology }) => {
                let mut volume = volume_for(claim, class, &name, &volume_id, capacity_bytes, &accessible_topology);
                let csi = volume.spec.as_mut().and_then(|spec| spec.csi.as_mut());
                if let Some(csi) = csi {
                    csi.volume_attributes = Some([(IDENTITY.to_owned(), self.identity())].into());
                }
                volume
            }
            other => {
                let why = other.err().map_or_else(|| "unexpected response".to_owned(), |error| error.to_string());
                let class = class.metadata.name();
                let message = format!("failed to provision volume with StorageClass {class:?}: {why}");
                tell(EventType::Warning, "ProvisioningFailed", message.clone());
                return Err(Error::Other(message));
            }
        };
        match self.client.create(volume).await {
            Ok(_) => {}
            Err(status) if status.is_already_exists() => {}
            Err(status) => return Err(status.into()),
        }
        tell(EventType::Normal, "ProvisioningSucceeded", format!("Successfully provisioned volume {name}"));
        Ok(())
    }

    /// What it calls itself since it started.
    fn identity(&self) -> String {
        let draw = || self.client.hub().random(|random| random.below(10_000));
        let number = *self.number.borrow_mut().get_or_insert_with(draw);
        format!("{}-{number}-{DRIVER}", self.started.timestamp().as_millisecond())
    }

    /// Where the volume has to be reachable: the zone of the node that was chosen.
    fn topology(&self, claim: &PersistentVolumeClaim) -> BTreeMap<String, String> {
        let selected = claim.metadata.annotations.as_ref().and_then(|all| all.get(SELECTED_NODE));
        let node = selected.and_then(|node| self.nodes.get(&Key::new("", node)));
        let zone = node.as_ref().and_then(|node| node.metadata.labels.as_ref()?.get(ZONE).cloned());
        zone.map(|zone| (ZONE.to_owned(), zone)).into_iter().collect()
    }

    /// Mirrors `syncVolume`.
    async fn sync_volume(&self, volume: Arc<PersistentVolume>) -> Result<(), Error> {
        let (held, protected) = (is_held(&volume), is_to_be_held(&volume));
        let volume = match held == protected {
            true => volume,
            false => self.hold(&volume, protected).await?,
        };
        if is_to_go(&volume) { self.delete(&volume).await } else { Ok(()) }
    }

    /// Puts the finalizer on the volume's object, or takes it off. Mirrors `patchPersistentVolumeWithFinalizers`.
    async fn hold(&self, volume: &PersistentVolume, held: bool) -> Result<Arc<PersistentVolume>, wire::Error> {
        let mut new = volume.clone();
        let finalizers = new.metadata.finalizers.get_or_insert_default();
        match held {
            true => finalizers.push(FINALIZER.to_owned()),
            false => finalizers.retain(|name| name != FINALIZER),
        }
        if finalizers.is_empty() {
            new.metadata.finalizers = None;
        }
        let patch = diff_strategic(Kind::PersistentVolume, &json!(volume), &json!(new));
        self.client.patch("", volume.metadata.name(), Patch::Strategic(patch)).await
    }

    /// `deleteVolumeOperation`.
    async fn delete(&self, volume: &PersistentVolume) -> Result<(), Error> {
        let name = volume.metadata.name();
        let fail = |why: String| {
            self.recorder.event(volume, EventType::Warning, "VolumeFailedDelete", why.clone());
            Err(Error::Other(why))
        };
        if let Some(attachment) = self.attachments.by_index(BY_VOLUME, name).first() {
            let node = &attachment.spec.node_name;
            return fail(format!("persistentvolume {name} is still attached to node {node}"));
        }
        let csi = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref());
        let volume_id = csi.map(|csi| csi.volume_handle.clone()).unwrap_or_default();
        if let Err(error) = self.driver.call(CsiRequest::DeleteVolume { volume_id }).await {
            return fail(error.to_string());
        }
        match self.client.delete::<PersistentVolume>("", name, DeleteOptions::default()).await {
            Err(status) if status.is_not_found() => return Ok(()),
            result => result?,
        }
        let Some(volume) = self.volumes.get(&Key::new("", name)).filter(|volume| is_held(volume)) else {
            return Ok(());
        };
        match self.hold(&volume, false).await {
            Err(status) if status.is_not_found() => Ok(()),
            result => Ok(result.map(|_| ())?),
        }
    }
}

fn modes_of(claim: &PersistentVolumeClaim) -> Vec<String> {
    claim.spec.as_ref().and_then(|spec| spec.access_modes.clone()).unwrap_or_default()
}

/// Whether it is a volume of this driver, made by it or by hand. Mirrors `isProvisionerForVolume`.
fn is_ours(volume: &PersistentVolume) -> bool {
    match volume.metadata.annotations.as_ref().and_then(|all| all.get(PROVISIONED_BY)) {
        Some(by) => by == DRIVER,
        None => volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()).is_some_and(|csi| csi.driver == DRIVER),
    }
}

fn is_held(volume: &PersistentVolume) -> bool {
    has_finalizer(&volume.metadata, FINALIZER)
}

/// Whether the finalizer should be on a volume: on a bound one that will have to be destroyed, not on one that will be
/// kept; on others it stays as it is. Mirrors `handleProtectionFinalizer`.
fn is_to_be_held(volume: &PersistentVolume) -> bool {
    let leaves = volume.metadata.deletion_timestamp.is_some();
    match policy_of(volume) {
        "Delete" => is_held(volume) || !leaves && phase_of_volume(volume) == "Bound",
        "Retain" | "Recycle" => false,
        _ => is_held(volume),
    }
}

/// Whether a volume has been released, is not to be kept, and was not destroyed already: then its object goes, and has no
/// finalizer. Mirrors `shouldDelete`.
fn is_to_go(volume: &PersistentVolume) -> bool {
    let destroyed = !is_held(volume) && volume.metadata.deletion_timestamp.is_some();
    !destroyed && phase_of_volume(volume) == "Released" && policy_of(volume) == "Delete"
}

fn policy_of(volume: &PersistentVolume) -> &str {
    let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    policy.unwrap_or_default()
}

/// The PersistentVolume that stands for what CreateVolume has made.
fn volume_for(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    name: &str,
    volume_id: &str,
    bytes: i64,
    topology: &BTreeMap<String, String>,
) -> PersistentVolume {
    let annotations = [
        (PROVISIONED_BY, DRIVER),
        ("volume.kubernetes.io/provisioner-deletion-secret-name", ""),
        ("volume.kubernetes.io/provisioner-deletion-secret-namespace", ""),
    ];
    let csi = CSIPersistentVolumeSource {
        driver: DRIVER.into(),
        volume_handle: volume_id.into(),
        fs_type: Some("ext4".into()),
        ..CSIPersistentVolumeSource::default()
    };
    PersistentVolume {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            annotations: Some(annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            finalizers: Some(vec![FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            capacity: Some([("storage".to_owned(), Amount::bytes(bytes).to_quantity())].into()),
            access_modes: Some(modes_of(claim)),
            claim_ref: Some(reference_to(claim)),
            csi: Some(csi),
            node_affinity: affinity(topology),
            persistent_volume_reclaim_policy: class.reclaim_policy.clone(),
            storage_class_name: class.metadata.name.clone(),
            volume_mode: claim.spec.as_ref().and_then(|spec| spec.volume_mode.clone()),
            mount_options: class.mount_options.clone(),
            ..PersistentVolumeSpec::default()
        }),
        status: None,
    }
}

fn affinity(topology: &BTreeMap<String, String>) -> Option<VolumeNodeAffinity> {
    if topology.is_empty() {
        return None;
    }
    let requirement = |(key, value): (&String, &String)| NodeSelectorRequirement {
        key: key.clone(),
        operator: "In".into(),
        values: Some(vec![value.clone()]),
    };
    let match_expressions = Some(topology.iter().map(requirement).collect());
    let terms = vec![NodeSelectorTerm { match_expressions, match_fields: None }];
    Some(VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms: terms }) })
}

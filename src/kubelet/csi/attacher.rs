//! external-attacher: makes each VolumeAttachment true.
//!
//! The attach-detach controller says by a VolumeAttachment which volume should be connected to which node. The attacher
//! holds it by a finalizer, calls ControllerPublishVolume, and writes what came of it into the status. When the object
//! is deleted it calls ControllerUnpublishVolume first, and then lets go. Mirrors `external-attacher`.
//!
//! Left out: its finalizer on the volume.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::{CSINode, VolumeAttachment, VolumeAttachmentStatus, VolumeError};
use serde_json::json;

use super::sidecar::{Driver, Sidecar};
use super::{CsiRequest, CsiResponse, DRIVER};
use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue};
use engine::{ActorId, Hub};
use object::meta::has_finalizer;
use object::patch::diff_merge;
use object::{Accessor, Key, Kind, Object};
use wire::{self, Patch};

/// The process's name and service account.
pub const NAME: &str = "csi-attacher";
const FINALIZER: &str = "external-attacher/disk-csi-kubestep-dev";
const NODE_ID: &str = "csi.alpha.kubernetes.io/node-id";

/// The sidecar as a process of its own, which calls the controller half of `driver`.
pub fn new(hub: Hub, actor: ActorId, driver: ActorId) -> Sidecar {
    const KINDS: &[Kind] = &[Kind::VolumeAttachment, Kind::PersistentVolume, Kind::CSINode];
    Sidecar::new(hub.clone(), actor, NAME, NAME, KINDS, |context| Rc::new(Attacher::new(context, hub, driver)))
}

/// Keys are attachments.
struct Attacher {
    client: Client,
    queue: Queue,
    driver: Driver,
    attachments: Lister<VolumeAttachment>,
    volumes: Lister<PersistentVolume>,
    nodes: Lister<CSINode>,
}

impl Attacher {
    fn new(context: &ControllerContext, hub: Hub, driver: ActorId) -> Attacher {
        Attacher {
            client: context.client.clone(),
            queue: context.queue.clone(),
            driver: Driver::new(hub, driver),
            attachments: context.lister(),
            volumes: context.lister(),
            nodes: context.lister(),
        }
    }
}

impl Controller for Attacher {
    fn on_change(&self, change: &Change) {
        match change {
            // Its own finalizer, or its own word about a failure, which is tried again later anyway.
            Change::Updated { old: Object::VolumeAttachment(old), new: Object::VolumeAttachment(new) }
                if old.metadata.deletion_timestamp == new.metadata.deletion_timestamp => {}
            Change::Added(_) | Change::Updated { .. } if change.kind() == Kind::VolumeAttachment => {
                self.queue.add(change.key());
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(attachment) = self.attachments.get(&key).filter(|a| a.spec.attacher == DRIVER) else { return Ok(()) };
        let attached = attachment.status.as_ref().is_some_and(|status| status.attached);
        let leaving = attachment.metadata.deletion_timestamp.is_some();
        let held = has_finalizer(&attachment.metadata, FINALIZER);
        let done = match (leaving, attached, held) {
            (false, false, _) => self.attach(&attachment).await,
            (true, _, true) => self.detach(&attachment).await,
            _ => Ok(()),
        };
        let Err(why) = done else { return Ok(()) };
        let error =
            VolumeError { message: Some(why.clone()), time: Some(self.client.now().time()), ..Default::default() };
        let save = self.save_status(&attachment, |status| match leaving {
            true => status.detach_error = Some(error),
            false => status.attach_error = Some(error),
        });
        save.await.map(|_| ()).or_else(fine_if_gone)?;
        Err(Error::Other(why))
    }
}

impl Attacher {
    async fn attach(&self, attachment: &Arc<VolumeAttachment>) -> Result<(), String> {
        let (node_id, volume_id, shared) = self.parts(attachment)?;
        let mut held = VolumeAttachment::clone(attachment);
        held.metadata.finalizers = Some(with_finalizer(attachment));
        held.metadata.annotations.get_or_insert_default().insert(NODE_ID.to_owned(), node_id.clone());
        let held = match held == **attachment {
            true => attachment.clone(),
            false => match self.save(attachment, &held).await {
                // The attachment is not needed any more, and nothing was done yet.
                Err(status) if status.is_not_found() => return Ok(()),
                result => result.map_err(|status| format!("could not save VolumeAttachment: {status}"))?,
            },
        };
        let published = self.driver.call(CsiRequest::ControllerPublishVolume { volume_id, node_id, shared }).await;
        match published {
            Ok(CsiResponse::Published { publish_context }) => {
                let save = self.save_status(&held, |status| {
                    status.attached = true;
                    status.attachment_metadata = Some(publish_context);
                    status.attach_error = None;
                });
                save.await.map(|_| ()).or_else(fine_if_gone).map_err(|status| status.to_string())
            }
            Ok(other) => Err(format!("unexpected response {other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn detach(&self, attachment: &Arc<VolumeAttachment>) -> Result<(), String> {
        // A volume that is gone is disconnected.
        if let Ok((node_id, volume_id, _)) = self.parts(attachment) {
            let request = CsiRequest::ControllerUnpublishVolume { volume_id, node_id };
            self.driver.call(request).await.map_err(|error| error.to_string())?;
        }
        let marked = self.mark_detached(attachment).await.or_else(fine_if_gone);
        marked.map_err(|status| format!("could not mark as detached: {status}"))
    }

    /// Lets go first: without its finalizer the attachment counts as detached, even if its status says otherwise. So the second
    /// write finds it gone, unless another finalizer holds it too. Mirrors `markAsDetached`.
    async fn mark_detached(&self, attachment: &VolumeAttachment) -> Result<(), wire::Error> {
        let mut free = attachment.clone();
        let finalizers = free.metadata.finalizers.get_or_insert_default();
        finalizers.retain(|name| name != FINALIZER);
        if finalizers.is_empty() {
            free.metadata.finalizers = None;
        }
        let free = self.save(attachment, &free).await?;
        let save = self.save_status(&free, |status| {
            status.attached = false;
            status.detach_error = None;
            status.attachment_metadata = None;
        });
        save.await.map(|_| ())
    }

    /// The driver's names of node and volume, and whether the volume may be on several nodes.
    fn parts(&self, attachment: &VolumeAttachment) -> Result<(String, String, bool), String> {
        let name = attachment.spec.source.persistent_volume_name.as_deref().unwrap_or_default();
        let volume = self.volumes.get(&Key::new("", name));
        let volume = volume.ok_or_else(|| format!("persistentvolume {name:?} not found"))?;
        let spec = volume.spec.as_ref();
        let csi = spec.and_then(|spec| spec.csi.as_ref()).ok_or_else(|| format!("{name} is not a CSI volume"))?;
        let modes = spec.and_then(|spec| spec.access_modes.as_deref()).unwrap_or_default();
        let shared = modes.iter().any(|mode| mode.ends_with("Many"));
        let node = &attachment.spec.node_name;
        let drivers = self.nodes.get(&Key::new("", node));
        let of_driver =
            |node: &Arc<CSINode>| node.spec.drivers.iter().find(|d| d.name == DRIVER).map(|d| d.node_id.clone());
        let from_annotation = || attachment.metadata.annotations.as_ref().and_then(|all| all.get(NODE_ID).cloned());
        let node_id = drivers.as_ref().and_then(of_driver).or_else(from_annotation);
        let node_id = node_id.ok_or_else(|| format!("CSINode {node} does not contain driver {DRIVER}"))?;
        Ok((node_id, csi.volume_handle.clone(), shared))
    }

    /// Sends what differs. Mirrors `createMergePatch`.
    async fn save(&self, old: &VolumeAttachment, new: &VolumeAttachment) -> Result<Arc<VolumeAttachment>, wire::Error> {
        let patch = Patch::Merge(diff_merge(&json!(old), &json!(new)));
        self.client.patch("", old.metadata.name(), patch).await
    }

    /// The same for what `change` makes of the status.
    async fn save_status(
        &self,
        attachment: &VolumeAttachment,
        change: impl FnOnce(&mut VolumeAttachmentStatus),
    ) -> Result<Arc<VolumeAttachment>, wire::Error> {
        let old = attachment.status.clone().unwrap_or_default();
        let mut new = old.clone();
        change(&mut new);
        let patch = diff_merge(&json!({"status": old}), &json!({"status": new}));
        let name = attachment.metadata.name();
        self.client.patch_status("", name, Patch::Merge(patch)).await
    }
}

fn with_finalizer(attachment: &VolumeAttachment) -> Vec<String> {
    let mut finalizers = attachment.metadata.finalizers.clone().unwrap_or_default();
    if !has_finalizer(&attachment.metadata, FINALIZER) {
        finalizers.push(FINALIZER.to_owned());
    }
    finalizers
}

fn fine_if_gone(status: wire::Error) -> Result<(), wire::Error> {
    if status.is_not_found() { Ok(()) } else { Err(status) }
}

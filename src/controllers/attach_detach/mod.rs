//! The attach-detach controller: volumes are connected to the nodes whose Pods use them, and to no others.
//!
//! # How a change flows
//!
//! A Pod that has a node and a bound claim wants the claim's volume on that node. The controller makes a
//! VolumeAttachment, which an external attacher makes true; then it writes the volume into the node's
//! `status.volumesAttached`, which is what the kubelet waits for. When the last such Pod is gone the volume has to come
//! off again, but not before the kubelet says in `status.volumesInUse` that it has unmounted it: taking a disk away
//! from under a file system loses data. A node that is not healthy, or was removed, says nothing; after six minutes the
//! volume is taken away all the same, or at once if an administrator has tainted the node as out of service.
//!
//! # Must hold
//!
//! - A volume that may be on one node only is never attached to a second one: the other attachment has to be gone.
//!   Kept by the property "a volume for one node is published on one node".
//! - `volumesAttached` is written before a detach begins, so that no kubelet mounts what is about to go. Then the
//!   node is asked once more, not the cache, whether it uses the volume. Kept by `every_publish_has_its_unpublish`
//!   and `a_dead_node_loses_its_volume_after_six_minutes`.
//! - What a node should say is remembered here, and written by one worker at a time: the write names no version, so
//!   two at once could undo one another. Kept by `who_waits_for_a_volume_is_told_who_has_it`.
//!
//! Mirrors `pkg/controller/volume/attachdetach`. There a desired and an actual state of the world are compared every
//! 100 ms; here each pair of node and volume is a key, looked at when something about it changed. Only the news of what was
//! attached waits for that round.
//!
//! # Left out
//!
//! Volume plugins other than CSI; attachments that another client made.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSIDriver, VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::node::is_ready;
use object::pod::assigned_node;
use object::time::Instant;
use object::volume::{attachment_name, claim_key, unique_name, volume_name};
use object::{Accessor, Key, Kind, Object, Pod};
use wire::DeleteOptions;

use super::node_taints::{self, BY_NODE, is_out_of_service};
use super::volumes::{PODS_BY_CLAIM, claim_names, claims_of, is_terminated, uses_of};
use node_status::Report;

mod node_status;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[
        Kind::Pod,
        Kind::Node,
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::VolumeAttachment,
        Kind::CSIDriver,
    ],
    workers: 10,
    ..Registration::new("attachdetach-controller", &|context| Rc::new(AttachDetach::new(context)))
};

/// `ReconcilerMaxWaitForUnmountDuration`: how long an unhealthy node may keep a volume that no Pod there uses.
const UNMOUNT_WAIT_MAX: Duration = Duration::from_secs(6 * 60);
/// The index of attachments by volume, and by node.
const BY_VOLUME: &str = "attachments by volume";
const ON_NODE: &str = "attachments by node";

/// Keys are a node and a volume; and a node alone, whose list of attached volumes is to be written.
struct AttachDetach {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    volumes: Lister<PersistentVolume>,
    claims: Lister<PersistentVolumeClaim>,
    attachments: Lister<VolumeAttachment>,
    drivers: Lister<CSIDriver>,
    started: Instant,
    state: Memory<State>,
}

/// What cannot be read from the API server.
#[derive(Clone, Default)]
struct State {
    /// Pairs for which a success was told.
    told: BTreeSet<Key>,
    /// Pairs for which it was told that the volume is elsewhere.
    refused: BTreeSet<Key>,
    /// Since when a volume should come off.
    unwanted: BTreeMap<Key, Instant>,
    /// Pairs whose volume was still mounted when the node was removed: no kubelet will report it as unmounted.
    left_mounted: BTreeSet<Key>,
    /// The attachments of pairs that were asked to go, by uid: the cache may not know that yet.
    going: BTreeMap<Key, Option<String>>,
    /// What nodes should say of their attached volumes, and what they were told last.
    reports: BTreeMap<String, Report>,
}

impl AttachDetach {
    fn new(context: &ControllerContext) -> AttachDetach {
        context.add_index::<Pod>(BY_NODE, node_taints::node_of);
        context.add_index::<Pod>(PODS_BY_CLAIM, claims_of);
        context.add_index::<VolumeAttachment>(BY_VOLUME, |object| {
            pair_of(object).map(|(_, volume)| volume).into_iter().collect()
        });
        context.add_index::<VolumeAttachment>(ON_NODE, |object| {
            pair_of(object).map(|(node, _)| node).into_iter().collect()
        });
        AttachDetach {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            pods: context.lister(),
            nodes: context.lister(),
            volumes: context.lister(),
            claims: context.lister(),
            attachments: context.lister(),
            drivers: context.lister(),
            started: context.client.now(),
            state: context.client.hub().memory(State::default()),
        }
    }
}

impl Controller for AttachDetach {
    fn on_change(&self, change: &Change) {
        // A list may bring another object of the same name in the place of one that is gone: a Pod on another node, a node that
        // says nothing yet.
        if let Change::Updated { old, new } = change
            && old.meta().uid != new.meta().uid
        {
            self.on_change(&Change::Deleted(old.clone()));
            return self.on_change(&Change::Added(new.clone()));
        }
        match change {
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) }
                if assigned_node(old) == assigned_node(new) && is_terminated(old) == is_terminated(new) => {}
            Change::Added(Object::Pod(pod))
            | Change::Updated { new: Object::Pod(pod), .. }
            | Change::Deleted(Object::Pod(pod)) => self.queue_pod(pod),
            Change::Added(Object::PersistentVolumeClaim(claim))
            | Change::Updated { new: Object::PersistentVolumeClaim(claim), .. }
                if !volume_name(claim).is_empty() =>
            {
                self.queue_volume(volume_name(claim));
            }
            Change::Deleted(Object::PersistentVolumeClaim(claim)) if !volume_name(claim).is_empty() => {
                self.queue_volume(volume_name(claim));
            }
            // It may come later than the Pods and claims that name it.
            Change::Updated { old: Object::PersistentVolume(old), new: Object::PersistentVolume(new) }
                if is_attached_alike(old, new) => {}
            Change::Added(Object::PersistentVolume(volume))
            | Change::Updated { new: Object::PersistentVolume(volume), .. } => {
                self.queue_volume(volume.metadata.name());
            }
            Change::Added(Object::VolumeAttachment(_))
            | Change::Updated { new: Object::VolumeAttachment(_), .. }
            | Change::Deleted(Object::VolumeAttachment(_)) => {
                if let Some((node, volume)) = pair_of(change.latest()) {
                    self.queue.add(Key::new(&node, &volume));
                    self.queue_volume(&volume);
                }
            }
            Change::Updated { old: Object::Node(old), new: Object::Node(new) } if says_the_same(old, new) => {}
            Change::Added(Object::Node(_)) | Change::Updated { new: Object::Node(_), .. } => {
                self.pairs_of(change.key().name()).for_each(|pair| self.queue.add(pair));
            }
            Change::Deleted(Object::Node(node)) => {
                self.state.borrow_mut().reports.remove(change.key().name());
                for pair in self.pairs_of(change.key().name()) {
                    let volume = self.volumes.get(&Key::new("", pair.name()));
                    let mut state = self.state.borrow_mut();
                    match volume.is_some_and(|volume| is_in_use(node, &volume)) {
                        true => state.left_mounted.insert(pair.clone()),
                        false => state.left_mounted.remove(&pair),
                    };
                    self.queue.add(pair);
                }
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let (node, name) = (key.namespace(), key.name());
        if node.is_empty() {
            return self.write_report(name).await;
        }
        let attachment = self.attachments.by_index(BY_VOLUME, name).into_iter().find(|a| a.spec.node_name == node);
        let Some(volume) = self.volumes.get(&Key::new("", name)).filter(|volume| self.is_attachable(volume)) else {
            return Ok(());
        };
        let users = self.users(&volume, node);
        match (users.is_empty(), attachment) {
            (true, None) => {
                self.gone(&key, &volume);
                Ok(())
            }
            (true, Some(attachment)) => self.detach(&key, &volume, &attachment).await,
            (false, None) => self.attach(&key, &volume, &users).await,
            (false, Some(attachment)) => {
                self.follow(&key, &volume, &attachment, &users);
                Ok(())
            }
        }
    }
}

impl AttachDetach {
    /// CSI volumes are attached, unless their driver says that there is no need.
    fn is_attachable(&self, volume: &PersistentVolume) -> bool {
        let Some(csi) = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()) else { return false };
        let driver = self.drivers.get(&Key::new("", &csi.driver));
        driver.is_none_or(|driver| driver.spec.attach_required != Some(false))
    }

    /// The Pods on a node that want a volume.
    fn users(&self, volume: &PersistentVolume, node: &str) -> Vec<Arc<Pod>> {
        let mut pods = self.all_users(volume);
        pods.retain(|pod| assigned_node(pod) == Some(node));
        pods
    }

    /// All Pods that have a node and want the volume.
    fn all_users(&self, volume: &PersistentVolume) -> Vec<Arc<Pod>> {
        let Some(key) = claim_key(volume) else { return Vec::new() };
        let bound = |claim: &Arc<_>| Some(volume_name(claim)) == volume.metadata.name.as_deref();
        let Some(claim) = self.claims.get(&key).filter(bound) else { return Vec::new() };
        let mut pods = self.pods.by_index(PODS_BY_CLAIM, key.as_str());
        pods.retain(|pod| assigned_node(pod).is_some() && !is_terminated(pod) && uses_of(pod, &claim).next().is_some());
        pods
    }

    async fn attach(&self, key: &Key, volume: &PersistentVolume, users: &[Arc<Pod>]) -> Result<(), Error> {
        let (node, name) = (key.namespace(), key.name());
        self.state.borrow_mut().unwanted.remove(key);
        let mut elsewhere = self.attachments.by_index(BY_VOLUME, name);
        elsewhere.retain(|attachment| attachment.spec.node_name != node);
        if !elsewhere.is_empty() && !may_be_shared(volume) {
            // Its detachment there queues this key again. While an attachment there comes or goes, no Event is sent.
            let settled = elsewhere.iter().all(|attachment| is_attached(attachment) && !self.is_going(attachment));
            if settled && self.state.borrow_mut().refused.insert(key.clone()) {
                self.tell_multi_attach(volume, users, &elsewhere);
            }
            return Ok(());
        }
        self.state.borrow_mut().refused.remove(key);
        let Some(csi) = volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()) else { return Ok(()) };
        let attachment = VolumeAttachment {
            metadata: ObjectMeta {
                name: Some(attachment_name(&csi.volume_handle, &csi.driver, node)),
                ..ObjectMeta::default()
            },
            spec: VolumeAttachmentSpec {
                attacher: csi.driver.clone(),
                node_name: node.to_owned(),
                source: VolumeAttachmentSource {
                    persistent_volume_name: Some(name.to_owned()),
                    ..VolumeAttachmentSource::default()
                },
            },
            status: None,
        };
        match self.client.create(attachment).await {
            Err(status) if status.is_already_exists() => Ok(()),
            result => Ok(result.map(|_| ())?),
        }
    }

    /// Mirrors `reportMultiAttachError`.
    fn tell_multi_attach(&self, volume: &PersistentVolume, users: &[Arc<Pod>], elsewhere: &[Arc<VolumeAttachment>]) {
        let mut others = self.all_users(volume);
        others.retain(|pod| elsewhere.iter().any(|there| assigned_node(pod) == Some(&*there.spec.node_name)));
        let name = volume.metadata.name();
        for pod in users {
            let (here, there): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
                others.iter().partition(|other| other.metadata.namespace == pod.metadata.namespace);
            let names: Vec<&str> = here.iter().filter_map(|other| other.metadata.name.as_deref()).collect();
            let in_others = format!("{} pod(s) in different namespaces", there.len());
            let why = match (names.as_slice(), there.len()) {
                ([], 0) => {
                    "Volume is already exclusively attached to one node and can't be attached to another".to_owned()
                }
                ([], _) => format!("Volume is already used by {in_others}"),
                (names, 0) => format!("Volume is already used by pod(s) {}", names.join(", ")),
                (names, _) => format!("Volume is already used by pod(s) {} and {in_others}", names.join(", ")),
            };
            let message = format!("Multi-Attach error for volume {name:?} {why}");
            self.recorder.event(&**pod, EventType::Warning, "FailedAttachVolume", message);
        }
    }

    /// The attachment is wanted and there: is it true?
    fn follow(&self, key: &Key, volume: &PersistentVolume, attachment: &VolumeAttachment, users: &[Arc<Pod>]) {
        self.state.borrow_mut().unwanted.remove(key);
        if self.is_going(attachment) {
            return;
        }
        let name = key.name();
        if !is_attached(attachment) {
            let error = attachment.status.as_ref().and_then(|status| status.attach_error.as_ref()?.message.as_deref());
            if let Some(error) = error {
                let message = format!("AttachVolume.Attach failed for volume {name:?} : {error}");
                users.iter().for_each(|pod| {
                    self.recorder.event(&**pod, EventType::Warning, "FailedAttachVolume", message.clone());
                });
            }
            return;
        }
        if self.state.borrow_mut().told.insert(key.clone()) {
            let message = format!("AttachVolume.Attach succeeded for volume {name:?} ");
            users.iter().for_each(|pod| {
                self.recorder.event(&**pod, EventType::Normal, "SuccessfulAttachVolume", message.clone());
            });
        }
        if self.report(key.namespace(), volume, true) {
            self.write_in_next_round(key.namespace());
        }
    }

    /// The attachment exists and no Pod on the node uses the volume.
    async fn detach(&self, key: &Key, volume: &PersistentVolume, attachment: &VolumeAttachment) -> Result<(), Error> {
        if self.is_going(attachment) {
            return Ok(());
        }
        let now = self.client.now();
        let since = *self.state.borrow_mut().unwanted.entry(key.clone()).or_insert(now);
        let node = self.nodes.get(&Key::new("", key.namespace()));
        let mounted = match &node {
            Some(node) => is_in_use(node, volume),
            None => self.state.borrow().left_mounted.contains(key),
        };
        let left = UNMOUNT_WAIT_MAX.saturating_sub(now - since);
        let overdue = left.is_zero() && !node.as_deref().is_some_and(is_ready);
        let forced = overdue || node.as_deref().is_some_and(is_out_of_service);
        if mounted && !forced {
            // A healthy node will say when it is done; one that is not, has its time.
            self.queue.add_after_background(key.clone(), left.max(Duration::from_secs(1)));
            return Ok(());
        }
        self.report(key.namespace(), volume, false);
        if self.says_attached(key.namespace(), volume) {
            // This pair has its turn again once that is written.
            self.queue.add(Key::new("", key.namespace()));
            return Ok(());
        }
        if !forced && let Err(why) = self.verify_safe_to_detach(key.namespace(), volume).await {
            self.report(key.namespace(), volume, true);
            self.write_in_next_round(key.namespace());
            return Err(why);
        }
        let name = attachment.metadata.name();
        self.state.borrow_mut().going.insert(key.clone(), attachment.metadata.uid.clone());
        match self.client.delete::<VolumeAttachment>("", name, DeleteOptions::default()).await {
            Err(status) if !status.is_not_found() => {
                self.state.borrow_mut().going.remove(key);
                Err(status.into())
            }
            _ => Ok(()),
        }
    }

    /// Mirrors `verifyVolumeIsSafeToDetach`.
    async fn verify_safe_to_detach(&self, node: &str, volume: &PersistentVolume) -> Result<(), Error> {
        match self.client.get::<Node>("", node).await {
            Ok(node) if is_in_use(&node, volume) => {
                let why = "DetachVolume failed: volume is still in use by node, according to Node status";
                Err(Error::Other(why.to_owned()))
            }
            Err(status) if !status.is_not_found() => Err(status.into()),
            _ => Ok(()),
        }
    }

    /// Whether it was asked to go.
    fn is_going(&self, attachment: &VolumeAttachment) -> bool {
        let volume = attachment.spec.source.persistent_volume_name.as_deref().unwrap_or_default();
        let key = Key::new(&attachment.spec.node_name, volume);
        let asked = self.state.borrow().going.get(&key) == Some(&attachment.metadata.uid);
        asked || attachment.metadata.deletion_timestamp.is_some()
    }

    /// Neither wanted nor there.
    fn gone(&self, key: &Key, volume: &PersistentVolume) {
        {
            let mut state = self.state.borrow_mut();
            state.told.remove(key);
            state.refused.remove(key);
            state.unwanted.remove(key);
            state.left_mounted.remove(key);
            state.going.remove(key);
        }
        if self.report(key.namespace(), volume, false) {
            self.write_in_next_round(key.namespace());
        }
    }

    /// The node with each of the volumes that are attached to it.
    fn pairs_of(&self, node: &str) -> impl Iterator<Item = Key> {
        let attached = self.attachments.by_index(ON_NODE, node).into_iter();
        attached.filter_map(|attachment| pair_of(&Object::VolumeAttachment(attachment))).map(|(n, v)| Key::new(&n, &v))
    }

    /// Queues every node where a Pod uses the volume, and every node that has it attached.
    fn queue_volume(&self, name: &str) {
        let Some(volume) = self.volumes.get(&Key::new("", name)) else { return };
        let pods = self.all_users(&volume);
        let wanting = pods.iter().filter_map(|pod| assigned_node(pod).map(str::to_owned));
        let having = self.attachments.by_index(BY_VOLUME, name).into_iter().map(|a| a.spec.node_name.clone());
        let nodes: BTreeSet<String> = wanting.chain(having).collect();
        nodes.into_iter().for_each(|node| self.queue.add(Key::new(&node, name)));
    }

    /// The volumes of a Pod, on its node.
    fn queue_pod(&self, pod: &Pod) {
        let (Some(node), namespace) = (assigned_node(pod), pod.metadata.namespace()) else {
            return;
        };
        for claim in claim_names(pod).filter_map(|claim| self.claims.get(&Key::new(namespace, &claim))) {
            if !volume_name(&claim).is_empty() {
                self.queue.add(Key::new(node, volume_name(&claim)));
            }
        }
    }
}

fn pair_of(object: &Object) -> Option<(String, String)> {
    let Object::VolumeAttachment(attachment) = object else { return None };
    Some((attachment.spec.node_name.clone(), attachment.spec.source.persistent_volume_name.clone()?))
}

/// Whether several nodes may have the volume at once.
fn may_be_shared(volume: &PersistentVolume) -> bool {
    let modes = volume.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()).unwrap_or_default();
    modes.iter().any(|mode| mode.ends_with("Many"))
}

/// Whether two versions of a volume are the same as far as attaching goes.
fn is_attached_alike(old: &PersistentVolume, new: &PersistentVolume) -> bool {
    let of = |volume: &PersistentVolume| volume.spec.clone().map(|spec| (spec.claim_ref, spec.csi, spec.access_modes));
    of(old) == of(new)
}

fn is_attached(attachment: &VolumeAttachment) -> bool {
    attachment.status.as_ref().is_some_and(|status| status.attached)
}

fn is_in_use(node: &Node, volume: &PersistentVolume) -> bool {
    let name = unique_name(volume);
    node.status.iter().flat_map(|status| status.volumes_in_use.iter().flatten()).any(|there| *there == name)
}

/// Whether two versions of a node are the same as far as volumes go.
fn says_the_same(old: &Node, new: &Node) -> bool {
    let in_use = |node: &Node| node.status.as_ref().and_then(|status| status.volumes_in_use.clone());
    in_use(old) == in_use(new) && is_ready(old) == is_ready(new) && is_out_of_service(old) == is_out_of_service(new)
}

//! Volumes: what has to be there before a pod's containers can start.
//!
//! Mirrors the volume manager (`pkg/kubelet/volumemanager`) and the watch-based ConfigMap and Secret managers
//! (`pkg/kubelet/util/manager`). For each object that a pod names, the kubelet opens a watch on that one object. A
//! reconciler looks at new volumes every 100 ms and sets them up; the pod's sync polls every 300 ms until all are
//! mounted. A set-up that fails is tried again after 0.5, 1, 2, 4 … seconds, each volume for itself, with an Event
//! each; and whether it has worked meanwhile is what the next sync of the pod looks at.
//!
//! - [`sources`]: which objects a pod names; [`payload`]: the files made from them; [`variables`]: the
//!   environment; [`service_links`]: those variables that tell of Services.
//! - [`claims`]: what is behind a PersistentVolumeClaim; CSI.
//! - [`slots`]: what the kubelet remembers of them. [`host_path`]: where volumes are on the node's disk.
//! - [`refresh`]: tokens are renewed, files follow their ConfigMap and their pod. [`grow`]: a file system follows its volume.
//!
//! Left out: image volumes; what a container has written goes with its pod's volumes, rather than when the container is
//! collected.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, FileKeySelector, Volume};

use crate::params::{MOUNT_POLL_PERIOD, MOUNT_RETRY_INITIAL, MOUNT_RETRY_MAX, MOUNT_TIMEOUT, VOLUME_RECONCILE_PERIOD};
use crate::shared::Shared;
use crate::timers::Timer;
use crate::worker::{End, Stage};
use client::recorder::EventType;
use client::{Informer, Selection};
use network::disk::Tree;
use object::pod::containers;
use object::pod::spec::PodVolume;
use object::volume::{awaits_node_expansion, claim_behind};
use object::{Accessor, Key, Kind, Object, Pod, Shared as Part, ephemeral};
use wire::{WatchEvent, WatchId};

mod claims;
mod env_file;
mod grow;
pub mod host_path;
pub mod payload;
pub mod refresh;
pub mod service_links;
pub mod slots;
pub mod sources;
pub mod variables;

use payload::Material;
use slots::{NotReady, PodVolumes, Slot};
use sources::volumes_of;
use variables::Addresses;

impl Shared {
    /// Sets up the pod's volumes, or waits until they are (`WaitForAttachAndMount`). The error is how the sync ends.
    pub(super) async fn mount_volumes(self: &Rc<Self>, uid: &str, pod: &Arc<Pod>) -> Result<(), End> {
        self.watch_sources(pod);
        let count = volumes_of(pod).count();
        let ready = self.with_volumes(uid, |volumes| {
            // By itself a list takes room for four, and most pods have one volume.
            volumes.slots.reserve_exact(count.saturating_sub(volumes.slots.len()));
            volumes.slots.resize_with(count, Slot::default);
            volumes.all_mounted()
        });
        if ready != Some(false) {
            return Ok(());
        }
        let began = self.hub.now();
        self.hub.sleep(VOLUME_RECONCILE_PERIOD).await;
        for index in 0..count {
            if self.cancelled(uid) {
                return Err(End::Done);
            }
            self.try_mount(uid, index).await;
        }
        while self.with_volumes(uid, |volumes| volumes.all_mounted()) == Some(false) {
            if self.cancelled(uid) {
                return Err(End::Done);
            }
            let left = MOUNT_TIMEOUT.saturating_sub(self.hub.now() - began);
            if left.is_zero() {
                // Of a time-out no Event is written: what is in the way has told of it.
                return Err(End::Failed(None));
            }
            self.wait_for_mounts(uid, left).await;
        }
        self.wait_for_poll(self.hub.now() - began).await;
        Ok(())
    }

    fn with_volumes<T>(&self, uid: &str, look: impl FnOnce(&mut PodVolumes) -> T) -> Option<T> {
        self.state.borrow_mut().workers.get_mut(uid).map(|worker| look(&mut worker.volumes))
    }

    /// Waits until it is woken: all is mounted, the time is over, or the pod is to end.
    async fn wait_for_mounts(&self, uid: &str, at_most: Duration) {
        let park = self.hub.park("volumes");
        {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(uid) else { return };
            worker.volumes.waiter = Some(park.call());
            worker.parked = worker.stage == Stage::Sync;
        }
        self.wake(Timer::MountDeadline { uid }, at_most);
        park.await;
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid)
            && worker.stage == Stage::Sync
        {
            worker.parked = false;
        }
    }

    /// A sync waits no longer for its volumes: they are there, or it has waited long enough.
    pub(super) fn call_waiter(&self, uid: &str) {
        if let Some(call) = self.with_volumes(uid, PodVolumes::take_waiter).flatten() {
            self.hub.unpark(self.actor, call);
        }
    }

    /// The sync looks every 300 ms whether its volumes are there.
    async fn wait_for_poll(&self, since: Duration) {
        let period = MOUNT_POLL_PERIOD.as_nanos() as u64;
        let over = since.as_nanos() as u64 % period;
        if over > 0 {
            self.hub.sleep(Duration::from_nanos(period - over)).await;
        }
    }

    /// A timer of the reconciler: a volume may be tried again.
    pub(super) fn mount_again(self: &Rc<Self>, uid: &str, index: usize) {
        let (me, uid) = (self.clone(), uid.to_owned());
        let label = format!("kubelet {} volumes of {}", self.config.name, self.pod_key(&uid));
        self.hub.spawn(self.actor, label, async move {
            me.try_mount(&uid, index).await;
            if me.with_volumes(&uid, |volumes| volumes.all_mounted()) == Some(true) {
                me.call_waiter(&uid);
            }
        });
    }

    /// Sets up one volume, unless it is there, under way, or failed a short while ago.
    async fn try_mount(self: &Rc<Self>, uid: &str, index: usize) {
        let now = self.hub.now();
        let pod = {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(uid).filter(|worker| worker.stage == Stage::Sync) else { return };
            let Some(slot) = worker.volumes.slots.get_mut(index) else { return };
            if slot.mounted || slot.busy || slot.due > now {
                return;
            }
            slot.busy = true;
            worker.pod.clone()
        };
        let Some(volume) = volumes_of(&pod).nth(index) else { return };
        let result = self.set_up(&pod, index, volume).await;
        let retry = self.with_volumes(uid, |volumes| {
            let slot = volumes.slots.get_mut(index)?;
            slot.busy = false;
            slot.mounted = result.is_ok();
            slot.waits = matches!(result, Err(NotReady::Waits));
            if let Ok(path) = &result {
                slot.path.clone_from(path);
            }
            if slot.mounted || slot.waits {
                return None;
            }
            slot.pause = (slot.pause * 2).clamp(MOUNT_RETRY_INITIAL, MOUNT_RETRY_MAX);
            slot.due = self.hub.now() + slot.pause;
            Some(slot.pause)
        });
        match (result, retry) {
            (Err(error), Some(Some(pause))) => {
                let message = match error {
                    NotReady::Unprocessed(why) => unprocessed(volume.name, &why),
                    NotReady::Failed(message) => message,
                    NotReady::Waits => return,
                };
                self.recorder.event(&*pod, EventType::Warning, "FailedMount", message);
                self.wake(Timer::MountAgain { uid, volume: index }, pause);
            }
            (Ok(_), Some(_)) => self.follow(uid, index, &volume),
            _ => {}
        }
    }

    /// `SetUp` of one volume: its objects must exist, a token is asked for, files are written.
    async fn set_up(self: &Rc<Self>, pod: &Pod, index: usize, volume: PodVolume<'_>) -> Result<String, NotReady> {
        let uid = pod.metadata.uid();
        let path = host_path::of_volume(uid, volume.name, &volume);
        let failed = |error: String| {
            NotReady::Failed(format!("MountVolume.SetUp failed for volume \"{}\" : {error}", volume.name))
        };
        if let Some(source) = &volume.host_path {
            return host_path::check_type(&self.disk, source).map(|()| path).map_err(failed);
        }
        if let Some(claim) = claim_behind(&pod.metadata, &volume) {
            let known = self.with_volumes(uid, |volumes| volumes.slots.get(index)?.behind.clone()).flatten();
            let behind = match known {
                Some(behind) => behind,
                None => self.find_volume(pod, &claim).await?,
            };
            self.with_volumes(uid, |volumes| {
                if let Some(slot) = volumes.slots.get_mut(index) {
                    slot.behind = Some(behind.clone());
                }
            });
            let path = self.set_up_claim(pod, &behind, &claim).await?;
            if awaits_node_expansion(&behind) {
                self.grow_file_system(pod, &volume, &path).await;
            }
            return Ok(path);
        }
        if let Some(payload) = self.make_payload(pod, &volume).await.map_err(failed)? {
            self.disk.mount(&path, Rc::new(payload));
        } else if volume.empty_dir.is_some() && self.disk.mounted(&path).is_none() {
            self.disk.mount(&path, Rc::new(Tree::new(&self.hub)));
        }
        Ok(path)
    }

    /// The files of a volume that the kubelet writes itself; None for others.
    async fn make_payload(&self, pod: &Pod, volume: &Volume) -> Result<Option<payload::Payload>, String> {
        let mut tokens = BTreeMap::new();
        for wanted in refresh::tokens_of(volume) {
            tokens.insert(wanted.path.clone(), self.ask_for_token(pod, wanted).await?);
        }
        let object = |kind, name: &str| self.find_object(pod, kind, name);
        let from = Material { pod, node: &self.config.capacity, tokens: &tokens, object: &object };
        payload::of_volume(volume, &from)
    }

    /// Takes down what the kubelet put on the disk for a pod that is gone.
    pub(super) async fn unmount_volumes(self: &Rc<Self>, uid: &str) {
        let (pod, slots) = {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(uid) else { return };
            (worker.pod.clone(), std::mem::take(&mut worker.volumes.slots))
        };
        for slot in &slots {
            if let Some(volume) = &slot.behind {
                self.take_down_claim(uid, volume, &slot.path).await;
            }
        }
        for volume in volumes_of(&pod).filter(|volume| volume.host_path.is_none()) {
            self.disk.unmount(&host_path::of_volume(uid, volume.name, &volume));
        }
        self.disk.unmount_all_in(&host_path::of_sub_paths(uid));
        self.disk.free(&host_path::of_pod(uid));
    }

    /// A container's variables. Those that it takes from ConfigMaps and Secrets must be there, or it waits with
    /// CreateContainerConfigError. `ip` is the address of the sandbox, which the status may not tell yet; it is empty on the
    /// node's own network.
    pub(super) fn environment(
        &self,
        pod: &Pod,
        container: &Container,
        ip: &str,
    ) -> Result<Part<Vec<(String, String)>>, String> {
        if !self.services.has_synced() {
            return Err("services have not yet been read at least once, cannot construct envvars".to_owned());
        }
        let object = |kind, name: &str| self.find_object(pod, kind, name);
        let services = service_links::of_pod(pod, &self.services);
        let host = self.config.ip.as_str();
        let addresses = Addresses { host, pod: if ip.is_empty() { host } else { ip } };
        let file = |selector: &FileKeySelector| self.file_in_volume(pod, selector);
        let node = &self.config.capacity;
        let all = variables::of_container(pod, container, addresses, &services, node, &object, &file)?;
        Ok(self.variables.share(all))
    }

    /// A file in a volume of the pod: where it is on the disk, and what is in it.
    fn file_in_volume(&self, pod: &Pod, selector: &FileKeySelector) -> (String, Option<String>) {
        let uid = pod.metadata.uid();
        let volume = volumes_of(pod).find(|volume| volume.name == selector.volume_name);
        let at = volume.map(|volume| host_path::of_volume(uid, volume.name, &volume)).unwrap_or_default();
        let path = format!("{at}/{}", selector.path);
        let text = self.disk.read(&path);
        (path, text)
    }

    /// The credentials for registries that the pod names; here no registry asks for any. Mirrors `getPullSecretsForPod`.
    pub(super) fn tell_missing_pull_secrets(&self, pod: &Pod) {
        let missing = |source: &sources::Source| matches!(self.find_object(pod, source.kind, source.name), Ok(None));
        let secrets = pod.spec.iter().flat_map(|spec| sources::of_pulls(spec));
        let names: Vec<&str> = secrets.filter(missing).map(|source| source.name).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            let message = format!(
                "Unable to retrieve some image pull secrets ({names}); attempting to pull the image may not succeed."
            );
            self.recorder.event(pod, EventType::Warning, "FailedToRetrieveImagePullSecret", message);
        }
    }

    /// A ConfigMap or Secret of the pod's namespace, as its watch has it.
    fn find_object(&self, pod: &Pod, kind: Kind, name: &str) -> Result<Option<Object>, String> {
        let key = Key::new(pod.metadata.namespace(), name);
        let state = self.state.borrow();
        match state.objects.get(&(kind, key.clone())).filter(|informer| informer.has_synced()) {
            Some(informer) => Ok(informer.cache().borrow().objects().get(&key).cloned()),
            None => {
                let word = kind.info().singular();
                Err(format!("failed to sync {word} cache: timed out waiting for the condition"))
            }
        }
    }

    /// Opens the watches that the pod needs and that are not open yet (`RegisterPod`).
    fn watch_sources(&self, pod: &Pod) {
        let namespace = pod.metadata.namespace();
        let Some(spec) = &pod.spec else { return };
        let volumes = volumes_of(pod).flat_map(|volume| sources::of_volume(volume.source()));
        let added: Vec<Container> = ephemeral::containers(spec).collect();
        let containers = containers(spec).chain(&added);
        let variables = containers.flat_map(sources::of_variables);
        for source in volumes.chain(variables).chain(sources::of_pulls(spec)) {
            let key = Key::new(namespace, source.name);
            let mut state = self.state.borrow_mut();
            state.objects.entry((source.kind, key)).or_insert_with(|| {
                let field_selector = format!("metadata.name={}", source.name);
                let selection =
                    Selection { namespace: namespace.into(), ..Selection::fields(source.kind, field_selector) };
                let informer = Informer::new(self.hub.clone(), self.actor, self.user.clone(), selection);
                informer.start();
                informer
            });
        }
    }

    /// One of those watches says something.
    pub(super) fn object_changed(&self, watch: WatchId, event: WatchEvent) {
        let changed = {
            let mut state = self.state.borrow_mut();
            let found = state.objects.iter_mut().find(|(_, informer)| informer.owns(watch));
            let Some(((kind, key), informer)) = found else { return };
            let live = informer.has_synced();
            (!informer.on_event(event).is_empty() && live).then(|| (*kind, key.clone()))
        };
        if let Some((kind, key)) = changed {
            self.refresh_users(kind, &key);
        }
    }

    /// Watches of that kind that were refused or lost are opened once more.
    pub(super) fn watch_objects_again(&self, plural: &str) {
        self.state.borrow().objects.values().for_each(|informer| informer.relist(plural));
    }
}

/// The error of a sync when one of the pod's volumes cannot be resolved.
fn unprocessed(volume: &str, why: &str) -> String {
    format!(
        "Unable to attach or mount volumes: unmounted volumes=[{volume}], unattached volumes=[], failed to process \
         volumes=[{volume}]: {why}"
    )
}

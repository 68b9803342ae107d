//! external-resizer: makes a volume as large as its claim asks for.
//!
//! When a user raises `spec.resources.requests.storage` of a bound claim, it writes into the claim's status what it is
//! about to do, calls ControllerExpandVolume, and writes the new capacity into the volume. The file system on the volume
//! is still as small as it was: the claim gets the condition FileSystemResizePending, and the kubelet of a node that has
//! the volume mounted does the rest. Mirrors `external-resizer`.
//!
//! A resize that was begun is finished first, even if the claim asks for less meanwhile: its result at the driver is
//! still unknown. One that the driver calls infeasible is tried once more and then every five minutes.
//!
//! Left out: drivers that cannot expand a volume in use, or have no node half; volume attributes classes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimCondition, PersistentVolumeClaimStatus,
};
use serde_json::json;

use super::sidecar::{Driver, RETRY_MAX, Sidecar};
use super::{CsiRequest, CsiResponse, DRIVER};
use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder};
use engine::{ActorId, Hub, Memory, RpcError};
use object::patch::diff_strategic;
use object::quantity::Amount;
use object::time::Instant;
use object::volume::{
    PRE_RESIZE_CAPACITY, allocated, awaits_node_expansion, capacity, granted, is_bound, is_promised_to, requested,
    volume_name, with_resize_condition,
};
use object::{Accessor, Key, Kind, Object, Resource};
use wire::{self, Patch};

/// The process's name and service account.
pub const NAME: &str = "csi-resizer";
const PENDING: &str = "Waiting for user to (re-)start a pod to finish file system resize of volume on node.";

/// The sidecar as a process of its own, which calls the controller half of `driver`.
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
    state: Memory<State>,
}

/// What cannot be read from a cache.
#[derive(Clone, Default)]
struct State {
    /// Claims and volumes as it has written them: the caches may not have heard of that yet.
    written: BTreeMap<Key, Object>,
    /// Claims whose last failure was final: the driver does nothing for them any more.
    failed: BTreeSet<Key>,
    /// Since when a claim waits with a size that it cannot have. Mirrors `slowSet`.
    slow: BTreeMap<Key, Instant>,
}

impl Resizer {
    fn new(context: &ControllerContext, hub: Hub, driver: ActorId) -> Resizer {
        Resizer {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            state: hub.memory(State::default()),
            driver: Driver::new(hub, driver),
            claims: context.lister(),
            volumes: context.lister(),
        }
    }
    /// The cached object, or what came of an own write if that is newer.
    fn newest<T: Resource>(&self, cache: &Lister<T>, key: &Key) -> Option<Arc<T>> {
        let cached = cache.get(key)?;
        let mut state = self.state.borrow_mut();
        let written = state.written.get(key).filter(|own| {
            let there = cached.clone().into_object();
            own.meta().uid == there.meta().uid && own.revision() > there.revision()
        });
        let own = written.and_then(T::from_object).cloned();
        if own.is_none() {
            state.written.remove(key);
        }
        Some(own.unwrap_or(cached))
    }

    fn remember<T: Resource>(&self, written: &Arc<T>) {
        let written = written.clone().into_object();
        self.state.borrow_mut().written.insert(Key::of(&written), written);
    }

    /// The file system has grown: the volume's size from before is not needed any more.
    async fn finish(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Result<(), Error> {
        if !awaits_node_expansion(volume) || granted(claim) < capacity(volume) {
            return Ok(());
        }
        let mut new = volume.clone();
        new.metadata.annotations.get_or_insert_default().remove(PRE_RESIZE_CAPACITY);
        Ok(self.patch_volume(volume, &new).await?)
    }

    /// Mirrors `expandAndRecover`.
    async fn expand(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Result<(), Error> {
        let key = Key::of_meta(&claim.metadata);
        let wait = self.wait_of(&key);
        if resize_status(claim) == "ControllerResizeInfeasible" {
            let now = self.client.now();
            self.state.borrow_mut().slow.entry(key.clone()).or_insert(now);
        }
        let Some(size) = self.size_to_try(&key, claim, volume) else { return Ok(()) };
        let begun = allocated(claim) == Some(size);
        if begun && let Some(wait) = wait {
            self.queue.add_after_background(key, wait);
            return Ok(());
        }
        let marked = self.mark_in_progress(claim, size, begun).await;
        let refused = |why| Error::Other(format!("marking pvc {:?} as resizing failed: {why}", key.as_str()));
        let claim = marked.map_err(refused)?;
        let name = volume.metadata.name();
        self.tell(&claim, EventType::Normal, "Resizing", format!("External resizer is resizing volume {name}"));
        let result = self.resize(&claim, volume, size).await;
        if let Err(why) = &result {
            self.tell(&claim, EventType::Warning, "VolumeResizeFailed", why.to_string());
        }
        result
    }

    /// How long a claim that could not have its size has still to wait; None if it need not.
    fn wait_of(&self, key: &Key) -> Option<Duration> {
        let mut state = self.state.borrow_mut();
        let waited = self.client.now() - *state.slow.get(key)?;
        if waited >= RETRY_MAX {
            state.slow.remove(key);
        }
        RETRY_MAX.checked_sub(waited).filter(|left| !left.is_zero())
    }

    /// The size to ask for: the one that was begun, if its result is still unknown, or else what the claim wants now. None if
    /// it is the node's turn.
    fn size_to_try(&self, key: &Key, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Option<Amount> {
        let (wanted, made) = (requested(claim), capacity(volume));
        let begun = allocated(claim).unwrap_or(wanted);
        match resize_status(claim) {
            "NodeResizePending" | "NodeResizeInProgress" => (made < wanted && made < begun).then_some(begun),
            "NodeResizeInfeasible" => Some(begun),
            "ControllerResizeInProgress" if made < wanted && self.state.borrow().failed.contains(key) => Some(wanted),
            "ControllerResizeInProgress" => Some(begun),
            _ if made < wanted => Some(wanted),
            _ => Some(begun),
        }
    }

    /// Has the driver make the volume larger, and writes down that it is. Mirrors `callResizeOnPlugin`.
    async fn resize(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
        size: Amount,
    ) -> Result<(), Error> {
        let volume_id = volume.spec.as_ref().and_then(|spec| Some(spec.csi.as_ref()?.volume_handle.clone()));
        let required_bytes = size.value();
        let request = CsiRequest::ControllerExpandVolume { volume_id: volume_id.unwrap_or_default(), required_bytes };
        match self.driver.call(request).await {
            Ok(CsiResponse::Expanded { capacity_bytes, .. }) => {
                self.expanded(claim, volume, capacity_bytes).await.map_err(Error::Other)
            }
            Ok(other) => Err(Error::Other(format!("unexpected response {other:?}"))),
            Err(error) => Err(self.failed(claim, volume, &error).await),
        }
    }

    /// The volume has its new size; the file system is next.
    async fn expanded(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
        bytes: i64,
    ) -> Result<(), String> {
        let key = Key::of_meta(&claim.metadata);
        {
            let mut state = self.state.borrow_mut();
            state.failed.remove(&key);
            state.slow.remove(&key);
        }
        let name = volume.metadata.name();
        let size = Amount::bytes(bytes).to_quantity();
        let mut new = volume.clone();
        let capacity = new.spec.get_or_insert_default().capacity.get_or_insert_default();
        capacity.insert("storage".to_owned(), size.clone());
        if !awaits_node_expansion(volume) {
            let before = granted(claim).to_quantity().0;
            new.metadata.annotations.get_or_insert_default().insert(PRE_RESIZE_CAPACITY.to_owned(), before);
        }
        self.patch_volume(volume, &new).await.map_err(|status| {
            format!(
                "error updating pv {name:?} by resizer: updating capacity of PV {name:?} to {} failed: update capacity of \
                 PV {name} failed: {status}",
                size.0
            )
        })?;
        let pending = self.condition("FileSystemResizePending", PENDING);
        let new = with_status(claim, |status| {
            status.conditions = Some(with_resize_condition(claim, Some(pending), true));
            set_resize_status(status, "NodeResizePending");
        });
        let marked = self.patch_claim(claim, &new, true).await;
        let claim =
            marked.map_err(|why| format!("mark PVC {:?} as node expansion required failed: {why}", key.as_str()))?;
        let message = "Require file system resize of volume on node";
        self.tell(&claim, EventType::Normal, "FileSystemResizeRequired", message.to_owned());
        Ok(())
    }

    async fn failed(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume, error: &RpcError) -> Error {
        let (key, why) = (Key::of_meta(&claim.metadata), error.to_string());
        let infeasible = matches!(error.code, "OutOfRange" | "InvalidArgument" | "NotFound");
        let last = is_final(error);
        {
            let mut state = self.state.borrow_mut();
            match last {
                true => state.failed.insert(key.clone()),
                false => state.failed.remove(&key),
            };
            if !infeasible {
                state.slow.remove(&key);
            }
        }
        if last && let Err(refused) = self.mark_failed(claim, &why, infeasible).await {
            return Error::Other(format!(
                "resizing failed in controller with {why} but failed to update PVC {key} with: mark PVC {:?} as controller \
                 expansion failed, errored with: {refused}",
                key.as_str()
            ));
        }
        let name = volume.metadata.name();
        let message = format!("resize volume {name:?} by resizer {DRIVER:?} failed: {why}");
        if infeasible { Error::Unchanged(message) } else { Error::Other(message) }
    }

    /// Mirrors `markControllerResizeInProgress`. `begun`: the same size was tried before.
    async fn mark_in_progress(
        &self,
        claim: &PersistentVolumeClaim,
        size: Amount,
        begun: bool,
    ) -> Result<Arc<PersistentVolumeClaim>, String> {
        let resizing = self.condition("Resizing", "");
        let new = with_status(claim, |status| {
            status.conditions = Some(with_resize_condition(claim, Some(resizing), begun));
            if !begun {
                set_resize_status(status, "ControllerResizeInProgress");
            }
            status.allocated_resources.get_or_insert_default().insert("storage".to_owned(), size.to_quantity());
        });
        self.patch_claim(claim, &new, true).await
    }

    /// Mirrors `markControllerExpansionInfeasible` and `markControllerExpansionFailedCondition`, which write without a check
    /// whether the claim has changed meanwhile.
    async fn mark_failed(
        &self,
        claim: &PersistentVolumeClaim,
        why: &str,
        infeasible: bool,
    ) -> Result<Arc<PersistentVolumeClaim>, String> {
        let error = self.condition("ControllerResizeError", &format!("failed to expand pvc with {why}"));
        let new = with_status(claim, |status| {
            status.conditions = Some(with_resize_condition(claim, Some(error), true));
            if infeasible {
                set_resize_status(status, "ControllerResizeInfeasible");
            }
        });
        self.patch_claim(claim, &new, false).await
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

    async fn patch_volume(&self, old: &PersistentVolume, new: &PersistentVolume) -> Result<(), wire::Error> {
        let patch = diff_strategic(Kind::PersistentVolume, &json!(old), &json!(new));
        let name = old.metadata.name();
        let patched = self.client.patch::<PersistentVolume>("", name, Patch::Strategic(patch)).await?;
        self.remember(&patched);
        Ok(())
    }

    /// `checked`: refused if the claim has changed since it was read. Mirrors `PatchClaim`.
    async fn patch_claim(
        &self,
        old: &PersistentVolumeClaim,
        new: &PersistentVolumeClaim,
        checked: bool,
    ) -> Result<Arc<PersistentVolumeClaim>, String> {
        let key = Key::of_meta(&old.metadata);
        let mut patch = diff_strategic(Kind::PersistentVolumeClaim, &json!(old), &json!(new));
        if checked {
            patch["metadata"]["resourceVersion"] = json!(old.metadata.resource_version);
        }
        let patch = Patch::Strategic(patch);
        let patched = self.client.patch_status::<PersistentVolumeClaim>(key.namespace(), key.name(), patch).await;
        let patched = patched.map_err(|status| format!("can't patch status of  PVC {key} with {status}"))?;
        self.remember(&patched);
        Ok(patched)
    }
}

fn is_of_driver(volume: &PersistentVolume) -> bool {
    volume.spec.as_ref().and_then(|spec| spec.csi.as_ref()).is_some_and(|csi| csi.driver == DRIVER)
}

/// Whether after this failure nothing goes on in the driver. Mirrors `IsFinalError`.
fn is_final(error: &RpcError) -> bool {
    !matches!(error.code, "Canceled" | "DeadlineExceeded" | "Unavailable" | "ResourceExhausted" | "Aborted")
}

/// How far the growing of a claim has come; empty: it does not grow.
fn resize_status(claim: &PersistentVolumeClaim) -> &str {
    let statuses = claim.status.as_ref().and_then(|status| status.allocated_resource_statuses.as_ref());
    statuses.and_then(|statuses| statuses.get("storage")).map_or("", String::as_str)
}

fn set_resize_status(status: &mut PersistentVolumeClaimStatus, word: &str) {
    status.allocated_resource_statuses.get_or_insert_default().insert("storage".to_owned(), word.to_owned());
}

fn with_status(
    claim: &PersistentVolumeClaim,
    change: impl FnOnce(&mut PersistentVolumeClaimStatus),
) -> PersistentVolumeClaim {
    let mut new = claim.clone();
    change(new.status.get_or_insert_default());
    new
}

impl Controller for Resizer {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::PersistentVolumeClaim(_)) => self.queue.add(change.key()),
            Change::Updated { old: Object::PersistentVolumeClaim(old), new: Object::PersistentVolumeClaim(new) }
                if requested(new) != requested(old)
                    || granted(new) > granted(old)
                    || resize_status(new) != resize_status(old) =>
            {
                self.queue.add(change.key());
            }
            Change::Deleted(object) => {
                let mut state = self.state.borrow_mut();
                let key = Key::of(object);
                state.written.remove(&key);
                state.failed.remove(&key);
                state.slow.remove(&key);
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(claim) = self.newest(&self.claims, &key).filter(|claim| is_bound(claim)) else { return Ok(()) };
        let Some(volume) = self.newest(&self.volumes, &Key::new("", volume_name(&claim))) else { return Ok(()) };
        if !is_of_driver(&volume) || !is_promised_to(&volume, &claim) {
            return Ok(());
        }
        if requested(&claim) <= granted(&claim) {
            return self.finish(&claim, &volume).await;
        }
        self.expand(&claim, &volume).await
    }
}

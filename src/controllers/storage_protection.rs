//! The protection controllers: a claim that a Pod uses, and a volume that is bound, are not removed when they are
//! deleted, but when they are free.
//!
//! Admission gives each claim and volume a finalizer. A deletion then only marks the object, and these controllers take
//! the finalizer away once nothing holds the object any more. Mirrors `pkg/controller/volume/{pvcprotection,
//! pvprotection}`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use engine::Memory;
use object::meta::has_finalizer;
use object::pod::assigned_node;
use object::time::Instant;
use object::volume::phase_of_volume;
use object::well_known::{CLAIM_PROTECTION, VOLUME_PROTECTION};
use object::{Accessor, Key, Kind, Object, Pod};

use super::volumes::{PODS_BY_CLAIM, claim_names, claims_of, is_terminated, uses_of};

/// The row of the controller of claims.
pub const CLAIMS: Registration = Registration {
    watches: &[Kind::PersistentVolumeClaim, Kind::Pod],
    ..Registration::new("pvc-protection-controller", &|context| Rc::new(Claims::new(context)))
};

/// The row of the controller of volumes.
pub const VOLUMES: Registration = Registration {
    watches: &[Kind::PersistentVolume],
    ..Registration::new("pv-protection-controller", &|context| Rc::new(Volumes::new(context)))
};

/// Keys are claims.
struct Claims {
    client: Client,
    queue: Queue,
    claims: Lister<PersistentVolumeClaim>,
    pods: Lister<Pod>,
    /// Since when claims wait for their turn.
    waiting: Memory<BTreeMap<Key, Instant>>,
    listed: Memory<Option<Listed>>,
}

/// The Pods of a namespace, as the API server has listed them.
#[derive(Clone)]
struct Listed {
    namespace: String,
    /// When it was asked: the answer will do for every claim that waited already.
    at: Instant,
    pods: Vec<Arc<Pod>>,
}

impl Claims {
    fn new(context: &ControllerContext) -> Claims {
        context.add_index::<Pod>(PODS_BY_CLAIM, claims_of);
        Claims {
            client: context.client.clone(),
            queue: context.queue.clone(),
            claims: context.lister(),
            pods: context.lister(),
            waiting: context.memory(BTreeMap::new()),
            listed: context.memory(None),
        }
    }

    fn enqueue(&self, key: Key) {
        self.waiting.borrow_mut().entry(key.clone()).or_insert(self.client.now());
        self.queue.add(key);
    }

    fn pod_changed(&self, pod: &Pod) {
        if !may_hold(pod) {
            self.enqueue_claims_of(pod);
        }
    }

    fn enqueue_claims_of(&self, pod: &Pod) {
        let namespace = pod.metadata.namespace();
        claim_names(pod).for_each(|claim| self.enqueue(Key::new(namespace, &claim)));
    }
}

impl Controller for Claims {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Deleted(Object::PersistentVolumeClaim(_)) => {}
            Change::Added(Object::PersistentVolumeClaim(claim))
            | Change::Updated { new: Object::PersistentVolumeClaim(claim), .. }
                if wanted(&claim.metadata, CLAIM_PROTECTION).is_some() =>
            {
                self.enqueue(change.key());
            }
            Change::Added(Object::Pod(pod)) => self.pod_changed(pod),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => {
                self.pod_changed(new);
                // After a gap in the watch: the one is gone, and the other has its name.
                if old.metadata.uid != new.metadata.uid {
                    self.enqueue_claims_of(old);
                }
            }
            Change::Deleted(Object::Pod(pod)) => self.enqueue_claims_of(pod),
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let since = self.waiting.borrow_mut().remove(&key);
        let result = self.release(&key, since).await;
        if self.waiting.borrow().is_empty() {
            self.listed.set(None);
        }
        result
    }
}

impl Claims {
    /// Mirrors `processPVC`.
    async fn release(&self, key: &Key, since: Option<Instant>) -> Result<(), Error> {
        let Some(claim) = self.claims.get(key) else { return Ok(()) };
        let Some(metadata) = wanted(&claim.metadata, CLAIM_PROTECTION) else { return Ok(()) };
        if claim.metadata.deletion_timestamp.is_some() && self.is_used(key, &claim, since).await? {
            return Ok(());
        }
        write(self.client.update(PersistentVolumeClaim { metadata, ..PersistentVolumeClaim::clone(&claim) }).await)
    }

    /// Whether a Pod that has a node uses the claim. The cache may say so; only the API server may say no.
    async fn is_used(&self, key: &Key, claim: &PersistentVolumeClaim, since: Option<Instant>) -> Result<bool, Error> {
        if self.pods.by_index(PODS_BY_CLAIM, &key.to_string()).iter().any(|pod| uses(pod, claim)) {
            return Ok(true);
        }
        let pods = self.list_pods(key.namespace(), since).await?;
        Ok(pods.iter().any(|pod| uses(pod, claim)))
    }

    /// Claims that go together are told from one list. Mirrors `LazyLivePodList`.
    async fn list_pods(&self, namespace: &str, since: Option<Instant>) -> Result<Vec<Arc<Pod>>, Error> {
        let will_do = |listed: &Listed| listed.namespace == namespace && since.is_some_and(|since| since < listed.at);
        if let Some(listed) = self.listed.borrow().as_ref().filter(|listed| will_do(listed)) {
            return Ok(listed.pods.clone());
        }
        let at = self.client.now();
        let pods = self.client.list::<Pod>(namespace, "").await?.items;
        self.listed.set(Some(Listed { namespace: namespace.to_owned(), at, pods: pods.clone() }));
        Ok(pods)
    }
}

/// Whether the Pod has a node and uses the claim. One that was made for the Pod holds it no longer when the Pod has shut
/// down, for its kubelet has only to take it off the list. Mirrors `podUsesPVC`.
fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    assigned_node(pod).is_some() && uses_of(pod, claim).any(|used| !(used.ephemeral && is_shut_down(pod)))
}

/// Whether nothing can come off the list on account of this Pod: it has a node and has not ended there.
fn may_hold(pod: &Pod) -> bool {
    assigned_node(pod).is_some() && !is_terminated(pod)
}

/// Mirrors `podIsShutDown`.
fn is_shut_down(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some() && pod.metadata.deletion_grace_period_seconds == Some(0)
}

/// Keys are volumes.
struct Volumes {
    client: Client,
    queue: Queue,
    volumes: Lister<PersistentVolume>,
}

impl Volumes {
    fn new(context: &ControllerContext) -> Volumes {
        Volumes { client: context.client.clone(), queue: context.queue.clone(), volumes: context.lister() }
    }
}

impl Controller for Volumes {
    fn on_change(&self, change: &Change) {
        if let Change::Added(Object::PersistentVolume(volume))
        | Change::Updated { new: Object::PersistentVolume(volume), .. } = change
            && wanted(&volume.metadata, VOLUME_PROTECTION).is_some()
        {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(volume) = self.volumes.get(&key) else { return Ok(()) };
        let Some(metadata) = wanted(&volume.metadata, VOLUME_PROTECTION) else { return Ok(()) };
        if volume.metadata.deletion_timestamp.is_some() && phase_of_volume(&volume) == "Bound" {
            return Ok(());
        }
        write(self.client.update(PersistentVolume { metadata, ..PersistentVolume::clone(&volume) }).await)
    }
}

/// The metadata that the object should have: with the finalizer while it lives, without when it is being deleted. None
/// if it has it.
pub(super) fn wanted(meta: &ObjectMeta, finalizer: &str) -> Option<ObjectMeta> {
    let there = has_finalizer(meta, finalizer);
    if there != meta.deletion_timestamp.is_some() {
        return None;
    }
    let mut new = meta.clone();
    let finalizers = new.finalizers.get_or_insert_default();
    match there {
        true => finalizers.retain(|name| name != finalizer),
        false => finalizers.push(finalizer.to_owned()),
    }
    Some(new)
}

pub(super) fn write<T>(result: Result<Arc<T>, wire::Error>) -> Result<(), Error> {
    match result {
        // It went by itself.
        Err(status) if status.is_not_found() => Ok(()),
        Err(status) => Err(status.into()),
        Ok(_) => Ok(()),
    }
}

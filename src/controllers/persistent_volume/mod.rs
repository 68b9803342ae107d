//! The volume binder: claims and volumes find each other.
//!
//! # How a change flows
//!
//! A user creates a PersistentVolumeClaim. [`claim`] looks for the smallest volume that will do ([`matching`]) and
//! binds the two in four writes ([`bind`]): the volume's spec, the volume's status, the claim's spec, the claim's
//! status. Any of them can be the last before a crash, and the next sync goes on from there. If there is no volume the
//! claim waits: for a Pod to be scheduled, if its class says so; for an external provisioner, which is asked by an
//! annotation; or for an administrator. [`volume`] looks from the other side: a volume whose claim is gone is Released,
//! and then kept or deleted as its policy says.
//!
//! # Must hold
//!
//! - A volume is promised to one claim: its `claimRef`, with the claim's uid, is the lock. Kept by
//!   `promises_made_by_hand_are_kept`.
//! - A claim is Bound only when both point at each other. Kept by `a_claim_is_bound_in_four_writes` and the property
//!   "a bound claim and its volume point at each other".
//! - A claim of a class that waits for its first consumer is matched by the scheduler, not here. Kept by
//!   `a_volume_that_waits_for_its_pod_comes_and_goes_in_order`.
//!
//! Mirrors `pkg/controller/volume/persistentvolume` (`pv_controller.go`, `index.go`).
//!
//! # Left out
//!
//! Provisioners inside this process, emptying a volume for the next claim (`Recycle`), attributes classes, what marks
//! volumes of drivers that were built in once (`pv.kubernetes.io/migrated-to`). All claims and volumes are looked at every 15
//! seconds in a real cluster; here, at the same instants, those about which there is something to tell.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::time::Instant;
use object::volume::{claim_key, volume_name};
use object::{Key, Kind, Object, Pod};

use super::volumes::{Newest, PODS_BY_CLAIM, claims_of};

mod bind;
mod claim;
pub mod matching;
mod volume;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::StorageClass, Kind::Pod],
    event_source: "persistentvolume-controller",
    ..Registration::new("persistent-volume-binder", &|context| Rc::new(Binder::new(context)))
};

/// How often everything is looked at anew. `PVClaimBinderSyncPeriod`.
const SYNC_PERIOD: Duration = Duration::from_secs(15);
const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";

/// Keys are claims, and volumes, which have no namespace.
struct Binder {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    claims: Newest<PersistentVolumeClaim>,
    volumes: Newest<PersistentVolume>,
    classes: Lister<StorageClass>,
    pods: Lister<Pod>,
    /// When its caches began to fill. The rounds of looking at everything are counted from there.
    started: Memory<Option<Instant>>,
}

impl Binder {
    fn new(context: &ControllerContext) -> Binder {
        context.add_index::<Pod>(PODS_BY_CLAIM, claims_of);
        context.add_index::<PersistentVolume>(matching::FREE, matching::free_of);
        let hub = context.client.hub();
        Binder {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            claims: Newest::new(hub, context.lister()),
            volumes: Newest::new(hub, context.lister()),
            classes: context.lister(),
            pods: context.lister(),
            started: context.memory(None),
        }
    }

    /// Looks at a claim or volume again in the next round. Mirrors `resync`.
    fn look_again(&self, key: Key) {
        let now = self.client.now();
        let started = *self.started.borrow_mut().get_or_insert(now);
        self.queue.add_after_background(key, now.until_round(started, SYNC_PERIOD));
    }
}

impl Controller for Binder {
    fn on_change(&self, change: &Change) {
        self.started.borrow_mut().get_or_insert(self.client.now());
        match change {
            Change::Deleted(Object::PersistentVolume(volume)) => {
                claim_key(volume).into_iter().for_each(|claim| self.queue.add(claim));
            }
            Change::Deleted(Object::PersistentVolumeClaim(claim)) if !volume_name(claim).is_empty() => {
                self.queue.add(Key::new("", volume_name(claim)));
            }
            Change::Deleted(_) => {}
            _ if matches!(change.kind(), Kind::PersistentVolume | Kind::PersistentVolumeClaim) => {
                self.queue.add(change.key());
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        if key.namespace().is_empty() {
            return match self.volumes.get(&key) {
                Some(volume) => self.sync_volume(volume).await,
                None => Ok(()),
            };
        }
        match self.claims.get(&key) {
            Some(claim) => self.sync_claim(claim).await,
            None => Ok(()),
        }
    }
}

/// A copy to change.
fn copy<T: Clone>(object: &Arc<T>) -> T {
    T::clone(object)
}

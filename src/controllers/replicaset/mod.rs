//! The ReplicaSet controller: keeps as many Pods as a ReplicaSet asks for.
//!
//! # How a change flows
//!
//! A ReplicaSet says `replicas: 3`, a selector and a template. The controller watches ReplicaSets and Pods. On any
//! change of a Pod, its handler puts the key of the ReplicaSet that owns it into the queue (for a Pod without an owner:
//! of every ReplicaSet that selects it). A worker takes the key and *reconciles*:
//!
//! 1. **Which Pods are mine?** From the cache, the ones with an owner reference to this ReplicaSet and the ones with
//!    none. [Claiming](super::claim) adopts and releases. Pods that ended or are being deleted do not count
//!    ([`claimed`]).
//! 2. **Too few or too many?** The difference to `spec.replicas` is created in growing batches, or deleted
//!    ([`manage`]); whom to delete is a question of [`rank`].
//! 3. **What is there now?** The counts go into the status ([`status`]), as they were *before* step 2: what was just
//!    created is not in the cache yet. Its watch event brings the key back, and so the next counts.
//!
//! It does not remember what it did: each reconcile compares the world, as the cache has it, with what is asked for.
//! The cache may be old, though, and here that would cost Pods: a worker that counts before the last three have arrived
//! creates three more. Two guards prevent it. *Expectations* ([`super::expectations`]) stop creation and deletion until
//! all that was asked for has been seen; the *consistency guard* ([`super::consistency`]) stops the whole reconcile until
//! the cache has come as far as this controller's own last write.
//!
//! # Must hold
//!
//! - No Pod is created or deleted while an expectation is open. Kept by `no_order_of_events_makes_a_pod_too_many` and
//!   the property "no ReplicaSet ever has more Pods than it asks for".
//! - A Pod of another controller is never touched. Kept by `who_owns_what` and
//!   `pods_that_go_are_replaced_and_pods_that_differ_are_released`.
//! - The status is written even when creating failed: that is where people learn of it. Kept by
//!   `pods_that_cannot_be_made_are_told_in_the_status`.
//!
//! ReplicationControllers are kept by the same code, as in Kubernetes: the controller is generic over what asks for the
//! Pods ([`replicated`]), and has a row in the table for each of the two kinds.
//!
//! Mirrors `pkg/controller/replicaset/replica_set.go` and `replica_set_utils.go`, and `pkg/controller/replication`.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::ReplicationController;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::meta::controller_of;
use object::pod::is_ready;
use object::selector::Selector;
use object::time::Instant;
use object::{Key, Kind, Object, Pod};

use super::claim;
use super::consistency::Consistency;
use super::expectations::Expectations;
use super::pods::{self, BY_CONTROLLER, PodControl, index_by_controller};
use super::service_pods::{BY_LABEL, index_by_label};

mod census;
pub mod claimed;
mod manage;
pub mod rank;
pub mod replicated;
pub mod status;

use census::Census;
use claimed::ClaimedPods;
use replicated::Replicated;

/// The row of the ReplicaSet controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::ReplicaSet, Kind::Pod],
    workers: 5,
    ..Registration::new("replicaset-controller", &|context| Rc::new(ReplicaSets::<ReplicaSet>::new(context)))
};

/// The row of the ReplicationController controller.
pub const REPLICATION: Registration = Registration {
    watches: &[Kind::ReplicationController, Kind::Pod],
    workers: 5,
    ..Registration::new("replication-controller", &|context| {
        Rc::new(ReplicaSets::<ReplicationController>::new(context))
    })
};

/// The controller of ReplicaSets, or of another kind that asks for Pods as they do.
pub struct ReplicaSets<T> {
    client: Client,
    pod_control: PodControl,
    queue: Queue,
    replica_sets: Lister<T>,
    pods: Lister<Pod>,
    census: Census,
    expectations: Expectations,
    consistency: Consistency,
    rule: Rc<Rule<T>>,
}

/// Decides, for each Pod, whether the ReplicaSet keeps, adopts, releases or ignores it.
pub type Rule<T> = dyn Fn(&T, &Selector, &Pod) -> claim::Verdict;

impl<T: Replicated> ReplicaSets<T> {
    /// The controller, on these caches.
    pub fn new(context: &ControllerContext) -> ReplicaSets<T> {
        let rule = |rs: &T, selector: &Selector, pod: &Pod| claim::verdict(rs.metadata(), selector, &pod.metadata);
        ReplicaSets::with_rule(context, Rc::new(rule))
    }

    /// One that claims Pods by a rule of its own.
    pub fn with_rule(context: &ControllerContext, rule: Rc<Rule<T>>) -> ReplicaSets<T> {
        context.add_index::<Pod>(BY_CONTROLLER, index_by_controller);
        context.add_index::<Pod>(BY_LABEL, index_by_label);
        context.add_index::<T>(BY_CONTROLLER, index_by_controller);
        ReplicaSets {
            client: context.client.clone(),
            pod_control: PodControl { client: context.client.clone(), recorder: context.recorder.clone() },
            queue: context.queue.clone(),
            replica_sets: context.lister(),
            pods: context.lister(),
            census: Census::of_cache(context, T::kind()),
            expectations: Expectations::new(context.client.hub()),
            consistency: Consistency::new(context.client.hub()),
            rule,
        }
    }
}

impl<T: Replicated> Controller for ReplicaSets<T> {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::Pod(pod)) => self.pod_added(pod),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => self.pod_updated(old, new),
            Change::Deleted(Object::Pod(pod)) => self.pod_deleted(pod),
            other => self.replica_set_changed(other),
        }
    }

    /// One reconcile. Mirrors `syncReplicaSet`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let caches = [(T::kind(), self.replica_sets.revision()), (Kind::Pod, self.pods.revision())];
        self.consistency.ensure_ready(&key, &caches)?;
        let Some(rs) = self.replica_sets.get(&key) else {
            self.expectations.forget(&key);
            self.consistency.forget(&key);
            return Ok(());
        };
        let may_act = self.expectations.satisfied(&key, self.client.now());
        // An invalid selector cannot be mended by trying again.
        let Ok(selector) = rs.selector() else { return Ok(()) };

        let pods = self.claim_pods(&key, &rs, &selector).await?;
        let managed = if may_act && rs.metadata().deletion_timestamp.is_none() {
            self.manage_replicas(&key, &rs, &selector, &pods).await
        } else {
            Ok(())
        };

        // Written even when managing failed, and even when it was not tried.
        let now = self.client.now();
        let status = status::calculate(&*rs, &pods, managed.as_ref().err(), now);
        let updated = self.update_status(&key, &rs, status).await?;
        managed?;
        self.plan_availability_check(&key, &updated, &pods, now);
        Ok(())
    }
}

impl<T: Replicated> ReplicaSets<T> {
    /// Notes what was written for the guard, if the kind has it.
    fn wrote(&self, key: &Key, kind: Kind, resource_version: Option<&str>) {
        if T::MODERN {
            self.consistency.wrote(key, kind, resource_version);
        }
    }

    /// A Pod that is ready becomes available by the mere passing of time, which no watch tells.
    fn plan_availability_check(&self, key: &Key, rs: &T, claimed: &ClaimedPods, counted: Instant) {
        let min_ready = rs.min_ready_seconds();
        let Some(status) = rs.status() else { return };
        if min_ready > 0 && status.ready_replicas.unwrap_or(0) != status.available_replicas.unwrap_or(0) {
            let next = pods::next_availability_check(&claimed.waiting, min_ready, counted, self.client.now());
            self.queue.add_after(key.clone(), next.unwrap_or(pods::seconds(min_ready)));
        }
    }
}

/// The handlers: they compute keys and touch expectations.
impl<T: Replicated> ReplicaSets<T> {
    fn replica_set_changed(&self, change: &Change) {
        match change {
            // The same name with another uid: the old one was deleted while the watch was interrupted.
            Change::Updated { old, new } if old.meta().uid != new.meta().uid => self.replica_set_deleted(old),
            Change::Deleted(old) => self.replica_set_deleted(old),
            Change::Added(_) | Change::Updated { .. } => {}
        }
        self.queue.add(change.key());
    }

    fn replica_set_deleted(&self, old: &Object) {
        let key = Key::of(old);
        self.expectations.forget(&key);
        self.consistency.forget(&key);
    }

    fn pod_added(&self, pod: &Pod) {
        // After a restart Pods may show up that are being deleted already.
        if pod.metadata.deletion_timestamp.is_some() {
            return self.pod_deleted(pod);
        }
        match controller_of(&pod.metadata) {
            Some(owner) => {
                if let Some(rs) = self.resolve(pod, owner) {
                    let key = Key::of_meta(rs.metadata());
                    self.expectations.creation_observed(&key);
                    self.queue.add(key);
                }
            }
            None => self.enqueue_selecting(pod),
        }
    }

    fn pod_updated(&self, old: &Pod, new: &Pod) {
        if old.metadata.resource_version == new.metadata.resource_version {
            return;
        }
        let labels_changed = old.metadata.labels != new.metadata.labels;
        if new.metadata.deletion_timestamp.is_some() {
            // Do not wait for the Pod to go: its replacement may be made now.
            self.pod_deleted(new);
            if labels_changed {
                self.pod_deleted(old);
            }
            return;
        }
        let (old_owner, new_owner) = (controller_of(&old.metadata), controller_of(&new.metadata));
        if old_owner != new_owner
            && let Some(rs) = old_owner.and_then(|owner| self.resolve(old, owner))
        {
            self.queue.add(Key::of_meta(rs.metadata()));
        }
        match new_owner {
            Some(owner) => {
                let Some(rs) = self.resolve(new, owner) else { return };
                let key = Key::of_meta(rs.metadata());
                self.queue.add(key.clone());
                let min_ready = rs.min_ready_seconds();
                if min_ready > 0 && !is_ready(old) && is_ready(new) {
                    self.queue.add_after(key, pods::seconds(min_ready));
                }
            }
            None if labels_changed || old_owner != new_owner => self.enqueue_selecting(new),
            None => {}
        }
    }

    fn pod_deleted(&self, pod: &Pod) {
        let Some(owner) = controller_of(&pod.metadata) else { return };
        if let Some(rs) = self.resolve(pod, owner) {
            let key = Key::of_meta(rs.metadata());
            self.expectations.deletion_of_observed(&key, &Key::of_meta(&pod.metadata));
            self.queue.add(key);
        }
    }

    fn resolve(&self, pod: &Pod, owner: &OwnerReference) -> Option<Arc<T>> {
        pods::resolve(&self.replica_sets, &pod.metadata, owner)
    }

    /// The Pod has no owner: every ReplicaSet that selects it may adopt it.
    fn enqueue_selecting(&self, pod: &Pod) {
        let those = pods::selecting(&self.replica_sets, &pod.metadata, |rs, labels| rs.wants(labels));
        those.into_iter().for_each(|key| self.queue.add(key));
    }
}

//! The StatefulSet controller: Pods with names, in order.
//!
//! # How it differs from a ReplicaSet
//!
//! A ReplicaSet's Pods are all alike; here each has an identity. Pod `db-1` has its name, its host name and its own claims
//! ([`identity`]), and when it goes the next `db-1` gets the same ones. So two must never exist at once, and the
//! controller waits where a ReplicaSet does not: until the *object* of the old Pod is gone, for only then has the kubelet
//! said that nothing of it runs any more.
//!
//! # One reconcile
//!
//! 1. **Revisions.** The present template is a ControllerRevision; there is the one that is being left (`current`) and the
//!    one that is rolled out (`update`) ([`revisions`]).
//! 2. **From the lowest number up:** a missing Pod is made, of the revision that its number has now. With `OrderedReady`
//!    everything stops at the first Pod that is not running and ready; with `Parallel` it does not.
//! 3. **From the highest number down:** a Pod beyond `replicas` is deleted, one at a time.
//! 4. **From the highest number down again:** a Pod that is not of the update revision is deleted, one at a time, as far
//!    down as the partition ([`step`]). The next reconcile makes it anew.
//! 5. **Status**, from what the cache showed at the beginning ([`status`]).
//!
//! No expectations are needed: a Pod that is created twice has the same name twice, and the API server refuses it.
//!
//! # Must hold
//!
//! - There is never more than one Pod of a number, and a number's Pod is made only when the one before is gone. Kept
//!   by the property "a Pod of one name runs on one node at a time".
//! - With `OrderedReady` no Pod is made, deleted or updated while another is not ready, but for the one itself. Kept
//!   by `a_stateful_set_updates_one_pod_at_a_time_whatever_it_asks`.
//!
//! Mirrors `pkg/controller/statefulset`.
//!
//! # Left out
//!
//! `maxUnavailable` above one, which is behind a gate that is off by default (the API server drops the field).

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Recorder, Registration};
use object::meta::controller_of;
use object::pod::is_ready;
use object::selector::Selector;
use object::time::Instant;
use object::{Key, Kind, Object, Pod};

use super::claim::Claimer;
use super::consistency::Consistency;
use super::pods::{self, BY_CONTROLLER, index_by_controller, orphans_of, owned_by, seconds};

mod claims;
pub mod identity;
mod pod_control;
mod revisions;
mod status;
mod step;

use identity::ordinal_of;

/// The row of the StatefulSet controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::StatefulSet, Kind::Pod, Kind::ControllerRevision, Kind::PersistentVolumeClaim],
    workers: 5,
    ..Registration::new("statefulset-controller", &|context| Rc::new(StatefulSets::new(context)))
};

/// The controller of StatefulSets.
pub struct StatefulSets {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    sets: Lister<StatefulSet>,
    pods: Lister<Pod>,
    revisions: Lister<ControllerRevision>,
    claims: Lister<PersistentVolumeClaim>,
    consistency: Consistency,
}

/// What a reconcile works on.
pub(super) struct Sync {
    key: Key,
    set: Arc<StatefulSet>,
    spec: StatefulSetSpec,
    /// The Pods that are there, by number.
    pods: BTreeMap<i32, Arc<Pod>>,
    /// As of when they are judged.
    now: Instant,
}

impl Sync {
    fn min_ready_seconds(&self) -> i32 {
        self.spec.min_ready_seconds.unwrap_or(0)
    }

    /// Whether one thing is done after another.
    fn is_ordered(&self) -> bool {
        self.spec.pod_management_policy.as_deref() != Some("Parallel")
    }
}

impl StatefulSets {
    /// The controller, on these caches.
    pub fn new(context: &ControllerContext) -> StatefulSets {
        context.add_index::<Pod>(BY_CONTROLLER, index_by_controller);
        context.add_index::<ControllerRevision>(BY_CONTROLLER, index_by_controller);
        StatefulSets {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            sets: context.lister(),
            pods: context.lister(),
            revisions: context.lister(),
            claims: context.lister(),
            consistency: Consistency::new(context.client.hub()),
        }
    }
}

impl Controller for StatefulSets {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::Pod(pod)) if pod.metadata.deletion_timestamp.is_some() => self.pod_deleted(pod),
            Change::Added(Object::Pod(pod)) => self.pod_changed(None, pod),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => self.pod_changed(Some(old), new),
            Change::Deleted(Object::Pod(pod)) => self.pod_deleted(pod),
            other if other.kind() == Kind::StatefulSet => self.queue.add(other.key()),
            _ => {}
        }
    }

    /// One reconcile. Mirrors `sync` and `performUpdate`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let caches = [
            (Kind::StatefulSet, self.sets.revision()),
            (Kind::Pod, self.pods.revision()),
            (Kind::PersistentVolumeClaim, self.claims.revision()),
        ];
        self.consistency.ensure_ready(&key, &caches)?;
        let Some(set) = self.sets.get(&key) else {
            self.consistency.forget(&key);
            return Ok(());
        };
        let spec = set.spec.clone().unwrap_or_default();
        // An invalid selector cannot be mended by trying again.
        let Ok(selector) = Selector::of(&spec.selector) else { return Ok(()) };
        let revisions = self.claim_revisions(&key, &set, &selector).await?;
        let pods = self.claim_pods(&key, &set, &selector).await?;
        let context = Sync { key, set, spec, pods, now: self.client.now() };
        let history = self.history(&context, revisions).await?;
        let mut status = self.survey(&context, &history);
        let stepped = self.step(&context, &history, &mut status).await;
        let all_available = status.ready_replicas.unwrap_or(0) == status.available_replicas.unwrap_or(0);
        let told = self.store_status(&context, status).await;
        // The history is kept short even if an earlier step failed.
        let truncated = self.truncate_history(&context, &history).await;
        stepped.and(told).and(truncated)?;
        // A Pod becomes available by the mere passing of time, which no watch tells.
        let min_ready = context.min_ready_seconds();
        if min_ready > 0 && !all_available {
            let pods = context.pods.values();
            let next = pods::next_availability_check(pods, min_ready, context.now, self.client.now());
            self.queue.add_after(context.key, next.unwrap_or(seconds(min_ready)));
        }
        Ok(())
    }
}

impl StatefulSets {
    /// The StatefulSet's Pods, after adoption and release. Only those whose names say so can be its own.
    async fn claim_pods(
        &self,
        key: &Key,
        set: &Arc<StatefulSet>,
        selector: &Selector,
    ) -> Result<BTreeMap<i32, Arc<Pod>>, Error> {
        let mut candidates = self.pods.by_index(BY_CONTROLLER, &owned_by(&**set));
        candidates.extend(self.pods.by_index(BY_CONTROLLER, &orphans_of(key.namespace())));
        candidates.retain(|pod| ordinal_of(key.name(), pod).is_some());
        let (owner, patched) = (&**set, |version: Option<&str>| self.consistency.wrote(key, Kind::Pod, version));
        let claimer = Claimer { client: &self.client, owner, selector, finalizers: &[], patched: &patched };
        let pods = claimer.claim(candidates).await?;
        Ok(pods.into_iter().filter_map(|pod| Some((ordinal_of(key.name(), &pod)?, pod))).collect())
    }
}

/// The handlers: they compute keys.
impl StatefulSets {
    fn pod_changed(&self, old: Option<&Pod>, pod: &Pod) {
        if old.is_some_and(|old| old.metadata.resource_version == pod.metadata.resource_version) {
            return;
        }
        let old_owner = old.and_then(|old| controller_of(&old.metadata));
        let owner = controller_of(&pod.metadata);
        if let Some(set) = old_owner.filter(|old| Some(*old) != owner).and_then(|owner| self.resolve(pod, owner)) {
            self.queue.add(Key::of_meta(&set.metadata));
        }
        let Some(owner) = owner else {
            let same = old.is_some_and(|old| old.metadata.labels == pod.metadata.labels && old_owner.is_none());
            if !same {
                self.enqueue_selecting(pod);
            }
            return;
        };
        let Some(set) = self.resolve(pod, owner) else { return };
        let key = Key::of_meta(&set.metadata);
        self.queue.add(key.clone());
        let min_ready = set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
        if min_ready > 0 && is_ready(pod) && old.is_some_and(|old| !is_ready(old)) {
            self.queue.add_after(key, seconds(min_ready));
        }
    }

    fn pod_deleted(&self, pod: &Pod) {
        if let Some(set) = controller_of(&pod.metadata).and_then(|owner| self.resolve(pod, owner)) {
            self.queue.add(Key::of_meta(&set.metadata));
        }
    }

    fn resolve(&self, pod: &Pod, owner: &OwnerReference) -> Option<Arc<StatefulSet>> {
        pods::resolve(&self.sets, &pod.metadata, owner)
    }

    /// The Pod has no owner: every StatefulSet that selects it may adopt it.
    fn enqueue_selecting(&self, pod: &Pod) {
        let wants = |set: &StatefulSet, labels: &BTreeMap<String, String>| {
            let selector = Selector::of_option(set.spec.as_ref().map(|spec| &spec.selector));
            selector.is_ok_and(|selector| !selector.is_everything() && selector.matches(Some(labels)))
        };
        pods::selecting(&self.sets, &pod.metadata, wants).into_iter().for_each(|key| self.queue.add(key));
    }
}

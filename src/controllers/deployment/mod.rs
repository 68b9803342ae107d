//! The Deployment controller: moves Pods from one template to the next, a few at a time.
//!
//! # How a change flows
//!
//! A Deployment owns ReplicaSets, one for each Pod template it ever had, named after a [hash](object::template) of the
//! template. It never touches a Pod: it only says how large each ReplicaSet should be, and the ReplicaSet controller
//! does the rest. A rollout is two numbers that change places.
//!
//! The controller watches Deployments, ReplicaSets and Pods (of Pods only deletions). Any change of a ReplicaSet,
//! above all of its status, queues its Deployment. One reconcile then reads:
//!
//! 1. **Which ReplicaSets are mine?** Claimed as the ReplicaSet controller claims Pods ([`super::claim`]). The one
//!    with the Deployment's own template is the *new* one, all others are *old*.
//! 2. **Paused, or resized?** Then the size is spread over the ReplicaSets there are ([`scale`]), and no rollout
//!    moves.
//! 3. **Otherwise the strategy.** [`rolling`]: make the new ReplicaSet if it is missing; let it grow into the surge,
//!    *or else* let the old ones shrink as far as enough Pods stay available. One of the two a reconcile: what it
//!    wrote comes back by the watch, and so does the key. [`recreate`]: first all old Pods go, then new ones come.
//! 4. **What is there now?** Counts and conditions go into the status ([`status`]).
//!
//! The numbers are in [`arithmetic`], the annotations that remember revisions in [`revision`].
//!
//! # 409 as a matter of course
//!
//! A reconcile works on the Deployment as the cache had it when it began, and drops the answers to its writes. So a
//! second write of the same object in one reconcile carries an old resourceVersion and is refused; the reconcile
//! fails, and 5 ms later runs again on a newer cache. The first reconcile of every new Deployment goes this way:
//! ReplicaSet created, status written (a revision, a condition), status written again (the counts), 409. The API
//! server's refusal is what makes it safe, and the queue what makes it work.
//!
//! # Must hold
//!
//! - While it rolls there are never more than `replicas + maxSurge` Pods asked for, nor, as far as the controller can
//!   help it, fewer than `replicas - maxUnavailable` available. Kept by `a_rolling_update_takes_turns`,
//!   `the_new_one_grows_into_the_surge` and `the_old_ones_wait_for_the_new`.
//! - Equal templates find the same ReplicaSet, so going back to an old template brings back its ReplicaSet. Kept by
//!   `the_oldest_equal_one_is_the_new_one` and `a_bad_rollout_times_out_and_is_undone`.
//!
//! Mirrors `pkg/controller/deployment`: `deployment_controller.go`, `sync.go`, `rolling.go`, `recreate.go`,
//! `rollback.go`, `progress.go` and `util/deployment_util.go`.
//!
//! # Left out
//!
//! - When a Pod of a `Recreate` Deployment is deleted, Kubernetes lists the ReplicaSets from the API server within the
//!   handler (`deletePod`); here the handler looks into the cache, as all handlers do.
//! - Logging.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use object::meta::controller_of;
use object::selector::{Selector, is_empty, selects};
use object::{Key, Kind, Object, Pod};

use super::claim::Claimer;
use super::pods::{self, BY_CONTROLLER, index_by_controller, orphans_of, owned_by};

pub mod arithmetic;
mod new_replica_set;
mod recreate;
pub mod revision;
mod rollback;
pub mod rolling;
mod scale;
pub mod status;

/// The row of the Deployment controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Deployment, Kind::ReplicaSet, Kind::Pod],
    workers: 5,
    max_retries: Some(15),
    ..Registration::new("deployment-controller", &|context| Rc::new(Deployments::new(context)))
};

/// The Deployment controller.
pub struct Deployments {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    deployments: Lister<Deployment>,
    replica_sets: Lister<ReplicaSet>,
    pods: Lister<Pod>,
    /// The arithmetic of rolling updates, if it is not the one here.
    sizes: Option<Rc<rolling::Arithmetic>>,
}

/// A Deployment's ReplicaSets.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    /// The one with the Deployment's template, if there is one.
    pub new: Option<Arc<ReplicaSet>>,
    /// All others, oldest first.
    pub old: Vec<Arc<ReplicaSet>>,
}

impl Sets {
    /// All of them, the new one last.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ReplicaSet>> {
        self.old.iter().chain(&self.new)
    }

    /// Those that ask for Pods, the new one last. Mirrors `FilterActiveReplicaSets`.
    pub fn active(&self) -> impl Iterator<Item = &Arc<ReplicaSet>> {
        self.all().filter(|rs| arithmetic::size(rs) > 0)
    }

    /// The sizes of all together.
    pub fn total_size(&self) -> i32 {
        self.all().map(|rs| arithmetic::size(rs)).fold(0, i32::saturating_add)
    }
}

impl Deployments {
    /// The controller, on these caches.
    pub fn new(context: &ControllerContext) -> Deployments {
        context.add_index::<Pod>(BY_CONTROLLER, index_by_controller);
        context.add_index::<ReplicaSet>(BY_CONTROLLER, index_by_controller);
        Deployments {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            deployments: context.lister(),
            replica_sets: context.lister(),
            pods: context.lister(),
            sizes: None,
        }
    }

    /// The controller with another arithmetic of rolling updates.
    pub fn with_arithmetic(context: &ControllerContext, sizes: Rc<rolling::Arithmetic>) -> Deployments {
        Deployments { sizes: Some(sizes), ..Deployments::new(context) }
    }

    /// One reconcile. Mirrors `syncDeployment`.
    async fn sync(&self, key: Key) -> Result<(), Error> {
        let Some(cached) = self.deployments.get(&key) else { return Ok(()) };
        // The reconcile's own copy: what it changes in it is sent to the API server, never seen in the cache.
        let d = &mut (*cached).clone();
        let Some(spec) = &d.spec else { return Ok(()) };
        if is_empty(&spec.selector) {
            return self.refuse_selecting_all(d).await;
        }
        // Validation lets no invalid selector through.
        let Ok(selector) = Selector::of(&spec.selector) else { return Ok(()) };
        let paused = spec.paused == Some(true);

        let owned = self.claim_replica_sets(&key, d, &selector).await?;
        if d.metadata.deletion_timestamp.is_some() {
            return self.sync_status_only(d, &owned).await;
        }
        self.check_paused_condition(d, paused).await?;
        if paused {
            return self.sync_size(d, &owned, paused).await;
        }
        if let Some(revision) = revision::rollback_to(d) {
            return self.roll_back(d, &owned, revision).await;
        }
        if self.is_scaling_event(d, &owned).await? {
            return self.sync_size(d, &owned, paused).await;
        }
        match arithmetic::strategy(d) {
            "Recreate" => self.rollout_recreate(d, &owned).await,
            "RollingUpdate" => self.rollout_rolling(d, &owned).await,
            other => Err(Error::Other(format!("unexpected deployment strategy type: {other}"))),
        }
    }

    async fn refuse_selecting_all(&self, d: &mut Deployment) -> Result<(), Error> {
        const MESSAGE: &str = "This deployment is selecting all pods. A non-empty selector is required.";
        self.recorder.event(d, EventType::Warning, "SelectingAll", MESSAGE);
        let status = d.status.get_or_insert_default();
        if status.observed_generation.unwrap_or(0) < d.metadata.generation.unwrap_or(0) {
            status.observed_generation = d.metadata.generation;
            // Whether this succeeds makes no difference.
            let _ = self.put_status(d).await;
        }
        Ok(())
    }

    /// The ReplicaSets that the Deployment has, oldest first. Mirrors `getReplicaSetsForDeployment`.
    async fn claim_replica_sets(
        &self,
        key: &Key,
        d: &Deployment,
        selector: &Selector,
    ) -> Result<Vec<Arc<ReplicaSet>>, Error> {
        let mut candidates = self.replica_sets.by_index(BY_CONTROLLER, &owned_by(d));
        candidates.extend(self.replica_sets.by_index(BY_CONTROLLER, &orphans_of(key.namespace())));
        let claimer = Claimer { client: &self.client, owner: d, selector, finalizers: &[], patched: &|_| {} };
        let mut claimed = claimer.claim(candidates).await?;
        claimed.sort_by(|a, b| revision::by_creation(a, b));
        Ok(claimed)
    }

    /// A Deployment that is being deleted is watched, not moved. Mirrors `syncStatusOnly`.
    async fn sync_status_only(&self, d: &mut Deployment, owned: &[Arc<ReplicaSet>]) -> Result<(), Error> {
        let sets = self.sets(d, owned, false).await?;
        self.sync_status(d, &sets).await
    }

    /// A pause is told in the condition Progressing, unless the deadline has passed already.
    /// Mirrors `checkPausedConditions`.
    async fn check_paused_condition(&self, d: &mut Deployment, paused: bool) -> Result<(), Error> {
        if status::progress_deadline(d).is_none() {
            return Ok(());
        }
        let progressing = status::find(d.status.as_ref(), status::PROGRESSING);
        let (reason, message) = match (paused, progressing.and_then(|condition| condition.reason.as_deref())) {
            (_, Some(status::reason::TIMED_OUT)) | (true, Some(status::reason::PAUSED)) => return Ok(()),
            (true, _) => (status::reason::PAUSED, "Deployment is paused"),
            (false, Some(status::reason::PAUSED)) => (status::reason::RESUMED, "Deployment is resumed"),
            (false, _) => return Ok(()),
        };
        let condition = status::condition(status::PROGRESSING, "Unknown", reason, message, self.client.now());
        status::set(d.status.get_or_insert_default(), condition);
        self.put_status(d).await
    }
}

/// The handlers: they compute keys.
impl Deployments {
    fn replica_set_added(&self, rs: &ReplicaSet) {
        match controller_of(&rs.metadata) {
            Some(owner) => self.enqueue_owner(&rs.metadata, owner),
            // After a restart one may show up that is being deleted already; no Deployment will adopt it.
            None if rs.metadata.deletion_timestamp.is_some() => {}
            None => self.enqueue_selecting(&rs.metadata),
        }
    }

    fn replica_set_updated(&self, old: &ReplicaSet, new: &ReplicaSet) {
        if old.metadata.resource_version == new.metadata.resource_version {
            return;
        }
        let (old_owner, new_owner) = (controller_of(&old.metadata), controller_of(&new.metadata));
        if old_owner != new_owner
            && let Some(owner) = old_owner
        {
            self.enqueue_owner(&old.metadata, owner);
        }
        match new_owner {
            Some(owner) => self.enqueue_owner(&new.metadata, owner),
            None if old_owner.is_some() || old.metadata.labels != new.metadata.labels => {
                self.enqueue_selecting(&new.metadata);
            }
            None => {}
        }
    }

    fn replica_set_deleted(&self, rs: &ReplicaSet) {
        if let Some(owner) = controller_of(&rs.metadata) {
            self.enqueue_owner(&rs.metadata, owner);
        }
    }

    /// `Recreate` waits for the last old Pod to be gone, and this is how it learns of it.
    fn pod_deleted(&self, pod: &Pod) {
        let Some(d) = self.deployment_of(pod) else { return };
        if arithmetic::strategy(&d) == "Recreate" && self.pods_of(&d).next().is_none() {
            self.queue.add(Key::of_meta(&d.metadata));
        }
    }

    /// Mirrors `getDeploymentForPod`.
    fn deployment_of(&self, pod: &Pod) -> Option<Arc<Deployment>> {
        let rs = pods::resolve(&self.replica_sets, &pod.metadata, controller_of(&pod.metadata)?)?;
        self.resolve(&rs.metadata, controller_of(&rs.metadata)?)
    }

    /// The Pods of the Deployment's ReplicaSets.
    fn pods_of(&self, d: &Deployment) -> impl Iterator<Item = Arc<Pod>> {
        let sets = self.replica_sets.by_index(BY_CONTROLLER, &owned_by(d));
        sets.into_iter().flat_map(|rs| self.pods.by_index(BY_CONTROLLER, &owned_by(&*rs)))
    }

    /// The cached Deployment that `owner` means, if it is still the same one. Mirrors `resolveControllerRef`.
    fn resolve(&self, child: &ObjectMeta, owner: &OwnerReference) -> Option<Arc<Deployment>> {
        pods::resolve(&self.deployments, child, owner)
    }

    fn enqueue_owner(&self, child: &ObjectMeta, owner: &OwnerReference) {
        if let Some(d) = self.resolve(child, owner) {
            self.queue.add(Key::of_meta(&d.metadata));
        }
    }

    /// The ReplicaSet has no owner: every Deployment that selects it may adopt it.
    /// Mirrors `getDeploymentsForReplicaSet`.
    fn enqueue_selecting(&self, rs: &ObjectMeta) {
        let Some(labels) = rs.labels.as_ref().filter(|labels| !labels.is_empty()) else { return };
        for d in self.deployments.list_namespace(rs.namespace.as_deref().unwrap_or_default()) {
            let selector = d.spec.as_ref().map(|spec| &spec.selector);
            if selector.is_some_and(|selector| !is_empty(selector) && selects(selector, Some(labels))) {
                self.queue.add(Key::of_meta(&d.metadata));
            }
        }
    }
}

impl Controller for Deployments {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::ReplicaSet(rs)) => self.replica_set_added(rs),
            Change::Updated { old: Object::ReplicaSet(old), new: Object::ReplicaSet(new) } => {
                self.replica_set_updated(old, new);
            }
            Change::Deleted(Object::ReplicaSet(rs)) => self.replica_set_deleted(rs),
            Change::Deleted(Object::Pod(pod)) => self.pod_deleted(pod),
            Change::Added(Object::Pod(_)) | Change::Updated { new: Object::Pod(_), .. } => {}
            deployment => self.queue.add(deployment.key()),
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        match self.sync(key).await {
            // Nothing can be made in a namespace that is going away; trying again would not help.
            Err(Error::Api(status)) if status.is_namespace_terminating() => Ok(()),
            result => result,
        }
    }
}

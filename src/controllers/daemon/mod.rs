//! The DaemonSet controller: one Pod on every node that may have it.
//!
//! # How it works
//!
//! A DaemonSet has no number of replicas: the nodes are the number. The controller watches DaemonSets, Pods, nodes and
//! ControllerRevisions, and a reconcile goes through the nodes:
//!
//! 1. **Which template is the present one?** Each template is kept in a ControllerRevision, whose hash the Pods bear
//!    ([`revisions`], [`super::history`]).
//! 2. **What is on each node?** A node that should have a Pod and has none gets one, made for it by a node affinity on
//!    its name ([`nodes`]); the scheduler binds it like any other. A failed Pod is deleted, and so is one on a node that
//!    may not have it ([`manage`]).
//! 3. **Which Pods are from an old template?** With `RollingUpdate` some are deleted, or (`maxSurge`) get a new one beside
//!    them first ([`update`]). With `OnDelete` they stay until a user deletes them.
//! 4. **What is there now?** ([`status`])
//!
//! # Must hold
//!
//! - No Pod is made or deleted while an expectation is open, and none of another owner is touched. Kept by
//!   `a_daemon_set_that_waits_writes_its_status_for_nothing` and `strangers_of_the_same_labels_crowd_a_node`.
//! - Without surge no node ever gets a second Pod while the first may run: the new one is made when the old one's
//!   containers have ended, though its object may still be there. Kept by the property "no node has two Pods of a
//!   DaemonSet that does not surge".
//! - During an update no more than `maxUnavailable` nodes are without an available Pod by the controller's doing.
//!   Kept by `so_many_old_pods_go_as_may_be_unavailable`.
//!
//! Mirrors `pkg/controller/daemon`.
//!
//! # Left out
//!
//! A change of a node looks at all DaemonSets at once, where Kubernetes has a second queue for nodes.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, DaemonSetSpec};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::meta::controller_of;
use object::node::taints_of;
use object::pod::{assigned_node, is_ready};
use object::selector::Selector;
use object::time::Instant;
use object::{Accessor, Key, Kind, Object, Pod};

use super::claim::Claimer;
use super::consistency::Consistency;
use super::expectations::Expectations;
use super::pods::{self, BY_CONTROLLER, PodControl, index_by_controller, orphans_of, owned_by};

mod manage;
pub mod nodes;
mod revisions;
mod status;
mod update;

use nodes::{Fit, fit};

/// The row of the DaemonSet controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::DaemonSet, Kind::Pod, Kind::Node, Kind::ControllerRevision],
    workers: 2,
    event_source: "daemonset-controller",
    ..Registration::new("daemon-set-controller", &|context| Rc::new(DaemonSets::new(context)))
};

/// When a Pod of a DaemonSet failed on a node last, and how long its successor has to wait.
type FailedPods = BTreeMap<String, (Duration, Instant)>;

/// The controller of DaemonSets.
pub struct DaemonSets {
    client: Client,
    pod_control: PodControl,
    recorder: Recorder,
    queue: Queue,
    sets: Lister<DaemonSet>,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    revisions: Lister<ControllerRevision>,
    expectations: Expectations,
    consistency: Consistency,
    failed: Memory<FailedPods>,
}

impl DaemonSets {
    /// The controller, on these caches.
    pub fn new(context: &ControllerContext) -> DaemonSets {
        context.add_index::<Pod>(BY_CONTROLLER, index_by_controller);
        context.add_index::<ControllerRevision>(BY_CONTROLLER, index_by_controller);
        DaemonSets {
            client: context.client.clone(),
            pod_control: PodControl { client: context.client.clone(), recorder: context.recorder.clone() },
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            sets: context.lister(),
            pods: context.lister(),
            nodes: context.lister(),
            revisions: context.lister(),
            expectations: Expectations::new(context.client.hub()),
            consistency: Consistency::new(context.client.hub()),
            failed: context.memory(BTreeMap::new()),
        }
    }
}

impl Controller for DaemonSets {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::Pod(pod)) => self.pod_added(pod),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => self.pod_updated(old, new),
            Change::Deleted(Object::Pod(pod)) => self.pod_deleted(pod),
            Change::Added(Object::Node(node)) => self.node_changed(None, node),
            Change::Updated { old: Object::Node(old), new: Object::Node(new) } => self.node_changed(Some(old), new),
            // The Pods of a node that is gone are the garbage collector's.
            Change::Deleted(Object::Node(_)) => {}
            Change::Added(Object::ControllerRevision(revision)) => self.revision_added(revision),
            Change::Updated { old: Object::ControllerRevision(old), new: Object::ControllerRevision(new) } => {
                self.revision_updated(old, new);
            }
            Change::Deleted(Object::ControllerRevision(revision)) => self.enqueue_owner(&revision.metadata),
            other => self.set_changed(other),
        }
    }

    /// One reconcile. Mirrors `syncDaemonSet`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let caches = [(Kind::DaemonSet, self.sets.revision()), (Kind::Pod, self.pods.revision())];
        self.consistency.ensure_ready(&key, &caches)?;
        let Some(set) = self.sets.get(&key) else {
            self.forget(&key);
            return Ok(());
        };
        let spec = set.spec.clone().unwrap_or_default();
        if spec.selector == LabelSelector::default() {
            const WHY: &str = "This daemon set is selecting all pods. A non-empty selector is required.";
            self.recorder.event(&*set, EventType::Warning, "SelectingAll", WHY);
            return Ok(());
        }
        if set.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let history = self.history(&set, &spec).await?;
        let context = Sync { key, nodes: self.nodes.list(), hash: history.hash.clone(), set, spec };
        if !self.expectations.satisfied(&context.key, self.client.now()) {
            return self.update_status(&context, false).await;
        }
        let updated = self.bring_closer(&context, &history).await;
        let told = self.update_status(&context, true).await;
        updated.and(told)
    }
}

impl DaemonSets {
    /// Mirrors `updateDaemonSet`.
    async fn bring_closer(&self, context: &Sync, history: &revisions::History) -> Result<(), Error> {
        self.manage(context).await?;
        let strategy = context.spec.update_strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
        if strategy == Some("RollingUpdate") && self.expectations.satisfied(&context.key, self.client.now()) {
            self.roll(context).await?;
        }
        self.clean_up_history(context, history).await
    }

    /// The DaemonSet's Pods by the node that they are on or are made for, oldest first. Those whose containers have ended
    /// and that are being deleted count only if `ended_too`: their node is free. Mirrors `getNodesToDaemonPods`.
    async fn pods_by_node(&self, context: &Sync, ended_too: bool) -> Result<BTreeMap<String, Vec<Arc<Pod>>>, Error> {
        let Sync { key, set, spec, .. } = context;
        let Ok(selector) = Selector::of(&spec.selector) else { return Ok(BTreeMap::new()) };
        let mut candidates = self.pods.by_index(BY_CONTROLLER, &owned_by(&**set));
        candidates.extend(self.pods.by_index(BY_CONTROLLER, &orphans_of(key.namespace())));
        let patched = |version: Option<&str>| self.consistency.wrote(key, Kind::Pod, version);
        let claimer =
            Claimer { client: &self.client, owner: &**set, selector: &selector, finalizers: &[], patched: &patched };
        let mut pods = claimer.claim(candidates).await?;
        pods.sort_by_key(|pod| {
            let unassigned = assigned_node(pod).is_none();
            (unassigned, pod.metadata.creation_timestamp.clone().map(|at| at.0), pod.metadata.name.clone())
        });
        let mut by_node: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
        for pod in pods {
            let over = pod.metadata.deletion_timestamp.is_some() && object::pod::has_ended(&pod);
            if let Some(node) = nodes::node_of(&pod).filter(|_| ended_too || !over) {
                by_node.entry(node.to_owned()).or_default().push(pod.clone());
            }
        }
        Ok(by_node)
    }

    fn forget(&self, key: &Key) {
        self.expectations.forget(key);
        self.consistency.forget(key);
    }
}

/// What a reconcile works on.
pub(super) struct Sync {
    key: Key,
    set: Arc<DaemonSet>,
    spec: DaemonSetSpec,
    nodes: Vec<Arc<Node>>,
    /// Of the present template.
    hash: String,
}

impl Sync {
    fn min_ready_seconds(&self) -> i32 {
        self.spec.min_ready_seconds.unwrap_or(0)
    }
}

/// The handlers: they compute keys and touch expectations.
impl DaemonSets {
    fn set_changed(&self, change: &Change) {
        match change {
            Change::Updated { old, new } if old.meta().uid != new.meta().uid => self.forget(&Key::of(old)),
            Change::Deleted(old) => self.forget(&Key::of(old)),
            Change::Added(_) | Change::Updated { .. } => {}
        }
        self.queue.add(change.key());
    }

    fn pod_added(&self, pod: &Pod) {
        if pod.metadata.deletion_timestamp.is_some() {
            return self.pod_deleted(pod);
        }
        match controller_of(&pod.metadata) {
            Some(owner) => {
                if let Some(set) = self.resolve(pod, owner) {
                    let key = Key::of_meta(&set.metadata);
                    self.expectations.creation_observed(&key);
                    self.queue.add(key);
                }
            }
            None => self.enqueue_selecting(&pod.metadata),
        }
    }

    fn pod_updated(&self, old: &Pod, new: &Pod) {
        if old.metadata.resource_version == new.metadata.resource_version {
            return;
        }
        if new.metadata.deletion_timestamp.is_some() {
            return self.pod_deleted(new);
        }
        let (old_owner, new_owner) = (controller_of(&old.metadata), controller_of(&new.metadata));
        if old_owner != new_owner
            && let Some(set) = old_owner.and_then(|owner| self.resolve(old, owner))
        {
            self.queue.add(Key::of_meta(&set.metadata));
        }
        match new_owner {
            Some(owner) => {
                let Some(set) = self.resolve(new, owner) else { return };
                let key = Key::of_meta(&set.metadata);
                self.queue.add(key.clone());
                let min_ready = set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
                if min_ready > 0 && !is_ready(old) && is_ready(new) {
                    // A second more, for the clocks of two machines.
                    self.queue.add_after(key, pods::seconds(min_ready.saturating_add(1)));
                }
            }
            None if old.metadata.labels != new.metadata.labels || old_owner.is_some() => {
                self.enqueue_selecting(&new.metadata);
            }
            None => {}
        }
    }

    fn pod_deleted(&self, pod: &Pod) {
        let Some(set) = controller_of(&pod.metadata).and_then(|owner| self.resolve(pod, owner)) else { return };
        let key = Key::of_meta(&set.metadata);
        self.expectations.deletion_observed(&key);
        self.queue.add(key);
    }

    /// A node that comes or looks different may need a Pod, or have to lose one.
    fn node_changed(&self, old: Option<&Node>, new: &Node) {
        if old.is_some_and(|old| old.metadata.labels == new.metadata.labels && taints_of(old) == taints_of(new)) {
            return;
        }
        let name = new.metadata.name();
        for set in self.sets.list() {
            let pods = self.pods.by_index(BY_CONTROLLER, &owned_by(&*set));
            let has_one = pods.iter().any(|pod| nodes::node_of(pod) == Some(name));
            let misplaced = set.status.as_ref().is_some_and(|status| status.number_misscheduled > 0);
            let concerned = match fit(&set, new) {
                Fit::Run => !has_one || misplaced,
                Fit::Stay => has_one && misplaced,
                Fit::Never => has_one,
            };
            if concerned {
                self.queue.add(Key::of_meta(&set.metadata));
            }
        }
    }

    /// A revision that is new and owned is this controller's own: nothing to do.
    fn revision_added(&self, revision: &ControllerRevision) {
        match controller_of(&revision.metadata) {
            _ if revision.metadata.deletion_timestamp.is_some() => self.enqueue_owner(&revision.metadata),
            Some(_) => {}
            None => self.enqueue_selecting(&revision.metadata),
        }
    }

    fn revision_updated(&self, old: &ControllerRevision, new: &ControllerRevision) {
        let (old, new) = (&old.metadata, &new.metadata);
        if old.resource_version == new.resource_version {
            return;
        }
        if controller_of(old) != controller_of(new) {
            self.enqueue_owner(old);
        }
        match controller_of(new) {
            Some(_) => self.enqueue_owner(new),
            None if controller_of(old).is_some() || old.labels != new.labels => self.enqueue_selecting(new),
            None => {}
        }
    }

    fn enqueue_owner(&self, child: &ObjectMeta) {
        if let Some(set) = controller_of(child).and_then(|owner| pods::resolve(&self.sets, child, owner)) {
            self.queue.add(Key::of_meta(&set.metadata));
        }
    }

    fn resolve(&self, pod: &Pod, owner: &OwnerReference) -> Option<Arc<DaemonSet>> {
        pods::resolve(&self.sets, &pod.metadata, owner)
    }

    /// The Pod or revision has no owner: every DaemonSet that selects it may adopt it.
    fn enqueue_selecting(&self, orphan: &ObjectMeta) {
        let wants = |set: &DaemonSet, labels: &BTreeMap<String, String>| {
            let selector = Selector::of_option(set.spec.as_ref().map(|spec| &spec.selector));
            selector.is_ok_and(|selector| !selector.is_everything() && selector.matches(Some(labels)))
        };
        pods::selecting(&self.sets, orphan, wants).into_iter().for_each(|key| self.queue.add(key));
    }
}

//! The Pod garbage collector: deletes Pods that no other component will ever remove.
//!
//! Deleting a Pod needs its kubelet: the API server marks it, the kubelet stops the containers and reports when it is done.
//! So there are Pods that would stay for ever, and every 20 s this controller looks for them:
//!
//! 1. **Ended** ones beyond 12,500. Nothing is wrong with them, there are just too many to keep.
//! 2. **Terminating on a node that is out of service**: an administrator set that taint, and so declares that the machine
//!    is off. Its kubelet will not come back to confirm.
//! 3. **Orphans**, whose Node is gone. It may only look so, since caches can be old: such a Node is held in quarantine
//!    for 40 s, and then looked up at the API server.
//! 4. **Terminating and never scheduled**: no kubelet has ever seen them.
//!
//! A Pod that has not ended first gets the phase Failed: no other component is left to write it, and a controller that
//! waits for its end (that of a Job) must see it. Then it is deleted without grace.
//!
//! # Must hold
//!
//! - No Pod is collected because of one look into a cache. Kept by
//!   `pods_of_a_node_that_is_gone_are_taken_after_a_while` and `a_node_that_comes_back_keeps_its_pods`.
//! - Looking costs nothing when there is nothing to collect: the handlers keep the candidates. Kept by the benchmark
//!   `cluster`.
//!
//! Mirrors `pkg/controller/podgc/gc_controller.go`.
//!
//! # Left out
//!
//! The real one looks even when there is no candidate, and deletes a Pod that a finalizer holds again at each look.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration, join_all};
use engine::Memory;
use object::node::is_ready;
use object::pod::{assigned_node, has_ended, phase};
use object::time::Instant;
use object::{Key, Kind, Object, Pod};
use wire::{self, DeleteOptions};

use super::disruption_target::{self, Disruption};
use super::node_taints::{self, BY_NODE, is_out_of_service};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Pod, Kind::Node],
    ..Registration::new("pod-garbage-collector", &|context| Rc::new(PodGc::new(context, TERMINATED_MAX)))
};

/// Between one look and the next.
const PERIOD: Duration = Duration::from_secs(20);
/// How long a Node must have been missing before the API server is asked whether it is gone.
const QUARANTINE: Duration = Duration::from_secs(40);
/// `--terminated-pod-gc-threshold`: so many ended Pods are kept.
const TERMINATED_MAX: usize = 12_500;

const ORPHANED: Disruption = Disruption { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };

/// The controller. Its one key stands for the look that recurs.
pub struct PodGc {
    client: Client,
    queue: Queue,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    terminated_max: usize,
    state: Memory<State>,
}

/// The candidates.
#[derive(Clone, Default)]
struct State {
    /// Since when its caches are filled. A look has its time then, and every 20 s from then on.
    started: Option<Instant>,
    /// Pods that have ended.
    ended: BTreeSet<Key>,
    /// Pods that are to go and have no node.
    unscheduled: BTreeSet<Key>,
    /// Nodes that are out of service.
    out_of_service: BTreeSet<String>,
    /// Nodes that Pods name and that are not there, and until when they are in quarantine: that begins with a look.
    missing: BTreeMap<String, Option<Instant>>,
}

impl PodGc {
    /// The collector, which keeps so many ended Pods.
    pub fn new(context: &ControllerContext, terminated_max: usize) -> PodGc {
        context.add_index::<Pod>(BY_NODE, node_taints::node_of);
        PodGc {
            client: context.client.clone(),
            queue: context.queue.clone(),
            pods: context.lister(),
            nodes: context.lister(),
            terminated_max,
            state: context.memory(State::default()),
        }
    }

    fn look_key() -> Key {
        Key::new("*", "gc")
    }

    /// One look. Mirrors `gc`.
    async fn look(&self) {
        let mut all = self.collect_ended().await;
        all &= self.collect_out_of_service().await;
        self.collect_orphans().await;
        all &= self.collect_unscheduled().await;
        if !self.state.borrow().missing.is_empty() {
            self.queue.add_after(PodGc::look_key(), PERIOD);
        } else if !all {
            self.queue.add_after_background(PodGc::look_key(), PERIOD);
        }
    }

    /// The oldest of the Pods that have ended, if there are too many. Says, as the others, whether all could be collected
    /// that should. Mirrors `gcTerminated`.
    async fn collect_ended(&self) -> bool {
        if self.state.borrow().ended.len() <= self.terminated_max {
            return true;
        }
        let keys = self.state.borrow().ended.clone();
        let mut pods: Vec<Arc<Pod>> = keys.iter().filter_map(|key| self.pods.get(key)).collect();
        pods.retain(|pod| is_terminated(pod));
        pods.sort_by(|a, b| order(a).cmp(&order(b)));
        pods.truncate(pods.len().saturating_sub(self.terminated_max));
        self.collect_together(pods).await
    }

    /// Pods to go whose kubelet is surely off. Mirrors `gcTerminating`.
    async fn collect_out_of_service(&self) -> bool {
        let nodes = self.state.borrow().out_of_service.clone();
        let mut pods: Vec<Arc<Pod>> = nodes.iter().flat_map(|node| self.pods.by_index(BY_NODE, node)).collect();
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_some());
        pods.sort_by(|a, b| order(a).cmp(&order(b)));
        self.collect_together(pods).await
    }

    /// Pods of Nodes that are gone. A Node that exists after all, or whose state is unknown, is in quarantine again.
    /// Mirrors `gcOrphaned`.
    async fn collect_orphans(&self) {
        let now = self.client.now();
        let mut over = Vec::new();
        self.state.borrow_mut().missing.retain(|node, until| {
            if self.nodes.get(&Key::new("", node)).is_some() || self.pods.by_index(BY_NODE, node).is_empty() {
                return false;
            }
            let until = *until.get_or_insert(now + QUARANTINE);
            if until <= now {
                over.push(node.clone());
            }
            until > now
        });
        for node in over {
            let gone = self.client.get::<Node>("", &node).await.is_err_and(|status| status.is_not_found());
            if !(gone && self.collect_all_of(&node).await) {
                self.state.borrow_mut().missing.insert(node, Some(now + QUARANTINE));
            }
        }
    }

    /// Whether all Pods of a node that is gone could be collected.
    async fn collect_all_of(&self, node: &str) -> bool {
        let mut all = true;
        for pod in self.pods.by_index(BY_NODE, node) {
            all &= self.mark_and_delete(&pod, Some(ORPHANED)).await.is_ok();
        }
        all
    }

    /// Pods to go that never came to a node. Mirrors `gcUnscheduledTerminating`.
    async fn collect_unscheduled(&self) -> bool {
        let keys = std::mem::take(&mut self.state.borrow_mut().unscheduled);
        let mut all = true;
        for pod in keys.iter().filter_map(|key| self.pods.get(key)).filter(|pod| is_unscheduled(pod)) {
            if self.mark_and_delete(&pod, None).await.is_err() {
                all = false;
                self.state.borrow_mut().unscheduled.insert(Key::of_meta(&pod.metadata));
            }
        }
        all
    }

    async fn collect_together(&self, pods: Vec<Arc<Pod>>) -> bool {
        let results = join_all(pods.iter().map(|pod| self.mark_and_delete(pod, None)).collect()).await;
        results.iter().all(Result::is_ok)
    }

    /// Mirrors `markFailedAndDeletePodWithCondition`.
    async fn mark_and_delete(&self, pod: &Pod, disruption: Option<Disruption>) -> Result<(), wire::Error> {
        if is_done(pod) {
            return Ok(());
        }
        let key = Key::of_meta(&pod.metadata);
        if !has_ended(pod)
            && let Some(patch) = disruption_target::patch(pod, Some("Failed"), disruption, self.client.now())
        {
            match self.client.patch_status::<Pod>(key.namespace(), key.name(), patch).await {
                Err(status) if status.is_not_found() => return Ok(()),
                result => result?,
            };
        }
        let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        match self.client.delete::<Pod>(key.namespace(), key.name(), now).await {
            Err(status) if status.is_not_found() => Ok(()),
            result => result,
        }
    }
}

/// Whether the Pod counts as terminated here: also with an unknown phase. Mirrors `isPodTerminated`; it is
/// wider than [`object::pod::has_ended`].
fn is_terminated(pod: &Pod) -> bool {
    !matches!(phase(pod), "Pending" | "Running" | "Unknown")
}

/// Whether the Pod is to go, and no kubelet has ever heard of it.
fn is_unscheduled(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some() && assigned_node(pod).is_none() && !is_done(pod)
}

/// Whether all has been done to be rid of the Pod, and only a finalizer holds it.
fn is_done(pod: &Pod) -> bool {
    is_terminated(pod) && pod.metadata.deletion_grace_period_seconds == Some(0)
}

/// Who is collected first: evicted Pods, then the oldest. Mirrors `byEvictionAndCreationTimestamp`.
fn order(pod: &Pod) -> (bool, Option<Instant>, Option<&str>) {
    let reason = pod.status.as_ref().and_then(|status| status.reason.as_deref());
    let evicted = phase(pod) == "Failed" && reason == Some("Evicted");
    (!evicted, pod.metadata.creation_timestamp.as_ref().map(Instant::from_time), pod.metadata.name.as_deref())
}

/// The handlers: they keep the candidates.
impl PodGc {
    /// There is something to look at, when the time for it comes: at once, if there has been no look yet.
    fn expect_look(&self) {
        let now = self.client.now();
        let left = self.state.borrow().started.map_or(PERIOD, |started| now.until_round(started, PERIOD));
        self.queue.add_after(PodGc::look_key(), if left == PERIOD { Duration::ZERO } else { left });
    }

    fn pod_changed(&self, old: Option<&Arc<Pod>>, new: &Arc<Pod>) {
        let key = Key::of_meta(&new.metadata);
        let (node, to_go) = (assigned_node(new), new.metadata.deletion_timestamp.is_some());
        // A list may bring another Pod of that name in the place of one that is gone.
        let old = old.filter(|old| old.metadata.uid == new.metadata.uid);
        let mut state = self.state.borrow_mut();
        let mut found = false;
        if is_terminated(new) {
            found |= state.ended.insert(key.clone()) && state.ended.len() > self.terminated_max;
        } else {
            state.ended.remove(&key);
        }
        if is_unscheduled(new) {
            found |= state.unscheduled.insert(key);
        } else {
            state.unscheduled.remove(&key);
        }
        if let Some(node) = node.filter(|node| old.is_none_or(|old| assigned_node(old) != Some(*node))) {
            let there = self.nodes.get(&Key::new("", node)).is_some();
            found |= !there && state.missing.insert(node.to_owned(), None).is_none();
        }
        let was_to_go = old.is_some_and(|old| old.metadata.deletion_timestamp.is_some());
        found |= to_go && !was_to_go && node.is_some_and(|node| state.out_of_service.contains(node));
        drop(state);
        if found {
            self.expect_look();
        }
    }

    fn pod_gone(&self, key: &Key) {
        let mut state = self.state.borrow_mut();
        state.ended.remove(key);
        state.unscheduled.remove(key);
    }

    fn node_changed(&self, node: &Node) {
        let name = node.metadata.name.clone().unwrap_or_default();
        if is_ready(node) || !is_out_of_service(node) {
            self.state.borrow_mut().out_of_service.remove(&name);
        } else if self.state.borrow_mut().out_of_service.insert(name) {
            self.expect_look();
        }
    }

    fn node_gone(&self, name: &str) {
        self.state.borrow_mut().out_of_service.remove(name);
        if !self.pods.by_index(BY_NODE, name).is_empty() {
            self.state.borrow_mut().missing.insert(name.to_owned(), None);
            self.expect_look();
        }
    }
}

impl Controller for PodGc {
    fn on_change(&self, change: &Change) {
        if self.pods.has_synced() && self.nodes.has_synced() {
            self.state.borrow_mut().started.get_or_insert(self.client.now());
        }
        match change {
            Change::Added(Object::Pod(pod)) => self.pod_changed(None, pod),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => self.pod_changed(Some(old), new),
            Change::Deleted(Object::Pod(_)) => self.pod_gone(&change.key()),
            Change::Deleted(Object::Node(_)) => self.node_gone(change.key().name()),
            Change::Added(Object::Node(node)) | Change::Updated { new: Object::Node(node), .. } => {
                self.node_changed(node);
            }
            _ => {}
        }
    }

    async fn reconcile(&self, _: Key) -> Result<(), Error> {
        self.look().await;
        Ok(())
    }
}

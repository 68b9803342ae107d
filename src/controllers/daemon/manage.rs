//! What each node has too few or too many of. Mirrors `manage` and `podsShouldBeOnNode`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::history::REVISION_HASH;
use crate::pods::{is_active, is_available, slow_start};
use client::{Error, EventType, join_all};
use object::meta::controller_ref;
use object::pod::{assigned_node, is_ready, phase};
use object::{Accessor, Key, Kind, Pod};

use super::nodes::{Fit, fit, pinned, template};
use super::update::allows_surge;
use super::{DaemonSets, Sync};

/// At most so many Pods are created, and so many deleted, in one reconcile.
const BURST: usize = 250;
/// How long a Pod's successor waits at first, and at most, when Pods fail one after another on a node.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15 * 60));

impl DaemonSets {
    /// Makes the Pods that nodes miss, and deletes those that are wrong where they are.
    pub(super) async fn manage(&self, context: &Sync) -> Result<(), Error> {
        let by_node = self.pods_by_node(context, false).await?;
        let (mut missing, mut wrong) = (Vec::new(), Vec::new());
        for node in &context.nodes {
            let name = node.metadata.name();
            match (fit(&context.set, node), by_node.get(name)) {
                (Fit::Run, None) => missing.push(name.to_owned()),
                (fit @ (Fit::Run | Fit::Stay), Some(pods)) => {
                    wrong.extend(self.superfluous(context, name, pods));
                    // Where two may run at once, the next does not wait until the last has ended.
                    if fit == Fit::Run && allows_surge(context) && !pods.iter().any(|pod| is_active(pod)) {
                        missing.push(name.to_owned());
                    }
                }
                (Fit::Never, Some(pods)) => {
                    wrong.extend(pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).cloned());
                }
                (Fit::Stay | Fit::Never, None) => {}
            }
        }
        wrong.extend(stranded(context, &by_node));
        self.sync_nodes(context, missing, wrong).await
    }

    /// Which of a node's Pods are too many, or have ended.
    fn superfluous(&self, context: &Sync, node: &str, pods: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
        let (mut delete, mut running) = (Vec::new(), Vec::new());
        for pod in pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
            let name = Key::of_meta(&pod.metadata);
            match phase(pod) {
                "Failed" => {
                    if self.is_held_back(context, node) {
                        continue;
                    }
                    let message = format!("Found failed daemon pod {name} on node {node}, will try to kill it");
                    self.recorder.event(&*context.set, EventType::Warning, "FailedDaemonPod", message);
                    delete.push(pod.clone());
                }
                "Succeeded" => {
                    let message = format!("Found succeeded daemon pod {name} on node {node}, will try to delete it");
                    self.recorder.event(&*context.set, EventType::Normal, "SucceededDaemonPod", message);
                    delete.push(pod.clone());
                }
                _ => running.push(pod.clone()),
            }
        }
        // They come oldest first.
        if allows_surge(context) {
            delete.extend(self.replaced(context, running));
        } else {
            delete.extend(running.into_iter().skip(1));
        }
        delete
    }

    /// With surge a node may have two Pods: one of each template, until the new one is available or the old one is not
    /// ready.
    fn replaced(&self, context: &Sync, running: Vec<Arc<Pod>>) -> Vec<Arc<Pod>> {
        // Here only the hash tells.
        let label = |pod: &Pod| pod.metadata.labels.as_ref().and_then(|labels| labels.get(REVISION_HASH)).cloned();
        let is_new = |pod: &Arc<Pod>| label(pod).is_some_and(|hash| hash == context.hash);
        let (new, old): (Vec<_>, Vec<_>) = running.into_iter().partition(is_new);
        let mut delete: Vec<Arc<Pod>> = new.iter().skip(1).chain(old.iter().skip(1)).cloned().collect();
        if let (Some(new), Some(old)) = (new.first(), old.first()) {
            let available = is_available(new, context.min_ready_seconds(), self.client.now());
            if available || !is_ready(old) {
                delete.push(old.clone());
            }
        }
        delete
    }

    /// Whether Pods failed on the node so lately that the next has to wait. If not, this failure is written down.
    fn is_held_back(&self, context: &Sync, node: &str) -> bool {
        let (first, max) = BACKOFF;
        let uid = context.set.metadata.uid();
        let observed = context.set.status.as_ref().and_then(|status| status.observed_generation).unwrap_or(0);
        let id = format!("{uid}/{observed}/{node}");
        let now = self.client.now();
        let mut failed = self.failed.borrow_mut();
        let pause = match failed.get(&id) {
            Some((pause, since)) if now - *since < *pause => {
                self.queue.add_after(context.key.clone(), *pause);
                return true;
            }
            Some((pause, since)) if now - *since <= max * 2 => (*pause * 2).min(max),
            _ => first,
        };
        failed.insert(id, (pause, now));
        false
    }

    /// Makes a Pod for each of `nodes`, in growing batches, and deletes Pods. Mirrors `syncNodes`.
    pub(super) async fn sync_nodes(
        &self,
        context: &Sync,
        mut nodes: Vec<String>,
        mut pods: Vec<Arc<Pod>>,
    ) -> Result<(), Error> {
        let (key, set) = (&context.key, &*context.set);
        nodes.truncate(BURST);
        pods.truncate(BURST);
        self.expectations.expect(key, nodes.len(), pods.len(), self.client.now());
        let template = template(set, &context.hash);
        let mut next = nodes.iter();
        let create = || {
            // No more are asked for than there are.
            let template = pinned(template.clone(), next.next().map_or("", String::as_str));
            async move {
                match self.pod_control.create(set, &template, controller_ref(set)).await {
                    Ok(pod) => self.consistency.wrote(key, Kind::Pod, pod.metadata.resource_version.as_deref()),
                    // The namespace is going: nothing more is to be tried.
                    Err(Error::Api(status)) if status.is_namespace_terminating() => {}
                    Err(error) => return Err(error),
                }
                Ok(())
            }
        };
        let (created, result) = slow_start(nodes.len(), create).await;
        for _ in created..nodes.len() {
            self.expectations.creation_observed(key);
        }
        let deletes = pods.iter().map(|pod| self.pod_control.delete(set, pod)).collect();
        let deleted = join_all(deletes).await;
        for _ in deleted.iter().filter(|result| result.is_err()) {
            self.expectations.deletion_observed(key);
        }
        let gone = |error: &Error| matches!(error, Error::Api(status) if status.is_not_found());
        let failure = deleted.into_iter().filter_map(Result::err).find(|error| !gone(error));
        result.and(failure.map_or(Ok(()), Err))
    }
}

/// Pods that are not bound yet, made for nodes that are gone. Mirrors `getUnscheduledPodsWithoutNode`.
fn stranded(context: &Sync, by_node: &std::collections::BTreeMap<String, Vec<Arc<Pod>>>) -> Vec<Arc<Pod>> {
    let there: BTreeSet<&str> = context.nodes.iter().filter_map(|node| node.metadata.name.as_deref()).collect();
    let gone = by_node.iter().filter(|(node, _)| !there.contains(node.as_str())).flat_map(|(_, pods)| pods);
    gone.filter(|pod| assigned_node(pod).is_none()).cloned().collect()
}

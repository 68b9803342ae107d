//! Which pod is on which node, as far as the scheduler knows: pods the informer has seen bound, and pods the
//! scheduler itself has just decided on and *assumes* bound, so that the next cycle counts them already.
//!
//! Mirrors `pkg/scheduler/backend/cache`. A pod is unknown, then assumed, then confirmed by the informer; or it is
//! forgotten when its binding failed. Assumed pods never expire.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pod_info::PodInfo;
use super::resources::Quantities;
use super::snapshot::Snapshot;
use object::pod::assigned_node;
use object::{Key, Pod, Shared};

/// The scheduler's own book-keeping over its informers.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// What plugins read.
    pub snapshot: Snapshot,
    pods: BTreeMap<Key, Placed>,
}

/// A pod with a place.
#[derive(Clone, Debug)]
struct Placed {
    info: Arc<PodInfo>,
    node: String,
    /// Not yet seen bound: only our own decision says so.
    assumed: bool,
}

impl Cache {
    /// A cycle chose `node` for the pod. False if the pod has a place already.
    pub fn assume(&mut self, info: Arc<PodInfo>, node: &str) -> bool {
        if self.pods.contains_key(&info.key) {
            return false;
        }
        self.put(info, node, true);
        true
    }

    /// The binding failed: the room is free again. Gives the pod as it was assumed, with its node; None if it was not.
    pub fn forget(&mut self, key: &Key) -> Option<Arc<Pod>> {
        let placed = self.pods.get(key).filter(|placed| placed.assumed)?;
        let mut assumed = Pod::clone(&placed.info.pod);
        assumed.spec.get_or_insert_default().node_name = Some(placed.node.clone());
        self.take(key);
        Some(Arc::new(assumed))
    }

    /// Whether the pod's place is only our own decision yet.
    pub fn is_assumed(&self, key: &Key) -> bool {
        self.pods.get(key).is_some_and(|placed| placed.assumed)
    }

    /// The informer has a pod on a node, new or changed. It wins over what was assumed.
    pub fn set_pod(&mut self, pod: Arc<Pod>) {
        let Some(node) = assigned_node(&pod).map(str::to_owned) else { return };
        let key = Key::of_meta(&pod.metadata);
        if let Some(placed) = self.pods.get_mut(&key)
            && placed.node == node
            && looks_the_same(&placed.info.pod, &pod)
        {
            placed.assumed = false;
            return;
        }
        self.take(&key);
        self.put(Arc::new(PodInfo::new(pod)), &node, false);
    }

    /// The informer saw the pod end.
    pub fn remove_pod(&mut self, key: &Key) {
        self.take(key);
    }

    /// The informer has a node, new or changed.
    pub fn set_node(&mut self, node: Arc<Node>) {
        self.snapshot.set_node(node);
    }

    /// The informer saw the node go; pods on it keep their place until they go too.
    pub fn remove_node(&mut self, name: &str) {
        self.snapshot.remove_node(name);
    }

    fn put(&mut self, info: Arc<PodInfo>, node: &str, assumed: bool) {
        self.snapshot.place(info.clone(), node);
        self.pods.insert(info.key.clone(), Placed { info, node: node.to_owned(), assumed });
    }

    fn take(&mut self, key: &Key) {
        if let Some(placed) = self.pods.remove(key) {
            self.snapshot.unplace(&placed.info, &placed.node);
        }
    }
}

/// Whether two versions of a pod count the same for every plugin, so that nothing need be counted anew. Most
/// updates are a kubelet's status patches, and this is what keeps them cheap.
fn looks_the_same(old: &Pod, new: &Pod) -> bool {
    old.metadata.uid == new.metadata.uid
        && old.metadata.labels == new.metadata.labels
        && old.metadata.deletion_timestamp.is_some() == new.metadata.deletion_timestamp.is_some()
        && start_time(old) == start_time(new)
        && asks_the_same(old, new)
}

/// A preemption spares the pods that have run longer.
fn start_time(pod: &Pod) -> Option<&Time> {
    pod.status.as_ref()?.start_time.as_ref()
}

/// Whether neither the spec changed nor what the kubelet says the containers hold.
pub fn asks_the_same(old: &Pod, new: &Pod) -> bool {
    old.metadata.generation == new.metadata.generation && held(old).eq(held(new))
}

/// What the containers hold, as far as the kubelet has said.
fn held(pod: &Pod) -> impl Iterator<Item = (&str, &Option<Shared<ResourceRequirements>>, &Option<Shared<Quantities>>)> {
    let status = pod.status.iter();
    let statuses = status.flat_map(|status| status.container_statuses.iter().chain(&status.init_container_statuses));
    let reported =
        statuses.flatten().filter(|status| status.resources.is_some() || status.allocated_resources.is_some());
    reported.map(|status| (status.name.as_str(), &status.resources, &status.allocated_resources))
}

#[cfg(test)]
mod tests;

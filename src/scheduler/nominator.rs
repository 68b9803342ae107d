//! Pods for which a preemption is making room: until they are bound, others of lower or equal priority must leave
//! them that room. Mirrors `pkg/scheduler/backend/queue/nominator.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pod_info::PodInfo;
use object::{Key, Pod};

/// Nominated pods by node and by pod.
#[derive(Clone, Debug, Default)]
pub struct Nominator {
    by_node: BTreeMap<String, Vec<Arc<PodInfo>>>,
    node_of: BTreeMap<Key, String>,
}

impl Nominator {
    /// The pods nominated to a node.
    pub fn on(&self, node: &str) -> &[Arc<PodInfo>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// Whether no pod is nominated.
    pub fn is_empty(&self) -> bool {
        self.node_of.is_empty()
    }

    /// Nominates the pod to a node, instead of any other.
    pub fn nominate(&mut self, pod: Arc<PodInfo>, node: &str) {
        self.remove(&pod.key);
        self.node_of.insert(pod.key.clone(), node.to_owned());
        self.by_node.entry(node.to_owned()).or_default().push(pod);
    }

    /// The pod changed. Where it says nothing of a nomination, before as after, the one known here stands: the API
    /// server may not have heard of it yet. Mirrors `UpdateNominatedPod`.
    pub fn refresh(&mut self, pod: &Arc<Pod>) {
        if let Some(node) = self.node_of(&Key::of_meta(&pod.metadata)).map(str::to_owned) {
            self.nominate(Arc::new(PodInfo::new(pod.clone())), &node);
        }
    }

    /// The pod was bound, deleted, or lost its nomination.
    pub fn remove(&mut self, key: &Key) {
        let Some(node) = self.node_of.remove(key) else { return };
        if let Some(pods) = self.by_node.get_mut(&node) {
            pods.retain(|pod| pod.key != *key);
            if pods.is_empty() {
                self.by_node.remove(&node);
            }
        }
    }

    /// The node the pod is nominated to.
    pub fn node_of(&self, key: &Key) -> Option<&str> {
        self.node_of.get(key).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{info, labelled, pod};

    #[test]
    fn a_nominated_pod_is_known_as_it_is_now() {
        let mut nominator = Nominator::default();
        nominator.nominate(info(pod("p", "")), "a");
        nominator.refresh(&Arc::new(labelled("p", "x=y", "")));
        nominator.refresh(&Arc::new(pod("other", "")));
        let labels: Vec<_> = nominator.on("a").iter().map(|pod| pod.labels().get("x").cloned()).collect();
        assert_eq!(labels, [Some("y".to_owned())]);
    }
}

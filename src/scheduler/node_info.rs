//! What the scheduler knows of a node: the node itself and what its pods take of it, kept up to date as they
//! come and go, so that a filter never looks at pods one by one.
//!
//! Mirrors `framework.NodeInfo` in `pkg/scheduler/framework/types.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Taint};

use super::labels::Labels;
use super::pod_info::PodInfo;
use super::resources::Resources;
use object::host_port::HostPort;
use object::node::taints_of;

/// A node's place in the snapshot's table; free places are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A label key that some node has, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub u32);

/// A label key and value that some node has, as a number: one topology domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairId(pub u32);

/// An image that some node has, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageId(pub u32);

/// One node as the plugins see it.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Its place in the snapshot's table.
    pub id: NodeId,
    /// Its name.
    pub name: Arc<str>,
    /// Absent while pods are still known on a node that is gone, or not yet known.
    pub node: Option<Arc<Node>>,
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// The sum of what its pods ask for, assumed ones included.
    pub requested: Resources,
    /// The same for scores: missing requests count as defaults.
    pub non_zero_milli_cpu: i64,
    /// Bytes, likewise.
    pub non_zero_memory: i64,
    /// The pods on it, assumed ones included.
    pub pods: Vec<Arc<PodInfo>>,
    /// Host ports in use, with how many pods hold each.
    pub host_ports: BTreeMap<HostPort, u32>,
    /// Images the node has, with their sizes in bytes.
    pub images: Vec<(ImageId, i64)>,
    /// The node's labels as numbers, so that topology counts are array look-ups.
    pub label_pairs: Vec<(KeyId, PairId)>,
}

impl NodeInfo {
    /// A place in the table for a node that is not known yet.
    pub fn empty(id: NodeId, name: Arc<str>) -> NodeInfo {
        NodeInfo {
            id,
            name,
            node: None,
            allocatable: Resources::default(),
            requested: Resources::default(),
            non_zero_milli_cpu: 0,
            non_zero_memory: 0,
            pods: Vec::new(),
            host_ports: BTreeMap::new(),
            images: Vec::new(),
            label_pairs: Vec::new(),
        }
    }

    /// Counts a pod in.
    pub fn add_pod(&mut self, pod: Arc<PodInfo>) {
        self.requested.add(&pod.requests);
        self.non_zero_milli_cpu += pod.non_zero_milli_cpu;
        self.non_zero_memory += pod.non_zero_memory;
        for port in &pod.host_ports {
            *self.host_ports.entry(port.clone()).or_default() += 1;
        }
        self.pods.push(pod);
    }

    /// Counts a pod out; false if it was not counted.
    pub fn remove_pod(&mut self, pod: &PodInfo) -> bool {
        let Some(at) = self.pods.iter().position(|other| other.uid == pod.uid) else { return false };
        let pod = self.pods.remove(at);
        self.requested.subtract(&pod.requests);
        self.non_zero_milli_cpu -= pod.non_zero_milli_cpu;
        self.non_zero_memory -= pod.non_zero_memory;
        for port in &pod.host_ports {
            if let Some(holders) = self.host_ports.get_mut(port) {
                *holders -= 1;
                if *holders == 0 {
                    self.host_ports.remove(port);
                }
            }
        }
        true
    }

    /// `spec.taints`.
    pub fn taints(&self) -> &[Taint] {
        self.node.as_deref().map(taints_of).unwrap_or_default()
    }

    /// Whether the node was cordoned.
    pub fn unschedulable(&self) -> bool {
        self.node.as_ref().and_then(|node| node.spec.as_ref()?.unschedulable).unwrap_or(false)
    }

    /// The node's labels.
    pub fn labels(&self) -> &Labels {
        static NONE: Labels = Labels::new();
        self.node.as_ref().and_then(|node| node.metadata.labels.as_ref()).unwrap_or(&NONE)
    }

    /// The topology domain the node is in by this label key.
    pub fn pair(&self, key: KeyId) -> Option<PairId> {
        self.label_pairs.iter().find(|(own, _)| *own == key).map(|(_, pair)| *pair)
    }

    /// The size of an image the node has.
    pub fn image_size(&self, image: ImageId) -> Option<i64> {
        self.images.iter().find(|(own, _)| *own == image).map(|(_, size)| *size)
    }
}

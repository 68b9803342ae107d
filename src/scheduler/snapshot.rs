//! The cluster as one scheduling cycle sees it: nodes with their pods, and the few other objects plugins ask for.
//!
//! Kubernetes keeps a cache that informers write and copies what changed into a snapshot before every cycle
//! (`pkg/scheduler/backend/cache`), because both go on at the same time. Here a cycle is one event, nothing
//! changes under it, and so the cycle reads the cache itself: [`Cache`](super::cache::Cache) writes this table,
//! plugins only read it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Service};

use object::Accessor;
use object::well_known::{REGION, ZONE};

use super::classes::PodClasses;
use super::labels::{Labels, Matcher};
use super::node_info::{ImageId, KeyId, NodeId, NodeInfo, PairId};
use super::pod_info::PodInfo;
use super::resources::Resources;
use super::storage::Storage;

/// All that filters and scores may look at.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    nodes: Vec<NodeInfo>,
    free: Vec<NodeId>,
    by_name: BTreeMap<Arc<str>, NodeId>,
    /// Zones in order of first appearance, and in each its nodes in order of arrival.
    zones: Vec<(String, Vec<NodeId>)>,
    /// The order in which nodes are tried; see [`Snapshot::refresh`].
    order: Vec<NodeId>,
    order_is_old: bool,
    /// Pods on nodes, counted by what selectors see of them.
    pub classes: PodClasses,
    label_keys: BTreeMap<String, KeyId>,
    label_pairs: BTreeMap<(KeyId, String), PairId>,
    /// For each label key, the pair each node has: a column a key, so that counting by place reads one list.
    places: Vec<Vec<Option<PairId>>>,
    images: BTreeMap<String, ImageId>,
    /// How many nodes have each image.
    image_nodes: Vec<u32>,
    namespaces: BTreeMap<String, Labels>,
    services: BTreeMap<String, BTreeMap<String, Arc<Service>>>,
    /// Selectors of what owns pods: `ReplicaSet/default/web`.
    owner_selectors: BTreeMap<String, Matcher>,
    /// Claims and volumes.
    pub storage: Storage,
}

impl Snapshot {
    /// The nodes in the order they are tried: one of each zone in turn, so that a cycle that stops early has still
    /// seen all zones. Mirrors `nodeTree.list`.
    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.order.len()
    }

    /// The length of a table with a row a node.
    pub fn node_slots(&self) -> usize {
        self.nodes.len()
    }

    /// The length of a table with a row a topology domain.
    pub fn pair_slots(&self) -> usize {
        self.label_pairs.len()
    }

    /// One row of the table.
    pub fn node(&self, id: NodeId) -> &NodeInfo {
        &self.nodes[id.0 as usize]
    }

    /// The node with this name, if the cluster has it.
    pub fn node_named(&self, name: &str) -> Option<&NodeInfo> {
        let id = self.by_name.get(name)?;
        Some(self.node(*id)).filter(|info| info.node.is_some())
    }

    /// The number of a label key, if any node ever had it.
    pub fn label_key(&self, key: &str) -> Option<KeyId> {
        self.label_keys.get(key).copied()
    }

    /// The topology domain that a node is in by this label key.
    pub fn place_of(&self, node: NodeId, key: KeyId) -> Option<PairId> {
        *self.places[key.0 as usize].get(node.0 as usize)?
    }

    /// The number of an image and how many nodes have it, if any ever had it.
    pub fn image(&self, name: &str) -> Option<(ImageId, u32)> {
        let id = *self.images.get(name)?;
        Some((id, self.image_nodes[id.0 as usize]))
    }

    /// The labels of a namespace; none if it is not known.
    pub fn namespace_labels(&self, namespace: &str) -> &Labels {
        static NONE: Labels = Labels::new();
        self.namespaces.get(namespace).unwrap_or(&NONE)
    }

    /// The Services of a namespace.
    pub fn services(&self, namespace: &str) -> impl Iterator<Item = &Arc<Service>> {
        self.services.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// The selector of the ReplicaSet, StatefulSet or ReplicationController with this name.
    pub fn owner_selector(&self, kind: &str, namespace: &str, name: &str) -> Option<&Matcher> {
        self.owner_selectors.get(&format!("{kind}/{namespace}/{name}"))
    }

    /// Notes a namespace's labels, or forgets the namespace.
    pub fn set_namespace(&mut self, name: &str, labels: Option<Labels>) {
        match labels {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels),
            None => self.namespaces.remove(name),
        };
    }

    /// Notes a Service, or forgets it.
    pub fn set_service(&mut self, namespace: &str, name: &str, service: Option<Arc<Service>>) {
        let services = self.services.entry(namespace.to_owned()).or_default();
        match service {
            Some(service) => services.insert(name.to_owned(), service),
            None => services.remove(name),
        };
    }

    /// Notes the selector of something that owns pods, or forgets it.
    pub fn set_owner_selector(&mut self, kind: &str, namespace: &str, name: &str, selector: Option<Matcher>) {
        let key = format!("{kind}/{namespace}/{name}");
        match selector {
            Some(selector) => self.owner_selectors.insert(key, selector),
            None => self.owner_selectors.remove(&key),
        };
    }

    /// Puts a pod on a node; the node need not be known yet.
    pub fn place(&mut self, pod: Arc<PodInfo>, node: &str) {
        let id = self.slot(node);
        self.classes.add(&pod, id);
        self.storage.pod_moved(&pod, true);
        self.nodes[id.0 as usize].add_pod(pod);
    }

    /// Takes a pod off a node. The last pod of a node that is gone takes its place in the table along.
    pub fn unplace(&mut self, pod: &PodInfo, node: &str) {
        let Some(id) = self.by_name.get(node).copied() else { return };
        if self.nodes[id.0 as usize].remove_pod(pod) {
            self.classes.remove(pod, id);
            self.storage.pod_moved(pod, false);
        }
        self.free_if_unused(id);
    }

    /// Notes a node, new or changed.
    pub fn set_node(&mut self, node: Arc<Node>) {
        let id = self.slot(node.metadata.name());
        let old = self.nodes[id.0 as usize].node.clone();
        let label_pairs = self.intern_labels(&node);
        self.fill_columns(id, &label_pairs);
        let images = self.intern_images(&node, id);
        if old.as_deref().map(zone_of) != Some(zone_of(&node)) {
            if let Some(old) = &old {
                self.leave_zone(&zone_of(old), id);
            }
            self.join_zone(zone_of(&node), id);
        }
        let info = &mut self.nodes[id.0 as usize];
        info.allocatable = Resources::of(node.status.as_ref().and_then(|status| status.allocatable.as_ref()));
        info.label_pairs = label_pairs;
        info.images = images;
        info.node = Some(node);
    }

    /// Forgets a node; its row stays until its last pod is gone.
    pub fn remove_node(&mut self, name: &str) {
        let Some(id) = self.by_name.get(name).copied() else { return };
        let info = &mut self.nodes[id.0 as usize];
        let Some(node) = info.node.take() else { return };
        info.allocatable = Resources::default();
        info.label_pairs.clear();
        self.fill_columns(id, &[]);
        for (image, _) in std::mem::take(&mut self.nodes[id.0 as usize].images) {
            self.image_nodes[image.0 as usize] -= 1;
        }
        self.leave_zone(&zone_of(&node), id);
        self.free_if_unused(id);
    }

    /// Before a cycle: works out the order of nodes anew if nodes came or went.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.order_is_old) {
            return;
        }
        self.order.clear();
        let longest = self.zones.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
        for turn in 0..longest {
            self.order.extend(self.zones.iter().filter_map(|(_, nodes)| nodes.get(turn)));
        }
    }

    fn slot(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let name: Arc<str> = name.into();
        let id = self.free.pop().unwrap_or(NodeId(self.nodes.len() as u32));
        let info = NodeInfo::empty(id, name.clone());
        if id.0 as usize == self.nodes.len() {
            self.nodes.push(info);
        } else {
            self.nodes[id.0 as usize] = info;
        }
        self.by_name.insert(name, id);
        id
    }

    fn free_if_unused(&mut self, id: NodeId) {
        let info = &self.nodes[id.0 as usize];
        if info.node.is_none() && info.pods.is_empty() {
            self.by_name.remove(&info.name);
            self.free.push(id);
        }
    }

    fn join_zone(&mut self, zone: String, id: NodeId) {
        self.order_is_old = true;
        match self.zones.iter_mut().find(|(name, _)| *name == zone) {
            Some((_, nodes)) => nodes.push(id),
            None => self.zones.push((zone, vec![id])),
        }
    }

    fn leave_zone(&mut self, zone: &str, id: NodeId) {
        self.order_is_old = true;
        if let Some((_, nodes)) = self.zones.iter_mut().find(|(name, _)| name == zone) {
            nodes.retain(|other| *other != id);
        }
        self.zones.retain(|(_, nodes)| !nodes.is_empty());
    }

    fn intern_labels(&mut self, node: &Node) -> Vec<(KeyId, PairId)> {
        let mut pairs = Vec::new();
        for (key, value) in node.metadata.labels.iter().flatten() {
            let next = KeyId(self.label_keys.len() as u32);
            let key = *self.label_keys.entry(key.clone()).or_insert(next);
            let next = PairId(self.label_pairs.len() as u32);
            pairs.push((key, *self.label_pairs.entry((key, value.clone())).or_insert(next)));
        }
        pairs
    }

    fn fill_columns(&mut self, id: NodeId, pairs: &[(KeyId, PairId)]) {
        self.places.resize(self.label_keys.len(), Vec::new());
        for column in &mut self.places {
            column.resize(self.nodes.len().max(column.len()), None);
            column[id.0 as usize] = None;
        }
        for (key, pair) in pairs {
            self.places[key.0 as usize][id.0 as usize] = Some(*pair);
        }
    }

    /// Counts the node's images anew. Mirrors `addNodeImageStates` and `removeNodeImageStates`.
    fn intern_images(&mut self, node: &Node, id: NodeId) -> Vec<(ImageId, i64)> {
        for (image, _) in &self.nodes[id.0 as usize].images {
            self.image_nodes[image.0 as usize] -= 1;
        }
        let mut found = BTreeMap::new();
        for image in node.status.iter().flat_map(|status| status.images.iter().flatten()) {
            for name in image.names.iter().flatten() {
                let next = ImageId(self.images.len() as u32);
                let image_id = *self.images.entry(name.clone()).or_insert(next);
                found.insert(image_id, image.size_bytes.unwrap_or(0));
            }
        }
        self.image_nodes.resize(self.images.len(), 0);
        for image in found.keys() {
            self.image_nodes[image.0 as usize] += 1;
        }
        found.into_iter().collect()
    }
}

/// Region and zone as one text. Mirrors `utilnode.GetZoneKey`.
fn zone_of(node: &Node) -> String {
    let label = |key| node.metadata.labels.as_ref().and_then(|labels| labels.get(key)).map_or("", String::as_str);
    let (region, zone) = (label(REGION), label(ZONE));
    if region.is_empty() && zone.is_empty() { String::new() } else { format!("{region}:\u{0}:{zone}") }
}

//! Pods that look the same to every selector, counted by node.
//!
//! Topology spread and pod affinity ask "how many pods that match this selector are on each node". Asking every
//! pod would cost the number of pods in each scheduling cycle. But the pods of one ReplicaSet carry the same
//! labels in the same namespace, so here pods are counted by class, and a selector is asked once a class.
//! Kubernetes asks every pod (`countPodsMatchSelector`), in parallel; the counts are the same.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Affinity;

use super::labels::Labels;
use super::node_info::NodeId;
use super::pod_info::{AffinityTerms, PodInfo};

/// What all pods of a class have in common, and where they are.
#[derive(Clone, Debug)]
pub struct PodClass {
    /// Their namespace.
    pub namespace: String,
    /// Their labels.
    pub labels: Labels,
    /// Pods being deleted no longer count for topology spread, but still for affinity.
    pub terminating: bool,
    /// What they say about other pods.
    pub terms: AffinityTerms,
    /// How many pods of the class each node has, by node; never zero. A sorted list rather than a map, since it is
    /// read from end to end in every cycle of a pod that it concerns.
    pub nodes: Vec<(NodeId, u32)>,
}

/// All classes, and where to find those that matter.
#[derive(Clone, Debug, Default)]
pub struct PodClasses {
    by_identity: BTreeMap<Identity, usize>,
    /// Free places are `None` and listed in `free`.
    classes: Vec<Option<PodClass>>,
    free: Vec<usize>,
    by_namespace: BTreeMap<String, BTreeSet<usize>>,
    /// Classes whose pods say something about other pods.
    with_terms: BTreeSet<usize>,
}

/// What makes two pods one class. The affinity is compared as text, since it has no order of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    namespace: String,
    labels: Labels,
    terminating: bool,
    affinity: String,
}

impl PodClasses {
    /// Counts `pod` on `node`.
    pub fn add(&mut self, pod: &PodInfo, node: NodeId) {
        let identity = Identity::of(pod);
        let at = match self.by_identity.get(&identity) {
            Some(at) => *at,
            None => self.insert(identity, pod),
        };
        if let Some(class) = &mut self.classes[at] {
            match class.nodes.binary_search_by_key(&node, |(id, _)| *id) {
                Ok(found) => class.nodes[found].1 += 1,
                Err(gap) => class.nodes.insert(gap, (node, 1)),
            }
        }
    }

    /// Takes back what [`PodClasses::add`] counted for the same version of the pod.
    pub fn remove(&mut self, pod: &PodInfo, node: NodeId) {
        let identity = Identity::of(pod);
        let Some(at) = self.by_identity.get(&identity).copied() else { return };
        let Some(class) = &mut self.classes[at] else { return };
        if let Ok(found) = class.nodes.binary_search_by_key(&node, |(id, _)| *id) {
            class.nodes[found].1 -= 1;
            if class.nodes[found].1 == 0 {
                class.nodes.remove(found);
            }
        }
        if class.nodes.is_empty() {
            self.drop_class(&identity, at);
        }
    }

    /// The classes of pods in a namespace.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &PodClass> {
        self.by_namespace.get(namespace).into_iter().flatten().filter_map(|at| self.classes[*at].as_ref())
    }

    /// Every class.
    pub fn all(&self) -> impl Iterator<Item = &PodClass> {
        self.classes.iter().flatten()
    }

    /// The classes whose pods have affinity or anti-affinity themselves.
    pub fn with_terms(&self) -> impl Iterator<Item = &PodClass> {
        self.with_terms.iter().filter_map(|at| self.classes[*at].as_ref())
    }

    fn insert(&mut self, identity: Identity, pod: &PodInfo) -> usize {
        let class = PodClass {
            namespace: identity.namespace.clone(),
            labels: identity.labels.clone(),
            terminating: identity.terminating,
            terms: pod.terms.clone(),
            nodes: Vec::new(),
        };
        let at = self.free.pop().unwrap_or(self.classes.len());
        if at == self.classes.len() {
            self.classes.push(None);
        }
        self.classes[at] = Some(class);
        self.by_namespace.entry(identity.namespace.clone()).or_default().insert(at);
        if !pod.terms.is_empty() {
            self.with_terms.insert(at);
        }
        self.by_identity.insert(identity, at);
        at
    }

    fn drop_class(&mut self, identity: &Identity, at: usize) {
        self.by_identity.remove(identity);
        self.classes[at] = None;
        self.free.push(at);
        self.with_terms.remove(&at);
        if let Some(namespace) = self.by_namespace.get_mut(&identity.namespace) {
            namespace.remove(&at);
            if namespace.is_empty() {
                self.by_namespace.remove(&identity.namespace);
            }
        }
    }
}

impl Identity {
    fn of(pod: &PodInfo) -> Identity {
        let affinity = pod.spec().and_then(|spec| spec.affinity.as_ref()).filter(|_| !pod.terms.is_empty());
        Identity {
            namespace: pod.namespace().to_owned(),
            labels: pod.labels().clone(),
            terminating: pod.terminating(),
            affinity: affinity.map(affinity_text).unwrap_or_default(),
        }
    }
}

fn affinity_text(affinity: &Affinity) -> String {
    format!("{:?} {:?}", affinity.pod_affinity, affinity.pod_anti_affinity)
}

//! What the scheduler works out about a pod once, when it first sees it.
//!
//! Mirrors `framework.PodInfo` and `calculateResource` in `pkg/scheduler/framework/types.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PodAffinityTerm, WeightedPodAffinityTerm};

use super::labels::{Labels, Matcher};
use super::resources::{Resources, non_zero_requests, pod_requests};
use object::host_port::HostPort;
use object::pod::{Spec, nominated_node};
use object::{Accessor, Key, Pod};

/// A pod and what follows from its spec.
#[derive(Clone, Debug)]
pub struct PodInfo {
    /// Its namespace and name.
    pub key: Key,
    /// Its uid.
    pub uid: String,
    /// The pod itself.
    pub pod: Arc<Pod>,
    /// `spec.priority`, 0 if absent.
    pub priority: i32,
    /// What the filter counts.
    pub requests: Resources,
    /// CPU in thousandths for scores, where a missing request counts as a default.
    pub non_zero_milli_cpu: i64,
    /// Bytes of memory for scores, likewise.
    pub non_zero_memory: i64,
    /// Ports of the node that the pod wants to listen on.
    pub host_ports: Vec<HostPort>,
    /// Pod affinity and anti-affinity, with their selectors read.
    pub terms: AffinityTerms,
}

/// A pod's four lists of affinity terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AffinityTerms {
    /// Where other pods must be near.
    pub required_affinity: Vec<AffinityTerm>,
    /// Where none may be near.
    pub required_anti_affinity: Vec<AffinityTerm>,
    /// Where they had better be near.
    pub preferred_affinity: Vec<AffinityTerm>,
    /// Where they had better not.
    pub preferred_anti_affinity: Vec<AffinityTerm>,
}

/// One term: which pods it is about, and what counts as being in the same place.
#[derive(Clone, Debug, PartialEq)]
pub struct AffinityTerm {
    namespaces: BTreeSet<String>,
    namespace_selector: Matcher,
    selector: Matcher,
    /// Nodes with the same value of this label are one place.
    pub topology_key: String,
    /// 1 to 100 for a preferred term; 0 for a required one.
    pub weight: i64,
}

impl PodInfo {
    /// Works out what the scheduler asks of a pod again and again.
    pub fn new(pod: Arc<Pod>) -> PodInfo {
        let (non_zero_milli_cpu, non_zero_memory) = non_zero_requests(&pod);
        PodInfo {
            key: Key::of_meta(&pod.metadata),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            priority: pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0),
            requests: pod_requests(&pod),
            non_zero_milli_cpu,
            non_zero_memory,
            host_ports: pod.spec.as_deref().map(HostPort::of).unwrap_or_default(),
            terms: AffinityTerms::of(&pod),
            pod,
        }
    }

    /// The pod's spec; every stored pod has one.
    pub fn spec(&self) -> Option<&Spec> {
        self.pod.spec.as_ref()
    }

    /// The pod's namespace.
    pub fn namespace(&self) -> &str {
        self.pod.metadata.namespace()
    }

    /// The pod's labels, if it has any.
    pub fn labels(&self) -> &Labels {
        static NONE: Labels = Labels::new();
        self.pod.metadata.labels.as_ref().unwrap_or(&NONE)
    }

    /// Whether a deletion has begun.
    pub fn terminating(&self) -> bool {
        self.pod.metadata.deletion_timestamp.is_some()
    }

    /// The node a preemption made room on for this pod, if any.
    pub fn nominated_node(&self) -> Option<&str> {
        nominated_node(&self.pod)
    }
}

impl AffinityTerms {
    fn of(pod: &Pod) -> AffinityTerms {
        let Some(affinity) = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()) else {
            return AffinityTerms::default();
        };
        let namespace = pod.metadata.namespace();
        let required = |terms: Option<&Vec<PodAffinityTerm>>| -> Vec<AffinityTerm> {
            terms.into_iter().flatten().map(|term| AffinityTerm::new(namespace, term, 0)).collect()
        };
        let preferred = |terms: Option<&Vec<WeightedPodAffinityTerm>>| -> Vec<AffinityTerm> {
            let terms = terms.into_iter().flatten();
            terms.map(|term| AffinityTerm::new(namespace, &term.pod_affinity_term, i64::from(term.weight))).collect()
        };
        let near = affinity.pod_affinity.as_ref();
        let far = affinity.pod_anti_affinity.as_ref();
        AffinityTerms {
            required_affinity: required(
                near.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref()),
            ),
            required_anti_affinity: required(
                far.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref()),
            ),
            preferred_affinity: preferred(
                near.and_then(|a| a.preferred_during_scheduling_ignored_during_execution.as_ref()),
            ),
            preferred_anti_affinity: preferred(
                far.and_then(|a| a.preferred_during_scheduling_ignored_during_execution.as_ref()),
            ),
        }
    }

    /// Whether the pod says nothing about other pods.
    pub fn is_empty(&self) -> bool {
        self.required_affinity.is_empty() && self.required_anti_affinity.is_empty() && !self.any_preferred()
    }

    /// Whether the pod prefers to be near or far from others.
    pub fn any_preferred(&self) -> bool {
        !self.preferred_affinity.is_empty() || !self.preferred_anti_affinity.is_empty()
    }
}

impl AffinityTerm {
    /// A term that names no namespace and selects none is about the pod's own namespace.
    /// Mirrors `getNamespacesFromPodAffinityTerm`.
    fn new(namespace: &str, term: &PodAffinityTerm, weight: i64) -> AffinityTerm {
        let mut namespaces: BTreeSet<String> = term.namespaces.iter().flatten().cloned().collect();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.insert(namespace.to_owned());
        }
        AffinityTerm {
            namespaces,
            namespace_selector: Matcher::new(term.namespace_selector.as_ref()),
            selector: Matcher::new(term.label_selector.as_ref()),
            topology_key: term.topology_key.clone(),
            weight,
        }
    }

    /// Whether the term is about pods with these labels in this namespace.
    pub fn matches(&self, namespace: &str, namespace_labels: &Labels, labels: &Labels) -> bool {
        self.about_namespace(namespace, namespace_labels) && self.selector.matches(labels)
    }

    /// Whether the term is about this namespace at all.
    fn about_namespace(&self, namespace: &str, namespace_labels: &Labels) -> bool {
        self.namespaces.contains(namespace) || self.namespace_selector.matches(namespace_labels)
    }
}

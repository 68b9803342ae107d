//! InterPodAffinity: pods that want to be near other pods, or far from them.
//!
//! "Near" is being in the same place, and a place is all nodes that share a value of the term's `topologyKey`.
//! Required terms filter (`filter`), preferred ones score (`score`). It works both ways: a pod that is already
//! there and must be alone keeps a new one out, though the new one says nothing. Mirrors
//! `plugins/interpodaffinity`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Hint, Plugin, Point, PreFilter, PreScore};
use crate::labels::Labels;
use crate::node_info::NodeId;
use crate::pod_info::{AffinityTerm, PodInfo};
use crate::snapshot::Snapshot;
use object::{Accessor, Pod};

mod filter;
mod score;

/// Pods are put near other pods, or far from them, as both sides ask.
pub struct InterPodAffinity {
    /// How much a pod that is there and *requires* to be near the new one counts in scores.
    pub hard_pod_affinity_weight: i64,
    /// Whether pods that prefer nothing themselves are scored without asking what those there prefer.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinity {
    fn default() -> InterPodAffinity {
        InterPodAffinity { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Filter, Point::Score]
    }

    fn interests(&self) -> &'static [EventKind] {
        &[
            EventKind::AssignedPodAdd,
            EventKind::AssignedPodDelete,
            EventKind::PodUpdateLabel,
            EventKind::NodeAdd,
            EventKind::NodeUpdateLabel,
        ]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, snapshot: &Snapshot) -> Hint {
        if event.old_pod().is_some() || event.new_pod().is_some() {
            Hint::queue_if(pod_change_helps(pod, event, snapshot))
        } else {
            Hint::queue_if(node_change_helps(pod, event))
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        match filter::RequiredTerms::new(pod, snapshot) {
            None => PreFilter::Skip,
            Some(terms) => PreFilter::Ask(Box::new(terms)),
        }
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        if self.ignore_preferred_terms_of_existing_pods && !pod.terms.any_preferred() {
            return PreScore::Skip;
        }
        match score::Company::new(pod, snapshot, self.hard_pod_affinity_weight) {
            None => PreScore::Skip,
            Some(company) => PreScore::Ask(Box::new(company)),
        }
    }
}

/// Whether one pod matches every term; no terms match nothing. Mirrors `podMatchesAllAffinityTerms`.
fn matches_all(terms: &[AffinityTerm], namespace: &str, labels: &Labels, snapshot: &Snapshot) -> bool {
    let namespace_labels = snapshot.namespace_labels(namespace);
    !terms.is_empty() && terms.iter().all(|term| term.matches(namespace, namespace_labels, labels))
}

/// A pod came that this one wants near; or one went, or changed, that kept it out, by either's wish. Where there are several
/// terms to stay away, a pod counts only if it matches them all, though one of them would keep it out: so it is in
/// Kubernetes. Mirrors `isSchedulableAfterPodChange`.
fn pod_change_helps(pod: &PodInfo, event: &ClusterEvent, snapshot: &Snapshot) -> bool {
    let wanted = |other: Option<&Arc<Pod>>| {
        other.is_some_and(|other| {
            let (namespace, labels) = namespace_and_labels(other);
            matches_all(&pod.terms.required_affinity, namespace, labels, snapshot)
        })
    };
    let unwanted = |other: Option<&Arc<Pod>>| {
        other.is_some_and(|other| {
            let (namespace, labels) = namespace_and_labels(other);
            matches_all(&pod.terms.required_anti_affinity, namespace, labels, snapshot)
                || is_shunned_by(pod, other, snapshot)
        })
    };
    let arrives = wanted(event.new_pod()) && !wanted(event.old_pod());
    let leaves = unwanted(event.old_pod()) && !unwanted(event.new_pod());
    event.is_about(&pod.key) || arrives || leaves
}

/// Whether `other` requires to be away from `pod`.
fn is_shunned_by(pod: &PodInfo, other: &Arc<Pod>, snapshot: &Snapshot) -> bool {
    let affinity = other.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
    if affinity.is_none_or(|affinity| affinity.pod_anti_affinity.is_none()) {
        return false;
    }
    let terms = PodInfo::new(other.clone()).terms.required_anti_affinity;
    matches_all(&terms, pod.namespace(), pod.labels(), snapshot)
}

fn namespace_and_labels(pod: &Pod) -> (&str, &Labels) {
    static NONE: Labels = Labels::new();
    (pod.metadata.namespace(), pod.metadata.labels.as_ref().unwrap_or(&NONE))
}

/// A node came to, or moved to, a place that the pod's required affinity may want. Anti-affinity passes nodes that are
/// in no place: so any new node may help, and so may one that leaves its place, or moves to another, since it takes along
/// the pods that were in the way there. Mirrors `isSchedulableAfterNodeChange`.
fn node_change_helps(pod: &PodInfo, event: &ClusterEvent) -> bool {
    let place = |node: Option<&Arc<Node>>, key: &str| {
        node.and_then(|node| node.metadata.labels.as_ref()).and_then(|labels| labels.get(key)).cloned()
    };
    let moved = |key: &str| place(event.old_node(), key) != place(event.new_node(), key);
    let arrived = |key: &str| moved(key) && place(event.new_node(), key).is_some();
    let left = |key: &str| moved(key) && place(event.old_node(), key).is_some();
    let (near, far) = (&pod.terms.required_affinity, &pod.terms.required_anti_affinity);
    near.iter().any(|term| arrived(&term.topology_key))
        || far.iter().any(|term| event.old_node().is_none() || left(&term.topology_key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::node_changes;
    use crate::testing::{info, labelled, node};

    #[test]
    fn a_pod_that_goes_helps_if_it_matches_all_that_either_stays_away_from() {
        let away = |apps: &[&str]| {
            let term = |app: &&str| format!("{{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: zone}}");
            let terms = apps.iter().map(term).collect::<Vec<_>>().join(", ");
            let required = format!("{{requiredDuringSchedulingIgnoredDuringExecution: [{terms}]}}");
            format!("{{nodeName: n, affinity: {{podAntiAffinity: {required}}}}}")
        };
        let hint = |own: &[&str], theirs: &[&str]| {
            let gone = ClusterEvent::pod_deleted(&Arc::new(labelled("q", "app=web", &away(theirs))));
            let pod = info(labelled("p", "app=db", &away(own)));
            InterPodAffinity::default().hint(&pod, &gone, &Snapshot::default())
        };
        assert_eq!(hint(&["web"], &[]), Hint::Queue);
        assert_eq!(hint(&["cache"], &[]), Hint::QueueSkip);
        assert_eq!(hint(&["web", "cache"], &[]), Hint::QueueSkip, "it matches one of two");
        assert_eq!(hint(&["cache"], &["db"]), Hint::Queue);
        assert_eq!(hint(&["cache"], &["db", "web"]), Hint::QueueSkip);
    }

    #[test]
    fn a_node_helps_that_comes_to_a_place_to_be_near_or_leaves_one_to_avoid() {
        let wants = |kind: &str| {
            let term = "{labelSelector: {matchLabels: {app: web}}, topologyKey: zone}";
            let terms = format!("{{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}");
            info(labelled("p", "app=x", &format!("{{affinity: {{{kind}: {terms}}}}}")))
        };
        let of = |zone: &str| Arc::new(node("n", &format!("{{metadata: {{labels: {{{zone}}}}}}}")));
        let (a, b, bare) = (of("zone: a"), of("zone: b"), of(""));
        for (event, near, far) in [
            (ClusterEvent::node_added(&a), Hint::Queue, Hint::Queue),
            (ClusterEvent::node_added(&bare), Hint::QueueSkip, Hint::Queue),
            (node_changes(&bare, &a).remove(0), Hint::Queue, Hint::QueueSkip),
            (node_changes(&a, &b).remove(0), Hint::Queue, Hint::Queue),
            (node_changes(&a, &bare).remove(0), Hint::QueueSkip, Hint::Queue),
            (node_changes(&a, &of("zone: a, more: x")).remove(0), Hint::QueueSkip, Hint::QueueSkip),
        ] {
            for (kind, expected) in [("podAffinity", near), ("podAntiAffinity", far)] {
                let hint = InterPodAffinity::default().hint(&wants(kind), &event, &Snapshot::default());
                assert_eq!(hint, expected, "{kind} {event:?}");
            }
            let asks_for_nothing = info(labelled("p", "app=x", ""));
            let hint = InterPodAffinity::default().hint(&asks_for_nothing, &event, &Snapshot::default());
            assert_eq!(hint, Hint::QueueSkip, "kept out by another: {event:?}");
        }
    }
}

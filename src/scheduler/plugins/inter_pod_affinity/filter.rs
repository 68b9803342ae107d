//! The required terms, of the pod and of those already there. Mirrors `interpodaffinity/filtering.go`.

use super::matches_all;
use crate::framework::{Filter, Rejection, Verdict};
use crate::node_info::{KeyId, NodeId, NodeInfo, PairId};
use crate::pod_info::{AffinityTerm, PodInfo};
use crate::snapshot::Snapshot;

const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";
const REASON_ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
const REASON_EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// One pod's required terms, with the pods they are about counted by place.
pub struct RequiredTerms<'a> {
    pod: &'a PodInfo,
    snapshot: &'a Snapshot,
    /// For each place: pods there that match all of the pod's affinity terms, once for each term's key.
    wanted: Places,
    /// For each place: pods there that match one of the pod's anti-affinity terms.
    unwanted: Places,
    /// For each place: pods there whose anti-affinity terms match the pod.
    shunning: Places,
}

/// Counts by label pair, that is by place.
#[derive(Default)]
struct Places {
    by_pair: Vec<i64>,
    /// The sum, to see at once that there are none.
    total: i64,
}

impl Places {
    fn add(&mut self, node: &NodeInfo, key: Option<KeyId>, by: i64) {
        self.add_to(key.and_then(|key| node.pair(key)), by);
    }

    fn add_to(&mut self, place: Option<PairId>, by: i64) {
        let Some(place) = place else { return };
        let at = place.0 as usize;
        if self.by_pair.len() <= at {
            self.by_pair.resize(at + 1, 0);
        }
        self.by_pair[at] += by;
        self.total += by;
    }

    fn at(&self, node: &NodeInfo, key: KeyId) -> Option<i64> {
        let place = node.pair(key)?;
        Some(self.by_pair.get(place.0 as usize).copied().unwrap_or(0))
    }
}

impl<'a> RequiredTerms<'a> {
    /// None if neither the pod nor anyone there requires anything.
    pub fn new(pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<RequiredTerms<'a>> {
        let (wanted, unwanted, shunning) = (Places::default(), Places::default(), Places::default());
        let mut terms = RequiredTerms { pod, snapshot, wanted, unwanted, shunning };
        terms.count_shunning();
        if !pod.terms.required_affinity.is_empty() || !pod.terms.required_anti_affinity.is_empty() {
            terms.count_wanted_and_unwanted();
        } else if terms.shunning.total == 0 {
            return None;
        }
        Some(terms)
    }

    fn count_shunning(&mut self) {
        for class in self.snapshot.classes.with_terms() {
            let own = &class.terms.required_anti_affinity;
            for term in own.iter().filter(|term| is_about(term, self.pod, self.snapshot)) {
                count(self.snapshot, &mut self.shunning, &class.nodes, term);
            }
        }
    }

    fn count_wanted_and_unwanted(&mut self) {
        let terms = &self.pod.terms;
        for class in self.snapshot.classes.all() {
            let namespace_labels = self.snapshot.namespace_labels(&class.namespace);
            if matches_all(&terms.required_affinity, &class.namespace, &class.labels, self.snapshot) {
                for term in &terms.required_affinity {
                    count(self.snapshot, &mut self.wanted, &class.nodes, term);
                }
            }
            let about = |term: &&AffinityTerm| term.matches(&class.namespace, namespace_labels, &class.labels);
            for term in terms.required_anti_affinity.iter().filter(about) {
                count(self.snapshot, &mut self.unwanted, &class.nodes, term);
            }
        }
    }

    fn change(&mut self, other: &PodInfo, node: &NodeInfo, by: i64) {
        let (snapshot, terms) = (self.snapshot, &self.pod.terms);
        let key = |term: &AffinityTerm| snapshot.label_key(&term.topology_key);
        for term in other.terms.required_anti_affinity.iter().filter(|term| is_about(term, self.pod, snapshot)) {
            self.shunning.add(node, key(term), by);
        }
        if matches_all(&terms.required_affinity, other.namespace(), other.labels(), snapshot) {
            terms.required_affinity.iter().for_each(|term| self.wanted.add(node, key(term), by));
        }
        for term in terms.required_anti_affinity.iter().filter(|term| is_about(term, other, snapshot)) {
            self.unwanted.add(node, key(term), by);
        }
    }

    /// Every term's place must hold a pod that matches all terms. The first pod of a group that wants to be near
    /// itself may go anywhere, else it could never start.
    fn near_enough(&self, node: &NodeInfo) -> bool {
        let terms = &self.pod.terms.required_affinity;
        let mut all = true;
        for term in terms {
            let key = self.snapshot.label_key(&term.topology_key);
            match key.and_then(|key| self.wanted.at(node, key)) {
                None => return false,
                Some(pods) => all &= pods > 0,
            }
        }
        all || (self.wanted.total == 0 && matches_all(terms, self.pod.namespace(), self.pod.labels(), self.snapshot))
    }

    fn far_enough(&self, node: &NodeInfo) -> bool {
        let crowded = |term: &AffinityTerm| {
            let key = self.snapshot.label_key(&term.topology_key);
            key.and_then(|key| self.unwanted.at(node, key)).is_some_and(|pods| pods > 0)
        };
        !self.pod.terms.required_anti_affinity.iter().any(crowded)
    }

    fn welcome(&self, node: &NodeInfo) -> bool {
        let shunned = |pair: usize| self.shunning.by_pair.get(pair).is_some_and(|pods| *pods > 0);
        self.shunning.total == 0 || !node.label_pairs.iter().any(|(_, pair)| shunned(pair.0 as usize))
    }
}

impl Filter for RequiredTerms<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        if !self.near_enough(node) {
            Err(Rejection::unresolvable(REASON_AFFINITY))
        } else if !self.far_enough(node) {
            Err(Rejection::unschedulable(REASON_ANTI_AFFINITY))
        } else if !self.welcome(node) {
            Err(Rejection::unschedulable(REASON_EXISTING))
        } else {
            Ok(())
        }
    }

    fn add_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.change(pod, node, 1);
    }

    fn remove_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.change(pod, node, -1);
    }
}

fn is_about(term: &AffinityTerm, pod: &PodInfo, snapshot: &Snapshot) -> bool {
    term.matches(pod.namespace(), snapshot.namespace_labels(pod.namespace()), pod.labels())
}

/// Counts the pods of a class, node by node, in the places that the term tells apart.
fn count(snapshot: &Snapshot, places: &mut Places, nodes: &[(NodeId, u32)], term: &AffinityTerm) {
    let Some(key) = snapshot.label_key(&term.topology_key) else { return };
    for (node, pods) in nodes {
        places.add_to(snapshot.place_of(*node, key), i64::from(*pods));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::inter_pod_affinity::InterPodAffinity;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{labelled, node, snapshot};

    fn affinity(kind: &str, app: &str, key: &str, more: &str) -> String {
        format!(
            "{{affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: {key}{more}}}]}}}}}}"
        )
    }

    fn cluster() -> Snapshot {
        let zone = |zone: &str| format!("{{metadata: {{labels: {{zone: {zone}}}}}}}");
        let alone = affinity("podAntiAffinity", "web", "zone", "");
        let pods = vec![(labelled("1", "app=cache", ""), "a1"), (labelled("2", "app=loner", &alone), "b1")];
        let nodes = vec![node("a1", &zone("a")), node("a2", &zone("a")), node("b1", &zone("b")), node("bare", "")];
        let mut snapshot = snapshot(nodes, pods);
        snapshot.set_namespace("other", Some([("team".to_owned(), "x".to_owned())].into()));
        snapshot.set_namespace("default", Some([("team".to_owned(), "y".to_owned())].into()));
        snapshot
    }

    #[test]
    fn required_terms_of_the_pod_and_of_those_there() {
        let near = |app: &str, more: &str| affinity("podAffinity", app, "zone", more);
        let far = |app: &str| affinity("podAntiAffinity", app, "zone", "");
        let cases = [
            (near("cache", ""), "app=x", ["", "", REASON_AFFINITY, REASON_AFFINITY]),
            (far("cache"), "app=x", [REASON_ANTI_AFFINITY, REASON_ANTI_AFFINITY, "", ""]),
            (String::new(), "app=x", ["", "", "", ""]),
            (String::new(), "app=web", ["", "", REASON_EXISTING, ""]),
            // Near itself, but no such pod exists yet: anywhere with the label.
            (near("group", ""), "app=group", ["", "", "", REASON_AFFINITY]),
            (near("group", ""), "app=x", [REASON_AFFINITY; 4]),
            (near("cache", ", namespaces: [other]"), "app=x", [REASON_AFFINITY; 4]),
            (near("cache", ", namespaceSelector: {}"), "app=x", ["", "", REASON_AFFINITY, REASON_AFFINITY]),
            (near("cache", ", namespaceSelector: {matchLabels: {team: x}}"), "app=x", [REASON_AFFINITY; 4]),
        ];
        let snapshot = cluster();
        for (spec, labels, reasons) in cases {
            for (name, reason) in ["a1", "a2", "b1", "bare"].into_iter().zip(reasons) {
                let pod = labelled("p", labels, &spec);
                assert_eq!(
                    filter_reasons(&InterPodAffinity::default(), pod, &snapshot, name),
                    reason,
                    "{labels} {spec} on {name}"
                );
            }
        }
    }

    #[test]
    fn supposing_a_pod_away_is_undone_by_supposing_it_back() {
        let snapshot = cluster();
        let pod = crate::testing::info(labelled("p", "app=web", ""));
        let mut terms = RequiredTerms::new(&pod, &snapshot).expect("a loner is there");
        let node = snapshot.node_named("b1").expect("the node is there");
        let loner = node.pods[0].clone();
        assert!(terms.filter(node).is_err());
        terms.remove_pod(&loner, node);
        assert!(terms.filter(node).is_ok());
        terms.add_pod(&loner, node);
        assert!(terms.filter(node).is_err());
    }
}

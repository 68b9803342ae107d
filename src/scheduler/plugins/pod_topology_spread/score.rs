//! The soft constraints: fewer matching pods in the same place is better. Mirrors `podtopologyspread/scoring.go`.

use super::{Constraint, HOSTNAME, Required, has_every_key};
use crate::framework::{MAX_NODE_SCORE, Score};
use crate::node_info::{NodeId, NodeInfo, PairId};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// The raw score of a node that lacks a required label; it ends as 0.
const IGNORED: i64 = i64::MIN;

/// The constraints of one pod, with the matching pods counted by place.
pub struct Evenness {
    constraints: Vec<Weighed>,
    /// Nodes that lack a label of the pod's own constraints score 0. The scheduler's defaults ask for no label.
    every_key: bool,
    keys: Vec<Constraint>,
}

/// One constraint's counts.
struct Weighed {
    counts: Counts,
    max_skew: i64,
    /// With more places a difference of one pod means less to each, so it weighs more: ln(places + 2).
    weight: f64,
}

enum Counts {
    /// Each node is its own place.
    ByNode(Vec<i64>),
    /// Several nodes share a place.
    ByPlace(Vec<i64>),
}

impl Evenness {
    pub fn new(
        pod: &PodInfo,
        snapshot: &Snapshot,
        keys: Vec<Constraint>,
        every_key: bool,
        feasible: &[NodeId],
    ) -> Evenness {
        let scored: Vec<&NodeInfo> = feasible
            .iter()
            .map(|id| snapshot.node(*id))
            .filter(|node| !every_key || has_every_key(node, &keys))
            .collect();
        let required = pod.spec().and_then(|spec| Required::of(spec));
        let weigh = |constraint: &Constraint| {
            if constraint.topology_key == HOSTNAME {
                by_node(constraint, pod, snapshot, scored.len())
            } else {
                by_place(constraint, pod, snapshot, &scored, required.as_ref(), every_key.then_some(&keys))
            }
        };
        Evenness { constraints: keys.iter().map(weigh).collect(), every_key, keys }
    }
}

fn by_node(constraint: &Constraint, pod: &PodInfo, snapshot: &Snapshot, places: usize) -> Weighed {
    let mut counts = vec![0; snapshot.node_slots()];
    constraint.count(pod, snapshot, |node, pods| counts[node.0 as usize] += pods);
    Weighed { counts: Counts::ByNode(counts), max_skew: constraint.max_skew, weight: weight(places) }
}

/// Only the places of nodes that passed the filters count; but in those, pods on any node do that the constraint
/// includes.
fn by_place(
    constraint: &Constraint,
    pod: &PodInfo,
    snapshot: &Snapshot,
    scored: &[&NodeInfo],
    required: Option<&Required>,
    keys: Option<&Vec<Constraint>>,
) -> Weighed {
    let mut counts = vec![0; snapshot.pair_slots()];
    let mut is_place = vec![false; snapshot.pair_slots()];
    let place = |node: &NodeInfo| -> Option<PairId> { node.pair(constraint.key?) };
    for node in scored {
        if let Some(place) = place(node) {
            is_place[place.0 as usize] = true;
        }
    }
    // The nodes without the label are one place more, though it gives no points.
    let nowhere = usize::from(scored.iter().any(|node| place(node).is_none()));
    let includes_all = keys.is_none() && constraint.includes_all(required);
    constraint.count(pod, snapshot, |id, pods| {
        let Some(place) = constraint.key.and_then(|key| snapshot.place_of(id, key)) else { return };
        let node = || snapshot.node(id);
        let complete = || keys.is_none_or(|keys| has_every_key(node(), keys));
        if includes_all || (complete() && constraint.includes(node(), pod, required)) {
            counts[place.0 as usize] += pods;
        }
    });
    let places = is_place.iter().filter(|is_place| **is_place).count() + nowhere;
    Weighed { counts: Counts::ByPlace(counts), max_skew: constraint.max_skew, weight: weight(places) }
}

/// Mirrors `topologyNormalizingWeight`.
fn weight(places: usize) -> f64 {
    (places as f64 + 2.0).ln()
}

impl Score for Evenness {
    fn score(&self, node: &NodeInfo) -> i64 {
        if self.every_key && !has_every_key(node, &self.keys) {
            return IGNORED;
        }
        let mut score = 0.0;
        for (constraint, key) in self.constraints.iter().zip(&self.keys) {
            let Some(place) = key.key.and_then(|key| node.pair(key)) else { continue };
            let count = match &constraint.counts {
                Counts::ByNode(counts) => counts[node.id.0 as usize],
                Counts::ByPlace(counts) => counts[place.0 as usize],
            };
            score += count as f64 * constraint.weight + (constraint.max_skew - 1) as f64;
        }
        score.round() as i64
    }

    /// Turns "few pods" into "high score".
    fn normalise(&self, raw: &mut [i64]) {
        let counted = || raw.iter().copied().filter(|score| *score != IGNORED);
        let max = counted().max().unwrap_or(0);
        let min = counted().min().unwrap_or(0);
        for score in raw {
            *score = match *score {
                IGNORED => 0,
                _ if max == 0 => MAX_NODE_SCORE,
                few => MAX_NODE_SCORE * (max + min - few) / max,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::{Service, ServiceSpec};

    use serde_json::json;

    use super::*;
    use crate::plugins::pod_topology_spread::PodTopologySpread;
    use crate::plugins::testing::{filter_reasons, scores};
    use crate::testing::{labelled, node, snapshot};
    use object::well_known::ZONE;

    fn cluster() -> Snapshot {
        let zone = |zone: &str| format!("{{metadata: {{labels: {{topology.kubernetes.io/zone: {zone}}}}}}}");
        let nodes = vec![node("a1", &zone("a")), node("a2", &zone("a")), node("b1", &zone("b")), node("bare", "")];
        let web = |name| labelled(name, "app=web", "");
        snapshot(nodes, vec![(web("1"), "a1"), (web("2"), "a1"), (web("3"), "b1")])
    }

    fn with_service() -> Snapshot {
        let mut snapshot = cluster();
        let selector = [("app".to_owned(), "web".to_owned())].into();
        let spec = ServiceSpec { selector: Some(selector), ..ServiceSpec::default() };
        let service = Service { spec: Some(spec), ..Service::default() };
        snapshot.set_service("default", "web", Some(Arc::new(service)));
        snapshot
    }

    /// As hard constraints, and as soft ones, which ignore the node without a zone.
    #[test]
    fn a_profile_may_have_other_default_constraints() {
        let list = |when: &str| {
            let constraint = json!({"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": when});
            PodTopologySpread { defaults: Some(vec![serde_json::from_value(constraint).unwrap()]) }
        };
        let (snapshot, web) = (with_service(), || labelled("p", "app=web", ""));
        assert_eq!(scores(&list("ScheduleAnyway"), web(), &snapshot), [33, 33, 100, 0]);
        assert!(scores(&list("DoNotSchedule"), web(), &snapshot).is_empty());
        let full = "node(s) didn't match pod topology spread constraints";
        for (plugin, pod, reason) in [
            (list("DoNotSchedule"), web(), full),
            (list("DoNotSchedule"), labelled("q", "app=db", ""), ""),
            (list("ScheduleAnyway"), web(), ""),
            (PodTopologySpread::default(), web(), ""),
        ] {
            assert_eq!(filter_reasons(&plugin, pod, &snapshot, "a1"), reason);
        }
        assert_eq!(filter_reasons(&list("DoNotSchedule"), web(), &snapshot, "b1"), "");
    }

    #[test]
    fn without_constraints_or_a_service_there_is_no_preference() {
        assert!(scores(&PodTopologySpread::default(), labelled("p", "app=web", ""), &cluster()).is_empty());
    }

    #[test]
    fn a_service_brings_the_default_constraints() {
        let snapshot = with_service();
        // Raw: hostname count * ln 6 + 2, zone count * ln 5 + 4: 13, 9, 9 and (no zone) 2; then 100*(15-raw)/13.
        assert_eq!(scores(&PodTopologySpread::default(), labelled("p", "app=web", ""), &snapshot), [15, 46, 46, 100]);
        assert!(scores(&PodTopologySpread::default(), labelled("q", "app=db", ""), &snapshot).is_empty());
    }

    #[test]
    fn own_constraints_leave_out_nodes_without_the_label() {
        let spec = "{topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]}";
        // Zone counts 2 and 1 times ln 4: 3 and 1.
        assert_eq!(scores(&PodTopologySpread::default(), labelled("p", "app=web", spec), &cluster()), [33, 33, 100, 0]);
    }
}

//! The hard constraints: no place more than `maxSkew` above the least. Mirrors `podtopologyspread/filtering.go`.

use super::{Constraint, Required, has_every_key};
use crate::framework::{Filter, Rejection, Verdict};
use crate::node_info::{NodeInfo, PairId};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

const REASON: &str = "node(s) didn't match pod topology spread constraints";
const REASON_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// Not a place: no node that counts has this value.
const NO_PLACE: i64 = i64::MIN;

/// The constraints of one pod, with the matching pods counted by place.
pub struct MaxSkew<'a> {
    pod: &'a PodInfo,
    required: Option<Required<'a>>,
    constraints: Vec<Constraint>,
    counts: Vec<Counts>,
}

/// Matching pods by place, for one constraint.
struct Counts {
    /// By the number of the label pair.
    by_place: Vec<i64>,
    /// The least of them; none if there is no place.
    least: Option<i64>,
    places: i64,
}

impl<'a> MaxSkew<'a> {
    pub fn new(pod: &'a PodInfo, snapshot: &Snapshot, constraints: Vec<Constraint>) -> MaxSkew<'a> {
        let required = pod.spec().and_then(|spec| Required::of(spec));
        let counts = constraints.iter().map(|c| Counts::new(c, pod, snapshot, &constraints, required.as_ref()));
        MaxSkew { counts: counts.collect(), pod, required, constraints }
    }

    /// Mirrors `updateWithPod`, which does not ask whether the pod was counted: one that is being deleted was not, and
    /// supposing it gone takes one away all the same.
    fn change(&mut self, pod: &PodInfo, node: &NodeInfo, by: i64) {
        if pod.namespace() != self.pod.namespace() || !has_every_key(node, &self.constraints) {
            return;
        }
        for (constraint, counts) in self.constraints.iter().zip(&mut self.counts) {
            let Some(place) = constraint.key.and_then(|key| node.pair(key)) else { continue };
            if constraint.selector.matches(pod.labels()) && constraint.includes(node, self.pod, self.required.as_ref())
            {
                counts.by_place[place.0 as usize] += by;
                counts.find_least();
            }
        }
    }
}

impl Counts {
    fn new(
        constraint: &Constraint,
        pod: &PodInfo,
        snapshot: &Snapshot,
        all: &[Constraint],
        required: Option<&Required>,
    ) -> Counts {
        let mut place_of: Vec<Option<PairId>> = vec![None; snapshot.node_slots()];
        let mut by_place = vec![NO_PLACE; snapshot.pair_slots()];
        for id in snapshot.order() {
            let node = snapshot.node(*id);
            let Some(place) = constraint.key.and_then(|key| node.pair(key)) else { continue };
            if has_every_key(node, all) && constraint.includes(node, pod, required) {
                place_of[id.0 as usize] = Some(place);
                by_place[place.0 as usize] = 0;
            }
        }
        constraint.count(pod, snapshot, |node, pods| {
            if let Some(place) = place_of[node.0 as usize] {
                by_place[place.0 as usize] += pods;
            }
        });
        let mut counts = Counts { by_place, least: None, places: 0 };
        counts.find_least();
        counts
    }

    fn find_least(&mut self) {
        let places = || self.by_place.iter().copied().filter(|count| *count != NO_PLACE);
        (self.least, self.places) = (places().min(), places().count() as i64);
    }
}

impl Filter for MaxSkew<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        for (constraint, counts) in self.constraints.iter().zip(&self.counts) {
            let Some(place) = constraint.key.and_then(|key| node.pair(key)) else {
                return Err(Rejection::unresolvable(REASON_LABEL));
            };
            let Some(least) = counts.least else { continue };
            let least = if counts.places < constraint.min_domains { 0 } else { least };
            let here = match counts.by_place[place.0 as usize] {
                NO_PLACE => 0,
                pods => pods,
            };
            let itself = i64::from(constraint.selector.matches(self.pod.labels()));
            if here + itself - least > constraint.max_skew {
                return Err(Rejection::unschedulable(REASON));
            }
        }
        Ok(())
    }

    fn add_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.change(pod, node, 1);
    }

    fn remove_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.change(pod, node, -1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::pod_topology_spread::PodTopologySpread;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{labelled, node, snapshot};

    fn constraint(more: &str) -> String {
        format!(
            "{{topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: web}}}}{more}}}]}}"
        )
    }

    #[test]
    fn no_place_may_lead_by_more_than_the_skew() {
        let zone = |zone: &str, more: &str| format!("{{metadata: {{labels: {{zone: {zone}}}}}{more}}}");
        let nodes = vec![
            node("a1", &zone("a", "")),
            node("b1", &zone("b", "")),
            node("c1", &zone("c", ", spec: {taints: [{key: t, effect: NoSchedule}]}")),
            node("bare", ""),
        ];
        let web = |name| labelled(name, "app=web", "");
        let pods = vec![(web("1"), "a1"), (web("2"), "a1"), (web("3"), "b1"), (labelled("4", "app=db", ""), "b1")];
        let snapshot = snapshot(nodes, pods);
        let plain = constraint("");
        let cases = [
            // Zone c has none, so it alone may take the next one.
            (plain.clone(), "a1", REASON),
            (plain.clone(), "b1", REASON),
            (plain.clone(), "c1", ""),
            (plain, "bare", REASON_LABEL),
            (constraint(", nodeTaintsPolicy: Honor"), "b1", ""),
            (constraint(", minDomains: 4, nodeTaintsPolicy: Honor"), "b1", REASON),
            (constraint("").replace("maxSkew: 1", "maxSkew: 2"), "b1", ""),
            (constraint(", matchLabelKeys: [version]"), "a1", REASON),
        ];
        for (spec, name, reason) in cases {
            let pod = labelled("p", "app=web", &spec);
            assert_eq!(filter_reasons(&PodTopologySpread::default(), pod, &snapshot, name), reason, "{spec} on {name}");
        }
        let selector = constraint("").replace("{topology", "{nodeSelector: {zone: b}, topology");
        let pod = labelled("p", "app=web", &selector);
        assert_eq!(filter_reasons(&PodTopologySpread::default(), pod, &snapshot, "b1"), "", "other zones do not count");
        let versioned = labelled("p", "app=web,version=2", &constraint(", matchLabelKeys: [version]"));
        assert_eq!(
            filter_reasons(&PodTopologySpread::default(), versioned, &snapshot, "a1"),
            "",
            "old versions do not count"
        );
    }
}

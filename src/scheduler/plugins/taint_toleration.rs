//! TaintToleration: a tainted node takes only pods that tolerate its taints; taints that merely ask to stay away
//! (`PreferNoSchedule`) count against the node. Mirrors `plugins/tainttoleration/taint_toleration.go`.

use k8s_openapi::api::core::v1::{Node, Taint, Toleration};

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{
    Filter, Hint, Plugin, Point, PreFilter, PreScore, Rejection, Score, Verdict, normalise_by_maximum,
};
use crate::node_info::{NodeId, NodeInfo};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use object::node::taints_of;
use object::taint;

/// Why a node is turned down.
pub const REASON: &str = "node(s) had untolerated taint(s)";

/// Taints keep pods away that do not tolerate them.
pub struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Filter, Point::Score]
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeUpdateTaint, EventKind::PodUpdateToleration]
    }

    /// Worth a try when the node was out of reach and no longer is.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        let Some(new) = event.new_node() else { return Hint::queue_if(event.is_about(&pod.key)) };
        let shut = |node: &Node| untolerated(taints_of(node), tolerations(pod)).is_some();
        let was_shut = event.old_node().is_none_or(|old| shut(old));
        Hint::queue_if(was_shut && !shut(new))
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        PreFilter::Ask(Box::new(Tolerated(tolerations(pod))))
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        let soft = tolerations(pod).iter().filter(|toleration| match toleration.effect.as_deref() {
            None | Some("" | "PreferNoSchedule") => true,
            Some(_) => false,
        });
        PreScore::Ask(Box::new(FewestIntolerable(soft.cloned().collect())))
    }
}

/// The pod's tolerations.
pub fn tolerations(pod: &PodInfo) -> &[Toleration] {
    pod.spec().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default()
}

/// Whether any of the tolerations covers the taint.
pub fn tolerates(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| taint::tolerates(toleration, taint))
}

/// The first taint that keeps a pod with these tolerations off: `NoSchedule` or `NoExecute`.
/// Mirrors `FindMatchingUntoleratedTaint`.
pub fn untolerated<'a>(taints: &'a [Taint], tolerations: &[Toleration]) -> Option<&'a Taint> {
    let hard = |taint: &&Taint| taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    taints.iter().filter(hard).find(|taint| !tolerates(tolerations, taint))
}

struct Tolerated<'a>(&'a [Toleration]);

impl Filter for Tolerated<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        match untolerated(node.taints(), self.0) {
            Some(_) => Err(Rejection::unresolvable(REASON)),
            None => Ok(()),
        }
    }
}

struct FewestIntolerable(Vec<Toleration>);

impl Score for FewestIntolerable {
    fn score(&self, node: &NodeInfo) -> i64 {
        let soft = node.taints().iter().filter(|taint| taint.effect == "PreferNoSchedule");
        soft.filter(|taint| !tolerates(&self.0, taint)).count() as i64
    }

    fn normalise(&self, raw: &mut [i64]) {
        normalise_by_maximum(raw, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{filter_reasons, scores};
    use crate::testing::{node, pod, snapshot};

    #[test]
    fn hard_taints_must_be_tolerated() {
        let db = "{spec: {taints: [{key: dedicated, value: db, effect: NoSchedule}]}}";
        let gone = "{spec: {taints: [{key: gone, effect: NoExecute}]}}";
        let soft = "{spec: {taints: [{key: a, effect: PreferNoSchedule}]}}";
        let cases = [
            ("", db, REASON),
            ("{tolerations: [{key: dedicated, operator: Equal, value: db, effect: NoSchedule}]}", db, ""),
            ("{tolerations: [{key: dedicated, value: web}]}", db, REASON),
            ("{tolerations: [{key: dedicated, operator: Exists}]}", db, ""),
            ("{tolerations: [{key: dedicated, operator: Exists, effect: NoExecute}]}", db, REASON),
            ("{tolerations: [{operator: Exists}]}", db, ""),
            ("", gone, REASON),
            ("", soft, ""),
        ];
        for (spec, yaml, reason) in cases {
            let snapshot = snapshot(vec![node("n", yaml)], vec![]);
            assert_eq!(filter_reasons(&TaintToleration, pod("p", spec), &snapshot, "n"), reason, "{spec} on {yaml}");
        }
    }

    #[test]
    fn soft_taints_lower_the_score() {
        let nodes = vec![
            node("none", ""),
            node("one", "{spec: {taints: [{key: a, effect: PreferNoSchedule}]}}"),
            node("two", "{spec: {taints: [{key: a, effect: PreferNoSchedule}, {key: b, effect: PreferNoSchedule}]}}"),
        ];
        let snapshot = snapshot(nodes, vec![]);
        let cases = [
            ("", [100, 50, 0]),
            ("{tolerations: [{key: a, operator: Exists}]}", [100, 100, 0]),
            ("{tolerations: [{key: a, operator: Exists, effect: NoSchedule}]}", [100, 50, 0]),
            ("{tolerations: [{operator: Exists}]}", [100, 100, 100]),
        ];
        for (spec, expected) in cases {
            assert_eq!(scores(&TaintToleration, pod("p", spec), &snapshot), expected, "{spec}");
        }
    }
}

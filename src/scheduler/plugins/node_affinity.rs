//! NodeAffinity: `nodeSelector` and node affinity, required and preferred.
//! Mirrors `plugins/nodeaffinity/node_affinity.go` and `component-helpers/scheduling/corev1/nodeaffinity`.

use k8s_openapi::api::core::v1::PreferredSchedulingTerm;

use crate::object::selector::nodes::{Required, term_matches};
use crate::scheduler::events::{ClusterEvent, EventKind};
use crate::scheduler::framework::{
    Filter, Hint, Plugin, Point, PreFilter, PreScore, Rejection, Score, Verdict, normalise_by_maximum,
};
use crate::scheduler::node_info::{NodeId, NodeInfo};
use crate::scheduler::pod_info::PodInfo;
use crate::scheduler::snapshot::Snapshot;

const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
const CONFLICT: &str = "pod affinity terms conflict";

/// The plugin.
pub struct NodeAffinity;

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Filter, Point::Score]
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeUpdateLabel]
    }

    /// Worth a try when the node matches and did not before.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        let (Some(required), Some(new)) = (pod.spec().and_then(Required::of), event.new_node()) else {
            return Hint::Queue;
        };
        let matched = event.old_node().is_some_and(|old| required.matches(old));
        Hint::queue_if(!matched && required.matches(new))
    }

    /// When every term pins `metadata.name`, as a DaemonSet's pods do, only those nodes are looked at.
    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        let Some(required) = pod.spec().and_then(Required::of) else { return PreFilter::Skip };
        match required.pinned_names() {
            None => PreFilter::Ask(Box::new(required)),
            Some(names) if names.is_empty() => PreFilter::Reject(Rejection::unresolvable(CONFLICT)),
            Some(names) => PreFilter::AskAbout(names, Box::new(required)),
        }
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        let affinity = pod.spec().and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
        match affinity.and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_deref()) {
            None | Some([]) => PreScore::Skip,
            Some(terms) => PreScore::Ask(Box::new(Preferred(terms))),
        }
    }
}

impl Filter for Required<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let matches = node.node.as_ref().is_some_and(|node| self.matches(node));
        if matches { Ok(()) } else { Err(Rejection::unresolvable(REASON)) }
    }
}

/// The sum of the weights of the preferred terms that match.
struct Preferred<'a>(&'a [PreferredSchedulingTerm]);

impl Score for Preferred<'_> {
    fn score(&self, node: &NodeInfo) -> i64 {
        let matching = self.0.iter().filter(|term| term_matches(&term.preference, &node.name, node.labels()));
        matching.map(|term| i64::from(term.weight)).sum()
    }

    fn normalise(&self, raw: &mut [i64]) {
        normalise_by_maximum(raw, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::plugins::testing::{filter_reasons, scores};
    use crate::scheduler::testing::{node, pod, snapshot};

    fn required(terms: &str) -> String {
        format!(
            "{{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}}}}}}}"
        )
    }

    #[test]
    fn selector_and_required_terms() {
        let snapshot = snapshot(vec![node("n", "{metadata: {labels: {disk: ssd, size: '5'}}}")], vec![]);
        let expressions = |list: &str| required(&format!("[{{matchExpressions: {list}}}]"));
        let cases = [
            (String::new(), ""),
            ("{nodeSelector: {disk: ssd}}".into(), ""),
            ("{nodeSelector: {disk: ssd, gpu: a}}".into(), REASON),
            (expressions("[{key: disk, operator: In, values: [hdd, ssd]}]"), ""),
            (expressions("[{key: disk, operator: NotIn, values: [ssd]}]"), REASON),
            (expressions("[{key: gpu, operator: NotIn, values: [a]}]"), ""),
            (expressions("[{key: gpu, operator: DoesNotExist}]"), ""),
            (expressions("[{key: gpu, operator: Exists}]"), REASON),
            (expressions("[{key: size, operator: Gt, values: ['4']}]"), ""),
            (expressions("[{key: size, operator: Lt, values: ['4']}]"), REASON),
            (expressions("[{key: disk, operator: Exists}, {key: gpu, operator: Exists}]"), REASON),
            (
                required(
                    "[{matchExpressions: [{key: gpu, operator: Exists}]}, {matchExpressions: [{key: disk, operator: Exists}]}]",
                ),
                "",
            ),
            (required("[{}]"), REASON),
            (required("[{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]"), ""),
            (required("[{matchFields: [{key: metadata.name, operator: In, values: [m]}]}]"), REASON),
        ];
        for (spec, reason) in cases {
            assert_eq!(filter_reasons(&NodeAffinity, pod("p", &spec), &snapshot, "n"), reason, "{spec}");
        }
    }

    #[test]
    fn two_names_at_once_are_rejected_before_any_node() {
        let spec = required(
            "[{matchFields: [{key: metadata.name, operator: In, values: [a]}, {key: metadata.name, operator: In, values: [b]}]}]",
        );
        let info = crate::scheduler::testing::info(pod("p", &spec));
        let snapshot = Snapshot::default();
        assert!(matches!(NodeAffinity.pre_filter(&info, &snapshot), PreFilter::Reject(r) if r.message() == CONFLICT));
    }

    #[test]
    fn preferred_terms_add_their_weights() {
        let nodes = vec![
            node("a", "{metadata: {labels: {x: '1', y: '1'}}}"),
            node("b", "{metadata: {labels: {x: '1'}}}"),
            node("c", ""),
        ];
        let spec = "{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 30, preference: {matchExpressions: [{key: x, operator: Exists}]}}, {weight: 10, preference: {matchExpressions: [{key: y, operator: Exists}]}}]}}}";
        assert_eq!(scores(&NodeAffinity, pod("p", spec), &snapshot(nodes, vec![])), [100, 75, 0]);
    }
}

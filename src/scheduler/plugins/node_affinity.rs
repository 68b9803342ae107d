//! NodeAffinity: `nodeSelector` and node affinity, required and preferred.
//! Mirrors `plugins/nodeaffinity/node_affinity.go` and `component-helpers/scheduling/corev1/nodeaffinity`.

use k8s_openapi::api::core::v1::{self as core, PreferredSchedulingTerm};

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{
    Filter, Hint, Plugin, Point, PreFilter, PreScore, Rejection, Score, Verdict, normalise_by_maximum,
};
use crate::node_info::{NodeId, NodeInfo};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use object::selector::nodes::{Required, term_matches};

const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
const ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";
const CONFLICT: &str = "pod affinity terms conflict";

/// The plugin.
#[derive(Default)]
pub struct NodeAffinity {
    /// What the profile asks for beside every Pod: its argument `addedAffinity`.
    pub added: core::NodeAffinity,
}

impl NodeAffinity {
    fn question<'a>(&'a self, pod: &'a PodInfo) -> Question<'a> {
        let added = self.added.required_during_scheduling_ignored_during_execution.as_ref();
        Question {
            of_profile: added.map(|added| Required::any_of(&added.node_selector_terms)),
            of_pod: pod.spec().and_then(|spec| Required::of(spec)),
        }
    }
}

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

    /// Worth a try when the node is as the Pod requires and was not before. Whether it was as the profile requires is not
    /// checked, as in Kubernetes.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        let Some(new) = event.new_node() else { return Hint::Queue };
        let Question { of_profile, of_pod } = self.question(pod);
        let matches = |required: &Option<Required>, node| required.as_ref().is_none_or(|it| it.matches(node));
        let matched = event.old_node().is_some_and(|old| matches(&of_pod, old));
        Hint::queue_if(matches(&of_profile, new) && matches(&of_pod, new) && !matched)
    }

    /// When every term pins `metadata.name`, as a DaemonSet's pods do, only those nodes are looked at.
    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        let question = self.question(pod);
        match question.of_pod.as_ref().and_then(Required::pinned_names) {
            None if question.of_profile.is_none() && question.of_pod.is_none() => PreFilter::Skip,
            None => PreFilter::Ask(Box::new(question)),
            Some(names) if names.is_empty() => PreFilter::Reject(Rejection::unresolvable(CONFLICT)),
            Some(names) => PreFilter::AskAbout(names, Box::new(question)),
        }
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        let of_pod = pod.spec().and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
        let preferred = |affinity: Option<&'a core::NodeAffinity>| {
            affinity.and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_deref())
        };
        let (added, of_pod) = (preferred(Some(&self.added)), preferred(of_pod));
        match (added.unwrap_or_default(), of_pod.unwrap_or_default()) {
            ([], []) => PreScore::Skip,
            (added, of_pod) => PreScore::Ask(Box::new(Preferred { added, of_pod })),
        }
    }
}

/// What is required of a node.
struct Question<'a> {
    of_profile: Option<Required<'a>>,
    of_pod: Option<Required<'a>>,
}

impl Filter for Question<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        for (required, reason) in [(&self.of_profile, ENFORCED), (&self.of_pod, REASON)] {
            let matches = |required: &Required| node.node.as_ref().is_some_and(|node| required.matches(node));
            if !required.as_ref().is_none_or(matches) {
                return Err(Rejection::unresolvable(reason));
            }
        }
        Ok(())
    }
}

/// The sum of the weights of the preferred terms that match: the profile's and the Pod's.
struct Preferred<'a> {
    added: &'a [PreferredSchedulingTerm],
    of_pod: &'a [PreferredSchedulingTerm],
}

impl Score for Preferred<'_> {
    fn score(&self, node: &NodeInfo) -> i64 {
        let all = self.added.iter().chain(self.of_pod);
        let matching = all.filter(|term| term_matches(&term.preference, &node.name, node.labels()));
        matching.map(|term| i64::from(term.weight)).sum()
    }

    fn normalise(&self, raw: &mut [i64]) {
        normalise_by_maximum(raw, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{filter_reasons, scores};
    use crate::testing::{node, pod, snapshot};

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
            assert_eq!(filter_reasons(&NodeAffinity::default(), pod("p", &spec), &snapshot, "n"), reason, "{spec}");
        }
    }

    #[test]
    fn two_names_at_once_are_rejected_before_any_node() {
        let spec = required(
            "[{matchFields: [{key: metadata.name, operator: In, values: [a]}, {key: metadata.name, operator: In, values: [b]}]}]",
        );
        let info = crate::testing::info(pod("p", &spec));
        let snapshot = Snapshot::default();
        assert!(
            matches!(NodeAffinity::default().pre_filter(&info, &snapshot), PreFilter::Reject(r) if r.message() == CONFLICT)
        );
    }

    #[test]
    fn preferred_terms_add_their_weights() {
        let nodes = vec![
            node("a", "{metadata: {labels: {x: '1', y: '1'}}}"),
            node("b", "{metadata: {labels: {x: '1'}}}"),
            node("c", ""),
        ];
        let spec = "{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 30, preference: {matchExpressions: [{key: x, operator: Exists}]}}, {weight: 10, preference: {matchExpressions: [{key: y, operator: Exists}]}}]}}}";
        assert_eq!(scores(&NodeAffinity::default(), pod("p", spec), &snapshot(nodes, vec![])), [100, 75, 0]);
    }

    #[test]
    fn what_the_profile_adds_holds_for_every_pod() {
        let term = |key: &str, value: &str| serde_json::json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]});
        let added = serde_json::json!({
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term("pool", "batch")]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term("disk", "ssd")}],
        });
        let plugin = NodeAffinity { added: serde_json::from_value(added).unwrap() };
        let nodes = vec![
            node("a", "{metadata: {labels: {pool: batch}}}"),
            node("b", "{metadata: {labels: {disk: ssd}}}"),
            node("c", "{metadata: {labels: {pool: batch, disk: ssd}}}"),
        ];
        let snapshot = snapshot(nodes, vec![]);
        let selects = "{nodeSelector: {disk: ssd}}";
        for (spec, name, reason) in
            [("", "a", ""), ("", "b", ENFORCED), (selects, "a", REASON), (selects, "b", ENFORCED), (selects, "c", "")]
        {
            assert_eq!(filter_reasons(&plugin, pod("p", spec), &snapshot, name), reason, "{spec} {name}");
        }
        assert_eq!(scores(&plugin, pod("p", ""), &snapshot), [0, 100, 100]);
    }
}

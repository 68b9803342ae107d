//! NodeAffinity: `nodeSelector` and node affinity, required and preferred.
//! Mirrors `plugins/nodeaffinity/node_affinity.go` and `component-helpers/scheduling/corev1/nodeaffinity`.

use k8s_openapi::api::core::v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, PreferredSchedulingTerm};

use crate::scheduler::events::{ClusterEvent, EventKind};
use crate::scheduler::framework::{
    Filter, Hint, Plugin, PreFilter, PreScore, Rejection, Score, Verdict, normalise_by_maximum,
};
use crate::scheduler::labels::Labels;
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

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeUpdateLabel]
    }

    /// Worth a try when the node matches and did not before.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        let (Some(required), Some(new)) = (Required::of(pod), event.new_node()) else { return Hint::Queue };
        let matched = event.old_node().is_some_and(|old| required.matches(old));
        Hint::queue_if(!matched && required.matches(new))
    }

    /// When every term pins `metadata.name`, as a DaemonSet's pods do, only those nodes are looked at.
    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        let Some(required) = Required::of(pod) else { return PreFilter::Skip };
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

/// What a pod requires of its node by label and name. Mirrors `nodeaffinity.RequiredNodeAffinity`.
pub struct Required<'a> {
    selector: Option<&'a Labels>,
    /// Any one of them must match; absent if the pod has none.
    terms: Option<&'a [NodeSelectorTerm]>,
}

impl<'a> Required<'a> {
    /// None if the pod takes any node.
    pub fn of(pod: &'a PodInfo) -> Option<Required<'a>> {
        let spec: &PodSpec = pod.spec()?;
        let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required = affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
        let selector = spec.node_selector.as_ref().filter(|selector| !selector.is_empty());
        let terms = required.map(|selector| selector.node_selector_terms.as_slice());
        (selector.is_some() || terms.is_some()).then_some(Required { selector, terms })
    }

    /// Whether the node is as required.
    pub fn matches(&self, node: &Node) -> bool {
        static NONE: Labels = Labels::new();
        let labels = node.metadata.labels.as_ref().unwrap_or(&NONE);
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let selected = |selector: &Labels| selector.iter().all(|(key, value)| labels.get(key) == Some(value));
        self.selector.is_none_or(selected) && self.terms.is_none_or(|terms| any_term_matches(terms, name, labels))
    }

    /// The names that the terms pin between them: none if some term leaves the name open, empty if a term pins
    /// two names at once and so none can match.
    fn pinned_names(&self) -> Option<Vec<String>> {
        let terms = self.terms.filter(|terms| !terms.is_empty())?;
        let mut names = Vec::new();
        for term in terms {
            let pins: Vec<&NodeSelectorRequirement> =
                term.match_fields.iter().flatten().filter(|r| r.key == "metadata.name" && r.operator == "In").collect();
            let (first, rest) = pins.split_first()?;
            let in_all = |name: &&String| rest.iter().all(|pin| pin.values.iter().flatten().any(|v| v == *name));
            names.extend(first.values.iter().flatten().filter(in_all).cloned());
        }
        names.sort();
        names.dedup();
        Some(names)
    }
}

impl Filter for Required<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let matches = node.node.as_ref().is_some_and(|node| self.matches(node));
        if matches { Ok(()) } else { Err(Rejection::unresolvable(REASON)) }
    }
}

/// Whether any of the terms holds for a node of this name with these labels.
pub fn any_term_matches(terms: &[NodeSelectorTerm], name: &str, labels: &Labels) -> bool {
    terms.iter().any(|term| term_matches(term, name, labels))
}

/// All expressions of a term must hold; a term without any matches nothing.
fn term_matches(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> bool {
    let expressions = || term.match_expressions.iter().flatten();
    let fields = || term.match_fields.iter().flatten();
    if expressions().next().is_none() && fields().next().is_none() {
        return false;
    }
    let field = |key: &str| if key == "metadata.name" { Some(name) } else { None };
    expressions().all(|r| holds(r, labels.get(&r.key).map(String::as_str))) && fields().all(|r| holds(r, field(&r.key)))
}

fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let listed = |value: &str| values.iter().any(|v| v == value);
    let number = |text: &str| text.parse::<i64>().ok();
    let bound = || values.first().and_then(|v| number(v));
    let compare = |holds: fn(i64, i64) -> bool| match (value.and_then(number), bound()) {
        (Some(value), Some(bound)) => holds(value, bound),
        _ => false,
    };
    match requirement.operator.as_str() {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(|value, bound| value > bound),
        "Lt" => compare(|value, bound| value < bound),
        _ => false,
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

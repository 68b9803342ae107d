//! Which nodes a Pod asks for: `nodeSelector`, and node affinity.
//!
//! Read by the scheduler, and by the DaemonSet controller, which must know its answer beforehand.
//! Mirrors `component-helpers/scheduling/corev1/nodeaffinity`.

use k8s_openapi::api::core::v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

use super::Labels;
use crate::Accessor;

/// What a pod requires of its node by label and name. Mirrors `nodeaffinity.RequiredNodeAffinity`.
pub struct Required<'a> {
    selector: Option<&'a Labels>,
    /// Any one of them must match; absent if the pod has none.
    terms: Option<&'a [NodeSelectorTerm]>,
}

impl<'a> Required<'a> {
    /// None if a Pod with this spec takes any node.
    pub fn of(spec: &'a PodSpec) -> Option<Required<'a>> {
        let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required = affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
        let selector = spec.node_selector.as_ref().filter(|selector| !selector.is_empty());
        let terms = required.map(|selector| selector.node_selector_terms.as_slice());
        (selector.is_some() || terms.is_some()).then_some(Required { selector, terms })
    }

    /// Any one of these terms.
    pub fn any_of(terms: &'a [NodeSelectorTerm]) -> Required<'a> {
        Required { selector: None, terms: Some(terms) }
    }

    /// Whether the node is as required.
    pub fn matches(&self, node: &Node) -> bool {
        static NONE: Labels = Labels::new();
        let labels = node.metadata.labels.as_ref().unwrap_or(&NONE);
        let name = node.metadata.name();
        let selected = |selector: &Labels| selector.iter().all(|(key, value)| labels.get(key) == Some(value));
        self.selector.is_none_or(selected) && self.terms.is_none_or(|terms| any_term_matches(terms, name, labels))
    }

    /// The names that the terms pin between them: none if some term leaves the name open, empty if a term pins
    /// two names at once and so none can match.
    pub fn pinned_names(&self) -> Option<Vec<String>> {
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

/// Whether any of the terms holds for a node of this name with these labels.
pub fn any_term_matches(terms: &[NodeSelectorTerm], name: &str, labels: &Labels) -> bool {
    terms.iter().any(|term| term_matches(term, name, labels))
}

/// All expressions of a term must hold; a term without any matches nothing.
pub fn term_matches(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> bool {
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

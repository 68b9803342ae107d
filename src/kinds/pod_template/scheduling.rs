//! What a Pod asks of nodes: tolerations, affinity, spread. Mirrors `pkg/apis/core/validation`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, Toleration,
    TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::validation::metadata::label_selector;
use object::selector::names::{check_label_key, check_label_value, check_subdomain};
use object::validation::field::{Path, Problems};
use object::validation::names::check_dns_label;

/// What a taint does to Pods.
pub const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
const TOPOLOGY_KEY: &str = "topologyKey";
/// Whether a node's affinity or taints count in a spread.
const NODE_POLICIES: &[&str] = &["Honor", "Ignore"];

/// Mirrors `ValidateTolerations`.
pub fn tolerations(problems: &mut Problems, path: &Path, tolerations: &[Toleration]) {
    for (i, toleration) in tolerations.iter().enumerate() {
        let path = path.index(i);
        let text = |field: &'_ Option<String>| -> String { field.clone().unwrap_or_default() };
        let key = toleration.key.as_deref().unwrap_or_default();
        let operator = toleration.operator.as_deref().unwrap_or_default();
        if !key.is_empty() {
            problems.all_invalid(&path.child("key"), key, check_label_key(key));
        } else if operator != "Exists" {
            const WHY: &str =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            problems.invalid(&path.child("operator"), operator, WHY);
        }
        let effect = toleration.effect.as_deref().unwrap_or_default();
        if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
            const WHY: &str = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            problems.invalid(&path.child("effect"), effect, WHY);
        }
        let value = text(&toleration.value);
        match operator {
            "" | "Equal" => {
                let wrong = check_label_value(&value);
                if !wrong.is_empty() {
                    problems.invalid(&path.child("operator"), value.as_str(), &wrong.join(";"));
                }
            }
            "Exists" if !value.is_empty() => {
                const WHY: &str = "value must be empty when `operator` is 'Exists'";
                problems.invalid(&path.child("operator"), value.as_str(), WHY);
            }
            "Exists" => {}
            other => problems.not_supported(&path.child("operator"), other, &["Equal", "Exists"]),
        }
        if !effect.is_empty() && !TAINT_EFFECTS.contains(&effect) {
            problems.not_supported(&path.child("effect"), effect, TAINT_EFFECTS);
        }
    }
}

/// Mirrors `validateAffinity`.
pub fn affinity(problems: &mut Problems, path: &Path, affinity: &Affinity) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    if let Some(node) = &affinity.node_affinity {
        let path = path.child("nodeAffinity");
        if let Some(selector) = &node.required_during_scheduling_ignored_during_execution {
            node_selector(problems, &path.child(REQUIRED), selector);
        }
        let list = path.child(PREFERRED);
        for (i, term) in node.preferred_during_scheduling_ignored_during_execution.iter().flatten().enumerate() {
            let path = list.index(i);
            weight(problems, &path, term.weight);
            node_selector_term(problems, &path.child("preference"), &term.preference, false);
        }
    }
    if let Some(pod) = &affinity.pod_affinity {
        let path = path.child("podAffinity");
        let required = pod.required_during_scheduling_ignored_during_execution.as_deref();
        pod_affinity_terms(problems, &path.child(REQUIRED), required);
        let preferred = pod.preferred_during_scheduling_ignored_during_execution.as_deref();
        weighted_terms(problems, &path.child(PREFERRED), preferred);
    }
    if let Some(pod) = &affinity.pod_anti_affinity {
        let path = path.child("podAntiAffinity");
        let required = pod.required_during_scheduling_ignored_during_execution.as_deref();
        pod_affinity_terms(problems, &path.child(REQUIRED), required);
        let preferred = pod.preferred_during_scheduling_ignored_during_execution.as_deref();
        weighted_terms(problems, &path.child(PREFERRED), preferred);
    }
}

fn weight(problems: &mut Problems, path: &Path, weight: i32) {
    if !(1..=100).contains(&weight) {
        problems.invalid(&path.child("weight"), weight, "must be in the range 1-100");
    }
}

/// Mirrors `ValidateNodeSelector`.
pub fn node_selector(problems: &mut Problems, path: &Path, selector: &NodeSelector) {
    let terms = path.child("nodeSelectorTerms");
    if selector.node_selector_terms.is_empty() {
        problems.required(&terms, "must have at least one node selector term");
    }
    for (i, term) in selector.node_selector_terms.iter().enumerate() {
        node_selector_term(problems, &terms.index(i), term, true);
    }
}

/// Mirrors `ValidateNodeSelectorTerm`. What no label can be is refused only where a node must have it.
fn node_selector_term(problems: &mut Problems, path: &Path, term: &NodeSelectorTerm, required: bool) {
    let list = path.child("matchExpressions");
    for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
        let path = list.index(i);
        let count = expression.values.as_ref().map_or(0, Vec::len);
        let values = path.child("values");
        match expression.operator.as_str() {
            "In" | "NotIn" if count == 0 => {
                problems.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if count > 0 => {
                problems.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "Gt" | "Lt" if count != 1 => {
                problems.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => problems.invalid(&path.child("operator"), other, "not a valid selector operator"),
        }
        problems.all_invalid(&path.child("key"), &expression.key, check_label_key(&expression.key));
        for (n, value) in expression.values.iter().flatten().enumerate().filter(|_| required) {
            problems.all_invalid(&values.index(n), value, check_label_value(value));
        }
    }
    let list = path.child("matchFields");
    for (i, field) in term.match_fields.iter().flatten().enumerate() {
        node_field(problems, &list.index(i), field);
    }
}

/// A node by its name, the only field that may be asked for. Mirrors `ValidateNodeFieldSelectorRequirement`.
fn node_field(problems: &mut Problems, path: &Path, field: &NodeSelectorRequirement) {
    let values = field.values.as_deref().unwrap_or_default();
    match field.operator.as_str() {
        "In" | "NotIn" if values.len() != 1 => {
            const WHY: &str = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            problems.required(&path.child("values"), WHY);
        }
        "In" | "NotIn" => {}
        other => problems.invalid(&path.child("operator"), other, "not a valid selector operator"),
    }
    if field.key != "metadata.name" {
        return problems.invalid(&path.child("key"), field.key.as_str(), "not a valid field selector key");
    }
    for (i, name) in values.iter().enumerate() {
        problems.all_invalid(&path.child("values").index(i), name, check_subdomain(name));
    }
}

fn pod_affinity_terms(problems: &mut Problems, path: &Path, terms: Option<&[PodAffinityTerm]>) {
    for (i, term) in terms.into_iter().flatten().enumerate() {
        pod_affinity_term(problems, &path.index(i), term);
    }
}

fn weighted_terms(problems: &mut Problems, path: &Path, terms: Option<&[WeightedPodAffinityTerm]>) {
    for (i, term) in terms.into_iter().flatten().enumerate() {
        let path = path.index(i);
        weight(problems, &path, term.weight);
        pod_affinity_term(problems, &path.child("podAffinityTerm"), &term.pod_affinity_term);
    }
}

fn pod_affinity_term(problems: &mut Problems, path: &Path, term: &PodAffinityTerm) {
    if let Some(selector) = &term.label_selector {
        label_selector(problems, &path.child("labelSelector"), selector);
    }
    if let Some(selector) = &term.namespace_selector {
        label_selector(problems, &path.child("namespaceSelector"), selector);
    }
    for name in term.namespaces.iter().flatten() {
        problems.all_invalid(&path.child("namespace"), name, check_dns_label(name));
    }
    let (same, differ) = (keys(&term.match_label_keys), keys(&term.mismatch_label_keys));
    label_keys(problems, path, same, differ, term.label_selector.as_ref());
    let (path, key) = (path.child(TOPOLOGY_KEY), term.topology_key.as_str());
    if key.is_empty() {
        problems.required(&path, "can not be empty");
    }
    problems.all_invalid(&path, key, check_label_key(key));
}

fn keys(keys: &Option<Vec<String>>) -> &[String] {
    keys.as_deref().unwrap_or_default()
}

/// Labels whose values the Pod itself has. A Pod's selectors have them already when they are looked at, so a key that is
/// there twice was there before. Mirrors `ValidateMatchLabelKeysAndMismatchLabelKeys`, with its odd path.
fn label_keys(
    problems: &mut Problems,
    path: &Path,
    same: &[String],
    differ: &[String],
    selector: Option<&LabelSelector>,
) {
    for (name, keys) in [("matchLabelKeys", same), ("mismatchLabelKeys", differ)] {
        let path = path.child(name);
        if !keys.is_empty() && selector.is_none() {
            problems.forbidden(&path, "must not be specified when labelSelector is not set");
            continue;
        }
        for (i, key) in keys.iter().enumerate() {
            problems.all_invalid(&path.index(i), key, check_label_key(key));
        }
    }
    let labels = selector.and_then(|selector| selector.match_labels.as_ref());
    let mut asked: BTreeSet<&String> = labels.into_iter().flat_map(|labels| labels.keys()).collect();
    for expression in selector.and_then(|selector| selector.match_expressions.as_ref()).into_iter().flatten() {
        let key = same.iter().rposition(|key| *key == expression.key);
        if let Some(i) = key.filter(|_| asked.contains(&expression.key)) {
            let why = "exists in both matchLabelKeys and labelSelector";
            problems.invalid(&path.index(i), expression.key.as_str(), why);
        }
        asked.insert(&expression.key);
    }
    for (i, key) in same.iter().enumerate().filter(|(_, key)| differ.contains(key)) {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        problems.invalid(&path.child("matchLabelKeys").index(i), key.as_str(), why);
    }
}

fn topology_key(problems: &mut Problems, path: &Path, key: &str) {
    match key {
        "" => problems.required(&path.child(TOPOLOGY_KEY), "can not be empty"),
        key => problems.all_invalid(&path.child(TOPOLOGY_KEY), key, check_label_key(key)),
    }
}

/// Mirrors `validateTopologySpreadConstraints`.
pub fn topology_spread(problems: &mut Problems, path: &Path, constraints: &[TopologySpreadConstraint]) {
    const WHEN: &[&str] = &["DoNotSchedule", "ScheduleAnyway"];
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.index(i);
        if constraint.max_skew <= 0 {
            problems.invalid(&path.child("maxSkew"), constraint.max_skew, "must be greater than zero");
        }
        topology_key(problems, &path, &constraint.topology_key);
        let when = constraint.when_unsatisfiable.as_str();
        if !WHEN.contains(&when) {
            problems.not_supported(&path.child("whenUnsatisfiable"), when, WHEN);
        }
        let same = |other: &TopologySpreadConstraint| {
            other.topology_key == constraint.topology_key && other.when_unsatisfiable == constraint.when_unsatisfiable
        };
        // The earlier of the two is blamed.
        if constraints[i + 1..].iter().any(same) {
            let pair = format!("{{{}, {when}}}", constraint.topology_key);
            problems.duplicate(&path.child("{topologyKey, whenUnsatisfiable}"), pair.as_str());
        }
        if let Some(domains) = constraint.min_domains {
            if domains <= 0 {
                problems.invalid(&path.child("minDomains"), domains, "must be greater than zero");
            }
            if when != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}");
                problems.invalid(&path.child("minDomains"), domains, &why);
            }
        }
        let policies = [
            ("nodeAffinityPolicy", &constraint.node_affinity_policy),
            ("nodeTaintsPolicy", &constraint.node_taints_policy),
        ];
        for (name, policy) in policies {
            if let Some(policy) = policy.as_deref().filter(|policy| !NODE_POLICIES.contains(policy)) {
                problems.not_supported(&path.child(name), policy, NODE_POLICIES);
            }
        }
        label_keys(problems, &path, keys(&constraint.match_label_keys), &[], constraint.label_selector.as_ref());
        if let Some(selector) = &constraint.label_selector {
            label_selector(problems, &path.child("labelSelector"), selector);
        }
    }
}

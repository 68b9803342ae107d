//! What a Pod asks of nodes: tolerations, affinity, spread. Mirrors `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelectorTerm, PodAffinityTerm, Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm,
};

use crate::object::selector::names::{check_label_key, check_label_value};

use super::field::{Path, Problems};
use super::metadata::label_selector;

pub(super) const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
const TOPOLOGY_KEY: &str = "topologyKey";

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
            let required = path.child(REQUIRED);
            let terms = required.child("nodeSelectorTerms");
            if selector.node_selector_terms.is_empty() {
                problems.required(&terms, "must have at least one node selector term");
            }
            for (i, term) in selector.node_selector_terms.iter().enumerate() {
                node_selector_term(problems, &terms.index(i), term);
            }
        }
        let list = path.child(PREFERRED);
        for (i, term) in node.preferred_during_scheduling_ignored_during_execution.iter().flatten().enumerate() {
            let path = list.index(i);
            weight(problems, &path, term.weight);
            node_selector_term(problems, &path.child("preference"), &term.preference);
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

/// Mirrors `ValidateNodeSelectorTerm`.
fn node_selector_term(problems: &mut Problems, path: &Path, term: &NodeSelectorTerm) {
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
    topology_key(problems, path, &term.topology_key);
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
        if constraints[..i].iter().any(same) {
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
        if let Some(selector) = &constraint.label_selector {
            label_selector(problems, &path.child("labelSelector"), selector);
        }
    }
}

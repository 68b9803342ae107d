//! Labels of a Pod that its own selectors are to ask for: `matchLabelKeys` and `mismatchLabelKeys`.
//!
//! A template can name a label whose value only its Pods have, such as `pod-template-hash`. Of each Pod the value is written
//! into the selector beside the keys, once, when it is created; so readers of the selector need not know of the keys.
//! Mirrors `mutatePodAffinity` and `mutateTopologySpreadConstraints` of `pkg/registry/core/pod/strategy.go`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodAffinityTerm, PodSpec, WeightedPodAffinityTerm};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use object::Pod;

/// Writes the values of the Pod's labels into its selectors.
pub fn merge_into_selectors(pod: &mut Pod) {
    let Some(labels) = &pod.metadata.labels else { return };
    if !pod.spec.as_deref().is_some_and(names_keys) {
        return;
    }
    let Some(spec) = pod.spec.as_deref_mut() else { return };
    for term in terms_mut(spec) {
        // No selector selects nothing, with or without keys.
        let Some(selector) = &mut term.label_selector else { continue };
        add(selector, term.match_label_keys.as_deref(), "In", labels);
        add(selector, term.mismatch_label_keys.as_deref(), "NotIn", labels);
    }
    for constraint in spec.topology_spread_constraints.iter_mut().flatten() {
        let Some(selector) = &mut constraint.label_selector else { continue };
        add(selector, constraint.match_label_keys.as_deref(), "In", labels);
    }
}

/// Whether there is anything to do: few Pods name keys, and the spec of the others stays shared.
fn names_keys(spec: &PodSpec) -> bool {
    let affinity = spec.affinity.as_ref();
    let together = affinity.is_some_and(|all| all.pod_affinity.is_some() || all.pod_anti_affinity.is_some());
    together
        || spec.topology_spread_constraints.iter().flatten().any(|constraint| constraint.match_label_keys.is_some())
}

/// The terms about other Pods.
fn terms_mut(spec: &mut PodSpec) -> impl Iterator<Item = &mut PodAffinityTerm> {
    let (near, far) = spec
        .affinity
        .as_mut()
        .map_or((None, None), |affinity| (affinity.pod_affinity.as_mut(), affinity.pod_anti_affinity.as_mut()));
    let near = near.map(|near| {
        both(
            &mut near.required_during_scheduling_ignored_during_execution,
            &mut near.preferred_during_scheduling_ignored_during_execution,
        )
    });
    let far = far.map(|far| {
        both(
            &mut far.required_during_scheduling_ignored_during_execution,
            &mut far.preferred_during_scheduling_ignored_during_execution,
        )
    });
    near.into_iter().chain(far).flatten()
}

fn both<'a>(
    required: &'a mut Option<Vec<PodAffinityTerm>>,
    preferred: &'a mut Option<Vec<WeightedPodAffinityTerm>>,
) -> impl Iterator<Item = &'a mut PodAffinityTerm> {
    let preferred = preferred.iter_mut().flatten().map(|weighted| &mut weighted.pod_affinity_term);
    required.iter_mut().flatten().chain(preferred)
}

/// Mirrors `applyLabelKeysToLabelSelector`: a label that the Pod has not is not asked for.
fn add(selector: &mut LabelSelector, keys: Option<&[String]>, operator: &str, labels: &BTreeMap<String, String>) {
    for key in keys.into_iter().flatten() {
        let Some(value) = labels.get(key) else { continue };
        selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
            key: key.clone(),
            operator: operator.to_owned(),
            values: Some(vec![value.clone()]),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use object::read;

    #[test]
    fn a_selector_asks_for_the_values_that_the_pod_has() {
        let keys = |operator: &str, key: &str| json!({"key": key, "operator": operator, "values": ["7"]});
        let merged = |spec: Value| -> Value {
            let labels = json!({"hash": "7", "tenant": "7"});
            let mut pod: Pod = read::from_value(&json!({"metadata": {"labels": labels}, "spec": spec})).unwrap();
            merge_into_selectors(&mut pod);
            json!(pod.spec.unwrap())
        };
        let selector = || json!({"matchLabels": {"app": "web"}});
        let term = || {
            json!({"topologyKey": "zone", "labelSelector": selector(), "matchLabelKeys": ["hash", "absent"],
                "mismatchLabelKeys": ["tenant"]})
        };
        let weighted = || json!({"weight": 1, "podAffinityTerm": term()});
        let terms = || {
            json!({"requiredDuringSchedulingIgnoredDuringExecution": [term()],
                "preferredDuringSchedulingIgnoredDuringExecution": [weighted()]})
        };
        let spread = json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector(), "matchLabelKeys": ["hash"]}]);
        let spec = merged(json!({"containers": [], "affinity": {"podAffinity": terms(), "podAntiAffinity": terms()},
            "topologySpreadConstraints": spread}));
        for sort in ["podAffinity", "podAntiAffinity"] {
            for place in [
                "requiredDuringSchedulingIgnoredDuringExecution/0",
                "preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm",
            ] {
                let selector = &spec.pointer(&format!("/affinity/{sort}/{place}/labelSelector")).unwrap();
                let expected = json!([keys("In", "hash"), keys("NotIn", "tenant")]);
                assert_eq!(selector["matchExpressions"], expected, "{sort}/{place}");
            }
        }
        let of_spread = &spec["topologySpreadConstraints"][0]["labelSelector"];
        assert_eq!(of_spread["matchExpressions"], json!([keys("In", "hash")]));
    }
}

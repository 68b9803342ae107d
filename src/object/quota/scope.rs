//! Scopes: which objects a quota is about.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PodAffinityTerm, ResourceQuota, ScopedResourceSelectorRequirement,
};

use crate::pod::qos_class;
use crate::{Object, Pod};

use super::pod::is_terminating;

/// Whether the object is in all scopes of the quota; only Pods and PersistentVolumeClaims are in any. Mirrors
/// `generic.Matches`, but for the resources.
pub fn is_about(quota: &ResourceQuota, object: &Object) -> bool {
    let Some(spec) = &quota.spec else { return true };
    let selector = spec.scope_selector.as_ref().and_then(|selector| selector.match_expressions.as_deref());
    spec.scopes.iter().flatten().all(|scope| is_in(scope, &exists(scope), object))
        && selector.unwrap_or_default().iter().all(|wanted| is_in(&wanted.scope_name, wanted, object))
}

fn exists(scope: &str) -> ScopedResourceSelectorRequirement {
    ScopedResourceSelectorRequirement { operator: "Exists".into(), scope_name: scope.into(), values: None }
}

fn is_in(scope: &str, wanted: &ScopedResourceSelectorRequirement, object: &Object) -> bool {
    match object {
        Object::Pod(pod) => pod_is_in(scope, wanted, pod),
        Object::PersistentVolumeClaim(claim) => {
            scope == "VolumeAttributesClass" && has_one(&attributes_classes(claim), wanted)
        }
        _ => false,
    }
}

/// Mirrors `podMatchesScopeFunc`.
fn pod_is_in(scope: &str, wanted: &ScopedResourceSelectorRequirement, pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    match scope {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => qos_class(pod) == "BestEffort",
        "NotBestEffort" => qos_class(pod) != "BestEffort",
        "PriorityClass" => {
            let class = spec.and_then(|spec| spec.priority_class_name.as_deref()).filter(|class| !class.is_empty());
            has_one(class.as_slice(), wanted)
        }
        "CrossNamespacePodAffinity" => looks_elsewhere(pod),
        _ => false,
    }
}

/// The VolumeAttributesClass that the claim wants, the one that its volume has and the one that it is about to have.
/// Mirrors `getReferencedVolumeAttributesClassNames`.
fn attributes_classes(claim: &PersistentVolumeClaim) -> Vec<&str> {
    let status = claim.status.as_ref();
    let wanted = claim.spec.as_ref().and_then(|spec| spec.volume_attributes_class_name.as_deref());
    let current = status.and_then(|status| status.current_volume_attributes_class_name.as_deref());
    let target =
        status.and_then(|status| status.modify_volume_status.as_ref()?.target_volume_attributes_class_name.as_deref());
    [wanted, current, target].into_iter().flatten().filter(|class| !class.is_empty()).collect()
}

/// Whether one of the object's classes is as the requirement says. Mirrors `podMatchesSelector` and
/// `pvcMatchesSelector`, which make a label selector of it: `NotIn` is also true of what has none.
fn has_one(classes: &[&str], wanted: &ScopedResourceSelectorRequirement) -> bool {
    let is_listed = |class: &&str| wanted.values.iter().flatten().any(|value| value == class);
    match wanted.operator.as_str() {
        "Exists" => !classes.is_empty(),
        "DoesNotExist" => classes.is_empty(),
        "In" => classes.iter().any(is_listed),
        "NotIn" => classes.is_empty() || !classes.iter().all(is_listed),
        _ => false,
    }
}

/// Whether the Pod wants to be near Pods of other namespaces, or far from them. Mirrors `usesCrossNamespacePodAffinity`.
fn looks_elsewhere(pod: &Pod) -> bool {
    let Some(affinity) = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()) else { return false };
    let near = affinity.pod_affinity.as_ref().map(|near| {
        (
            &near.required_during_scheduling_ignored_during_execution,
            &near.preferred_during_scheduling_ignored_during_execution,
        )
    });
    let far = affinity.pod_anti_affinity.as_ref().map(|far| {
        (
            &far.required_during_scheduling_ignored_during_execution,
            &far.preferred_during_scheduling_ignored_during_execution,
        )
    });
    let elsewhere = |term: &PodAffinityTerm| {
        term.namespaces.as_ref().is_some_and(|names| !names.is_empty()) || term.namespace_selector.is_some()
    };
    near.into_iter().chain(far).any(|(required, preferred)| {
        required.iter().flatten().any(elsewhere)
            || preferred.iter().flatten().any(|weighted| elsewhere(&weighted.pod_affinity_term))
    })
}

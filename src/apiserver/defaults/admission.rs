//! ValidatingAdmissionPolicies and their bindings. Mirrors `pkg/apis/admissionregistration/v1/defaults.go`.

use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};

/// A policy that says nothing of failures refuses what it cannot be asked about.
pub fn policy(policy: &mut ValidatingAdmissionPolicy) {
    let Some(spec) = &mut policy.spec else { return };
    spec.failure_policy.get_or_insert_with(|| "Fail".into());
    spec.match_constraints.as_mut().into_iter().for_each(match_resources);
}

/// What a binding leaves out.
pub fn binding(binding: &mut ValidatingAdmissionPolicyBinding) {
    binding.spec.match_resources.as_mut().into_iter().for_each(match_resources);
}

fn match_resources(resources: &mut MatchResources) {
    resources.match_policy.get_or_insert_with(|| "Equivalent".into());
    resources.namespace_selector.get_or_insert_default();
    resources.object_selector.get_or_insert_default();
    for rules in [&mut resources.resource_rules, &mut resources.exclude_resource_rules] {
        for rule in rules.iter_mut().flatten() {
            rule.scope.get_or_insert_with(|| "*".into());
        }
    }
}

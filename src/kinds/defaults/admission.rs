//! Admission policies and their bindings, and webhooks. Mirrors `pkg/apis/admissionregistration/v1/defaults.go`.

use k8s_openapi::api::admissionregistration::v1::{MatchResources, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration};

use crate::apiserver::admission::webhook::call::PORT;
use crate::apiserver::admission::webhook::hook::TIMEOUT_SECONDS;

/// A policy that says nothing of failures refuses what it cannot be asked about.
pub fn validating_policy(policy: &mut ValidatingAdmissionPolicy) {
    let spec = policy.spec.get_or_insert_default();
    policy_spec(&mut spec.failure_policy, &mut spec.match_constraints);
}

/// The same of a policy that changes objects. It has to say itself whether it is invoked again.
pub fn mutating_policy(policy: &mut MutatingAdmissionPolicy) {
    let spec = policy.spec.get_or_insert_default();
    policy_spec(&mut spec.failure_policy, &mut spec.match_constraints);
}

fn policy_spec(failure_policy: &mut Option<String>, constraints: &mut Option<MatchResources>) {
    failure_policy.get_or_insert_with(|| "Fail".into());
    constraints.as_mut().into_iter().for_each(match_resources);
}

/// What a binding leaves out.
pub fn validating_binding(binding: &mut ValidatingAdmissionPolicyBinding) {
    binding.spec.match_resources.as_mut().into_iter().for_each(match_resources);
}

/// What a binding leaves out of a policy that changes objects.
pub fn mutating_binding(binding: &mut MutatingAdmissionPolicyBinding) {
    let Some(spec) = &mut binding.spec else { return };
    spec.match_resources.as_mut().into_iter().for_each(match_resources);
}

/// What both sorts of webhooks leave out.
macro_rules! webhook {
    ($hook:expr) => {
        let hook = $hook;
        hook.failure_policy.get_or_insert_with(|| "Fail".into());
        hook.match_policy.get_or_insert_with(|| "Equivalent".into());
        hook.namespace_selector.get_or_insert_default();
        hook.object_selector.get_or_insert_default();
        hook.timeout_seconds.get_or_insert(TIMEOUT_SECONDS);
        if let Some(service) = &mut hook.client_config.service {
            service.port.get_or_insert(PORT);
        }
        for rule in hook.rules.iter_mut().flatten() {
            rule.scope.get_or_insert_with(|| "*".into());
        }
    };
}

/// Webhooks that may change objects.
pub fn mutating_webhooks(of: &mut MutatingWebhookConfiguration) {
    for hook in of.webhooks.iter_mut().flatten() {
        webhook!(&mut *hook);
        hook.reinvocation_policy.get_or_insert_with(|| "Never".into());
    }
}

/// Webhooks that may only refuse.
pub fn validating_webhooks(of: &mut ValidatingWebhookConfiguration) {
    for hook in of.webhooks.iter_mut().flatten() {
        webhook!(hook);
    }
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

//! MutatingAdmissionPolicies and their bindings. Mirrors `validateMutatingAdmissionPolicySpec` and its like.

use k8s_openapi::api::admissionregistration::v1::{MatchResources, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec, Mutation};

use crate::apiserver::admission::policy::compiled::{APPLY_CONFIGURATION, JSON_PATCH, gives};
use crate::kinds::validation::admission_policy::{Environment, Path, Problems, SPEC, binding_head, compiles, head, match_conditions, match_resources, variables};

/// An object that is to go cannot be changed.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];

/// The spec of a policy.
pub fn policy(problems: &mut Problems, policy: &MutatingAdmissionPolicy) {
    let default = MutatingAdmissionPolicySpec::default();
    let spec = policy.spec.as_ref().unwrap_or(&default);
    head(problems, spec.failure_policy.as_deref(), spec.param_kind.as_ref(), spec.match_constraints.as_ref());
    operations(problems, &SPEC.child("matchConstraints"), spec.match_constraints.as_ref());
    let has_params = spec.param_kind.is_some();
    let conditions = spec.match_conditions.as_deref().unwrap_or_default();
    match_conditions(problems, &SPEC.child("matchConditions"), conditions, has_params);
    let environment = variables(problems, spec.variables.as_deref(), has_params).patching();
    let mutations = SPEC.child("mutations");
    if spec.mutations.iter().flatten().next().is_none() {
        problems.required(&mutations, "mutations must contain at least one item");
    }
    for (i, one) in spec.mutations.iter().flatten().enumerate() {
        mutation(problems, &mutations.index(i), one, &environment);
    }
    let again = SPEC.child("reinvocationPolicy");
    problems.one_of(&again, spec.reinvocation_policy.as_deref(), &REINVOCATION_POLICIES);
}

fn operations(problems: &mut Problems, path: &Path, resources: Option<&MatchResources>) {
    let list = path.child("resourceRules");
    let path = list.child("operations");
    let rules = resources.and_then(|resources| resources.resource_rules.as_deref()).unwrap_or_default();
    for operation in rules.iter().flat_map(|rule| rule.operations.iter().flatten()) {
        if !OPERATIONS.contains(&operation.as_str()) {
            problems.not_supported(&path, operation.as_str(), &OPERATIONS);
        }
    }
}

fn mutation(problems: &mut Problems, path: &Path, mutation: &Mutation, environment: &Environment) {
    let apply = mutation.apply_configuration.as_ref().map(|of| of.expression.as_deref());
    let json = mutation.json_patch.as_ref().map(|of| of.expression.as_deref());
    let apply = ("applyConfiguration", apply);
    let json = ("jsonPatch", json);
    let patch_type = mutation.patch_type.as_str();
    let ((field, wanted), (other, unwanted)) = match patch_type {
        APPLY_CONFIGURATION => (apply, json),
        JSON_PATCH => (json, apply),
        _ => {
            let supported = [APPLY_CONFIGURATION, JSON_PATCH];
            return problems.one_of(&path.child("patchType"), Some(patch_type), &supported);
        }
    };
    match wanted {
        None => problems.required(&path.child(field), &format!("must be specified when patchType is {patch_type}")),
        Some(text) => {
            let of = path.child(field);
            let at = of.child("expression");
            compiles(problems, &at, text.unwrap_or_default().trim(), "", environment, &gives(patch_type));
        }
    }
    if unwanted.is_some() {
        let why = format!("must not be specified when patchType is {patch_type}");
        problems.invalid(&path.child(other), format!("{{{other}}}").as_str(), &why);
    }
}

/// The spec of a binding.
pub fn binding(problems: &mut Problems, binding: &MutatingAdmissionPolicyBinding) {
    let default = MutatingAdmissionPolicyBindingSpec::default();
    let spec = binding.spec.as_ref().unwrap_or(&default);
    binding_head(problems, spec.policy_name.as_deref().unwrap_or_default(), spec.param_ref.as_ref());
    let path = SPEC.child("matchResources");
    if let Some(resources) = &spec.match_resources {
        match_resources(problems, &path, resources);
    }
    operations(problems, &path, spec.match_resources.as_ref());
}

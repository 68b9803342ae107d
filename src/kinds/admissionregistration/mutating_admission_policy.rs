//! MutatingAdmissionPolicies.

use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, MutatingAdmissionPolicy, MutatingAdmissionPolicySpec, Mutation,
};

use crate::admissionregistration::matching::match_conditions;
use crate::admissionregistration::policy;
use crate::admissionregistration::policy::{compiles, head, variables};
use crate::printers::columns::{AGE, NAME, column, integer};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::warnings::names;
use object::Accessor;
use object::validation::field::{Path, Problems};
use rules::expression::Environment;
use rules::policy::compiled::{APPLY_CONFIGURATION, JSON_PATCH, gives};

/// What the server knows of MutatingAdmissionPolicies.
pub const ROW: Row<MutatingAdmissionPolicy> = Row {
    defaults: Some(defaults),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: |told, object| names::of_static_name(told, object.metadata.name()), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        unconditional_update: false,
        any_finalizers: true,
        table: Table { columns: &[NAME, integer("Mutations"), column("ParamKind"), AGE], cells: policy::policy_cells },
        ..Facts::new("/registry/mutatingadmissionpolicies/", 17)
    })
};

const SPEC: Path = Path::new("spec");

/// An object that is to go cannot be changed.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];

/// The same of a policy that changes objects. It has to say itself whether it is invoked again.
fn defaults(policy: &mut MutatingAdmissionPolicy) {
    let spec = policy.spec.get_or_insert_default();
    policy::spec_defaults(&mut spec.failure_policy, &mut spec.match_constraints);
}

/// The spec of a policy.
fn validate(problems: &mut Problems, policy: &MutatingAdmissionPolicy) {
    let default = MutatingAdmissionPolicySpec::default();
    let spec = policy.spec.as_ref().unwrap_or(&default);
    head(problems, spec.failure_policy.as_deref(), spec.param_kind.as_ref(), spec.match_constraints.as_ref());
    validate_operations(problems, &SPEC.child("matchConstraints"), spec.match_constraints.as_ref());
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

/// Policies that change objects are not asked about deletions.
pub fn validate_operations(problems: &mut Problems, path: &Path, resources: Option<&MatchResources>) {
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

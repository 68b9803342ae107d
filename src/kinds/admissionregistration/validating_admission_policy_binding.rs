//! ValidatingAdmissionPolicyBindings.

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;

use crate::admissionregistration::matching::match_resources;
use crate::admissionregistration::policy_binding::binding_head;
use crate::admissionregistration::{matching, policy_binding};
use crate::row::{Facts, Generation, Row, Strategy, Validation, Warnings};
use crate::warnings::names;
use object::Accessor;
use object::validation::field::{Json, Path, Problems};

/// What the server knows of ValidatingAdmissionPolicyBindings.
pub const ROW: Row<ValidatingAdmissionPolicyBinding> = Row {
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
        table: policy_binding::TABLE,
        ..Facts::new("/registry/validatingadmissionpolicybindings/", 17)
    })
};

const SPEC: Path = Path::new("spec");
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

/// What a binding leaves out.
fn defaults(binding: &mut ValidatingAdmissionPolicyBinding) {
    binding.spec.match_resources.as_mut().into_iter().for_each(matching::match_resources_defaults);
}

/// The spec of a binding.
fn validate(problems: &mut Problems, binding: &ValidatingAdmissionPolicyBinding) {
    let spec = &binding.spec;
    binding_head(problems, &spec.policy_name, spec.param_ref.as_ref());
    if let Some(resources) = &spec.match_resources {
        match_resources(problems, &SPEC.child("matchResources"), resources);
    }
    actions(problems, &spec.validation_actions);
}

fn actions(problems: &mut Problems, actions: &[String]) {
    let path = SPEC.child("validationActions");
    for (i, action) in actions.iter().enumerate() {
        if !ACTIONS.contains(&action.as_str()) {
            problems.not_supported(&path.index(i), action.as_str(), &ACTIONS);
        }
        if actions[..i].contains(action) {
            problems.duplicate(&path.index(i), action.as_str());
        }
    }
    let has = |wanted: &str| actions.iter().any(|action| action == wanted);
    if has("Deny") && has("Warn") {
        const WHY: &str = "must not contain both Deny and Warn (repeating the same validation failure information in the \
                           API response and headers serves no purpose)";
        problems.invalid(&path, Json(&actions), WHY);
    }
    if actions.is_empty() {
        problems.required(&path, "at least one validation action is required");
    }
}

//! MutatingAdmissionPolicyBindings.

use k8s_openapi::api::admissionregistration::v1::{MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingSpec};

use crate::admissionregistration::matching::match_resources;
use crate::admissionregistration::policy_binding::binding_head;
use crate::admissionregistration::{matching, mutating_admission_policy, policy_binding};
use crate::row::{Facts, Generation, Row, Strategy, Validation, Warnings};
use crate::warnings::names;
use object::Accessor;
use object::validation::field::{Path, Problems};

/// What the server knows of MutatingAdmissionPolicyBindings.
pub const ROW: Row<MutatingAdmissionPolicyBinding> = Row {
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
        ..Facts::new("/registry/mutatingadmissionpolicybindings/", 17)
    })
};

const SPEC: Path = Path::new("spec");

/// What a binding leaves out of a policy that changes objects.
fn defaults(binding: &mut MutatingAdmissionPolicyBinding) {
    let Some(spec) = &mut binding.spec else { return };
    spec.match_resources.as_mut().into_iter().for_each(matching::match_resources_defaults);
}

/// The spec of a binding.
fn validate(problems: &mut Problems, binding: &MutatingAdmissionPolicyBinding) {
    let default = MutatingAdmissionPolicyBindingSpec::default();
    let spec = binding.spec.as_ref().unwrap_or(&default);
    binding_head(problems, spec.policy_name.as_deref().unwrap_or_default(), spec.param_ref.as_ref());
    let path = SPEC.child("matchResources");
    if let Some(resources) = &spec.match_resources {
        match_resources(problems, &path, resources);
    }
    mutating_admission_policy::validate_operations(problems, &path, spec.match_resources.as_ref());
}

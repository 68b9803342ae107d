//! RoleBindings.

use k8s_openapi::api::rbac::v1::RoleBinding;

use crate::rbac::bindings;
use crate::rbac::bindings::same_role;
use crate::row::{Facts, Row, Validation};
use object::validation::field::Problems;
use object::validation::names::check_path_segment;

/// What the server knows of RoleBindings.
pub const ROW: Row<RoleBinding> = Row {
    defaults: Some(|binding| bindings::fill_in_groups(&mut binding.role_ref, binding.subjects.as_deref_mut())),
    lacks_defaults: |binding| bindings::lacks_group(&binding.role_ref, binding.subjects.as_deref()),
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        create_on_update: true,
        check_name: check_path_segment,
        table: bindings::TABLE,
        ..Facts::new("/registry/rolebindings/", 3)
    })
};

/// A RoleBinding.
fn validate(problems: &mut Problems, of: &RoleBinding) {
    bindings::validate_binding(problems, &of.role_ref, of.subjects.as_deref().unwrap_or_default(), true);
}

/// A change of one.
fn validate_update(problems: &mut Problems, new: &RoleBinding, old: &RoleBinding) {
    validate(problems, new);
    same_role(problems, &new.role_ref, &old.role_ref);
}

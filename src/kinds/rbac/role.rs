//! Roles.

use k8s_openapi::api::rbac::v1::Role;

use crate::rbac::rules;
use crate::row::{Facts, Row, Validation};
use object::validation::field::Problems;
use object::validation::names::check_path_segment;

/// What the server knows of Roles.
pub const ROW: Row<Role> = Row {
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        check_name: check_path_segment,
        table: rules::TABLE,
        ..Facts::new("/registry/roles/", 3)
    })
};

/// A Role: rules for objects in its namespace.
fn validate(problems: &mut Problems, role: &Role) {
    rules::validate_rules(problems, role.rules.as_deref().unwrap_or_default(), true);
}

//! ClusterRoleBindings.

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::{defaults, validation};
use crate::object::validation::names::check_path_segment;

/// What the server knows of ClusterRoleBindings.
pub const ROW: Row<ClusterRoleBinding> = Row {
    defaults: Some(|binding| defaults::binding_defaults(&mut binding.role_ref, binding.subjects.as_deref_mut())),
    lacks_defaults: |binding| defaults::lacks_group(&binding.role_ref, binding.subjects.as_deref()),
    validation: Validation {
        create: validation::rbac::cluster_role_binding,
        update: validation::rbac::cluster_role_binding_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        check_name: check_path_segment,
        table: Table {
            columns: &[NAME, column("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")],
            cells: cells::binding_cells,
        },
        ..Facts::new("/registry/clusterrolebindings/", 3)
    })
};

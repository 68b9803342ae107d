//! ClusterRoles.

use k8s_openapi::api::rbac::v1::ClusterRole;

use crate::kinds::printers::cells::name;
use crate::kinds::printers::columns::{NAME, always};
use crate::kinds::printers::fields::text;
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::validation;
use crate::object::validation::names::check_path_segment;

/// What the server knows of ClusterRoles.
pub const ROW: Row<ClusterRole> = Row {
    validation: Validation {
        create: validation::rbac::cluster_role,
        update: |problems, new, _| validation::rbac::cluster_role(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        check_name: check_path_segment,
        table: Table {
            columns: &[NAME, always("Created At", "date")],
            cells: |o, _| cells![name(o), text(o, "metadata.creationTimestamp")],
        },
        ..Facts::new("/registry/clusterroles/", 3)
    })
};

//! CSINodes.

use k8s_openapi::api::storage::v1::CSINode;

use crate::kinds::printers::columns::{AGE, NAME, integer};
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::{printers, validation};

/// What the server knows of CSINodes.
pub const ROW: Row<CSINode> = Row {
    validation: Validation {
        create: validation::csi::node,
        update: validation::csi::node_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        returns_deleted: true,
        table: Table { columns: &[NAME, integer("Drivers"), AGE], cells: printers::storage::driver_node_cells },
        ..Facts::new("/registry/csinodes/", 11)
    })
};

//! ControllerRevisions.

use k8s_openapi::api::apps::v1::ControllerRevision;

use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::{printers, validation};

/// What the server knows of ControllerRevisions.
pub const ROW: Row<ControllerRevision> = Row {
    validation: Validation {
        create: validation::sets::controller_revision,
        update: validation::sets::controller_revision_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Controller"), column("Revision"), AGE],
            cells: printers::workloads::revision_cells,
        },
        ..Facts::new("/registry/controllerrevisions/", 16)
    })
};

//! Nodes.

use k8s_openapi::api::core::v1::Node;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::kinds::validation;

/// What the server knows of Nodes.
pub const ROW: Row<Node> = Row {
    strategy: Strategy { status: spec_and_status!(), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::node::node,
        update: validation::node::node_update,
        status: validation::node::node_status,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        field_chapters: &[
            ("spec.podCIDR", 10),
            ("spec.taints", 8),
            ("spec.unschedulable", 8),
            ("status.allocatable", 8),
            ("status.conditions", 13),
        ],
        table: Table {
            columns: &[
                NAME,
                column("Status"),
                column("Roles"),
                AGE,
                column("Version"),
                wide("Internal-IP"),
                wide("External-IP"),
                wide("OS-Image"),
                wide("Kernel-Version"),
                wide("Container-Runtime"),
            ],
            cells: cells::node_cells,
        },
        ..Facts::new("/registry/minions/", 9)
    })
};

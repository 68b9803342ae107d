//! ReplicationControllers, the ReplicaSets of old.

use k8s_openapi::api::core::v1::ReplicationController;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, integer, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, validation};
use crate::object::selector::names::check_long_name;

/// What the server knows of ReplicationControllers.
pub const ROW: Row<ReplicationController> = Row {
    defaults: Some(defaults::replication_controller_defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|controller, _| controller.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::workload::replication_controller,
        update: validation::workload::replication_controller_update,
        status: |problems, new, _| validation::workload::replication_controller_status(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        orphans_by_default: true,
        check_name: check_long_name,
        table: Table {
            columns: &[
                NAME,
                integer("Desired"),
                integer("Current"),
                integer("Ready"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells: cells::replica_set_cells,
        },
        ..Facts::new("/registry/controllers/", 6)
    })
};

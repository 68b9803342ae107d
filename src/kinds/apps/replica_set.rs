//! ReplicaSets.

use k8s_openapi::api::apps::v1::ReplicaSet;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, integer, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, validation};

/// What the server knows of ReplicaSets.
pub const ROW: Row<ReplicaSet> = Row {
    defaults: Some(defaults::replica_set_defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|set, _| set.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::workload::replica_set,
        update: validation::workload::replica_set_update,
        status: |problems, new, _| validation::workload::replica_set_status(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts {
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
        ..Facts::new("/registry/replicasets/", 6)
    })
};

//! Deployments.

use k8s_openapi::api::apps::v1::Deployment;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, validation};

/// What the server knows of Deployments.
pub const ROW: Row<Deployment> = Row {
    defaults: Some(defaults::deployment_defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| {
            new.spec != old.spec || new.metadata.annotations != old.metadata.annotations
        }),
        prepare_for_create: Some(|deployment, _| deployment.status = Some(Default::default())),
        prepare_for_status_update: Some(|new, old, _| new.metadata.labels.clone_from(&old.metadata.labels)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::workload::deployment,
        update: validation::workload::deployment_update,
        status: validation::workload::deployment_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                column("Ready"),
                column("Up-to-date"),
                column("Available"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells: cells::deployment_cells,
        },
        ..Facts::new("/registry/deployments/", 7)
    })
};

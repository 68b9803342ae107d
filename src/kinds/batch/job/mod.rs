//! Jobs.

use k8s_openapi::api::batch::v1::Job;

use crate::kinds::printers::columns::{AGE, NAME, column, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, printers};
use crate::object::time::Instant;

/// What the server knows of Jobs.
pub const ROW: Row<Job> = Row {
    defaults: Some(defaults::workloads::job),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(prepare_for_create),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validation::job, update: validation::job_update, ..Validation::DEFAULT },
    warnings: Warnings { name_is_used_in: Some("Pod names and hostnames"), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        orphans_by_default: true,
        table: Table {
            columns: &[
                NAME,
                column("Status"),
                column("Completions"),
                column("Duration"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells: printers::workloads::job_cells,
        },
        ..Facts::new("/registry/jobs/", 16)
    })
};

fn prepare_for_create(job: &mut Job, _: Instant) {
    job.status = Some(Default::default());
    selector::generate_selector(job);
}

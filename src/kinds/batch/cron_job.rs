//! CronJobs.

use k8s_openapi::api::batch::v1::CronJob;

use crate::kinds::printers::columns::{AGE, NAME, boolean, column, integer, wide};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::kinds::{defaults, printers, validation};

/// What the server knows of CronJobs.
pub const ROW: Row<CronJob> = Row {
    defaults: Some(defaults::workloads::cron_job),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|job, _| job.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::cron_job::cron_job,
        update: validation::cron_job::cron_job_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        name_is_used_in: Some("Pod names and hostnames"),
        update: |told, new, _| warn_of_time_zone(told, new),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                column("Schedule"),
                column("Timezone"),
                boolean("Suspend"),
                integer("Active"),
                column("Last Schedule"),
                AGE,
                wide("Containers"),
                wide("Images"),
                wide("Selector"),
            ],
            cells: printers::workloads::cron_job_cells,
        },
        ..Facts::new("/registry/cronjobs/", 16)
    })
};

fn warn_of_time_zone(told: &mut Vec<String>, job: &CronJob) {
    if job.spec.schedule.contains("TZ") {
        told.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_owned(),
        );
    }
}

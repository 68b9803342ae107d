//! CronJobs. Mirrors `ValidateCronJobCreate` and `ValidateCronJobUpdate` of `pkg/apis/batch/validation`.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec};
use serde_json::Value;

use crate::batch::job;
use crate::batch::job::validation::job_spec;
use crate::defaults::fields::{or, or_text};
use crate::printers::cells::{containers, created, name};
use crate::printers::columns::{AGE, NAME, boolean, column, integer, wide};
use crate::printers::duration::since;
use crate::printers::fields::{flag, list, selector, text, text_or_none, time};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use object::cron::Schedule;
use object::validation::field::{Literal, Path, Problems};
use object::validation::internal::Internal;
use object::{Accessor, zone};

/// What the server knows of CronJobs.
pub const ROW: Row<CronJob> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|job, _| job.status = Some(Default::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
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
            cells,
        },
        ..Facts::new("/registry/cronjobs/", 16)
    })
};

const SPEC: Path = Path::new("spec");

fn warn_of_time_zone(told: &mut Vec<String>, job: &CronJob) {
    if job.spec.schedule.contains("TZ") {
        told.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_owned(),
        );
    }
}

fn defaults(job: &mut CronJob) {
    let spec = &mut job.spec;
    or_text(&mut spec.concurrency_policy, "Allow");
    or(&mut spec.suspend, false);
    or(&mut spec.successful_jobs_history_limit, 3);
    or(&mut spec.failed_jobs_history_limit, 1);
    job::spec_defaults(spec.job_template.spec.get_or_insert_default());
}

/// A new CronJob. Mirrors `ValidateCronJobCreate`.
fn validate(problems: &mut Problems, job: &CronJob) {
    /// The names of its Jobs have eleven characters more.
    const NAME_MAX: usize = 52;
    cron_job_spec(problems, &job.spec);
    let name = job.metadata.name();
    if name.len() > NAME_MAX {
        problems.invalid(&Path::new("metadata").child("name"), name, "must be no more than 52 characters");
    }
}

/// What is wrong with a CronJob's new version.
fn validate_update(problems: &mut Problems, new: &CronJob, old: &CronJob) {
    if new.spec != old.spec {
        cron_job_spec(problems, &new.spec);
    }
}

fn cells(job: &Value, now: Timestamp) -> Vec<Value> {
    let last = time(job, "status.lastScheduleTime").map_or_else(|| "<none>".to_owned(), |last| since(now, last));
    let (containers, images) = containers(job, "spec.jobTemplate.spec.template");
    let suspended = if flag(job, "spec.suspend") { "True" } else { "False" };
    cells![
        name(job),
        text(job, "spec.schedule"),
        text_or_none(job, "spec.timeZone"),
        suspended,
        list(job, "status.active").len(),
        last,
        created(job, now),
        containers,
        images,
        selector(job, "spec.jobTemplate.spec.selector"),
    ]
}

/// The spec of a CronJob. Mirrors `validateCronJobSpec`.
fn cron_job_spec(problems: &mut Problems, spec: &CronJobSpec) {
    if spec.schedule.is_empty() {
        problems.required(&SPEC.child("schedule"), "");
    } else {
        schedule(problems, &spec.schedule);
    }
    problems.not_negative(&SPEC.child("startingDeadlineSeconds"), spec.starting_deadline_seconds.unwrap_or(0));
    time_zone(problems, spec.time_zone.as_deref());
    let policies = ["Allow", "Forbid", "Replace"];
    problems.one_of(&SPEC.child("concurrencyPolicy"), spec.concurrency_policy.as_deref(), &policies);
    let path = SPEC.child("jobTemplate");
    let (path, job) = (path.child("spec"), spec.job_template.spec.clone().unwrap_or_default());
    job_spec(problems, &path, &job);
    if let Some(selector) = &job.selector {
        let shown = Internal("LabelSelector", selector);
        problems.invalid(&path.child("selector"), shown, "`selector` will be auto-generated");
    }
    if job.manual_selector == Some(true) {
        problems.not_supported(&path.child("manualSelector"), Literal("true"), &["nil", "false"]);
    }
    problems.not_negative(&SPEC.child("successfulJobsHistoryLimit"), spec.successful_jobs_history_limit.unwrap_or(0));
    problems.not_negative(&SPEC.child("failedJobsHistoryLimit"), spec.failed_jobs_history_limit.unwrap_or(0));
}

/// Mirrors `validateScheduleFormat`.
fn schedule(problems: &mut Problems, schedule: &str) {
    let path = SPEC.child("schedule");
    if schedule.contains("TZ") {
        return problems.invalid(&path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    }
    if let Err(error) = Schedule::parse(schedule) {
        problems.invalid(&path, schedule, &error);
    }
}

/// Mirrors `validateTimeZone`.
fn time_zone(problems: &mut Problems, name: Option<&str>) {
    let path = SPEC.child("timeZone");
    match name {
        None => {}
        Some("") => problems.invalid(&path, "", "timeZone must be nil or non-empty string"),
        Some("Local") => {
            let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
            problems.invalid(&path, "Local", why);
        }
        Some(name) => {
            if let Err(error) = zone::named(name) {
                problems.invalid(&path, name, &error);
            }
        }
    }
}

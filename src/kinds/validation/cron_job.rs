//! CronJobs. Mirrors `ValidateCronJobCreate` and `ValidateCronJobUpdate` of `pkg/apis/batch/validation`.

use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec};

use crate::kinds::batch::job::validation::job_spec;
use crate::object::cron::Schedule;
use crate::object::validation::field::{Literal, Path, Problems};
use crate::object::validation::internal::Internal;
use crate::object::{Accessor, zone};

const SPEC: Path = Path::new("spec");

/// A new CronJob. Mirrors `ValidateCronJobCreate`.
pub fn cron_job(problems: &mut Problems, job: &CronJob) {
    /// The names of its Jobs have eleven characters more.
    const NAME_MAX: usize = 52;
    cron_job_spec(problems, &job.spec);
    let name = job.metadata.name();
    if name.len() > NAME_MAX {
        problems.invalid(&Path::new("metadata").child("name"), name, "must be no more than 52 characters");
    }
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

/// What is wrong with a CronJob's new version.
pub fn cron_job_update(problems: &mut Problems, new: &CronJob, old: &CronJob) {
    if new.spec != old.spec {
        cron_job_spec(problems, &new.spec);
    }
}

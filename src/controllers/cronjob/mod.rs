//! The CronJob controller: makes a Job whenever its time has come.
//!
//! # How it works
//!
//! There is no clock that rings. Each reconcile asks what the last time was that should have had a Job ([`times`]); if
//! that time has none, it makes one, and in any case it queues the CronJob for a moment after the next time. So a
//! controller that was away for an hour makes one Job when it is back, for the latest time, and not sixty.
//!
//! A Job's name is the CronJob's and the minute of its time. That is what keeps two reconciles from making two Jobs for
//! one time: the second is refused, for the name is taken.
//!
//! What happens while an earlier Job runs is the `concurrencyPolicy`: `Allow` makes another, `Replace` deletes the earlier
//! one first, `Forbid` makes none until that one has ended, and then one for the latest time.
//!
//! # Must hold
//!
//! - One time gets one Job at most. Kept by `a_job_of_an_earlier_cron_job_with_its_name_counts_too`.
//! - No Job is made later than `startingDeadlineSeconds` after its time. Kept by `the_latest_time_counts`.
//! - Of ended Jobs no more stay than the history limits say; the oldest go first. Kept by `the_oldest_go`.
//!
//! Mirrors `pkg/controller/cronjob`.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use object::cron::Schedule;
use object::meta::{controller_of, controller_ref};
use object::time::Instant;
use object::{Accessor, Key, Kind, Object, zone};
use wire::{DeleteOptions, Propagation};

use super::job::conditions::{COMPLETE, FAILED, holding, is_finished};
use super::pods::resolve;

mod history;
pub mod times;

use times::{Times, next_look};

/// The row of the CronJob controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::CronJob, Kind::Job],
    workers: 5,
    ..Registration::new("cronjob-controller", &|context| Rc::new(CronJobs::new(context)))
};

/// Which time a Job is for, in the CronJob's time zone.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The index that finds Jobs by the name of their controller.
const BY_OWNER_NAME: &str = "owner name";

/// The name alone counts, not the uid: a CronJob also cleans up after an earlier one of its name, which was deleted and
/// has left its Jobs. Mirrors `getJobsToBeReconciled`.
fn index_by_owner_name(object: &Object) -> Vec<String> {
    let meta = object.meta();
    let namespace = meta.namespace();
    controller_of(meta).map(|owner| Key::new(namespace, &owner.name).to_string()).into_iter().collect()
}

/// The controller of CronJobs.
pub struct CronJobs {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    cron_jobs: Lister<CronJob>,
    jobs: Lister<Job>,
}

impl CronJobs {
    /// The controller, on these caches.
    pub fn new(context: &ControllerContext) -> CronJobs {
        context.add_index::<Job>(BY_OWNER_NAME, index_by_owner_name);
        CronJobs {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            cron_jobs: context.lister(),
            jobs: context.lister(),
        }
    }
}

impl Controller for CronJobs {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Updated { old: Object::CronJob(old), new: Object::CronJob(new) } => {
                let times = |job: &CronJob| (job.spec.schedule.clone(), job.spec.time_zone.clone());
                let changed = times(old) != times(new);
                match Some(new).filter(|_| changed) {
                    // What was missed by another schedule is not made up for.
                    Some(new) => self.schedule_changed(change.key(), new),
                    None => self.queue.add(change.key()),
                }
            }
            Change::Added(Object::Job(job)) | Change::Deleted(Object::Job(job)) => self.job_changed(job),
            Change::Updated { old: Object::Job(old), new: Object::Job(job) } => {
                if controller_of(&old.metadata) != controller_of(&job.metadata) {
                    self.job_changed(old);
                }
                self.job_changed(job);
            }
            other => self.queue.add(other.key()),
        }
    }

    /// One reconcile. The status is written once, at the end, if anything happened that belongs in it.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(cached) = self.cron_jobs.get(&key) else { return Ok(()) };
        let mut cron_job = CronJob::clone(&cached);
        let jobs = self.jobs.by_index(BY_OWNER_NAME, &key.to_string());
        let mut changed = self.clean_up(&mut cron_job, &jobs).await;
        let result = self.bring_up_to_date(&mut cron_job, &jobs, &mut changed).await;
        if changed {
            self.client.update_status(cron_job).await?;
        }
        if let Some(delay) = result? {
            self.queue.add_after_background(key, delay);
        }
        Ok(())
    }
}

impl CronJobs {
    /// Notes what became of the Jobs and makes the next one if its time has come. Says when to look again. Mirrors
    /// `syncCronJob`, with [`CronJobs::start_next`].
    ///
    /// Where the cache was found to be older than what this controller wrote, the newer CronJob is worked with; but
    /// the one from the cache is what gets written, is refused, and the next reconcile does it right.
    async fn bring_up_to_date(
        &self,
        cached: &mut CronJob,
        jobs: &[Arc<Job>],
        changed: &mut bool,
    ) -> Result<Option<Duration>, Error> {
        let mut newer = None;
        for job in jobs {
            let cron_job = newer.as_mut().unwrap_or(&mut *cached);
            if let Some(fresh) = self.note_job(cron_job, job, changed).await? {
                newer = Some(fresh);
            }
        }
        let cron_job = newer.as_mut().unwrap_or(cached);
        self.note_missing(cron_job, jobs, changed).await?;
        match cron_job.metadata.deletion_timestamp {
            Some(_) => Ok(None),
            None => self.start_next(cron_job, changed).await,
        }
    }

    /// Makes the next Job if its time has come, and notes that. Says when to look again.
    async fn start_next(&self, cron_job: &mut CronJob, changed: &mut bool) -> Result<Option<Duration>, Error> {
        let Some((schedule, zone)) = self.schedule_of(cron_job) else { return Ok(None) };
        let now = self.client.now().timestamp();
        let look_again = |cron_job: &CronJob| Ok(next_look(cron_job, &schedule, &zone, now));
        if schedule.next(now, &zone).is_none() {
            let why = "time difference between two schedules is less than 1 second";
            let message = format!("invalid schedule: {} : {why}", cron_job.spec.schedule);
            self.recorder.event(cron_job, EventType::Warning, "InvalidSchedule", message);
            return Ok(None);
        }
        let times = Times::of(cron_job, &schedule, &zone, now, true);
        let Some(scheduled) = times.latest else { return look_again(cron_job) };
        if times.missed > times::TOO_MANY {
            const WHY: &str =
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.recorder.event(cron_job, EventType::Warning, "TooManyMissedTimes", WHY);
        }
        let deadline = cron_job.spec.starting_deadline_seconds;
        if deadline.is_some_and(|seconds| scheduled < times::before(now, seconds)) {
            let at = scheduled.strftime("%a, %d %b %Y %H:%M:%S +0000");
            let message = format!("Missed scheduled time to start a job: {at}");
            self.recorder.event(cron_job, EventType::Warning, "MissSchedule", message);
            return look_again(cron_job);
        }
        let name = format!("{}-{}", cron_job.metadata.name(), scheduled.as_second() / 60);
        let status = cron_job.status.clone().unwrap_or_default();
        let is_last =
            status.last_schedule_time.as_ref().is_some_and(|last| last.0.as_second() == scheduled.as_second());
        let active = status.active.unwrap_or_default();
        if is_last || active.iter().any(|job| job.name.as_deref() == Some(name.as_str())) {
            return look_again(cron_job);
        }
        match cron_job.spec.concurrency_policy.as_deref() {
            Some("Forbid") if !active.is_empty() => {
                const WHY: &str =
                    "Not starting job because prior execution is running and concurrency policy is Forbid";
                self.recorder.event(cron_job, EventType::Normal, "JobAlreadyActive", WHY);
                return look_again(cron_job);
            }
            Some("Replace") => self.replace(cron_job, &active, changed).await?,
            _ => {}
        }
        let Some(job) = self.start(cron_job, name, scheduled, &zone).await? else { return Ok(None) };
        let status = cron_job.status.get_or_insert_default();
        status.active.get_or_insert_default().push(reference(&job));
        status.last_schedule_time = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(scheduled));
        *changed = true;
        look_again(cron_job)
    }

    /// A Job may be new to the list of active ones, or have to leave it. Gives the CronJob as the API server has it, if
    /// that one knows more.
    async fn note_job(&self, cron_job: &mut CronJob, job: &Job, changed: &mut bool) -> Result<Option<CronJob>, Error> {
        let name = job.metadata.name();
        let is_active = |cron_job: &CronJob| active(cron_job).iter().any(|there| there.uid == job.metadata.uid);
        if !is_finished(job) {
            if is_active(cron_job) {
                return Ok(None);
            }
            // The cache may be older than this controller's own last write.
            let key = Key::of_meta(&cron_job.metadata);
            let fresh = self.client.get::<CronJob>(key.namespace(), key.name()).await?;
            if is_active(&fresh) {
                return Ok(Some(CronJob::clone(&fresh)));
            }
            let message = format!("Saw a job that the controller did not create or forgot: {name}");
            self.recorder.event(cron_job, EventType::Warning, "UnexpectedJob", message);
            return Ok(None);
        }
        if is_active(cron_job) {
            forget(cron_job, job.metadata.uid.as_deref());
            let how = if holding(job, COMPLETE).is_some() { COMPLETE } else { FAILED };
            let message = format!("Saw completed job: {name}, condition: {how}");
            self.recorder.event(cron_job, EventType::Normal, "SawCompletedJob", message);
            *changed = true;
        }
        // A Job that another client made counts as well.
        if holding(job, COMPLETE).is_some() {
            let ended = job.status.as_ref().and_then(|status| status.completion_time.clone());
            let status = cron_job.status.get_or_insert_default();
            let later = |last: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Time| {
                ended.as_ref().is_some_and(|ended| ended.0 > last.0)
            };
            if status.last_successful_time.as_ref().is_none_or(later) {
                status.last_successful_time = ended;
                *changed = true;
            }
        }
        Ok(None)
    }

    /// A Job that was active may have been deleted.
    async fn note_missing(&self, cron_job: &mut CronJob, jobs: &[Arc<Job>], changed: &mut bool) -> Result<(), Error> {
        for there in active(cron_job) {
            if jobs.iter().any(|job| job.metadata.uid == there.uid) {
                continue;
            }
            let [namespace, name] = [&there.namespace, &there.name].map(|text| text.as_deref().unwrap_or_default());
            match self.client.get::<Job>(namespace, name).await {
                Err(status) if status.is_not_found() => {
                    let message = format!("Active job went missing: {name}");
                    self.recorder.event(cron_job, EventType::Normal, "MissingJob", message);
                    forget(cron_job, there.uid.as_deref());
                    *changed = true;
                }
                found => {
                    found?;
                }
            }
        }
        Ok(())
    }

    /// The schedule and the clocks by which it goes, unless the CronJob is suspended or they cannot be read.
    fn schedule_of(&self, cron_job: &CronJob) -> Option<(Schedule, TimeZone)> {
        let spec = &cron_job.spec;
        let zone = match spec.time_zone.as_deref() {
            None => TimeZone::UTC,
            Some(name) => match zone::named(name) {
                Ok(zone) => zone,
                Err(error) => {
                    let message = format!("invalid timeZone: {name:?}: {error}");
                    self.recorder.event(cron_job, EventType::Warning, "UnknownTimeZone", message);
                    return None;
                }
            },
        };
        if spec.suspend == Some(true) {
            return None;
        }
        match Schedule::parse(&spec.schedule) {
            Ok(schedule) => Some((schedule, zone)),
            Err(error) => {
                let message = format!("unparseable schedule: {:?} : {error}", spec.schedule);
                self.recorder.event(cron_job, EventType::Warning, "UnparseableSchedule", message);
                None
            }
        }
    }

    /// Deletes the Jobs that still run.
    async fn replace(
        &self,
        cron_job: &mut CronJob,
        active: &[ObjectReference],
        changed: &mut bool,
    ) -> Result<(), Error> {
        for there in active {
            let [namespace, name] = [&there.namespace, &there.name].map(|text| text.as_deref().unwrap_or_default());
            let job = self.client.get::<Job>(namespace, name).await;
            if let Err(status) = &job {
                self.recorder.event(cron_job, EventType::Warning, "FailedGet", format!("Get job: {status}"));
            }
            self.delete_job(cron_job, &*job?).await?;
            *changed = true;
        }
        Ok(())
    }

    /// Deletes a Job, and its Pods in the background.
    async fn delete_job(&self, cron_job: &mut CronJob, job: &Job) -> Result<(), Error> {
        let key = Key::of_meta(&job.metadata);
        let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        if let Err(status) = self.client.delete::<Job>(key.namespace(), key.name(), options).await {
            self.recorder.event(cron_job, EventType::Warning, "FailedDelete", format!("Deleted job: {status}"));
            return Err(status.into());
        }
        forget(cron_job, job.metadata.uid.as_deref());
        let message = format!("Deleted job {}", key.name());
        self.recorder.event(cron_job, EventType::Normal, "SuccessfulDelete", message);
        Ok(())
    }

    /// Makes the Job for one time. None if a Job of another owner has the name, or one that is active already.
    async fn start(
        &self,
        cron_job: &CronJob,
        name: String,
        scheduled: Timestamp,
        zone: &TimeZone,
    ) -> Result<Option<Arc<Job>>, Error> {
        let key = Key::of_meta(&cron_job.metadata);
        match self.client.create(job_for(cron_job, name.clone(), scheduled, zone)).await {
            Ok(job) => {
                self.recorder.event(cron_job, EventType::Normal, "SuccessfulCreate", format!("Created job {name}"));
                Ok(Some(job))
            }
            // Made before, and not written down: it is as good as a new one.
            Err(status) if status.is_already_exists() => {
                let job = self.client.get::<Job>(key.namespace(), &name).await?;
                let ours = controller_of(&job.metadata).map(|owner| &owner.uid) == cron_job.metadata.uid.as_ref();
                let known = active(cron_job).iter().any(|there| there.uid == job.metadata.uid);
                Ok(Some(job).filter(|_| ours && !known))
            }
            Err(status) => {
                // In a terminating namespace failures are expected, and no user is left to read about them.
                if !status.is_namespace_terminating() {
                    let message = format!("Error creating job: {status}");
                    self.recorder.event(cron_job, EventType::Warning, "FailedCreate", message);
                }
                Err(status.into())
            }
        }
    }
}

fn active(cron_job: &CronJob) -> Vec<ObjectReference> {
    cron_job.status.as_ref().and_then(|status| status.active.clone()).unwrap_or_default()
}

/// The Job is not active any more.
fn forget(cron_job: &mut CronJob, uid: Option<&str>) {
    let Some(status) = &mut cron_job.status else { return };
    let mut left = status.active.take().unwrap_or_default();
    left.retain(|there| there.uid.as_deref() != uid);
    status.active = (!left.is_empty()).then_some(left);
}

fn reference(job: &Job) -> ObjectReference {
    let info = Kind::Job.info();
    ObjectReference {
        kind: Some(info.kind.into()),
        api_version: Some(info.api_version.into()),
        namespace: job.metadata.namespace.clone(),
        name: job.metadata.name.clone(),
        uid: job.metadata.uid.clone(),
        resource_version: job.metadata.resource_version.clone(),
        ..ObjectReference::default()
    }
}

/// Mirrors `getJobFromTemplate2`.
fn job_for(cron_job: &CronJob, name: String, scheduled: Timestamp, zone: &TimeZone) -> Job {
    let template = &cron_job.spec.job_template;
    let meta = template.metadata.clone().unwrap_or_default();
    let mut annotations = meta.annotations.unwrap_or_default();
    let local = scheduled.to_zoned(zone.clone());
    let offset = if local.offset().is_zero() { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
    annotations.insert(SCHEDULED.into(), local.strftime(offset).to_string());
    Job {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: cron_job.metadata.namespace.clone(),
            labels: meta.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![controller_ref(cron_job)]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

impl CronJobs {
    fn job_changed(&self, job: &Job) {
        let owner = controller_of(&job.metadata);
        if let Some(cron_job) = owner.and_then(|owner| resolve(&self.cron_jobs, &job.metadata, owner)) {
            self.queue.add(Key::of_meta(&cron_job.metadata));
        }
    }

    /// What is wrong with the new schedule, if anything is, the next reconcile will say.
    fn schedule_changed(&self, key: Key, cron_job: &CronJob) {
        let Ok(schedule) = Schedule::parse(&cron_job.spec.schedule) else { return };
        let zone = cron_job.spec.time_zone.as_deref().and_then(|name| zone::named(name).ok()).unwrap_or(TimeZone::UTC);
        let now: Instant = self.client.now();
        match next_look(cron_job, &schedule, &zone, now.timestamp()) {
            Some(delay) => self.queue.add_after_background(key, delay),
            None => self.queue.add(key),
        }
    }
}

//! One reconcile of a Job: looks at its Pods, decides, acts, and counts. Mirrors `syncJob`.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};

use crate::claim::Claimer;
use crate::pods::{BY_CONTROLLER, is_active, is_terminating, orphans_of, owned_by};
use client::{Error, EventType};
use object::meta::controller_of;
use object::pod::{has_ended, is_ready, phase};
use object::{Key, Kind, Pod};

use super::backoff::Backoff;
use super::conditions::{
    self, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED, condition, ensure, failure, holding,
};
use super::indexes::{Indexes, index_of};
use super::manage::wanted;
use super::policy::{self, FailureAction};
use super::{
    Jobs, Outlook, TRACKING, is_indexed, is_managed_elsewhere, is_suspended, is_tracked, per_index,
    replaces_failed_only, selector_of, time_left, uid_of,
};

/// What a reconcile knows of its Job, and makes of it.
pub(super) struct Sync {
    pub key: Key,
    /// As it will be written.
    pub job: Job,
    pub spec: JobSpec,
    pub status: JobStatus,
    /// All that the Job has, ended or not.
    pub pods: Vec<Arc<Pod>>,
    pub active: Vec<Arc<Pod>>,
    pub counts: Counts,
    /// Uids of Pods whose finalizer is off, though the cache does not show it yet.
    pub released: BTreeSet<String>,
    /// How long failures will hold the next Pod back.
    pub backoff: Backoff,
    /// What is to be the end, if it is decided.
    pub finish: Option<JobCondition>,
    /// The indexes done before this reconcile, those done with it, and those that failed.
    pub indexes_before: Indexes,
    pub succeeded_indexes: Indexes,
    pub failed_indexes: Option<Indexes>,
    /// What another's rule makes of the Pods, if there is one.
    pub told: Option<Outlook>,
}

/// How many Pods are in which state; what the status says, once all is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub active: i32,
    pub ready: i32,
    pub terminating: i32,
    pub succeeded: i32,
    pub failed: i32,
}

impl Sync {
    /// The Job's index that the Pod works on.
    pub fn index_of(&self, pod: &Pod) -> Option<i32> {
        index_of(pod, self.spec.completions.unwrap_or(0))
    }

    /// Whether the Pod failed, or never can. Mirrors `isPodFailed`.
    pub fn has_failed(&self, pod: &Pod) -> bool {
        let given_up = pod.metadata.deletion_timestamp.is_some() && phase(pod) != "Succeeded";
        phase(pod) == "Failed" || (given_up && !replaces_failed_only(&self.spec))
    }

    /// Whether the Pod's end is still to be counted, as far as this controller knows.
    pub fn is_open(&self, pod: &Pod) -> bool {
        is_tracked(pod) && !self.released.contains(uid_of(pod))
    }

    /// How many Pods should run now.
    pub fn wanted(&self) -> i32 {
        self.told.map_or_else(|| wanted(&self.spec, self.counts.succeeded, self.counts.active), |told| told.wanted)
    }

    /// Whether the Job has failed because too many of its Pods have.
    fn failed_too_often(&self) -> bool {
        self.told.map_or(self.counts.failed > self.spec.backoff_limit.unwrap_or(6), |told| told.failed)
    }

    /// Whether enough has succeeded. Without a number of completions the first success tells that the work is done.
    fn is_enough(&self) -> bool {
        let succeeded = self.counts.succeeded;
        let enough = self.spec.completions.map_or(succeeded > 0, |completions| succeeded >= completions);
        self.told.map_or(enough, |told| told.complete)
    }

    /// The uids that the status holds until their finalizers are off.
    pub fn uncounted(&self) -> (&[String], &[String]) {
        let uncounted = self.status.uncounted_terminated_pods.as_ref();
        (
            uncounted.and_then(|u| u.succeeded.as_deref()).unwrap_or_default(),
            uncounted.and_then(|u| u.failed.as_deref()).unwrap_or_default(),
        )
    }

    /// The open Pods that `has_ended` so, and are not noted in `noted`. Mirrors `getValidPodsWithFilter`.
    fn newly(&self, noted: &[String], has_ended: impl Fn(&Pod) -> bool) -> Vec<Arc<Pod>> {
        let is_new = |pod: &&Arc<Pod>| {
            self.is_open(pod)
                && !noted.iter().any(|uid| uid == uid_of(pod))
                && (!is_indexed(&self.spec) || self.index_of(pod).is_some())
                && has_ended(pod)
        };
        self.pods.iter().filter(is_new).cloned().collect()
    }
}

impl Jobs {
    /// One reconcile.
    pub(super) async fn sync(&self, key: Key) -> Result<(), Error> {
        let caches = [(Kind::Job, self.jobs.revision()), (Kind::Pod, self.pods.revision())];
        self.consistency.ensure_ready(&key, &caches)?;
        let Some(job) = self.jobs.get(&key) else {
            self.forget(&key);
            return Ok(());
        };
        let Some(spec) = job.spec.clone() else { return Ok(()) };
        if is_managed_elsewhere(&job) {
            return Ok(());
        }
        if conditions::is_finished(&job) {
            self.backoff.borrow_mut().remove(&key);
            return Ok(());
        }
        let may_act = self.expectations.satisfied(&key, self.client.now());
        let mut sync = self.survey(key, job, spec).await?;
        sync.finish = self.decide(&sync);
        self.judge_indexes(&mut sync);
        let (managed, resumed) = self.act(&mut sync, may_act).await;
        let counts = sync.counts;
        let status = &mut sync.status;
        let changed = resumed
            || status.active.unwrap_or(0) != counts.active
            || status.ready != Some(counts.ready)
            || status.terminating != Some(counts.terminating);
        status.active = nonzero(counts.active);
        status.ready = Some(counts.ready);
        status.terminating = Some(counts.terminating);
        let tracked = self.track(sync, changed).await;
        tracked.map_err(|error| Error::Other(format!("tracking status: {error}")))?;
        managed
    }

    /// Claims the Pods and counts them.
    async fn survey(&self, key: Key, job: Arc<Job>, spec: JobSpec) -> Result<Sync, Error> {
        let now = self.client.now();
        let pods = self.claim(&key, &job).await?;
        let active: Vec<Arc<Pod>> = pods.iter().filter(|pod| is_active(pod)).cloned().collect();
        let mut status = job.status.clone().unwrap_or_default();
        status.uncounted_terminated_pods.get_or_insert_default();
        if status.start_time.is_none() && !is_suspended(&spec) {
            status.start_time = Some(now.time());
        }
        let released = self.removals.borrow().get(&key).cloned().unwrap_or_default();
        let backoff = self.backoff.borrow().get(&key).copied().unwrap_or_default();
        let mut sync = Sync {
            key,
            job: Job::clone(&job),
            spec,
            status,
            pods,
            active,
            counts: Counts::default(),
            released,
            backoff,
            finish: None,
            indexes_before: Indexes::default(),
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            told: None,
        };
        sync.told = self.rule.as_ref().map(|rule| rule(&sync.spec, &sync.pods));
        let (noted_successes, noted_failures) = sync.uncounted();
        let succeeded = sync.newly(noted_successes, |pod| phase(pod) == "Succeeded");
        let failed = sync.newly(noted_failures, |pod| sync.has_failed(pod));
        let ignored = failed.iter().filter(|pod| policy::judge(&sync.spec, pod) == FailureAction::Ignore).count();
        let total =
            |counted: Option<i32>, new: usize, noted: &[String]| counted.unwrap_or(0) + new as i32 + noted.len() as i32;
        let counts = Counts {
            active: sync.active.len() as i32,
            ready: sync.active.iter().filter(|pod| is_ready(pod)).count() as i32,
            terminating: sync.pods.iter().filter(|pod| is_terminating(pod)).count() as i32,
            succeeded: total(sync.status.succeeded, succeeded.len(), noted_successes),
            failed: total(sync.status.failed, failed.len() - ignored, noted_failures),
        };
        sync.counts = counts;
        sync.backoff = sync.backoff.after(&succeeded, &failed);
        Ok(sync)
    }

    /// The Pods that the Job has, after adoption and release.
    async fn claim(&self, key: &Key, job: &Arc<Job>) -> Result<Vec<Arc<Pod>>, Error> {
        let Ok(selector) = selector_of(job) else {
            return Err(Error::Other(format!("couldn't convert Job selector of {key}")));
        };
        let mut candidates = self.pods.by_index(BY_CONTROLLER, &owned_by(&**job));
        candidates.extend(self.pods.by_index(BY_CONTROLLER, &orphans_of(key.namespace())));
        let patched = |version: Option<&str>| self.consistency.wrote(key, Kind::Pod, version);
        let finalizers = &[TRACKING];
        let claimer =
            Claimer { client: &self.client, owner: &**job, selector: &selector, finalizers, patched: &patched };
        let mut pods = claimer.claim(candidates).await?;
        // An adopted Pod has got its finalizer with its owner; the cache does not show it yet.
        for pod in pods.iter_mut().filter(|pod| controller_of(&pod.metadata).is_none() && !is_tracked(pod)) {
            Arc::make_mut(pod).metadata.finalizers.get_or_insert_default().push(TRACKING.into());
        }
        Ok(pods)
    }

    /// Whether the Job is to end, and how.
    fn decide(&self, sync: &Sync) -> Option<JobCondition> {
        let (job, spec, now) = (&sync.job, &sync.spec, self.client.now());
        if let Some(met) = holding(job, SUCCESS_CRITERIA_MET) {
            return Some(met.clone());
        }
        if let Some(target) = holding(job, FAILURE_TARGET) {
            return Some(conditions::following(target, FAILED, now));
        }
        let verdicts = sync.pods.iter().filter(|pod| sync.has_failed(pod)).map(|pod| policy::judge(spec, pod));
        if let Some(message) = verdicts.into_iter().find_map(|verdict| match verdict {
            FailureAction::FailJob(message) => Some(message),
            _ => None,
        }) {
            return Some(failure("PodFailurePolicy", &message, now));
        }
        if sync.failed_too_often() || restarted_too_often(spec, &sync.pods) {
            return Some(failure("BackoffLimitExceeded", "Job has reached the specified backoff limit", now));
        }
        if is_suspended(spec) {
            return None;
        }
        // A Job that starts just now has all its time.
        let started = Job { status: Some(sync.status.clone()), ..job.clone() };
        let left = time_left(&started, now)?;
        if left.is_zero() {
            return Some(failure("DeadlineExceeded", "Job was active longer than specified deadline", now));
        }
        self.queue.add_after(sync.key.clone(), left);
        None
    }

    /// An Indexed Job counts indexes, not Pods; and its failures may be counted index by index.
    fn judge_indexes(&self, sync: &mut Sync) {
        let (spec, now) = (&sync.spec, self.client.now());
        let Some(completions) = spec.completions.filter(|_| is_indexed(spec)) else { return };
        let before = Indexes::parse(sync.status.completed_indexes.as_deref().unwrap_or_default(), completions);
        let mut succeeded = before.clone();
        let done = sync.pods.iter().filter(|pod| phase(pod) == "Succeeded" && is_tracked(pod));
        succeeded.extend(done.filter_map(|pod| sync.index_of(pod)));
        sync.counts.succeeded = succeeded.total();
        if spec.backoff_limit_per_index.is_some() {
            let failed = per_index::failed(sync, completions);
            if sync.finish.is_none() {
                if spec.max_failed_indexes.is_some_and(|max| failed.total() > max) {
                    let message = "Job has exceeded the specified maximal number of failed indexes";
                    sync.finish = Some(failure("MaxFailedIndexesExceeded", message, now));
                } else if failed.total() > 0 && failed.total() + succeeded.total() >= completions {
                    sync.finish = Some(failure("FailedIndexes", "Job has failed indexes", now));
                }
            }
            sync.failed_indexes = Some(failed);
        }
        if let (None, Some(policy)) = (&sync.finish, &sync.spec.success_policy)
            && let Some(message) = policy::success(policy, completions, &succeeded)
        {
            sync.finish = Some(condition(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy", &message, now));
        }
        (sync.indexes_before, sync.succeeded_indexes) = (before, succeeded);
    }

    /// Deletes what is left of a Job that has ended, or comes one step closer to its end. Says how that went, and whether
    /// the Job was suspended or resumed.
    async fn act(&self, sync: &mut Sync, may_act: bool) -> (Result<(), Error>, bool) {
        if sync.finish.is_some() {
            let active = sync.counts.active;
            let (deleted, result) = self.delete_active(sync).await;
            // Something still runs, or is not in the cache yet: too early to say that the Job has ended.
            if deleted != active || !may_act {
                sync.finish = None;
            }
            return (result, false);
        }
        let manages = may_act && sync.job.metadata.deletion_timestamp.is_none();
        let result = if manages { self.manage(sync).await } else { Ok(()) };
        if sync.is_enough() && sync.counts.active == 0 {
            let message = "Reached expected number of succeeded pods";
            let met = condition(SUCCESS_CRITERIA_MET, "True", "CompletionsReached", message, self.client.now());
            sync.finish = Some(met);
            return (result, false);
        }
        (result, manages && self.note_suspension(sync))
    }

    /// The condition Suspended follows what is asked for. A Job that goes on starts its time anew.
    fn note_suspension(&self, sync: &mut Sync) -> bool {
        let (now, suspended) = (self.client.now(), is_suspended(&sync.spec));
        let (status, reason, event, message) = match suspended {
            true => ("True", "JobSuspended", "Suspended", "Job suspended"),
            false => ("False", "JobResumed", "Resumed", "Job resumed"),
        };
        let conditions = sync.status.conditions.get_or_insert_default();
        let changed = ensure(conditions, condition(SUSPENDED, status, reason, message, now));
        if conditions.is_empty() {
            sync.status.conditions = None;
        }
        if changed {
            self.recorder.event(&sync.job, EventType::Normal, event, message);
            sync.status.start_time = (!suspended).then(|| now.time());
        }
        changed
    }
}

/// Where containers are started again in their Pod, the restarts are the failures. Mirrors `pastBackoffLimitOnFailure`.
fn restarted_too_often(spec: &JobSpec, pods: &[Arc<Pod>]) -> bool {
    let policy = spec.template.spec.as_ref().and_then(|pod| pod.restart_policy.as_deref());
    if policy != Some("OnFailure") {
        return false;
    }
    let restarts = |pod: &Arc<Pod>| {
        let Some(status) = &pod.status else { return 0 };
        let all = [&status.init_container_statuses, &status.container_statuses];
        all.into_iter().flatten().flatten().map(|status| status.restart_count).sum::<i32>()
    };
    let total: i32 = pods.iter().filter(|pod| !has_ended(pod)).map(restarts).sum();
    match spec.backoff_limit.unwrap_or(6) {
        0 => total > 0,
        limit => total >= limit,
    }
}

/// A count as the API prints it: zero is left out.
pub(super) fn nonzero(count: i32) -> Option<i32> {
    (count != 0).then_some(count)
}

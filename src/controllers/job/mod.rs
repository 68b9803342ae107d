//! The Job controller: runs Pods until enough of them have succeeded, and counts each exactly once.
//!
//! # How a Job runs
//!
//! A Job asks for `completions` successes with at most `parallelism` Pods at a time. The controller watches Jobs and
//! Pods, and a worker that takes a Job's key *reconciles* ([`Jobs::sync`]):
//!
//! 1. **Which Pods are mine, and which are new among the ended?** ([`sync`])
//! 2. **Is it decided?** Too many failures ([`backoff`]), a rule of the failure policy ([`policy`]), a deadline, a rule of
//!    the success policy, or enough successes. If so, what still runs is deleted.
//! 3. **If not, too few or too many?** The difference is created in growing batches or deleted ([`manage`]).
//! 4. **Count what has ended, and write it down** ([`tracking`]).
//!
//! # Why counting is hard
//!
//! A ReplicaSet counts what is there. A Job must count what *was* there: any client may delete a Pod that succeeded,
//! and then the success would be forgotten, or be counted twice if the status write came too late. So each Pod carries a
//! finalizer, `batch.kubernetes.io/job-tracking`, and its end is counted in two writes: the Pod's uid goes into
//! `status.uncountedTerminatedPods`; then the finalizer comes off; then the uid moves into `succeeded` or `failed`.
//! A controller that crashes between two of these steps finds out from uid and finalizer how far it had come.
//!
//! A status write for every Pod would be a flood, so a change of a Pod queues its Job a second later, and what happened
//! in that second is written at once.
//!
//! # Must hold
//!
//! - No Pod is counted twice, and none that ended is lost. Kept by the property "no Job counts a Pod twice".
//! - `Complete` and `Failed` are written only when nothing is uncounted and nothing runs; `SuccessCriteriaMet` and
//!   `FailureTarget`, as soon as it is decided. Kept by `runs_are_like_recordings`.
//! - After a failure no Pod is made for 10 s, 20 s, 40 s … up to ten minutes. Kept by `the_pause_doubles` and
//!   `a_jobs_pod_that_was_deleted_is_made_again_after_ten_seconds`.
//!
//! Mirrors `pkg/controller/job`.
//!
//! # Left out
//!
//! Jobs that another controller manages (`spec.managedBy`) are skipped, and nothing else is known of them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::meta::{controller_of, has_finalizer};
use object::selector::Selector;
use object::time::Instant;
use object::{Accessor, Key, Kind, Object, Pod};

use super::consistency::Consistency;
use super::expectations::Expectations;
use super::pods::{self, BY_CONTROLLER, PodControl, index_by_controller};

pub mod backoff;
pub mod conditions;
pub mod indexes;
pub mod manage;
pub mod orphans;
mod per_index;
pub mod policy;
mod sync;
mod tracking;

use backoff::Backoff;
use conditions::is_finished;

/// The row of the Job controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Job, Kind::Pod],
    workers: 5,
    ..Registration::new("job-controller", &|context| Rc::new(Jobs::new(context)))
};

/// The finalizer that keeps a Pod until its Job has counted it.
pub const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// What happens to a Job's Pods in this time is worked on together.
const BATCH_PERIOD: Duration = Duration::from_secs(1);
/// What a failing Job waits at most before it is tried again.
const RETRY_MAX: Duration = Duration::from_secs(60);

/// The controller of Jobs.
pub struct Jobs {
    client: Client,
    pod_control: PodControl,
    recorder: Recorder,
    queue: Queue,
    jobs: Lister<Job>,
    pods: Lister<Pod>,
    expectations: Expectations,
    /// By Job, the uids of Pods whose finalizer was taken off and is still in the cache.
    removals: Memory<BTreeMap<Key, BTreeSet<String>>>,
    backoff: Memory<BTreeMap<Key, Backoff>>,
    consistency: Consistency,
    /// What a Job still needs, if it is not counted here.
    rule: Option<Rc<Rule>>,
}

/// What a Job still needs.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// So many Pods should run now.
    pub wanted: i32,
    /// Too many have failed: the Job has.
    pub failed: bool,
    /// Enough have succeeded.
    pub complete: bool,
}

/// Says of a Job and all its Pods what it still needs.
pub type Rule = dyn Fn(&JobSpec, &[Arc<Pod>]) -> Outlook;

impl Jobs {
    /// The controller, on these caches.
    pub fn new(context: &ControllerContext) -> Jobs {
        context.add_index::<Pod>(BY_CONTROLLER, index_by_controller);
        context.queue.retry_from(BATCH_PERIOD);
        context.queue.retry_within(RETRY_MAX);
        Jobs {
            client: context.client.clone(),
            pod_control: PodControl { client: context.client.clone(), recorder: context.recorder.clone() },
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            jobs: context.lister(),
            pods: context.lister(),
            expectations: Expectations::new(context.client.hub()),
            removals: context.memory(BTreeMap::new()),
            backoff: context.memory(BTreeMap::new()),
            consistency: Consistency::new(context.client.hub()),
            rule: None,
        }
    }

    /// The controller with another rule.
    pub fn with_rule(context: &ControllerContext, rule: Rc<Rule>) -> Jobs {
        Jobs { rule: Some(rule), ..Jobs::new(context) }
    }

    /// Works on the Job after `delay`, but not before a second has passed.
    fn enqueue_after(&self, key: &Key, delay: Duration) {
        self.queue.add_after(key.clone(), delay.max(BATCH_PERIOD));
    }

    /// The Pod's finalizer is off: seen, or not to be expected any more.
    fn removal_observed(&self, key: &Key, uid: &str) {
        if let Some(uids) = self.removals.borrow_mut().get_mut(key) {
            uids.remove(uid);
        }
    }

    fn forget(&self, key: &Key) {
        self.expectations.forget(key);
        self.removals.borrow_mut().remove(key);
        self.backoff.borrow_mut().remove(key);
        self.consistency.forget(key);
    }
}

/// The handlers: they compute keys and touch expectations.
impl Jobs {
    fn job_updated(&self, old: &Job, new: &Job) {
        let key = Key::of_meta(&new.metadata);
        if is_finished(new) {
            return;
        }
        if old.metadata.generation == new.metadata.generation {
            self.enqueue_after(&key, Duration::ZERO);
        } else {
            self.queue.add(key.clone());
        }
        let deadline = |job: &Job| job.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
        if deadline(old) != deadline(new)
            && let (Some(left), true) = (time_left(new, self.client.now()), deadline(new).is_some())
        {
            self.queue.add_after(key, left);
        }
    }

    fn pod_added(&self, pod: &Pod) {
        if pod.metadata.deletion_timestamp.is_some() {
            return self.pod_deleted(pod, false);
        }
        match controller_of(&pod.metadata) {
            Some(owner) => {
                if let Some(job) = self.resolve(pod, owner) {
                    let key = Key::of_meta(&job.metadata);
                    self.expectations.creation_observed(&key);
                    self.enqueue_after(&key, Duration::ZERO);
                }
            }
            None => self.enqueue_selecting(pod),
        }
    }

    fn pod_updated(&self, old: &Pod, new: &Pod) {
        if old.metadata.resource_version == new.metadata.resource_version {
            return;
        }
        if new.metadata.deletion_timestamp.is_some() {
            return self.pod_deleted(new, false);
        }
        let uid = new.metadata.uid();
        // Several updates may have come as one: whether the old one was tracked says nothing.
        let freed = !is_tracked(new);
        let (old_owner, new_owner) = (controller_of(&old.metadata), controller_of(&new.metadata));
        let owners = if old_owner == new_owner { [None, new_owner] } else { [old_owner, new_owner] };
        for job in owners.into_iter().flatten().filter_map(|owner| self.resolve(new, owner)) {
            let key = Key::of_meta(&job.metadata);
            if freed {
                self.removal_observed(&key, uid);
            }
            self.enqueue_after(&key, Duration::ZERO);
        }
        if new_owner.is_none() && (old_owner.is_some() || old.metadata.labels != new.metadata.labels) {
            self.enqueue_selecting(new);
        }
    }

    /// The Pod is being deleted, or (`gone`) is no more.
    fn pod_deleted(&self, pod: &Pod, gone: bool) {
        let Some(job) = controller_of(&pod.metadata).and_then(|owner| self.resolve(pod, owner)) else { return };
        if is_finished(&job) {
            return;
        }
        let key = Key::of_meta(&job.metadata);
        self.expectations.deletion_observed(&key);
        if gone || !is_tracked(pod) {
            self.removal_observed(&key, pod.metadata.uid());
        }
        self.enqueue_after(&key, Duration::ZERO);
    }

    fn resolve(&self, pod: &Pod, owner: &OwnerReference) -> Option<Arc<Job>> {
        pods::resolve(&self.jobs, &pod.metadata, owner)
    }

    /// The Pod has no owner: every Job that selects it may adopt it.
    fn enqueue_selecting(&self, pod: &Pod) {
        let wants = |job: &Job, labels: &BTreeMap<String, String>| {
            selector_of(job).is_ok_and(|selector| selector.matches(Some(labels)))
        };
        let those = pods::selecting(&self.jobs, &pod.metadata, wants);
        those.iter().for_each(|key| self.enqueue_after(key, Duration::ZERO));
    }
}

impl Controller for Jobs {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::Pod(pod)) => self.pod_added(pod),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => self.pod_updated(old, new),
            Change::Deleted(Object::Pod(pod)) => self.pod_deleted(pod, true),
            Change::Updated { old: Object::Job(old), new: Object::Job(new) } => self.job_updated(old, new),
            other => self.queue.add(other.key()),
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        self.sync(key).await
    }
}

/// Whether the Job is another controller's. Mirrors `managedByExternalController`.
fn is_managed_elsewhere(job: &Job) -> bool {
    let manager = job.spec.as_ref().and_then(|spec| spec.managed_by.as_deref());
    manager.is_some_and(|manager| manager != "kubernetes.io/job-controller")
}

/// Whether the Pod's end is still to be counted.
fn is_tracked(pod: &Pod) -> bool {
    has_finalizer(&pod.metadata, TRACKING)
}

fn uid_of(pod: &Pod) -> &str {
    pod.metadata.uid()
}

fn selector_of(job: &Job) -> Result<Selector, String> {
    Selector::of_option(job.spec.as_ref().and_then(|spec| spec.selector.as_ref()))
}

fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode.as_deref() == Some("Indexed")
}

fn is_suspended(spec: &JobSpec) -> bool {
    spec.suspend == Some(true)
}

/// Whether a Pod that is being deleted counts as failed, and is replaced, only when it has really ended.
fn replaces_failed_only(spec: &JobSpec) -> bool {
    spec.pod_replacement_policy.as_deref() == Some("Failed")
}

/// What is left of a started Job's `activeDeadlineSeconds`; nothing if that is over. None where there is no deadline.
fn time_left(job: &Job, now: Instant) -> Option<Duration> {
    let deadline = job.spec.as_ref()?.active_deadline_seconds?;
    let started = Instant::from_time(job.status.as_ref()?.start_time.as_ref()?);
    Some(Duration::from_secs(deadline.max(0) as u64).saturating_sub(now - started))
}

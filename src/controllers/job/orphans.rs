//! Pods that still wait to be counted by a Job that will never do so: their finalizer is taken off, so that they can go.
//!
//! The Job is gone, or it has ended while the Pod was hidden from its controller. In Kubernetes this is a second queue of
//! the Job controller (`syncOrphanPod`); here it is a row of its own in the table, with the same service account.

use std::rc::Rc;

use k8s_openapi::api::batch::v1::Job;

use crate::pods::{self, BY_CONTROLLER, index_by_controller, owned_by};
use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::meta::controller_of;
use object::{Key, Kind, Object, Pod};

use super::conditions::is_finished;
use super::tracking::release;
use super::{is_managed_elsewhere, is_tracked};

/// The row of the part of the Job controller that looks after orphans.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Job, Kind::Pod],
    account: Some("job-controller"),
    ..Registration::new("job-orphan-pods", &|context| Rc::new(Orphans::new(context)))
};

/// The controller of tracked Pods without a Job that tracks.
struct Orphans {
    client: Client,
    queue: Queue,
    jobs: Lister<Job>,
    pods: Lister<Pod>,
}

impl Orphans {
    fn new(context: &ControllerContext) -> Orphans {
        context.add_index::<Pod>(BY_CONTROLLER, index_by_controller);
        let (client, queue) = (context.client.clone(), context.queue.clone());
        Orphans { client, queue, jobs: context.lister(), pods: context.lister() }
    }

    /// Whether no controller will count this Pod. The Pods of a Job that another controller manages are left to that one.
    fn is_orphan(&self, pod: &Pod) -> bool {
        let owner = controller_of(&pod.metadata);
        if !is_tracked(pod) || owner.is_some_and(|owner| owner.kind != Kind::Job.info().kind) {
            return false;
        }
        owner
            .and_then(|owner| pods::resolve(&self.jobs, &pod.metadata, owner))
            .is_none_or(|job| is_finished(&job) && !is_managed_elsewhere(&job))
    }

    fn enqueue_pods_of(&self, job: &Job) {
        for pod in self.pods.by_index(BY_CONTROLLER, &owned_by(job)).iter().filter(|pod| is_tracked(pod)) {
            self.queue.add(Key::of_meta(&pod.metadata));
        }
    }
}

impl Controller for Orphans {
    fn on_change(&self, change: &Change) {
        match change {
            Change::Added(Object::Pod(pod)) | Change::Updated { new: Object::Pod(pod), .. } if self.is_orphan(pod) => {
                self.queue.add(change.key());
            }
            Change::Updated { new: Object::Job(job), .. } if is_finished(job) => self.enqueue_pods_of(job),
            Change::Deleted(Object::Job(job)) => self.enqueue_pods_of(job),
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        match self.pods.get(&key).filter(|pod| self.is_orphan(pod)) {
            Some(pod) => release(&self.client, &pod).await.map(|_| ()),
            None => Ok(()),
        }
    }
}

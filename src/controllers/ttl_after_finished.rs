//! The TTL-after-finished controller: deletes a Job so many seconds after it has ended, if the Job says so.
//!
//! A Job that has ended is only a record, and stays until a client deletes it. With `ttlSecondsAfterFinished` it says how
//! long it is worth keeping. The controller counts from the last transition of `Complete` or `Failed`; before it deletes,
//! it reads the Job once more from the API server, for the cache may not show yet that a user has given it more time. The
//! Pods go first (foreground deletion), so that none is left without its Job.
//!
//! Mirrors `pkg/controller/ttlafterfinished`.

use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::time::Instant;
use object::{Key, Kind, Object};
use wire::{DeleteOptions, Propagation};

use super::job::conditions::{COMPLETE, FAILED, holding};

/// The row of the TTL-after-finished controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Job],
    workers: 5,
    ..Registration::new("ttl-after-finished-controller", &|context| Rc::new(TtlAfterFinished::new(context)))
};

struct TtlAfterFinished {
    client: Client,
    queue: Queue,
    jobs: Lister<Job>,
}

impl TtlAfterFinished {
    fn new(context: &ControllerContext) -> TtlAfterFinished {
        TtlAfterFinished { client: context.client.clone(), queue: context.queue.clone(), jobs: context.lister() }
    }
}

impl Controller for TtlAfterFinished {
    fn on_change(&self, change: &Change) {
        if let Change::Added(Object::Job(job)) | Change::Updated { new: Object::Job(job), .. } = change
            && remaining(job, self.client.now()).is_some()
        {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(job) = self.jobs.get(&key) else { return Ok(()) };
        if !self.is_due(&key, &job) {
            return Ok(());
        }
        let fresh = match self.client.get::<Job>(key.namespace(), key.name()).await {
            Err(status) if status.is_not_found() => return Ok(()),
            fresh => fresh?,
        };
        if !self.is_due(&key, &fresh) {
            return Ok(());
        }
        let options = DeleteOptions {
            propagation: Some(Propagation::Foreground),
            uid: fresh.metadata.uid.clone(),
            ..DeleteOptions::default()
        };
        Ok(self.client.delete::<Job>(key.namespace(), key.name(), options).await?)
    }
}

impl TtlAfterFinished {
    /// Whether the Job's time is over. If it will be, the key is queued for then.
    fn is_due(&self, key: &Key, job: &Job) -> bool {
        match remaining(job, self.client.now()) {
            None => false,
            Some(left) if left.is_zero() => true,
            Some(left) => {
                self.queue.add_after(key.clone(), left);
                false
            }
        }
    }
}

/// How long the Job is to stay; None if it has not ended, is going already, or may stay for ever.
fn remaining(job: &Job, now: Instant) -> Option<Duration> {
    let seconds = job.spec.as_ref()?.ttl_seconds_after_finished?;
    let ended = [COMPLETE, FAILED].iter().find_map(|type_| holding(job, type_))?;
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let expires = Instant::from_time(ended.last_transition_time.as_ref()?) + Duration::from_secs(seconds.max(0) as u64);
    Some(expires - now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn time_counts_from_the_end() {
        let at = |seconds: u64| Instant(seconds * 1_000_000_000);
        for (ttl, end, now, want) in [
            (Some(10), Some("Complete"), 105, Some(5)),
            (Some(10), Some("Failed"), 111, Some(0)),
            (Some(0), Some("Failed"), 100, Some(0)),
            (Some(10), Some("Suspended"), 111, None),
            (Some(10), None, 111, None),
            (None, Some("Complete"), 111, None),
        ] {
            let conditions =
                end.map(|type_| json!([{"type": type_, "status": "True", "lastTransitionTime": at(100).time()}]));
            let spec = json!({"template": {}, "ttlSecondsAfterFinished": ttl});
            let job =
                serde_json::from_value(json!({"metadata": {}, "spec": spec, "status": {"conditions": conditions}}));
            assert_eq!(remaining(&job.unwrap(), at(now)), want.map(Duration::from_secs), "{ttl:?} {end:?} {now}");
        }
    }
}

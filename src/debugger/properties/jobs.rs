//! What must hold of Jobs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Property, stored};
use apiserver::host::Engine;
use engine::Step;
use object::meta::controller_of;
use object::pod::has_ended;
use object::{Accessor, Key, Kind, Object};

/// A Job has never counted more ends than Pods of its have ended.
#[derive(Clone, Default)]
pub(super) struct CountedOnce {
    /// By the Job's uid, the uids of its Pods that ended or were deleted.
    ended: BTreeMap<String, BTreeSet<String>>,
}

impl Property for CountedOnce {
    fn name(&self) -> &'static str {
        "no Job counts a Pod twice"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        for (_, _, new) in stored(step) {
            match new {
                Some(Object::Pod(pod)) if has_ended(pod) || pod.metadata.deletion_timestamp.is_some() => {
                    let owner = controller_of(&pod.metadata).filter(|owner| owner.kind == Kind::Job.info().kind);
                    if let (Some(owner), Some(uid)) = (owner, &pod.metadata.uid) {
                        self.ended.entry(owner.uid.clone()).or_default().insert(uid.clone());
                    }
                }
                Some(Object::Job(job)) => {
                    let status = job.status.clone().unwrap_or_default();
                    let uncounted = status.uncounted_terminated_pods.unwrap_or_default();
                    let noted =
                        uncounted.succeeded.unwrap_or_default().len() + uncounted.failed.unwrap_or_default().len();
                    let counted = status.succeeded.unwrap_or(0) + status.failed.unwrap_or(0) + noted as i32;
                    let uid = job.metadata.uid();
                    let ended = self.ended.get(uid).map_or(0, BTreeSet::len);
                    if counted > ended as i32 {
                        let job = Key::of_meta(&job.metadata);
                        return Err(format!("Job {job} counts {counted} ends, and {ended} of its Pods have ended"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

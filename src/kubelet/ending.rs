//! A pod that the kubelet ends although it was to run on: it is evicted, makes room for a critical one, or its node goes down.
//!
//! From that moment its status says why, whatever its containers come to. Mirrors `killPodNow` and the status functions that
//! its callers hand over.

use std::rc::Rc;

use super::Shared;
use super::status::phase;
use super::workers::{Stage, Worker};
use crate::object::Pod;
use crate::object::budget::DISRUPTION_TARGET;
use crate::object::pod::status::{PodCondition, PodStatus};

/// Why the kubelet ends a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The reason of its status.
    pub reason: &'static str,
    /// The message.
    pub message: String,
    /// It is not the pod's own fault, and a condition says so, in these words.
    pub disruption: Option<String>,
}

impl Ending {
    /// Writes it into a status.
    pub fn tell(&self, status: &mut PodStatus, pod: &Pod) {
        status.phase = Some(phase::FAILED.into());
        status.reason = Some(self.reason.into());
        status.message = Some(self.message.as_str().into());
        let Some(message) = &self.disruption else { return };
        let conditions = status.conditions.get_or_insert_default();
        conditions.retain(|condition| condition.type_ != DISRUPTION_TARGET);
        conditions.push(PodCondition {
            type_: DISRUPTION_TARGET.into(),
            status: "True".into(),
            reason: Some("TerminationByKubelet".into()),
            message: Some(message.as_str().into()),
            observed_generation: pod.metadata.generation,
            ..PodCondition::default()
        });
    }
}

impl Shared {
    /// Ends a pod that runs. Its containers get so many seconds, or what is left of them if it is to end already.
    pub(super) fn end_pod(self: &Rc<Self>, pod: &Pod, ending: Ending, grace: i64) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let runs = |worker: &&mut Box<Worker>| worker.stage < Stage::Terminated;
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(&uid).filter(runs) {
            worker.ending = Some(Rc::new(ending));
            worker.stage = Stage::Terminating;
            worker.grace = Some(worker.grace.map_or(grace, |held| held.min(grace)));
        }
        self.mark(&uid);
    }
}

//! A pod that the kubelet ends although it was to run on: it is evicted, makes room for a critical one, or its node goes down.
//!
//! From that moment its status says why, no matter how its containers end. Mirrors `killPodNow` and the status functions that
//! its callers hand over.

use crate::status::phase;
use object::Pod;
use object::budget::DISRUPTION_TARGET;
use object::pod::status::{PodCondition, PodStatus};

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

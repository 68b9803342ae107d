//! Making room: what a preemption does once the victims are known.
//!
//! It goes on beside the scheduling of other pods, and until the last victim's deletion has been sent the preemptor
//! is not queued again: its next attempt would come too early. Mirrors `framework/preemption/executor.go`.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PodCondition;
use serde_json::json;

use super::attempt::Scheduler;
use super::condition;
use super::events::EventKind;
use super::framework::{Plugin, Rejection, Verdict};
use super::pod_info::PodInfo;
use crate::apiserver::request::{DeleteOptions, Patch};
use crate::client::{EventType, join_all};
use crate::engine::Memory;
use crate::object::budget::DISRUPTION_TARGET;
use crate::object::{Key, Pod};

/// Pods for which room is being made.
pub(super) type Preempting = Memory<BTreeSet<Key>>;

/// DefaultPreemption's word at the queue's door.
pub(super) struct WaitForPreemption(pub(super) Preempting);

impl Plugin for WaitForPreemption {
    fn name(&self) -> &'static str {
        "DefaultPreemption"
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Verdict {
        if self.0.borrow().contains(&pod.key) {
            return Err(Rejection::unresolvable("waiting for the preemption for this pod to be finished"));
        }
        Ok(())
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::AssignedPodDelete]
    }
}

impl Scheduler {
    /// Takes the nomination from `lower`, then evicts all victims, the last one when the others are done.
    pub(super) fn evict(
        self: &Rc<Self>,
        preemptor: Arc<PodInfo>,
        node: String,
        victims: Vec<Arc<PodInfo>>,
        lower: Vec<Arc<PodInfo>>,
    ) {
        self.preempting.borrow_mut().insert(preemptor.key.clone());
        let (scheduler, label) = (self.clone(), format!("preempt for {}", preemptor.key));
        self.client.hub().spawn(self.client.actor(), label, async move {
            scheduler.take_nominations(&lower).await;
            let Some((last, others)) = victims.split_last() else { return };
            join_all(others.iter().map(|victim| scheduler.evict_one(&preemptor, &node, victim)).collect()).await;
            // From here on the victim's end may bring the preemptor back.
            scheduler.preempting.borrow_mut().remove(&preemptor.key);
            scheduler.evict_one(&preemptor, &node, last).await;
            scheduler.arm();
        });
    }

    async fn take_nominations(&self, lower: &[Arc<PodInfo>]) {
        for pod in lower {
            self.state.borrow_mut().nominator.remove(&pod.key);
            let patch = Patch::Strategic(json!({"status": {"nominatedNodeName": null}}));
            // An error is logged and dropped: the next preemption will find the nomination again.
            let _ = self.client.patch_status::<Pod>(pod.key.namespace(), pod.key.name(), patch).await;
        }
    }

    /// Says why in the victim's status, deletes it, and tells.
    async fn evict_one(&self, preemptor: &PodInfo, node: &str, victim: &PodInfo) {
        let (namespace, name) = (victim.key.namespace(), victim.key.name());
        let Some(pod) = self.pods.get(&victim.key).filter(|pod| pod.metadata.deletion_timestamp.is_none()) else {
            return;
        };
        let profile = preemptor.spec().and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or("default-scheduler");
        let target = PodCondition {
            type_: DISRUPTION_TARGET.to_owned(),
            status: "True".to_owned(),
            reason: Some("PreemptionByScheduler".to_owned()),
            message: Some(format!("{profile}: preempting to accommodate a higher priority pod")),
            observed_generation: pod.metadata.generation,
            ..PodCondition::default()
        };
        if let Some(patch) = condition::patch(&pod, target, None, self.client.now()) {
            let patched = self.client.patch_status::<Pod>(namespace, name, Patch::Strategic(patch)).await;
            if patched.is_err() {
                return;
            }
        }
        if self.client.delete::<Pod>(namespace, name, DeleteOptions::default()).await.is_ok() {
            let message = format!("Preempted by pod {} on node {node}", preemptor.uid);
            self.recorder.event(&*pod, EventType::Normal, "Preempted", message);
        }
    }
}

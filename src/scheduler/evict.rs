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
use super::framework::{Plugin, Point, Rejection, Verdict};
use super::pod_info::PodInfo;
use crate::apiserver::request::{DeleteOptions, Patch};
use crate::client::{EventType, join_all};
use crate::engine::Memory;
use crate::object::budget::DISRUPTION_TARGET;
use crate::object::{Key, Pod};

/// The name of the plugin that makes room.
pub(super) const DEFAULT_PREEMPTION: &str = "DefaultPreemption";

/// Pods for which room is being made.
pub(super) type Preempting = Memory<BTreeSet<Key>>;

/// DefaultPreemption, as far as it is a plugin like others: its word at the queue's door. Until a scheduler runs it, it
/// makes room for nobody.
#[derive(Default)]
pub(super) struct DefaultPreemption(pub(super) Option<Preempting>);

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        DEFAULT_PREEMPTION
    }

    fn points(&self) -> &'static [Point] {
        &[Point::PreEnqueue, Point::PostFilter]
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Verdict {
        if self.0.as_ref().is_some_and(|preempting| preempting.borrow().contains(&pod.key)) {
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
        let Some(profile) = self.profiles.of(&preemptor.pod) else { return };
        let by = &self.profiles[profile].scheduler_name;
        let (namespace, name) = (victim.key.namespace(), victim.key.name());
        let Some(pod) = self.pods.get(&victim.key).filter(|pod| pod.metadata.deletion_timestamp.is_none()) else {
            return;
        };
        let target = PodCondition {
            type_: DISRUPTION_TARGET.to_owned(),
            status: "True".to_owned(),
            reason: Some("PreemptionByScheduler".to_owned()),
            message: Some(format!("{by}: preempting to accommodate a higher priority pod")),
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
            self.recorders[profile].event(&*pod, EventType::Normal, "Preempted", message);
        }
    }
}

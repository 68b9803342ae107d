//! Making room: what a preemption does once the victims are known.
//!
//! It goes on beside the scheduling of other pods, and until the last victim's deletion has been sent the preemptor
//! is not queued again: its next attempt would come too early. Mirrors `framework/preemption/executor.go`.
//!
//! Left out: a victim that still waits for its claims goes like every other; Kubernetes only sends it back to the queue.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::json;

use super::attempt::Scheduler;
use super::condition;
use super::events::{ClusterEvent, EventKind};
use super::framework::{Hint, Plugin, Point, Rejection, Verdict};
use super::pod_info::PodInfo;
use super::snapshot::Snapshot;
use client::{EventType, Lister, join_all};
use engine::Memory;
use object::budget::DISRUPTION_TARGET;
use object::pod::status::PodCondition;
use object::{Key, Pod};
use wire::{DeleteOptions, Error};

/// The name of the plugin that makes room.
pub(super) const DEFAULT_PREEMPTION: &str = "DefaultPreemption";

/// Pods for which room is being made, each with the last victim if all others are done.
pub(super) type Preempting = Memory<BTreeMap<Key, Option<Key>>>;

/// DefaultPreemption, as far as it is a plugin like others: its check before a pod enters the queue. Until a scheduler runs it,
/// it makes room for no pod.
#[derive(Default)]
pub(super) struct DefaultPreemption(pub(super) Option<(Preempting, Lister<Pod>)>);

impl DefaultPreemption {
    /// Whether room is still being made. The deletion of the last victim may be seen before it is answered, and it is
    /// what brings the preemptor back: so that one is asked for. Mirrors `IsPodRunningPreemption`.
    fn is_making_room(&self, preemptor: &Key) -> bool {
        let Some((preempting, pods)) = &self.0 else { return false };
        match preempting.borrow().get(preemptor) {
            None => false,
            Some(None) => true,
            Some(Some(last)) => pods.get(last).is_some_and(|pod| pod.metadata.deletion_timestamp.is_none()),
        }
    }
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        DEFAULT_PREEMPTION
    }

    fn points(&self) -> &'static [Point] {
        &[Point::PreEnqueue, Point::PostFilter]
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Verdict {
        if self.is_making_room(&pod.key) {
            return Err(Rejection::unresolvable("waiting for the preemption for this pod to be finished"));
        }
        Ok(())
    }

    /// So that a pod that waits for its preemption is looked at when a victim goes.
    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::AssignedPodDelete]
    }

    /// Whether the room will do is up to the plugins that found too little of it.
    fn hint(&self, _pod: &PodInfo, _event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        Hint::QueueSkip
    }
}

impl Scheduler {
    /// Takes the nomination from `lower`, then evicts the victims that are not being deleted yet: the last one when the
    /// others are done. If one of them will not go, the preemptor is tried again at once, for no deletion may come to
    /// bring it back. Mirrors `prepareCandidateAsync`.
    pub(super) fn evict(
        self: &Rc<Self>,
        preemptor: Arc<PodInfo>,
        node: String,
        mut victims: Vec<Arc<PodInfo>>,
        lower: Vec<Arc<PodInfo>>,
    ) {
        victims.retain(|victim| !victim.terminating());
        let Some(last) = victims.pop() else { return };
        self.preempting.borrow_mut().insert(preemptor.key.clone(), None);
        let (scheduler, label) = (self.clone(), format!("preempt for {}", preemptor.key));
        self.client.hub().spawn(self.client.actor(), label, async move {
            let mut done = scheduler.take_nominations(&lower).await;
            let evictions = victims.iter().map(|victim| scheduler.evict_one(&preemptor, &node, victim)).collect();
            let evicted: Result<(), Error> = join_all(evictions).await.into_iter().collect();
            if evicted.is_ok() {
                scheduler.preempting.borrow_mut().insert(preemptor.key.clone(), Some(last.key.clone()));
                done = done.and(scheduler.evict_one(&preemptor, &node, &last).await);
            }
            scheduler.preempting.borrow_mut().remove(&preemptor.key);
            if done.and(evicted).is_err() {
                scheduler.state.borrow_mut().queue.activate(&preemptor.key);
            }
            scheduler.arm();
        });
    }

    /// All of them, even if one fails. The queue learns of each lost nomination from the informer, as of any other change.
    async fn take_nominations(&self, lower: &[Arc<PodInfo>]) -> Result<(), Error> {
        let mut taken = Ok(());
        for pod in lower.iter().filter(|pod| pod.nominated_node().is_some()) {
            let patch = json!({"status": {"nominatedNodeName": null}});
            taken = taken.and(condition::write(&self.client, &pod.key, patch).await);
        }
        taken
    }

    /// Says why in the victim's status, deletes it, and tells. That it is gone already is as good.
    async fn evict_one(&self, preemptor: &PodInfo, node: &str, victim: &PodInfo) -> Result<(), Error> {
        let Some(profile) = self.profiles.of(&preemptor.pod) else { return Ok(()) };
        let by = &self.profiles[profile].scheduler_name;
        let (namespace, name) = (victim.key.namespace(), victim.key.name());
        // The cache does not follow what the kubelet writes.
        let current = self.pods.get(&victim.key).filter(|pod| pod.metadata.uid == victim.pod.metadata.uid);
        let pod = current.unwrap_or_else(|| victim.pod.clone());
        let target = PodCondition {
            type_: DISRUPTION_TARGET.into(),
            status: "True".into(),
            reason: Some("PreemptionByScheduler".into()),
            message: Some(format!("{by}: preempting to accommodate a higher priority pod").into()),
            observed_generation: pod.metadata.generation,
            ..PodCondition::default()
        };
        let or_gone = |error: Error| if error.is_not_found() { Ok(()) } else { Err(error) };
        if let Some(patch) = condition::patch(&pod, target, None, self.client.now())
            && let Err(status) = condition::write(&self.client, &victim.key, patch).await
        {
            return or_gone(status);
        }
        if let Err(status) = self.client.delete::<Pod>(namespace, name, DeleteOptions::default()).await {
            return or_gone(status);
        }
        let message = format!("Preempted by pod {} on node {node}", preemptor.uid);
        self.recorders[profile].event(&*pod, EventType::Normal, "Preempted", message);
        Ok(())
    }
}

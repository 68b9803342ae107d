//! Eviction under pressure: the kubelet ends a pod to save the others.
//!
//! A node whose memory runs out does not slow down, it kills: the kernel ends whichever process it likes. Before it comes
//! to that the kubelet ends pods of its own choice. Every ten seconds it compares what is free with its thresholds; if less
//! is free, it says so in the node's condition, takes no more pods that ask for nothing, and evicts *one*, that which the
//! [`order`] puts first. Then it looks again, for one may have been enough. What is evicted is Failed and stays, to be
//! looked at; its controller makes another, and the taint that follows from the condition keeps it away from here.
//!
//! This is not the eviction that a PodDisruptionBudget has a say in: nobody is asked.
//!
//! Mirrors `pkg/kubelet/eviction`.
//!
//! Left out: what pods use is not measured, so a pod that asks for no memory is taken to use more than it asks for, and any
//! other to keep within it, and the message names no container; soft thresholds; eviction for disk and process numbers, and
//! for storage limits of single pods; the five minutes for which a real kubelet keeps the condition when it has enough again.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PodCondition, PodStatus};

use super::node_status::Shortage;
use super::params::{EVICTION_MONITOR_PERIOD, GRACE_SECONDS_MIN};
use super::workers::Stage;
use super::{EVICTION, Shared};
use crate::client::recorder::EventType;
use crate::object::Pod;
use crate::object::budget::DISRUPTION_TARGET;
use crate::object::quantity::Amount;
use crate::object::resources::pod_requests;
use crate::object::time::Instant;

/// The reason of status and Event.
pub const REASON: &str = "Evicted";
/// What a node without memory says that it has left, and the hard threshold that this is below.
const MESSAGE: &str = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 64Mi. ";
/// Priorities from here up are the system's own. Mirrors `scheduling.SystemCriticalPriority`.
const SYSTEM_CRITICAL: i32 = 2_000_000_000;

impl Shared {
    /// The next look at what is left is due.
    pub(super) fn arm_eviction(&self) {
        self.hub.wake(self.actor, EVICTION, "", EVICTION_MONITOR_PERIOD);
    }

    /// One round of the eviction manager (`synchronize`).
    pub(super) fn eviction_tick(self: &Rc<Self>) {
        if !self.state.borrow().agent.health.short_of.contains(&Shortage::Memory) {
            return;
        }
        self.warn_node("EvictionThresholdMet", "Attempting to reclaim memory");
        match self.victim() {
            Some(pod) => {
                self.evict(&pod);
                self.arm_eviction();
            }
            // There is nothing to take; whoever comes later is looked at then.
            None => self.hub.wake_background(self.actor, EVICTION, "", EVICTION_MONITOR_PERIOD),
        }
    }

    fn victim(&self) -> Option<Arc<Pod>> {
        let state = self.state.borrow();
        let pods = state.workers.values().filter(|worker| worker.stage == Stage::Sync).map(|worker| &worker.pod);
        pods.filter(|pod| !is_critical(pod)).min_by_key(|pod| order(pod)).cloned()
    }

    /// `evictPod`: its containers get a second to end.
    fn evict(self: &Rc<Self>, pod: &Pod) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.recorder.event(pod, EventType::Warning, REASON, MESSAGE);
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(&uid) {
            worker.evicted = Some(self.hub.now());
            worker.stage = Stage::Terminating;
            worker.grace = Some(GRACE_SECONDS_MIN);
        }
        self.mark(&uid);
    }
}

/// The status of a pod that was evicted at that time (`killPodNow`'s status function).
pub fn evicted(status: &mut PodStatus, pod: &Pod, since: Instant) {
    status.phase = Some("Failed".into());
    status.reason = Some(REASON.into());
    status.message = Some(MESSAGE.into());
    let conditions = status.conditions.get_or_insert_default();
    conditions.retain(|condition| condition.type_ != DISRUPTION_TARGET);
    conditions.push(PodCondition {
        type_: DISRUPTION_TARGET.into(),
        status: "True".into(),
        reason: Some("TerminationByKubelet".into()),
        message: Some(MESSAGE.into()),
        last_transition_time: Some(since.time()),
        observed_generation: pod.metadata.generation,
        ..PodCondition::default()
    });
}

/// Whether the system needs the pod. Mirrors `IsCriticalPod`.
pub fn is_critical(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.priority).is_some_and(|priority| priority >= SYSTEM_CRITICAL)
}

/// The order in which pods go, the least first: those that use more than they ask for; then by priority; then those that use
/// most beyond what they ask for. Mirrors `rankMemoryPressure`.
fn order(pod: &Pod) -> (bool, i32, i64, Option<String>) {
    let asked = pod_requests(pod).get("memory").copied().unwrap_or(Amount::ZERO);
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
    (!asked.is_zero(), priority, asked.value(), pod.metadata.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, memory: &str, priority: i32) -> Arc<Pod> {
        let mut container = json!({"name": "c"});
        if !memory.is_empty() {
            container["resources"] = json!({"requests": {"memory": memory}});
        }
        let pod = json!({"metadata": {"name": name}, "spec": {"containers": [container], "priority": priority}});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn who_goes_first() {
        let mut pods = [
            pod("asks-much", "1Gi", 0),
            pod("important-asks-nothing", "", 1000),
            pod("asks-little", "1Mi", 0),
            pod("b-asks-nothing", "", 0),
            pod("a-asks-nothing", "", 0),
            pod("important-asks-little", "1Mi", 1000),
        ];
        pods.sort_by_key(|pod| order(pod));
        let names: Vec<&str> = pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
        let want = [
            "a-asks-nothing",
            "b-asks-nothing",
            "important-asks-nothing",
            "asks-little",
            "asks-much",
            "important-asks-little",
        ];
        assert_eq!(names, want);
        assert!(is_critical(&pod("dns", "", SYSTEM_CRITICAL)) && !is_critical(&pod("web", "", 1_000_000_000)));
    }
}

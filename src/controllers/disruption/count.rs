//! How many Pods of a budget are healthy, and what the status says of that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use object::Pod;
use object::budget::update_condition;
use object::pod::is_ready;
use object::time::Instant;

/// How long an evicted Pod may take until it is seen being deleted. `DeletionTimeout`.
const DELETION_TIMEOUT: Duration = Duration::from_secs(120);

/// The Pods that the API server has evicted, by name, and since when.
pub type Evicted = BTreeMap<String, Time>;

/// What is left of `disruptedPods`.
#[derive(Debug, Default)]
pub struct Disrupted {
    /// Evicted, and not yet seen being deleted.
    pub pods: Evicted,
    /// Evicted so long ago that no deletion is expected any more.
    pub overdue: Vec<Arc<Pod>>,
    /// When the next of `pods` is overdue.
    pub next: Option<Instant>,
}

/// Looks through the Pods that the API server has noted. Mirrors `buildDisruptedPodMap`.
pub fn disrupted_pods(budget: &PodDisruptionBudget, pods: &[Arc<Pod>], now: Instant) -> Disrupted {
    let mut disrupted = Disrupted::default();
    let Some(noted) = budget.status.as_ref().and_then(|status| status.disrupted_pods.as_ref()) else {
        return disrupted;
    };
    for pod in pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let Some(since) = noted.get(&name) else { continue };
        let due = Instant::from_time(since) + DELETION_TIMEOUT;
        if due < now {
            disrupted.overdue.push(pod.clone());
        } else {
            disrupted.next = Some(disrupted.next.map_or(due, |next| next.min(due)));
            disrupted.pods.insert(name, since.clone());
        }
    }
    disrupted
}

/// How many Pods are ready and will stay. Mirrors `countHealthyPods`.
pub fn healthy(pods: &[Arc<Pod>], evicted: &Evicted) -> i32 {
    let stays = |pod: &&Arc<Pod>| {
        pod.metadata.deletion_timestamp.is_none() && !evicted.contains_key(pod.metadata.name.as_deref().unwrap_or(""))
    };
    pods.iter().filter(stays).filter(|pod| is_ready(pod)).count() as i32
}

/// What a reconcile has counted.
#[derive(Debug)]
pub struct Count {
    /// Pods that are healthy.
    pub healthy: i32,
    /// Pods that must be.
    pub desired: i32,
    /// Pods that there should be.
    pub expected: i32,
    /// Pods that the API server has evicted.
    pub disrupted: Evicted,
}

impl Count {
    /// How many Pods may be evicted. Zero while no Pod is expected: a budget that covers nothing yet must not allow
    /// anything when its first Pods appear.
    fn allowed(&self) -> i32 {
        if self.expected <= 0 { 0 } else { (self.healthy - self.desired).max(0) }
    }

    /// The status that says so; None if it says so already. Mirrors `updatePdbStatus`.
    pub fn status(self, budget: &PodDisruptionBudget, now: Instant) -> Option<PodDisruptionBudgetStatus> {
        let nothing = PodDisruptionBudgetStatus::default();
        let there = budget.status.as_ref().unwrap_or(&nothing);
        let mut status = PodDisruptionBudgetStatus {
            current_healthy: Some(self.healthy),
            desired_healthy: Some(self.desired),
            expected_pods: Some(self.expected),
            disruptions_allowed: Some(self.allowed()),
            disrupted_pods: Some(self.disrupted).filter(|pods| !pods.is_empty()),
            observed_generation: budget.metadata.generation,
            conditions: there.conditions.clone(),
        };
        update_condition(&mut status, now);
        (status != *there).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::budget::{SYNC_FAILED, allowed_condition, set_condition};
    use serde_json::{Value, json};

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    fn pod(name: &str, ready: bool, deleting: bool) -> Arc<Pod> {
        let ready = if ready { "True" } else { "False" };
        let mut pod =
            json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}});
        if deleting {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn budget(status: Value) -> PodDisruptionBudget {
        serde_json::from_value(json!({"metadata": {"generation": 1}, "status": status})).unwrap()
    }

    #[test]
    fn the_healthy_are_ready_and_stay() {
        let pods = [pod("a", true, false), pod("b", true, false), pod("c", false, false), pod("d", true, true)];
        assert_eq!(healthy(&pods, &Evicted::new()), 2);
        assert_eq!(healthy(&pods, &Evicted::from([("a".into(), at(0).time())])), 1);
    }

    #[test]
    fn an_evicted_pod_is_waited_for_two_minutes() {
        let noted = json!({"disruptedPods": {"a": at(100).time(), "b": at(40).time(), "c": at(100).time()}});
        let pods = [pod("a", true, false), pod("b", true, false), pod("c", true, true), pod("d", true, false)];
        for (now, waited, overdue, next) in [
            (150, "a b", "", Some(160)),
            (160, "a b", "", Some(160)),
            (161, "a", "b", Some(220)),
            (221, "", "a b", None),
        ] {
            let found = disrupted_pods(&budget(noted.clone()), &pods, at(now));
            assert_eq!(found.pods.keys().map(String::as_str).collect::<Vec<_>>().join(" "), waited, "{now}");
            let names: Vec<&str> = found.overdue.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
            assert_eq!((names.join(" ").as_str(), found.next), (overdue, next.map(at)), "{now}");
        }
    }

    #[test]
    fn what_is_allowed() {
        for (healthy, desired, expected, allowed) in
            [(3, 2, 3, 1), (3, 3, 3, 0), (2, 3, 3, 0), (5, 2, 5, 3), (3, 0, 0, 0), (0, 0, 3, 0), (2, 0, 2, 2)]
        {
            let count = Count { healthy, desired, expected, disrupted: Evicted::new() };
            let status = count.status(&budget(json!({})), at(1)).unwrap();
            assert_eq!(status.disruptions_allowed, Some(allowed), "{healthy} {desired} {expected}");
            let condition = allowed_condition(&status).unwrap();
            assert_eq!(condition.status == "True", allowed > 0, "{healthy} {desired} {expected}");
            assert_eq!(condition.observed_generation, Some(1));
        }
    }

    #[test]
    fn a_status_that_says_it_already_is_left_alone() {
        let count = || Count { healthy: 3, desired: 2, expected: 3, disrupted: Evicted::new() };
        let mut counted = budget(json!({}));
        counted.status = count().status(&counted, at(1));
        assert_eq!(count().status(&counted, at(2)), None);
        counted.metadata.generation = Some(2);
        assert_eq!(count().status(&counted, at(2)).unwrap().observed_generation, Some(2));
        let failed = counted.status.as_mut().unwrap().conditions.as_mut().unwrap();
        failed[0].status = "False".into();
        counted.metadata.generation = Some(1);
        assert!(count().status(&counted, at(2)).is_some(), "a count that failed is mended");
    }

    #[test]
    fn a_failure_is_forgotten_though_no_number_changes() {
        let count = || Count { healthy: 2, desired: 2, expected: 3, disrupted: Evicted::new() };
        let mut counted = budget(json!({}));
        counted.status = count().status(&counted, at(1));
        let failed = counted.status.as_mut().unwrap();
        set_condition(failed, "False", SYNC_FAILED, "found no controllers", at(2));
        let mended = count().status(&counted, at(3)).unwrap();
        let condition = allowed_condition(&mended).unwrap();
        assert_eq!((condition.reason.as_str(), condition.message.as_str()), ("InsufficientPods", ""));
    }
}

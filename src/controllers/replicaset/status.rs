//! What a ReplicaSet's status says. Mirrors `pkg/controller/replicaset/replica_set_utils.go`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSetCondition, ReplicaSetStatus};

use client::Error;
use object::Key;
use object::time::Instant;

use super::ReplicaSets;
use super::claimed::ClaimedPods;
use super::replicated::Replicated;

/// Pods could not be created or deleted.
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// A refused status write is tried again this often, from the newest version.
const STATUS_UPDATE_RETRIES: usize = 1;

/// The status of `rs` with these Pods. `failure` is what went wrong when Pods were created or deleted.
pub fn calculate<T: Replicated>(rs: &T, pods: &ClaimedPods, failure: Option<&Error>, now: Instant) -> ReplicaSetStatus {
    let old = rs.status().unwrap_or_default();
    ReplicaSetStatus {
        replicas: pods.counts.active,
        fully_labeled_replicas: nonzero(pods.fully_labeled),
        ready_replicas: nonzero(pods.counts.ready),
        available_replicas: nonzero(pods.available(rs.min_ready_seconds(), now)),
        terminating_replicas: T::MODERN.then_some(pods.counts.terminating),
        conditions: conditions(old.conditions, pods.counts.active - rs.replicas(), failure, now),
        observed_generation: old.observed_generation,
    }
}

/// A count as the API prints it: zero is left out.
fn nonzero(count: i32) -> Option<i32> {
    (count != 0).then_some(count)
}

/// The condition comes with the first failure and goes when all is well; it is not written anew in between.
fn conditions(
    old: Option<Vec<ReplicaSetCondition>>,
    surplus: i32,
    failure: Option<&Error>,
    now: Instant,
) -> Option<Vec<ReplicaSetCondition>> {
    let mut conditions = old.unwrap_or_default();
    let there = conditions.iter().any(|condition| condition.type_ == REPLICA_FAILURE);
    match failure {
        Some(error) if !there => conditions.push(ReplicaSetCondition {
            type_: REPLICA_FAILURE.into(),
            status: "True".into(),
            reason: Some(if surplus < 0 { "FailedCreate" } else { "FailedDelete" }.into()),
            message: Some(error.to_string()),
            last_transition_time: Some(now.time()),
        }),
        None if there => conditions.retain(|condition| condition.type_ != REPLICA_FAILURE),
        _ => {}
    }
    (!conditions.is_empty()).then_some(conditions)
}

impl<T: Replicated> ReplicaSets<T> {
    /// Writes the status if it says anything new, and returns the ReplicaSet as it is then.
    /// Mirrors `updateReplicaSetStatus`.
    pub(super) async fn update_status(
        &self,
        key: &Key,
        rs: &Arc<T>,
        mut status: ReplicaSetStatus,
    ) -> Result<Arc<T>, Error> {
        let generation = rs.metadata().generation;
        if rs.status().as_ref() == Some(&status) && status.observed_generation == generation {
            return Ok(rs.clone());
        }
        // The generation acted on, even if a retry meets a newer one.
        status.observed_generation = generation;
        let mut newest = rs.clone();
        let mut retries = 0;
        loop {
            let mut update = T::clone(&newest);
            update.set_status(status.clone());
            match self.client.update_status(update).await {
                Ok(updated) => {
                    self.wrote(key, T::kind(), updated.metadata().resource_version.as_deref());
                    return Ok(updated);
                }
                Err(status) if retries == STATUS_UPDATE_RETRIES => return Err(status.into()),
                Err(_) => retries += 1,
            }
            newest = self.client.get(key.namespace(), key.name()).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use serde_json::{Value, json};

    use super::super::census::Counts;
    use super::*;

    fn replica_set(status: Value) -> ReplicaSet {
        let template = json!({"metadata": {"labels": {"app": "web", "hash": "1"}}});
        let spec = json!({"replicas": 3, "minReadySeconds": 10, "selector": {}, "template": template});
        serde_json::from_value(json!({"metadata": {"generation": 2}, "spec": spec, "status": status})).unwrap()
    }

    #[test]
    fn zero_is_left_out() {
        let rs = replica_set(json!({"replicas": 0, "observedGeneration": 1}));
        let counts = Counts { active: 4, ready: 2, terminating: 0 };
        let pods = ClaimedPods { counts, fully_labeled: 3, ..ClaimedPods::default() };
        let status = calculate(&rs, &pods, None, Instant(0));
        let want = json!({"replicas": 4, "fullyLabeledReplicas": 3, "readyReplicas": 2, "terminatingReplicas": 0,
            "observedGeneration": 1});
        assert_eq!(serde_json::to_value(status).unwrap(), want);
    }

    #[test]
    fn a_failure_is_told_once_and_taken_back() {
        let failure = |text: &str| Error::Other(text.into());
        let told =
            calculate(&replica_set(json!({"replicas": 0})), &ClaimedPods::default(), Some(&failure("no")), Instant(0));
        let condition = &told.conditions.as_ref().unwrap()[0];
        assert_eq!((condition.reason.as_deref(), condition.message.as_deref()), (Some("FailedCreate"), Some("no")));

        let rs = replica_set(serde_json::to_value(&told).unwrap());
        let again = calculate(&rs, &ClaimedPods::default(), Some(&failure("still no")), Instant(5_000_000_000));
        assert_eq!(again.conditions, told.conditions);
        assert_eq!(calculate(&rs, &ClaimedPods::default(), None, Instant(0)).conditions, None);
    }
}

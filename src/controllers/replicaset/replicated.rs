//! What asks for a number of Pods: ReplicaSets, and the ReplicationControllers that came before them.
//!
//! Kubernetes has one controller for both. Where ReplicationControllers come in they are made to look like ReplicaSets,
//! and where they go out they are turned back. So the controller here is generic, and speaks of ReplicaSets.
//! Mirrors `pkg/controller/replication/conversion.go`.

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{
    PodTemplateSpec, ReplicationController, ReplicationControllerCondition, ReplicationControllerStatus,
};

use object::Resource;
use object::selector::{Labels, Selector};

/// A kind that asks for a number of Pods.
pub trait Replicated: Resource {
    /// Whether it has got what ReplicaSets got of late: a count of the Pods on their way out, and the guard that makes
    /// a reconcile wait until the caches show what the last one wrote.
    const MODERN: bool;

    /// How many Pods it asks for.
    fn replicas(&self) -> i32;
    /// For how long a Pod must have been ready before it is available.
    fn min_ready_seconds(&self) -> i32;
    /// What its Pods are made from.
    fn template(&self) -> Option<&PodTemplateSpec>;
    /// Which Pods are its own. The error is what is wrong with the selector.
    fn selector(&self) -> Result<Selector, String>;
    /// Its status, as a ReplicaSet's.
    fn status(&self) -> Option<ReplicaSetStatus>;
    /// Gives it a status.
    fn set_status(&mut self, status: ReplicaSetStatus);

    /// Whether a Pod with these labels and no owner is one to adopt. An empty selector, which selects everything elsewhere,
    /// adopts none.
    fn wants(&self, labels: &Labels) -> bool {
        self.selector().is_ok_and(|selector| !selector.is_everything() && selector.matches(Some(labels)))
    }
}

impl Replicated for ReplicaSet {
    const MODERN: bool = true;

    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn selector(&self) -> Result<Selector, String> {
        Selector::of_option(self.spec.as_ref().map(|spec| &spec.selector))
    }

    fn status(&self) -> Option<ReplicaSetStatus> {
        self.status.clone()
    }

    fn set_status(&mut self, status: ReplicaSetStatus) {
        self.status = Some(status);
    }
}

impl Replicated for ReplicationController {
    const MODERN: bool = false;

    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn selector(&self) -> Result<Selector, String> {
        let labels = self.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        Ok(labels.map_or_else(Selector::nothing, Selector::of_labels))
    }

    fn status(&self) -> Option<ReplicaSetStatus> {
        let status = self.status.clone()?;
        let condition = |c: ReplicationControllerCondition| ReplicaSetCondition {
            type_: c.type_,
            status: c.status,
            reason: c.reason,
            message: c.message,
            last_transition_time: c.last_transition_time,
        };
        Some(ReplicaSetStatus {
            replicas: status.replicas,
            fully_labeled_replicas: status.fully_labeled_replicas,
            ready_replicas: status.ready_replicas,
            available_replicas: status.available_replicas,
            terminating_replicas: None,
            conditions: status.conditions.map(|conditions| conditions.into_iter().map(condition).collect()),
            observed_generation: status.observed_generation,
        })
    }

    fn set_status(&mut self, status: ReplicaSetStatus) {
        let condition = |c: ReplicaSetCondition| ReplicationControllerCondition {
            type_: c.type_,
            status: c.status,
            reason: c.reason,
            message: c.message,
            last_transition_time: c.last_transition_time,
        };
        self.status = Some(ReplicationControllerStatus {
            replicas: status.replicas,
            fully_labeled_replicas: status.fully_labeled_replicas,
            ready_replicas: status.ready_replicas,
            available_replicas: status.available_replicas,
            conditions: status.conditions.map(|conditions| conditions.into_iter().map(condition).collect()),
            observed_generation: status.observed_generation,
        });
    }
}

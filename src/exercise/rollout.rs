//! Exercise 09: a Deployment in the middle of a rolling update.

use serde::{Deserialize, Serialize};

use crate::process;

/// A Deployment in the middle of a rolling update, as one reconcile sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The Pods that the Deployment asks for.
    pub replicas: i32,
    /// So many Pods more than that there may be.
    pub max_surge: i32,
    /// So many Pods fewer than that may be available.
    pub max_unavailable: i32,
    /// The ReplicaSet of the current template.
    pub new: Set,
    /// All others, oldest first.
    pub old: Vec<Set>,
}

/// A ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// The Pods it asks for: `spec.replicas`.
    pub size: i32,
    /// Those of its Pods that are available: `status.availableReplicas`.
    pub available: i32,
}

/// The sizes that a reconcile gives to the ReplicaSets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// That of the new one.
    pub new: i32,
    /// Those of the old ones, in their order.
    pub old: Vec<i32>,
}

/// Answers with this function.
pub fn answer(step: fn(&Rollout) -> Sizes) {
    process::answer(step);
}

//! Exercise 01: a ReplicaSet and a Pod that it sees.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use crate::process;

/// What a ReplicaSet does with a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// It is its own, and stays so.
    Keep,
    /// It has no owner, and becomes its own.
    Adopt,
    /// It was its own, and is let go.
    Release,
    /// It is none of its business.
    Leave,
}

/// A question to the function.
#[derive(Serialize, Deserialize)]
pub struct Case {
    /// The ReplicaSet.
    pub replica_set: ReplicaSet,
    /// What it sees.
    pub pod: Pod,
}

/// Answers with this function.
pub fn answer(claim: fn(&ReplicaSet, &Pod) -> Claim) {
    process::answer(|case: &Case| claim(&case.replica_set, &case.pod));
}

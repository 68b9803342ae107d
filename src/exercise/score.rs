//! Exercise 11: a Pod and the nodes that it may go to.

use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde::{Deserialize, Serialize};

use crate::process;

/// What the scheduler knows of a Pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// Thousandths of a CPU that it asks for.
    pub milli_cpu: i64,
    /// Bytes that it asks for.
    pub memory: i64,
}

/// What the scheduler knows of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// Thousandths of a CPU.
    pub milli_cpu: Share,
    /// Bytes.
    pub memory: Share,
}

/// A resource of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// What there is for Pods; never 0.
    pub allocatable: i64,
    /// What the Pods that run there ask for.
    pub used: i64,
}

/// A question to the function.
#[derive(Debug, Serialize, Deserialize)]
pub struct Case {
    /// The Pod.
    pub pod: Wanted,
    /// All nodes.
    pub nodes: Vec<Candidate>,
}

/// Answers with this function.
pub fn answer(scores: fn(&Wanted, &[Candidate]) -> Vec<Option<i64>>) {
    process::answer(|case: &Case| scores(&case.pod, &case.nodes));
}

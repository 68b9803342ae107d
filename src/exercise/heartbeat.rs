//! Exercise 17: a node that may be silent, and the Pods on it.

use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use serde::{Deserialize, Serialize};

use crate::process;
use object::taint;

/// What the control plane makes of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The status of its condition Ready: `True`, `False` or `Unknown`.
    pub ready: String,
    /// The key of the taint that it has for this; a node that is ready has none.
    pub taint: Option<String>,
    /// What becomes of each Pod, in their order.
    pub pods: Vec<Fate>,
}

/// What becomes of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It stays where it is.
    Stays,
    /// It is deleted, so many seconds after the taint came.
    GoesAfter(u64),
}

/// Whether the toleration is one for the taint. For learners: matching is another exercise.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    taint::tolerates(toleration, taint)
}

/// A question to the function.
#[derive(Serialize, Deserialize)]
pub struct Case {
    /// The node.
    pub node: Node,
    /// How many seconds its last sign of life is old.
    pub silent: u64,
    /// The Pods on it.
    pub pods: Vec<Pod>,
}

/// Answers with this function.
pub fn answer(look: fn(&Node, u64, &[Pod]) -> Look) {
    process::answer(|case: &Case| look(&case.node, case.silent, &case.pods));
}

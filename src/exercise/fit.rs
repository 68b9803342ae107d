//! Exercise 10: a Pod and a node.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

use crate::process;
use object::quantity::Amount;

/// Thousandths of a CPU: `1500m` and `1.5` are 1500. For learners, who need not write a parser of quantities.
pub fn milli_cpu(quantity: &Quantity) -> i64 {
    Amount::of(quantity).milli_value()
}

/// Bytes, or a plain number: `1Ki` is 1024.
pub fn bytes(quantity: &Quantity) -> i64 {
    Amount::of(quantity).value()
}

/// A question to the function.
#[derive(Serialize, Deserialize)]
pub struct Case {
    /// The Pod that has no node yet.
    pub pod: Pod,
    /// The node.
    pub node: Node,
    /// The Pods that run on it.
    pub running: Vec<Pod>,
}

/// Answers with this function.
pub fn answer(why_not: fn(&Pod, &Node, &[Pod]) -> Vec<String>) {
    process::answer(|case: &Case| why_not(&case.pod, &case.node, &case.running));
}

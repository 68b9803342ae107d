//! Exercise 10: does the Pod fit on the node?
//!
//! The scheduler asks every node. Say why the Pod does not fit on this one, given the Pods that run there: "Too many pods",
//! "Insufficient cpu", "Insufficient memory", in this order; nothing if it fits. No Pod asks for other resources, and none of
//! those Pods has ended. Init containers count by the largest, if it asks for more than all ordinary containers together; overhead
//! comes on top.
//! None is a sidecar, and no Pod has `resources` of its own. `milli_cpu` and `bytes` read quantities.

#![allow(unused_imports)]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kubestep_exercise::fit::{bytes, milli_cpu};

// Yours from here.

/// Why the Pod does not fit on the node, with these Pods running there.
pub fn why_not(pod: &Pod, node: &Node, running: &[Pod]) -> Vec<String> {
    let _ = (pod, node, running);
    kubestep_exercise::not_started()
}

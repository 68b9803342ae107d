//! Exercise 10: does the Pod fit on the node?
//!
//! The scheduler asks every node. Say why the Pod does not fit on this one, given the Pods that run there: "Too many pods",
//! "Insufficient cpu", "Insufficient memory", in this order; nothing if it fits. `milli_cpu` and `bytes` read quantities.

#![allow(unused_imports)]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kubestep_exercise::fit::{bytes, milli_cpu};

// Yours from here.

/// With the scheduler's own sums.
pub fn why_not(pod: &Pod, node: &Node, running: &[Pod]) -> Vec<String> {
    use kubestep::scheduler::resources::{Resources, pod_requests};
    let has = Resources::of(node.status.as_ref().and_then(|status| status.allocatable.as_ref()));
    let mut used = Resources::default();
    for other in running {
        used.add(&pod_requests(&other.clone().into()));
    }
    let ask = pod_requests(&pod.clone().into());
    let mut reasons = vec![];
    if running.len() as i64 >= has.pods {
        reasons.push("Too many pods".into());
    }
    if ask.milli_cpu > 0 && ask.milli_cpu + used.milli_cpu > has.milli_cpu {
        reasons.push("Insufficient cpu".into());
    }
    if ask.memory > 0 && ask.memory + used.memory > has.memory {
        reasons.push("Insufficient memory".into());
    }
    reasons
}

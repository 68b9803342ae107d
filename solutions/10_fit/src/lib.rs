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
    let has = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let mut reasons = Vec::new();
    if running.len() as i64 + 1 > amount(has, "pods", bytes) {
        reasons.push("Too many pods".to_owned());
    }
    for (name, read) in [("cpu", milli_cpu as Read), ("memory", bytes)] {
        let ask = asks(pod, name, read);
        let used: i64 = running.iter().map(|pod| asks(pod, name, read)).sum();
        if ask > 0 && ask > amount(has, name, read) - used {
            reasons.push(format!("Insufficient {name}"));
        }
    }
    reasons
}

type Read = fn(&Quantity) -> i64;

/// What a Pod asks for: its containers together, or its largest init container if that is more; and its overhead.
fn asks(pod: &Pod, name: &str, read: Read) -> i64 {
    let Some(spec) = &pod.spec else { return 0 };
    let request = |container: &Container| {
        let resources = container.resources.as_ref();
        amount(resources.and_then(|resources| resources.requests.as_ref()), name, read)
    };
    let together: i64 = spec.containers.iter().map(request).sum();
    let largest = spec.init_containers.iter().flatten().map(request).max().unwrap_or(0);
    together.max(largest) + amount(spec.overhead.as_ref(), name, read)
}

fn amount(amounts: Option<&BTreeMap<String, Quantity>>, name: &str, read: Read) -> i64 {
    amounts.and_then(|amounts| amounts.get(name)).map_or(0, read)
}

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

/// What is left is counted down.
pub fn why_not(pod: &Pod, node: &Node, running: &[Pod]) -> Vec<String> {
    let (mut cpu, mut memory, mut places) = (0, 0, 0);
    for (name, amount) in node.status.iter().flat_map(|status| status.allocatable.iter().flatten()) {
        match name.as_str() {
            "cpu" => cpu = milli_cpu(amount),
            "memory" => memory = bytes(amount),
            "pods" => places = bytes(amount),
            _ => {}
        }
    }
    for other in running {
        let (its_cpu, its_memory) = asks(other);
        (cpu, memory, places) = (cpu - its_cpu, memory - its_memory, places - 1);
    }
    let (its_cpu, its_memory) = asks(pod);
    let reasons = [
        (places < 1, "Too many pods"),
        (its_cpu > 0 && its_cpu > cpu, "Insufficient cpu"),
        (its_memory > 0 && its_memory > memory, "Insufficient memory"),
    ];
    reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason.to_string()).collect()
}

/// Thousandths of a CPU, and bytes.
fn asks(pod: &Pod) -> (i64, i64) {
    let spec: PodSpec = pod.spec.clone().unwrap_or_default();
    let of = |amounts: &BTreeMap<String, Quantity>| {
        (amounts.get("cpu").map_or(0, milli_cpu), amounts.get("memory").map_or(0, bytes))
    };
    let request =
        |container: &Container| container.resources.as_ref().and_then(|all| all.requests.as_ref()).map_or((0, 0), of);
    let mut all = (0, 0);
    for (cpu, memory) in spec.containers.iter().map(request) {
        all = (all.0 + cpu, all.1 + memory);
    }
    for (cpu, memory) in spec.init_containers.iter().flatten().map(request) {
        all = (all.0.max(cpu), all.1.max(memory));
    }
    let (cpu, memory) = spec.overhead.as_ref().map_or((0, 0), of);
    (all.0 + cpu, all.1 + memory)
}

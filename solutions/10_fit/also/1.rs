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

/// In one pass with tuples.
pub fn why_not(pod: &Pod, node: &Node, running: &[Pod]) -> Vec<String> {
    let empty = BTreeMap::new();
    let has = node.status.as_ref().and_then(|status| status.allocatable.as_ref()).unwrap_or(&empty);
    let read = |name: &str| has.get(name).map_or(0, if name == "cpu" { milli_cpu } else { bytes });
    let ask = demand(pod);
    let (mut cpu, mut memory) = (read("cpu"), read("memory"));
    for other in running {
        let (c, m) = demand(other);
        cpu -= c;
        memory -= m;
    }
    let tests = [
        (read("pods") <= running.len() as i64, "Too many pods"),
        (ask.0 != 0 && cpu < ask.0, "Insufficient cpu"),
        (ask.1 != 0 && memory < ask.1, "Insufficient memory"),
    ];
    tests.into_iter().filter(|(fails, _)| *fails).map(|(_, why)| why.to_string()).collect()
}

fn demand(pod: &Pod) -> (i64, i64) {
    let spec: PodSpec = pod.spec.clone().unwrap_or_default();
    let of = |amounts: Option<BTreeMap<String, Quantity>>| {
        let amounts = amounts.unwrap_or_default();
        (amounts.get("cpu").map_or(0, milli_cpu), amounts.get("memory").map_or(0, bytes))
    };
    let request = |container: Container| of(container.resources.unwrap_or_default().requests);
    let mut sum = (0, 0);
    for container in spec.containers {
        let (cpu, memory) = request(container);
        sum = (sum.0 + cpu, sum.1 + memory);
    }
    for container in spec.init_containers.unwrap_or_default() {
        let (cpu, memory) = request(container);
        sum = (sum.0.max(cpu), sum.1.max(memory));
    }
    let overhead = of(spec.overhead);
    (sum.0 + overhead.0, sum.1 + overhead.1)
}

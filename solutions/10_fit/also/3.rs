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

/// With a small type of its own.
pub fn why_not(pod: &Pod, node: &Node, running: &[Pod]) -> Vec<String> {
    let left = |name: &str| {
        let status = node.status.clone().unwrap_or_default();
        let has = status.allocatable.unwrap_or_default().get(name).cloned().unwrap_or_default();
        let has = if name == "cpu" { milli_cpu(&has) } else { bytes(&has) };
        has - running.iter().map(|pod| Need(pod).of(name)).sum::<i64>()
    };
    let mut why = Vec::new();
    if left("pods") - (running.len() as i64) < 1 {
        why.push(String::from("Too many pods"));
    }
    for name in ["cpu", "memory"] {
        let need = Need(pod).of(name);
        if need > 0 && need > left(name) {
            why.push(format!("Insufficient {name}"));
        }
    }
    why
}

struct Need<'a>(&'a Pod);

impl Need<'_> {
    fn of(&self, name: &str) -> i64 {
        let spec = self.0.spec.as_ref().expect("a Pod has a spec");
        let read = |quantity: &Quantity| if name == "cpu" { milli_cpu(quantity) } else { bytes(quantity) };
        let one = |c: &Container| Some(read(c.resources.as_ref()?.requests.as_ref()?.get(name)?));
        let together: i64 = spec.containers.iter().filter_map(one).sum();
        let first = spec.init_containers.as_deref().unwrap_or_default().iter().filter_map(one).max();
        let extra = spec.overhead.as_ref().and_then(|overhead| overhead.get(name)).map_or(0, read);
        first.map_or(together, |first| first.max(together)) + extra
    }
}

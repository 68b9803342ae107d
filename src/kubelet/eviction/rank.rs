//! The order in which pods go, the least first: those that use more than they ask for; then by priority; then those that use
//! most beyond what they ask for.

use std::cmp::Reverse;

use super::threshold::STORAGE;
use super::usage::DiskUse;
use object::Pod;
use object::quantity::Amount;
use object::resources::pod_requests;

/// A pod's place in that order: whether it keeps within what it asks for, its priority, what it uses beyond that, its name.
pub type Rank = (bool, i32, Reverse<i64>, Option<String>);

/// For want of memory. What is used is not measured. Mirrors `rankMemoryPressure`.
pub fn for_memory(pod: &Pod) -> Rank {
    let asked = asked(pod, "memory");
    rank(pod, asked != 0, -asked)
}

/// For want of disk. Mirrors `rankDiskPressureFunc`.
pub fn for_disk(pod: &Pod, taken: &DiskUse) -> Rank {
    let beyond = taken.total().saturating_sub(asked(pod, STORAGE));
    rank(pod, beyond <= 0, beyond)
}

fn rank(pod: &Pod, keeps_within: bool, beyond: i64) -> Rank {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
    (keeps_within, priority, Reverse(beyond), pod.metadata.name.clone())
}

fn asked(pod: &Pod, resource: &str) -> i64 {
    pod_requests(pod).get(resource).copied().unwrap_or(Amount::ZERO).value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_types::{SYSTEM_CRITICAL, is_critical};
    use serde_json::json;

    fn pod(name: &str, resource: &str, asked: &str, priority: i32) -> Pod {
        let mut container = json!({"name": "c"});
        if !asked.is_empty() {
            container["resources"] = json!({"requests": {resource: asked}});
        }
        let pod = json!({"metadata": {"name": name}, "spec": {"containers": [container], "priority": priority}});
        serde_json::from_value(pod).unwrap()
    }

    fn names(pods: &[Pod]) -> Vec<&str> {
        pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect()
    }

    #[test]
    fn who_goes_first_for_memory() {
        let mut pods = [
            pod("asks-much", "memory", "1Gi", 0),
            pod("important-asks-nothing", "memory", "", 1000),
            pod("asks-little", "memory", "1Mi", 0),
            pod("b-asks-nothing", "memory", "", 0),
            pod("a-asks-nothing", "memory", "", 0),
            pod("important-asks-little", "memory", "1Mi", 1000),
        ];
        pods.sort_by_key(for_memory);
        let want = [
            "a-asks-nothing",
            "b-asks-nothing",
            "important-asks-nothing",
            "asks-little",
            "asks-much",
            "important-asks-little",
        ];
        assert_eq!(names(&pods), want);
        assert!(is_critical(&pod("dns", "", "", SYSTEM_CRITICAL)) && !is_critical(&pod("web", "", "", 1_000_000_000)));
    }

    #[test]
    fn who_goes_first_for_disk() {
        const GIB: u64 = 1 << 30;
        let taken = |pod: &Pod| {
            let gib = match pod.metadata.name.as_deref().unwrap_or_default() {
                "within" => 4,
                "little-beyond" => 6,
                "much" | "important" => 8,
                _ => 0,
            };
            DiskUse::for_test(&[("c", gib * GIB + 4096)], &[])
        };
        let mut pods = [
            pod("within", STORAGE, "5Gi", 0),
            pod("important", STORAGE, "5Gi", 1000),
            pod("little-beyond", STORAGE, "5Gi", 0),
            pod("has-written-nothing", STORAGE, "", 0),
            pod("asks-and-has-written-nothing", STORAGE, "1Gi", -1),
            pod("much", STORAGE, "5Gi", 0),
        ];
        pods.sort_by_key(|pod| for_disk(pod, &taken(pod)));
        let want =
            ["much", "little-beyond", "has-written-nothing", "important", "asks-and-has-written-nothing", "within"];
        assert_eq!(names(&pods), want);
    }
}

//! NodeResourcesFit: a pod's requests must fit into what the node's pods leave free; and the emptier the node
//! would be, the better (LeastAllocated). Mirrors `plugins/noderesources/{fit,least_allocated}.go`.

use std::borrow::Cow;

use crate::scheduler::events::{ClusterEvent, EventKind};
use crate::scheduler::framework::{
    Code, Filter, Hint, MAX_NODE_SCORE, Plugin, PreFilter, PreScore, Reason, Rejection, Score, Verdict,
};
use crate::scheduler::node_info::{NodeId, NodeInfo};
use crate::scheduler::pod_info::PodInfo;
use crate::scheduler::resources::{Resources, pod_requests};
use crate::scheduler::snapshot::Snapshot;

/// The plugin.
pub struct NodeResourcesFit;

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[
            EventKind::AssignedPodDelete,
            EventKind::PodUpdateScaleDown,
            EventKind::NodeAdd,
            EventKind::NodeUpdateAllocatable,
        ]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        match event.kind {
            EventKind::PodUpdateScaleDown => Hint::queue_if(event.is_about(&pod.key) || freed(pod, event)),
            EventKind::NodeAdd | EventKind::NodeUpdateAllocatable => Hint::queue_if(node_has_grown(pod, event)),
            _ => Hint::Queue,
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        PreFilter::Ask(Box::new(Fit(&pod.requests)))
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        PreScore::Ask(Box::new(LeastAllocated(pod)))
    }
}

/// An assigned pod now asks for less of something this pod wants.
fn freed(pod: &PodInfo, event: &ClusterEvent) -> bool {
    let (Some(old), Some(new)) = (event.old_pod(), event.new_pod()) else { return false };
    let assigned = new.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).is_some_and(|node| !node.is_empty());
    assigned && grew(&pod.requests, &pod_requests(new), &pod_requests(old))
}

/// The node, if empty, would take the pod, and has more than before of something the pod wants.
fn node_has_grown(pod: &PodInfo, event: &ClusterEvent) -> bool {
    let allocatable = |node: &k8s_openapi::api::core::v1::Node| {
        Resources::of(node.status.as_ref().and_then(|status| status.allocatable.as_ref()))
    };
    let Some(new) = event.new_node().map(|node| allocatable(node)) else { return true };
    let fits = insufficient(&pod.requests, &new, &Resources::default(), 0).is_none();
    let more = |old: Resources| new.pods > old.pods || grew(&pod.requests, &old, &new);
    fits && event.old_node().is_none_or(|node| more(allocatable(node)))
}

/// Whether `after` has more than `before` of anything in `wanted`.
fn grew(wanted: &Resources, before: &Resources, after: &Resources) -> bool {
    (wanted.milli_cpu > 0 && after.milli_cpu > before.milli_cpu)
        || (wanted.memory > 0 && after.memory > before.memory)
        || (wanted.ephemeral_storage > 0 && after.ephemeral_storage > before.ephemeral_storage)
        || wanted.scalar.keys().any(|name| after.scalar.get(name) > before.scalar.get(name))
}

struct Fit<'a>(&'a Resources);

impl Filter for Fit<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        match insufficient(self.0, &node.allocatable, &node.requested, node.pods.len() as i64) {
            None => Ok(()),
            Some(rejection) => Err(rejection),
        }
    }
}

/// Everything there is too little of, if anything. A request that not even the empty node could meet makes the
/// rejection unresolvable. Mirrors `fitsRequest`.
pub fn insufficient(request: &Resources, allocatable: &Resources, used: &Resources, pods: i64) -> Option<Rejection> {
    let mut reasons: Vec<Reason> = Vec::new();
    let mut code = Code::Unschedulable;
    if pods + 1 > allocatable.pods {
        reasons.push("Too many pods".into());
    }
    let mut check = |request: i64, allocatable: i64, used: i64, reason: &dyn Fn() -> Reason| {
        if request > 0 && request > allocatable - used {
            reasons.push(reason());
            if request > allocatable {
                code = Code::UnschedulableAndUnresolvable;
            }
        }
    };
    check(request.milli_cpu, allocatable.milli_cpu, used.milli_cpu, &|| Cow::Borrowed("Insufficient cpu"));
    check(request.memory, allocatable.memory, used.memory, &|| Cow::Borrowed("Insufficient memory"));
    let storage = (request.ephemeral_storage, allocatable.ephemeral_storage, used.ephemeral_storage);
    check(storage.0, storage.1, storage.2, &|| Cow::Borrowed("Insufficient ephemeral-storage"));
    for (name, amount) in &request.scalar {
        let of = |resources: &Resources| resources.scalar.get(name).copied().unwrap_or(0);
        check(*amount, of(allocatable), of(used), &|| format!("Insufficient {name}").into());
    }
    (!reasons.is_empty()).then_some(Rejection { code, reasons })
}

/// The share of CPU and of memory that would be left free, averaged.
struct LeastAllocated<'a>(&'a PodInfo);

impl Score for LeastAllocated<'_> {
    fn score(&self, node: &NodeInfo) -> i64 {
        let shares = [
            (node.allocatable.milli_cpu, node.non_zero_milli_cpu + self.0.non_zero_milli_cpu),
            (node.allocatable.memory, node.non_zero_memory + self.0.non_zero_memory),
        ];
        let known = || shares.iter().filter(|(allocatable, _)| *allocatable != 0);
        let sum: i64 = known().map(|(allocatable, requested)| free_share(*allocatable, *requested)).sum();
        sum.checked_div(known().count() as i64).unwrap_or(0)
    }
}

fn free_share(allocatable: i64, requested: i64) -> i64 {
    if requested > allocatable { 0 } else { (allocatable - requested) * MAX_NODE_SCORE / allocatable }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::plugins::testing::{filter_reasons, scores};
    use crate::scheduler::testing::{info, node, pod, snapshot};

    fn asking(requests: &str) -> String {
        format!("{{containers: [{{name: a, resources: {{requests: {requests}}}}}]}}")
    }

    #[test]
    fn requests_must_fit_beside_the_pods_there() {
        let small = "{status: {allocatable: {cpu: 2, memory: 1Gi, pods: 2, example.com/gpu: 1}}}";
        let snapshot = snapshot(vec![node("n", small)], vec![(pod("old", &asking("{cpu: 1}")), "n")]);
        let cases = [
            ("{cpu: 1, memory: 1Gi}", ""),
            ("{cpu: 1001m}", "Insufficient cpu"),
            ("{cpu: 3, memory: 2Gi}", "Insufficient cpu, Insufficient memory"),
            ("{example.com/gpu: 1}", ""),
            ("{example.com/gpu: 2}", "Insufficient example.com/gpu"),
            ("{ephemeral-storage: 1}", "Insufficient ephemeral-storage"),
        ];
        for (requests, reason) in cases {
            let reasons = filter_reasons(&NodeResourcesFit, pod("p", &asking(requests)), &snapshot, "n");
            assert_eq!(reasons, reason, "{requests}");
        }
    }

    #[test]
    fn the_number_of_pods_counts_even_for_pods_that_ask_for_nothing() {
        let full = node("n", "{status: {allocatable: {cpu: 2, pods: 1}}}");
        let snapshot = snapshot(vec![full], vec![(pod("old", ""), "n")]);
        assert_eq!(filter_reasons(&NodeResourcesFit, pod("p", ""), &snapshot, "n"), "Too many pods");
    }

    #[test]
    fn more_than_the_whole_node_is_unresolvable() {
        let node = Resources { milli_cpu: 4000, pods: 110, ..Resources::default() };
        let used = Resources { milli_cpu: 3500, ..Resources::default() };
        for (milli_cpu, code) in [(6000, Code::UnschedulableAndUnresolvable), (1000, Code::Unschedulable)] {
            let request = Resources { milli_cpu, ..Resources::default() };
            assert_eq!(insufficient(&request, &node, &used, 1).map(|r| r.code), Some(code), "{milli_cpu}");
        }
    }

    #[test]
    fn the_emptier_node_scores_higher() {
        let nodes = vec![node("empty", ""), node("used", ""), node("nothing", "{status: {}}")];
        let snapshot = snapshot(nodes, vec![(pod("old", &asking("{cpu: 2, memory: 4Gi}")), "used")]);
        // 1 of 4 CPUs and 1 of 8 GiB leaves 75 and 87; with the old pod 25 and 37.
        assert_eq!(scores(&NodeResourcesFit, pod("p", &asking("{cpu: 1, memory: 1Gi}")), &snapshot), [81, 31, 0]);
    }

    #[test]
    fn hints() {
        use std::sync::Arc;
        let pod = info(pod("p", &asking("{cpu: 6}")));
        let node = |cpu: &str| Arc::new(node("n", &format!("{{status: {{allocatable: {{cpu: {cpu}, pods: 9}}}}}}")));
        let hint = |event| NodeResourcesFit.hint(&pod, &event, &Snapshot::default());
        assert_eq!(hint(ClusterEvent::node_added(&node("4"))), Hint::QueueSkip, "too small");
        assert_eq!(hint(ClusterEvent::node_added(&node("8"))), Hint::Queue, "big enough");
        let update = |old, new| crate::scheduler::events::node_changes(&node(old), &node(new)).remove(0);
        assert_eq!(hint(update("8", "7")), Hint::QueueSkip, "shrank");
        assert_eq!(hint(update("4", "7")), Hint::Queue, "grew");
    }
}

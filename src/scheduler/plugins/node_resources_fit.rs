//! NodeResourcesFit: a pod's requests must fit into what the node's pods leave free; and the emptier the node
//! would be, the better (LeastAllocated), or the fuller (MostAllocated), or as a curve says ([`Strategy`]).
//! Mirrors `plugins/noderesources/{fit,resource_allocation}.go`.

use std::borrow::Cow;

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Code, Filter, Hint, Plugin, Point, PreFilter, PreScore, Reason, Rejection, Score, Verdict};
use crate::node_info::{NodeId, NodeInfo};
use crate::pod_info::PodInfo;
use crate::resources::{Resources, pod_requests};
use crate::snapshot::Snapshot;
use object::pod::assigned_node;

mod strategy;

use strategy::Use;
pub use strategy::{ResourceWeight, ShapePoint, Strategy};

/// What a pod requests must be free on its node; and how full that would be decides which is best.
pub struct NodeResourcesFit {
    /// Which node is better.
    pub strategy: Strategy,
    /// What is looked at.
    pub resources: Vec<ResourceWeight>,
}

impl Default for NodeResourcesFit {
    /// The emptier the better, CPU and memory alike.
    fn default() -> NodeResourcesFit {
        let one = |name: &str| ResourceWeight { name: name.to_owned(), weight: 1 };
        NodeResourcesFit { strategy: Strategy::default(), resources: vec![one("cpu"), one("memory")] }
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Filter, Point::Score]
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
            _ => Hint::queue_if(event.pod_that_left_room().is_some()),
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        PreFilter::Ask(Box::new(Fit(&pod.requests)))
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        PreScore::Ask(Box::new(Allocated { pod, of: self }))
    }
}

/// An assigned pod now asks for less of something this pod wants.
fn freed(pod: &PodInfo, event: &ClusterEvent) -> bool {
    let (Some(old), Some(new)) = (event.old_pod(), event.new_pod()) else { return false };
    assigned_node(new).is_some() && grew(&pod.requests, &pod_requests(new), &pod_requests(old))
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

/// What of each resource would be asked for.
struct Allocated<'a> {
    pod: &'a PodInfo,
    of: &'a NodeResourcesFit,
}

impl Score for Allocated<'_> {
    fn score(&self, node: &NodeInfo) -> i64 {
        let uses = self.of.resources.iter().map(|ResourceWeight { name, weight }| {
            let (allocatable, requested) = self.amounts(name, node);
            Use { weight: *weight, allocatable, requested }
        });
        self.of.strategy.score(&uses.collect::<Vec<Use>>())
    }
}

impl Allocated<'_> {
    /// What the node has of a resource, and what of it would be asked for with the pod there. Nothing of an extended
    /// resource that the pod does not ask for. Mirrors `calculateResourceAllocatableRequest`.
    fn amounts(&self, name: &str, node: &NodeInfo) -> (i64, i64) {
        let (pod, there) = (self.pod, &node.allocatable);
        match name {
            "cpu" => (there.milli_cpu, node.non_zero_milli_cpu + pod.non_zero_milli_cpu),
            "memory" => (there.memory, node.non_zero_memory + pod.non_zero_memory),
            "ephemeral-storage" => {
                (there.ephemeral_storage, node.requested.ephemeral_storage + pod.requests.ephemeral_storage)
            }
            _ => {
                let of = |resources: &Resources| resources.scalar.get(name).copied().unwrap_or(0);
                let asked = of(&pod.requests);
                if asked == 0 { (0, 0) } else { (of(there), of(&node.requested) + asked) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{filter_reasons, scores};
    use crate::testing::{info, node, pod, snapshot};

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
            let reasons = filter_reasons(&NodeResourcesFit::default(), pod("p", &asking(requests)), &snapshot, "n");
            assert_eq!(reasons, reason, "{requests}");
        }
    }

    #[test]
    fn the_number_of_pods_counts_even_for_pods_that_ask_for_nothing() {
        let full = node("n", "{status: {allocatable: {cpu: 2, pods: 1}}}");
        let snapshot = snapshot(vec![full], vec![(pod("old", ""), "n")]);
        assert_eq!(filter_reasons(&NodeResourcesFit::default(), pod("p", ""), &snapshot, "n"), "Too many pods");
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
        assert_eq!(
            scores(&NodeResourcesFit::default(), pod("p", &asking("{cpu: 1, memory: 1Gi}")), &snapshot),
            [81, 31, 0]
        );
    }

    #[test]
    fn the_fuller_node_scores_higher_if_pods_are_to_be_packed() {
        let nodes = vec![node("empty", ""), node("used", ""), node("nothing", "{status: {}}")];
        let snapshot = snapshot(nodes, vec![(pod("old", &asking("{cpu: 2, memory: 4Gi}")), "used")]);
        let packed = |resources: &str, requests: &str| {
            let weight = |it: &str| {
                let (name, weight) = it.split_once('=').expect("a name and a weight");
                ResourceWeight { name: name.to_owned(), weight: weight.parse().expect("a number") }
            };
            let resources = resources.split(' ').map(weight).collect();
            let packing = NodeResourcesFit { strategy: Strategy::MostAllocated, resources };
            scores(&packing, pod("p", &asking(requests)), &snapshot)
        };
        assert_eq!(packed("cpu=1 memory=1", "{cpu: 1, memory: 1Gi}"), [18, 68, 0]);
        assert_eq!(packed("cpu=3 memory=1", "{cpu: 1, memory: 1Gi}"), [21, 71, 0]);
        assert_eq!(packed("example.com/gpu=1", "{cpu: 1}"), [0, 0, 0], "it asks for none");
    }

    #[test]
    fn hints() {
        use std::sync::Arc;
        let pod = info(pod("p", &asking("{cpu: 6}")));
        let node = |cpu: &str| Arc::new(node("n", &format!("{{status: {{allocatable: {{cpu: {cpu}, pods: 9}}}}}}")));
        let hint = |event| NodeResourcesFit::default().hint(&pod, &event, &Snapshot::default());
        assert_eq!(hint(ClusterEvent::node_added(&node("4"))), Hint::QueueSkip, "too small");
        assert_eq!(hint(ClusterEvent::node_added(&node("8"))), Hint::Queue, "big enough");
        let update = |old, new| crate::events::node_changes(&node(old), &node(new)).remove(0);
        assert_eq!(hint(update("8", "7")), Hint::QueueSkip, "shrank");
        assert_eq!(hint(update("4", "7")), Hint::Queue, "grew");
        let gone = |spec: &str| ClusterEvent::pod_deleted(&Arc::new(crate::testing::pod("q", spec)));
        assert_eq!(hint(gone("{nodeName: n}")), Hint::Queue, "left room");
        assert_eq!(hint(gone("")), Hint::QueueSkip, "had none");
    }
}

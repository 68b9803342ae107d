//! NodeResourcesBalancedAllocation: better where CPU and memory would be used to the same degree, so that neither
//! is left over. Mirrors `plugins/noderesources/balanced_allocation.go` (its formula of 1.36).

use crate::framework::{MAX_NODE_SCORE, Plugin, Point, PreScore, Score};
use crate::node_info::{NodeId, NodeInfo};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Nodes whose CPU and memory would be used alike come first.
pub struct BalancedAllocation;

impl Plugin for BalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Score]
    }

    /// A pod that asks for neither CPU nor memory tips no balance.
    fn pre_score<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        if pod.requests.milli_cpu == 0 && pod.requests.memory == 0 {
            PreScore::Skip
        } else {
            PreScore::Ask(Box::new(Balance(pod)))
        }
    }
}

/// Half of the score is where the node stands, half is whether the pod makes it better or worse: a pod that
/// changes nothing scores 75.
struct Balance<'a>(&'a PodInfo);

impl Score for Balance<'_> {
    fn score(&self, node: &NodeInfo) -> i64 {
        let half = MAX_NODE_SCORE / 2;
        let with = balance(node, self.0.requests.milli_cpu, self.0.requests.memory);
        let without = balance(node, 0, 0);
        half + (half + with - without) / 2
    }
}

/// 100 when CPU and memory are used to the same degree, 50 when one is full and the other empty.
fn balance(node: &NodeInfo, milli_cpu: i64, memory: i64) -> i64 {
    let used =
        |allocatable: i64, requested: i64| (allocatable != 0).then(|| (requested as f64 / allocatable as f64).min(1.0));
    let cpu = used(node.allocatable.milli_cpu, node.requested.milli_cpu + milli_cpu);
    let memory = used(node.allocatable.memory, node.requested.memory + memory);
    // The standard deviation of two numbers is half their distance; of one number it is zero.
    let deviation = match (cpu, memory) {
        (Some(cpu), Some(memory)) => ((cpu - memory) / 2.0).abs(),
        _ => 0.0,
    };
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::scores;
    use crate::testing::{node, pod, snapshot};

    #[test]
    fn even_use_scores_higher() {
        let asking = |requests: &str| format!("{{containers: [{{name: a, resources: {{requests: {requests}}}}}]}}");
        let nodes = vec![node("empty", ""), node("full-of-memory", "")];
        let used = (pod("old", &asking("{memory: 4Gi}")), "full-of-memory");
        let snapshot = snapshot(nodes, vec![used]);
        let cases = [
            // 93 with, 100 without; and on the other node 81 with, 75 without.
            ("{cpu: 1, memory: 1Gi}", vec![71, 78]),
            ("{cpu: 1, memory: 2Gi}", vec![75, 75]),
            ("{cpu: 2}", vec![62, 87]),
            ("{}", vec![]),
        ];
        for (requests, expected) in cases {
            assert_eq!(scores(&BalancedAllocation, pod("p", &asking(requests)), &snapshot), expected, "{requests}");
        }
    }
}

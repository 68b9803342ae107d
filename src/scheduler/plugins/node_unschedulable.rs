//! NodeUnschedulable: no new pods on a cordoned node. Mirrors `plugins/nodeunschedulable/node_unschedulable.go`.

use k8s_openapi::api::core::v1::Taint;

use super::taint_toleration::{tolerates, tolerations};
use crate::scheduler::events::{ClusterEvent, EventKind};
use crate::scheduler::framework::{Filter, Hint, Plugin, PreFilter, Rejection, Verdict};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::pod_info::PodInfo;
use crate::scheduler::snapshot::Snapshot;

const REASON: &str = "node(s) were unschedulable";
const TAINT: &str = "node.kubernetes.io/unschedulable";

/// The plugin.
pub struct NodeUnschedulable;

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeUpdateTaint, EventKind::PodUpdateToleration]
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        match event.new_node() {
            Some(node) => {
                let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
                Hint::queue_if(!cordoned || tolerates_cordon(pod))
            }
            None => Hint::queue_if(event.is_about(&pod.key) && tolerates_cordon(pod)),
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        if tolerates_cordon(pod) { PreFilter::Skip } else { PreFilter::Ask(Box::new(NotCordoned)) }
    }
}

struct NotCordoned;

impl Filter for NotCordoned {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        if node.unschedulable() { Err(Rejection::unresolvable(REASON)) } else { Ok(()) }
    }
}

/// Cordoning also taints the node; who tolerates that taint may stay, as DaemonSet pods do.
fn tolerates_cordon(pod: &PodInfo) -> bool {
    let taint = Taint { key: TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    tolerates(tolerations(pod), &taint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::plugins::testing::filter_reasons;
    use crate::scheduler::testing::{node, pod, snapshot};

    #[test]
    fn a_cordoned_node_takes_only_pods_that_tolerate_it() {
        let cases = [
            ("", "{spec: {unschedulable: false}}", ""),
            ("", "{spec: {unschedulable: true}}", REASON),
            (
                "{tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]}",
                "{spec: {unschedulable: true}}",
                "",
            ),
            ("{tolerations: [{operator: Exists}]}", "{spec: {unschedulable: true}}", ""),
        ];
        for (spec, yaml, reason) in cases {
            let snapshot = snapshot(vec![node("n", yaml)], vec![]);
            assert_eq!(filter_reasons(&NodeUnschedulable, pod("p", spec), &snapshot, "n"), reason, "{spec} on {yaml}");
        }
    }
}

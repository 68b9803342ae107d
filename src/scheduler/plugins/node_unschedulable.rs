//! NodeUnschedulable: no new pods on a cordoned node. Mirrors `plugins/nodeunschedulable/node_unschedulable.go`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Taint};

use super::taint_toleration::{tolerates, tolerations};
use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Filter, Hint, Plugin, PreFilter, Rejection, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use object::well_known::UNSCHEDULABLE;

const REASON: &str = "node(s) were unschedulable";

/// A cordoned node takes no new pods.
pub struct NodeUnschedulable;

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd, EventKind::NodeUpdateTaint, EventKind::PodUpdateToleration]
    }

    /// Worth a try when a node is there that was not, or that was cordoned and is no longer.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        let open = |node: &Arc<Node>| node.spec.as_ref().and_then(|spec| spec.unschedulable) != Some(true);
        match event.new_node() {
            Some(node) => Hint::queue_if(open(node) && !event.old_node().is_some_and(open)),
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
    let taint = Taint { key: UNSCHEDULABLE.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    tolerates(tolerations(pod), &taint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{info, node, pod, snapshot};
    use object::Object;

    #[test]
    fn only_a_node_that_opens_is_worth_a_try() {
        let (open, shut) = ("", "{spec: {unschedulable: true}}");
        for (old, new, expected) in [
            (None, open, Hint::Queue),
            (None, shut, Hint::QueueSkip),
            (Some(shut), open, Hint::Queue),
            (Some(open), open, Hint::QueueSkip),
            (Some(open), shut, Hint::QueueSkip),
        ] {
            let object = |yaml: &str| Object::Node(Arc::new(node("n", yaml)));
            let kind = EventKind::NodeUpdateTaint;
            let event = ClusterEvent { kind, old: old.map(object), new: Some(object(new)) };
            let hint = NodeUnschedulable.hint(&info(pod("p", "")), &event, &Snapshot::default());
            assert_eq!(hint, expected, "{old:?} to {new}");
        }
    }

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

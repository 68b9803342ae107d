//! NodePorts: two pods cannot listen on the same port of one node. Mirrors `plugins/nodeports/node_ports.go`.

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Filter, Hint, Plugin, PreFilter, Rejection, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use object::host_port::HostPort;

const REASON: &str = "node(s) didn't have free ports for the requested pod ports";

/// A node whose host ports are taken will not do.
pub struct NodePorts;

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::AssignedPodDelete, EventKind::NodeAdd]
    }

    /// A pod that went helps if it held a port this one wants.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        if event.kind == EventKind::NodeAdd {
            return Hint::Queue;
        }
        let Some(gone) = event.pod_that_left_room() else { return Hint::QueueSkip };
        let freed = PodInfo::new(gone.clone()).host_ports;
        Hint::queue_if(pod.host_ports.iter().any(|wanted| freed.iter().any(|port| wanted.conflicts_with(port))))
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        if pod.host_ports.is_empty() { PreFilter::Skip } else { PreFilter::Ask(Box::new(Free(&pod.host_ports))) }
    }
}

struct Free<'a>(&'a [HostPort]);

impl Filter for Free<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let taken = |wanted: &HostPort| node.host_ports.keys().any(|used| used.conflicts_with(wanted));
        if self.0.iter().any(taken) { Err(Rejection::unschedulable(REASON)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{info, node, pod, snapshot};

    #[test]
    fn a_pod_that_held_the_port_of_a_node_helps() {
        let waiting = info(pod("p", "{containers: [{name: a, ports: [{containerPort: 80, hostPort: 8080}]}]}"));
        for (port, more, expected) in [
            (8080, ", nodeName: n", Hint::Queue),
            (8081, ", nodeName: n", Hint::QueueSkip),
            (8080, "", Hint::QueueSkip),
        ] {
            let spec = format!("{{containers: [{{name: a, ports: [{{containerPort: 1, hostPort: {port}}}]}}]{more}}}");
            let event = ClusterEvent::pod_deleted(&Arc::new(pod("gone", &spec)));
            assert_eq!(NodePorts.hint(&waiting, &event, &Snapshot::default()), expected, "{spec}");
        }
    }

    #[test]
    fn a_taken_port_shuts_the_node() {
        let ports = |list: &str| format!("{{containers: [{{name: a, ports: {list}}}]}}");
        let used = ports("[{containerPort: 80, hostPort: 8080, hostIP: 10.0.0.1}]");
        let snapshot = snapshot(vec![node("n", "")], vec![(pod("old", &used), "n")]);
        let cases = [
            ("[{containerPort: 80}]", ""),
            ("[{containerPort: 80, hostPort: 8081}]", ""),
            ("[{containerPort: 80, hostPort: 8080}]", REASON),
            ("[{containerPort: 80, hostPort: 8080, hostIP: 10.0.0.1}]", REASON),
            ("[{containerPort: 80, hostPort: 8080, hostIP: 10.0.0.2}]", ""),
            ("[{containerPort: 80, hostPort: 8080, protocol: UDP}]", ""),
        ];
        for (list, reason) in cases {
            assert_eq!(filter_reasons(&NodePorts, pod("p", &ports(list)), &snapshot, "n"), reason, "{list}");
        }
    }
}

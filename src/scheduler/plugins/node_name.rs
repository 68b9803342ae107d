//! NodeName: a pod that names its node runs there or nowhere. Mirrors `plugins/nodename/node_name.go`.

use crate::events::EventKind;
use crate::framework::{Filter, Plugin, PreFilter, Rejection, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use object::pod::assigned_node;

const REASON: &str = "node(s) didn't match the requested node name";

/// `spec.nodeName` names the only node that will do.
pub struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::NodeAdd]
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        match assigned_node(&pod.pod) {
            None => PreFilter::Skip,
            Some(name) => PreFilter::Ask(Box::new(Named(name))),
        }
    }
}

struct Named<'a>(&'a str);

impl Filter for Named<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        if *node.name == *self.0 { Ok(()) } else { Err(Rejection::unresolvable(REASON)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{node, pod, snapshot};

    #[test]
    fn only_the_named_node_will_do() {
        let snapshot = snapshot(vec![node("n", "")], vec![]);
        for (spec, reason) in [("", ""), ("{nodeName: n}", ""), ("{nodeName: m}", REASON)] {
            assert_eq!(filter_reasons(&NodeName, pod("p", spec), &snapshot, "n"), reason, "{spec}");
        }
    }
}

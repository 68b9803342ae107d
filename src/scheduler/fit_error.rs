//! Why no node took a pod, and how that is told. Mirrors `framework.FitError` and `Diagnosis`.

use std::collections::BTreeMap;

use super::framework::{Code, Reason, Rejection};
use super::node_info::NodeId;

/// The outcome of an attempt that found no node.
#[derive(Clone, Debug, Default)]
pub struct FitError {
    /// How many nodes the cluster has.
    pub all_nodes: usize,
    /// Each node that was asked and said no, with the number of the plugin that did.
    pub rejected: Vec<(NodeId, usize, Rejection)>,
    /// What holds for nodes that were not asked, because a plugin had narrowed the choice.
    pub absent: Option<Rejection>,
    /// A plugin turned the pod down before any node was asked.
    pub pre_filter_message: String,
    /// What preemption had to say.
    pub post_filter_message: String,
}

impl FitError {
    /// The text users know: `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). …`.
    /// The parts are sorted as text, so `10 …` comes before `2 …`.
    pub fn message(&self) -> String {
        let mut message = format!("0/{} nodes are available:", self.all_nodes);
        if self.pre_filter_message.is_empty() {
            let parts = self.histogram();
            if !parts.is_empty() {
                message += &format!(" {}.", parts.join(", "));
            }
        } else {
            message += &format!(" {}.", self.pre_filter_message);
        }
        if !self.post_filter_message.is_empty() {
            message += &format!(" {}", self.post_filter_message);
        }
        message
    }

    /// Whether preemption could help on any node, and on which.
    pub fn nodes_preemption_may_help(&self) -> impl Iterator<Item = NodeId> {
        self.rejected.iter().filter(|(_, _, no)| no.code == Code::Unschedulable).map(|(node, _, _)| *node)
    }

    /// The code of one node's answer.
    pub fn code_of(&self, node: NodeId) -> Option<Code> {
        let asked = self.rejected.iter().find(|(rejected, _, _)| *rejected == node);
        asked.map(|(_, _, no)| no.code).or(self.absent.as_ref().map(|no| no.code))
    }

    fn histogram(&self) -> Vec<String> {
        let mut counts: BTreeMap<&Reason, usize> = BTreeMap::new();
        for reason in self.rejected.iter().flat_map(|(_, _, no)| &no.reasons) {
            *counts.entry(reason).or_default() += 1;
        }
        let absent = self.all_nodes - self.rejected.len().min(self.all_nodes);
        if absent > 0 {
            for reason in self.absent.iter().flat_map(|no| &no.reasons) {
                *counts.entry(reason).or_default() += absent;
            }
        }
        let mut parts: Vec<String> = counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        parts.sort();
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: usize, reasons: &[&'static str], from: usize) -> Vec<(NodeId, usize, Rejection)> {
        let no = Rejection { code: Code::Unschedulable, reasons: reasons.iter().map(|r| Reason::from(*r)).collect() };
        (from..from + count).map(|id| (NodeId(id as u32), 0, no.clone())).collect()
    }

    #[test]
    fn reasons_are_counted_and_sorted_as_text() {
        let mut rejected = nodes(10, &["Insufficient cpu"], 0);
        rejected.extend(nodes(2, &["Insufficient cpu", "Too many pods"], 10));
        let error = FitError { all_nodes: 15, rejected, ..FitError::default() };
        assert_eq!(error.message(), "0/15 nodes are available: 12 Insufficient cpu, 2 Too many pods.");
        let narrowed = FitError { absent: Some(Rejection::unresolvable("x")), ..error.clone() };
        assert_eq!(narrowed.message(), "0/15 nodes are available: 12 Insufficient cpu, 2 Too many pods, 3 x.");
        let early = FitError { pre_filter_message: "no".into(), post_filter_message: "after".into(), ..error };
        assert_eq!(early.message(), "0/15 nodes are available: no. after");
    }
}

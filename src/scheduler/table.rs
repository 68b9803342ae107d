//! A decision as a table: what every plugin said of every node.

use super::cycle::{Decision, Outcome};
use super::node_info::NodeId;
use super::plugins::Entry;
use super::queue::QueuedPod;
use super::snapshot::Snapshot;
use crate::engine::Table;

/// One row a node: those that passed with their weighted scores, best first, then those that did not, with the
/// plugin that said no and its reason.
pub fn of(decision: &Decision, queued: &QueuedPod, profile: &[Entry], snapshot: &Snapshot) -> Table {
    let mut columns = vec!["node".to_owned(), "verdict".to_owned()];
    for scores in &decision.scores {
        columns.push(format!("{} x{}", profile[scores.plugin].plugin.name(), scores.weight));
    }
    if !decision.totals.is_empty() {
        columns.push("total".to_owned());
    }
    let mut rows = passed(decision, snapshot);
    for (node, plugin, rejection) in decision.rejected() {
        let verdict = format!("{}: {}", profile[*plugin].plugin.name(), rejection.message());
        let mut row = vec![name(snapshot, *node), verdict];
        row.resize(columns.len(), String::new());
        rows.push(row);
    }
    Table { title: title(decision, queued, snapshot), columns, rows }
}

fn passed(decision: &Decision, snapshot: &Snapshot) -> Vec<Vec<String>> {
    let mut order: Vec<usize> = (0..decision.feasible.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(decision.totals.get(*at).copied()));
    let row = |at: usize| {
        let node = decision.feasible[at];
        let chosen = matches!(decision.outcome, Outcome::Chosen(chosen) if chosen == node);
        let verdict = if chosen { "chosen" } else { "passes" };
        let mut row = vec![name(snapshot, node), verdict.to_owned()];
        row.extend(decision.scores.iter().map(|scores| scores.scores[at].to_string()));
        row.extend(decision.totals.get(at).map(i64::to_string));
        row
    };
    order.into_iter().map(row).collect()
}

fn title(decision: &Decision, queued: &QueuedPod, snapshot: &Snapshot) -> String {
    let key = &queued.info.key;
    let attempt = if queued.attempts > 1 { format!(" (attempt {})", queued.attempts) } else { String::new() };
    match &decision.outcome {
        Outcome::Chosen(node) => {
            let (pass, all) = (decision.feasible.len(), snapshot.node_count());
            format!("{key}{attempt}: {pass} of {all} nodes pass, {} is chosen", name(snapshot, *node))
        }
        Outcome::Unschedulable { error, .. } => format!("{key}{attempt}: {}", error.message()),
        Outcome::Error(message) => format!("{key}{attempt}: {message}"),
    }
}

fn name(snapshot: &Snapshot, node: NodeId) -> String {
    snapshot.node(node).name.to_string()
}

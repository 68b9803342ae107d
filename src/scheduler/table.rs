//! What the scheduler knows, as tables: what every plugin said of every node, who waits, what is left.

use super::cycle::{Decision, Outcome};
use super::node_info::NodeId;
use super::profile::{DEFAULT_SCHEDULER_NAME, Profile};
use super::queue::{QueuedPod, SchedulingQueue};
use super::snapshot::Snapshot;
use engine::Table;
use object::Key;
use object::quantity::Amount;
use object::time::Instant;

/// A decision. One row a node: those that passed with their weighted scores, best first, then those that did not, with the
/// plugin that said no and its reason.
pub fn of(decision: &Decision, queued: &QueuedPod, profile: &Profile, snapshot: &Snapshot) -> Table {
    let mut columns = vec!["node".to_owned(), "verdict".to_owned()];
    for scores in &decision.scores {
        columns.push(format!("{} x{}", profile.name_of(scores.plugin), scores.weight));
    }
    if !decision.totals.is_empty() {
        columns.push("total".to_owned());
    }
    let mut rows = passed(decision, snapshot);
    for (node, plugin, rejection) in decision.rejected() {
        let verdict = format!("{}: {}", profile.name_of(*plugin), rejection.message());
        let mut row = vec![name(snapshot, *node), verdict];
        row.resize(columns.len(), String::new());
        rows.push(row);
    }
    Table { title: title(decision, queued, profile, snapshot), columns, rows }
}

/// One row a pod that waits, in the order of their keys.
pub fn of_queue(queue: &SchedulingQueue, now: Instant, profiles: &[Profile]) -> Table {
    let columns = ["pod", "queue", "attempts", "for", "rejected by"].map(str::to_owned).to_vec();
    let row = |(key, place, pod): (&Key, &'static str, &QueuedPod)| {
        let waited = format!("{}s", (now - pod.timestamp).as_secs());
        let plugins = &profiles[pod.profile].plugins;
        let rejected = plugins.iter().enumerate().filter(|(number, _)| pod.rejected_by.contains(*number));
        let rejected: Vec<&str> = rejected.map(|(_, entry)| entry.plugin.name()).collect();
        vec![key.to_string(), place.to_owned(), pod.attempts.to_string(), waited, rejected.join(", ")]
    };
    Table { title: "kube-scheduler: pods without a node".to_owned(), columns, rows: queue.pending().map(row).collect() }
}

/// One row a node, in the order in which they are tried.
pub fn of_nodes(snapshot: &Snapshot) -> Table {
    let columns = ["node", "pods", "cpu", "memory"].map(str::to_owned).to_vec();
    let row = |id: &NodeId| {
        let node = snapshot.node(*id);
        let (used, all) = (&node.requested, &node.allocatable);
        let cpu = format!("{} of {}", Amount::millis(used.milli_cpu), Amount::millis(all.milli_cpu));
        let memory = format!("{} of {}", Amount::bytes(used.memory), Amount::bytes(all.memory));
        vec![node.name.to_string(), format!("{} of {}", node.pods.len(), all.pods), cpu, memory]
    };
    let rows = snapshot.order().iter().map(row).collect();
    Table { title: "kube-scheduler: what its pods ask of each node".to_owned(), columns, rows }
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

fn title(decision: &Decision, queued: &QueuedPod, profile: &Profile, snapshot: &Snapshot) -> String {
    let key = &queued.info.key;
    let attempt = if queued.attempts > 1 { format!(" (attempt {})", queued.attempts) } else { String::new() };
    let by = match profile.scheduler_name.as_str() {
        DEFAULT_SCHEDULER_NAME => String::new(),
        name => format!(" by {name}"),
    };
    match &decision.outcome {
        Outcome::Chosen(node) => {
            let (pass, all) = (decision.feasible.len(), snapshot.node_count());
            format!("{key}{by}{attempt}: {pass} of {all} nodes pass, {} is chosen", name(snapshot, *node))
        }
        Outcome::Unschedulable { error, .. } => format!("{key}{by}{attempt}: {}", error.message()),
        Outcome::Error(message) => format!("{key}{by}{attempt}: {message}"),
    }
}

fn name(snapshot: &Snapshot, node: NodeId) -> String {
    snapshot.node(node).name.to_string()
}

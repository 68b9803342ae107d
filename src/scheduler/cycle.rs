//! One scheduling cycle: a pod and the cluster in, a decision out. Nothing else is read, nothing is written.
//!
//! Filter the nodes until enough have passed, score those, take the best. Mirrors `schedulePod`,
//! `findNodesThatPassFilters` and `prioritizeNodes` of `pkg/scheduler/schedule_one.go`, without its sixteen
//! workers: nodes are asked one after the other.

use super::filters::Filters;
use super::fit_error::FitError;
use super::framework::{Point, PreScore, Rejection};
use super::node_info::{NodeId, NodeInfo};
use super::nominator::Nominator;
use super::pod_info::PodInfo;
use super::preemption::{Disruptions, Preemption, preempt};
use super::profile::Profile;
use super::snapshot::Snapshot;
use object::random::Random;

/// Clusters smaller than this are searched whole. `minFeasibleNodesToFind`.
const MIN_FEASIBLE_NODES_TO_FIND: usize = 100;
/// However large the cluster, this share of it must pass. `minFeasibleNodesPercentageToFind`.
const MIN_FEASIBLE_NODES_PERCENTAGE: usize = 5;

/// What a cycle needs to know besides the pod.
pub struct Context<'a> {
    /// The pod's profile.
    pub profile: &'a Profile,
    /// The cluster.
    pub snapshot: &'a Snapshot,
    /// Pods for which room is being made.
    pub nominator: &'a Nominator,
    /// Which pods a preemption should rather leave alone.
    pub disruptions: &'a Disruptions,
}

/// All that a cycle found out.
#[derive(Clone, Debug)]
pub struct Decision {
    /// How it ended.
    pub outcome: Outcome,
    /// The nodes that passed, in the order they were asked.
    pub feasible: Vec<NodeId>,
    rejected: Vec<(NodeId, usize, Rejection)>,
    /// The scores of each plugin that gave any.
    pub scores: Vec<Scores>,
    /// The sums, in the order of `feasible`; empty if one node passed and nothing had to be compared.
    pub totals: Vec<i64>,
}

/// One plugin's scores, 0 to 100, in the order of the feasible nodes.
#[derive(Clone, Debug)]
pub struct Scores {
    /// The plugin's number in the profile.
    pub plugin: usize,
    /// What the plugin's scores are multiplied with.
    pub weight: i64,
    /// The scores.
    pub scores: Vec<i64>,
}

/// How a cycle ends.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A node was found.
    Chosen(NodeId),
    /// No node will do. Perhaps preemption found a node where room can be made.
    Unschedulable {
        /// Why.
        error: FitError,
        /// The plugins that said no; what changes may help is up to them.
        rejected_by: PluginSet,
        /// Whether room can be made, where, and at whose cost.
        preemption: Preemption,
    },
    /// The cycle could not be run at all.
    Error(String),
}

/// Numbers of plugins in the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PluginSet(pub u32);

impl PluginSet {
    /// Adds a plugin.
    pub fn insert(&mut self, plugin: usize) {
        self.0 |= 1 << plugin;
    }

    /// Whether the plugin is one of them.
    pub fn contains(self, plugin: usize) -> bool {
        self.0 & (1 << plugin) != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Finds a node for `pod`. `next_start` is where the search begins and is moved on, so that every node gets its
/// turn when not all are asked. Equal best nodes are drawn by lot: the real scheduler's choice among them depends
/// on which of its workers came first.
pub fn schedule(context: &Context, pod: &PodInfo, next_start: &mut usize, random: &mut Random) -> Decision {
    if context.snapshot.node_count() == 0 {
        return Decision::new(Outcome::Error("no nodes available to schedule pods".to_owned()));
    }
    let mut filters = match Filters::new(context.profile, pod, context.snapshot, context.nominator) {
        Ok(filters) => filters,
        Err((plugin, rejection)) => return rejected_out_of_hand(context, pod, plugin, rejection),
    };
    let search = search(context, pod, &mut filters, next_start);
    if search.feasible.is_empty() {
        return no_node(context, pod, &mut filters, search.rejected);
    }
    choose(context, pod, search, random)
}

/// The nodes that were asked.
#[derive(Default)]
struct Search {
    feasible: Vec<NodeId>,
    rejected: Vec<(NodeId, usize, Rejection)>,
}

/// How many nodes must pass before the search stops: all of a small cluster, a shrinking share of a large one.
/// Mirrors `numFeasibleNodesToFind`; `percentage` is the profile's `percentageOfNodesToScore`.
pub fn feasible_nodes_to_find(all: usize, percentage: usize) -> usize {
    if all < MIN_FEASIBLE_NODES_TO_FIND {
        return all;
    }
    let by_size = || 50usize.saturating_sub(all / 125).max(MIN_FEASIBLE_NODES_PERCENTAGE);
    let percentage = if percentage == 0 { by_size() } else { percentage };
    (all * percentage / 100).max(MIN_FEASIBLE_NODES_TO_FIND)
}

fn search(context: &Context, pod: &PodInfo, filters: &mut Filters, next_start: &mut usize) -> Search {
    let mut search = Search::default();
    // Room was made on one node: if it is there, that node it is.
    if let Some(node) = pod.nominated_node().and_then(|name| context.snapshot.node_named(name))
        && filters.check(node).is_ok()
    {
        search.feasible.push(node.id);
        return search;
    }
    let all = context.snapshot.order().len();
    let candidates = candidates(context.snapshot, filters);
    let wanted = match context.profile.at(Point::Score).next() {
        None => 1,
        Some(_) => feasible_nodes_to_find(candidates.len(), context.profile.percentage_of_nodes_to_score),
    };
    for turn in 0..candidates.len() {
        let node = context.snapshot.node(candidates[(*next_start + turn) % candidates.len()]);
        match filters.check(node) {
            Ok(()) => search.feasible.push(node.id),
            Err((plugin, rejection)) => search.rejected.push((node.id, plugin, rejection)),
        }
        if search.feasible.len() == wanted {
            break;
        }
    }
    *next_start = (*next_start + search.feasible.len() + search.rejected.len()) % all;
    search
}

fn candidates<'a>(snapshot: &'a Snapshot, filters: &Filters) -> std::borrow::Cow<'a, [NodeId]> {
    match &filters.only {
        None => snapshot.order().into(),
        Some(names) => {
            let nodes = names.iter().filter_map(|name| snapshot.node_named(name));
            nodes.map(|node| node.id).collect::<Vec<NodeId>>().into()
        }
    }
}

/// Scores the nodes that passed and takes the best.
fn choose(context: &Context, pod: &PodInfo, search: Search, random: &mut Random) -> Decision {
    let mut decision = Decision::new(Outcome::Chosen(search.feasible[0]));
    decision.rejected = search.rejected;
    decision.feasible = search.feasible;
    if decision.feasible.len() == 1 {
        return decision;
    }
    decision.totals = vec![0; decision.feasible.len()];
    for (number, entry) in context.profile.at(Point::Score) {
        let PreScore::Ask(plugin) = entry.plugin.pre_score(pod, context.snapshot, &decision.feasible) else { continue };
        let mut scores: Vec<i64> =
            decision.feasible.iter().map(|id| plugin.score(context.snapshot.node(*id))).collect();
        plugin.normalise(&mut scores);
        for (total, score) in decision.totals.iter_mut().zip(&scores) {
            *total += score * entry.weight;
        }
        decision.scores.push(Scores { plugin: number, weight: entry.weight, scores });
    }
    decision.outcome = Outcome::Chosen(best(&decision, random));
    decision
}

fn best(decision: &Decision, random: &mut Random) -> NodeId {
    let top = decision.totals.iter().copied().max().unwrap_or(0);
    let ties = || decision.feasible.iter().zip(&decision.totals).filter(|(_, total)| **total == top);
    let count = ties().count();
    let drawn = if count > 1 { random.below(count as u64) as usize } else { 0 };
    ties().nth(drawn).map_or(decision.feasible[0], |(node, _)| *node)
}

/// A plugin said no to the pod as such; that goes for every node.
fn rejected_out_of_hand(context: &Context, pod: &PodInfo, plugin: usize, rejection: Rejection) -> Decision {
    let mut rejected_by = PluginSet::default();
    rejected_by.insert(plugin);
    let mut error = FitError {
        all_nodes: context.snapshot.node_count(),
        pre_filter_message: rejection.message(),
        absent: Some(rejection),
        ..FitError::default()
    };
    let (preemption, message) = preempt(context, pod, None, &error);
    error.post_filter_message = message;
    Decision::new(Outcome::Unschedulable { error, rejected_by, preemption })
}

/// Every node said no; perhaps room can be made.
fn no_node(
    context: &Context,
    pod: &PodInfo,
    filters: &mut Filters,
    rejected: Vec<(NodeId, usize, Rejection)>,
) -> Decision {
    let mut rejected_by = PluginSet::default();
    rejected.iter().for_each(|(_, plugin, _)| rejected_by.insert(*plugin));
    filters.narrowed_by.iter().for_each(|plugin| rejected_by.insert(*plugin));
    let mut error = FitError {
        all_nodes: context.snapshot.node_count(),
        absent: filters.absent(context.profile),
        rejected,
        ..FitError::default()
    };
    let (preemption, message) = preempt(context, pod, Some(filters), &error);
    error.post_filter_message = message;
    Decision::new(Outcome::Unschedulable { error, rejected_by, preemption })
}

impl Decision {
    fn new(outcome: Outcome) -> Decision {
        Decision { outcome, feasible: Vec::new(), rejected: Vec::new(), scores: Vec::new(), totals: Vec::new() }
    }

    /// The nodes that did not pass, with the number of the plugin that said no.
    pub fn rejected(&self) -> &[(NodeId, usize, Rejection)] {
        match &self.outcome {
            Outcome::Unschedulable { error, .. } => &error.rejected,
            _ => &self.rejected,
        }
    }

    /// The chosen node.
    pub fn chosen<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a NodeInfo> {
        match self.outcome {
            Outcome::Chosen(node) => Some(snapshot.node(node)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

//! DefaultPreemption: when no node will do, look for one where pods of lower priority could make room.
//!
//! On every node that said a no which fewer pods could turn, suppose all lower pods gone; if the pod then fits, put
//! back as many as fit beside it, the more important first, those whose PodDisruptionBudget forbids a disruption
//! before all others. Who cannot be put back is a victim. Then the node with the least harm is picked. Mirrors
//! `plugins/defaultpreemption/default_preemption.go` and `framework/preemption/preemption.go`.
//!
//! Here is the decision only; deleting the victims is the actor's work.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::cycle::Context;
use super::filters::Filters;
use super::fit_error::FitError;
use super::framework::{Code, Point, Rejection};
use super::labels::Matcher;
use super::node_info::{NodeId, NodeInfo};
use super::pod_info::PodInfo;
use object::budget::DISRUPTION_TARGET;
use object::budget::disruptions_allowed;
use object::time::Instant;
use object::{Accessor, Key, Pod};

/// `minCandidateNodesPercentage` of the nodes are looked at, …
const MIN_CANDIDATE_NODES_PERCENTAGE: usize = 10;
/// … but at least this many. `minCandidateNodesAbsolute`.
const MIN_CANDIDATE_NODES_ABSOLUTE: usize = 100;

const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// What DynamicResources says after filtering, always, when a pod has no claims: it comes before preemption.
const NO_CLAIMS: &str = "no new claims to deallocate";

/// The budgets that say how many pods may be missing.
pub type Disruptions = BTreeMap<Key, Arc<PodDisruptionBudget>>;

/// A node where room can be made, and who would have to go, the most important first.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// Who would have to go, the most important first.
    pub victims: Vec<Arc<PodInfo>>,
    /// How many of them a PodDisruptionBudget protects.
    pub violations: usize,
}

/// What preemption came to.
#[derive(Clone, Debug)]
pub enum Preemption {
    /// Room can be made.
    Candidate(Candidate),
    /// It cannot, and what was nominated before is nominated no more.
    Hopeless,
    /// The pod may not preempt, or not now; what was nominated before stays.
    NotEligible,
}

/// The node where making room does the least harm; and what to tell the user if there is none. `filters` are
/// missing if the pod was turned down before any node was asked: then there is nothing to try.
pub fn preempt(
    context: &Context,
    pod: &PodInfo,
    filters: Option<&mut Filters>,
    error: &FitError,
) -> (Preemption, String) {
    if context.profile.at(Point::PostFilter).next().is_none() {
        return (Preemption::NotEligible, NO_CLAIMS.to_owned());
    }
    if let Err(message) = eligible(context, pod, error) {
        return (Preemption::NotEligible, told(message));
    }
    let mut nodes: Vec<NodeId> = error.nodes_preemption_may_help().collect();
    nodes.sort_by_key(|id| context.snapshot.node(*id).name.clone());
    let wanted = (nodes.len() * MIN_CANDIDATE_NODES_PERCENTAGE / 100).max(MIN_CANDIDATE_NODES_ABSOLUTE);
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut rejected = Vec::new();
    if let Some(filters) = filters {
        for id in nodes {
            match victims_on(context, pod, filters, context.snapshot.node(id)) {
                Ok(candidate) => candidates.push(candidate),
                Err(no) => rejected.push((id, 0, no)),
            }
            if candidates.len() >= wanted && candidates.iter().any(|candidate| candidate.violations == 0) {
                break;
            }
        }
    }
    match candidates.into_iter().min_by_key(harm) {
        Some(best) => (Preemption::Candidate(best), String::new()),
        None => (Preemption::Hopeless, told(unhelpful(error.all_nodes, rejected))),
    }
}

fn told(message: String) -> String {
    format!("{NO_CLAIMS}, preemption: {message}")
}

fn unhelpful(all_nodes: usize, rejected: Vec<(NodeId, usize, Rejection)>) -> String {
    let absent = Some(Rejection::unresolvable(NOT_HELPFUL));
    FitError { all_nodes, rejected, absent, ..FitError::default() }.message()
}

/// A pod that made room once must wait for its victims to go before it may preempt again.
/// Mirrors `PodEligibleToPreemptOthers`.
fn eligible(context: &Context, pod: &PodInfo, error: &FitError) -> Result<(), String> {
    if pod.spec().and_then(|spec| spec.preemption_policy.as_deref()) == Some("Never") {
        return Err("not eligible due to preemptionPolicy=Never.".to_owned());
    }
    let Some(node) = pod.nominated_node().and_then(|name| context.snapshot.node_named(name)) else { return Ok(()) };
    let hopeless = error.code_of(node.id) == Some(Code::UnschedulableAndUnresolvable);
    let leaving = |other: &Arc<PodInfo>| other.priority < pod.priority && is_leaving_for_a_preemptor(&other.pod);
    if !hopeless && node.pods.iter().any(leaving) {
        return Err("not eligible due to a terminating pod on the nominated node.".to_owned());
    }
    Ok(())
}

fn is_leaving_for_a_preemptor(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    pod.metadata.deletion_timestamp.is_some()
        && conditions.into_iter().any(|condition| {
            condition.type_ == DISRUPTION_TARGET
                && condition.status == "True"
                && condition.reason.as_deref() == Some("PreemptionByScheduler")
        })
}

/// Who would have to go from one node. Mirrors `SelectVictimsOnNode`; what it supposes it takes back.
fn victims_on(
    context: &Context,
    pod: &PodInfo,
    filters: &mut Filters,
    node: &NodeInfo,
) -> Result<Candidate, Rejection> {
    let mut lower: Vec<Arc<PodInfo>> =
        node.pods.iter().filter(|other| other.priority < pod.priority).cloned().collect();
    if lower.is_empty() {
        return Err(Rejection::unresolvable(NO_VICTIMS));
    }
    lower.sort_by_key(importance);
    let mut supposed = node.clone();
    for other in &lower {
        suppose_gone(filters, &mut supposed, other);
    }
    if let Err((_, rejection)) = filters.check(&supposed) {
        lower.iter().for_each(|other| filters.add_pod(other, node));
        return Err(rejection);
    }
    let (protected, free): (Vec<_>, Vec<_>) = split_by_budget(lower, context.disruptions);
    let mut victims = Vec::new();
    let mut violations = 0;
    for (other, is_protected) in protected.into_iter().map(|p| (p, true)).chain(free.into_iter().map(|p| (p, false))) {
        supposed.add_pod(other.clone());
        filters.add_pod(&other, &supposed);
        if filters.check(&supposed).is_err() {
            suppose_gone(filters, &mut supposed, &other);
            violations += usize::from(is_protected);
            victims.push(other);
        }
    }
    victims.iter().for_each(|other| filters.add_pod(other, node));
    victims.sort_by_key(importance);
    Ok(Candidate { node: node.id, victims, violations })
}

fn suppose_gone(filters: &mut Filters, node: &mut NodeInfo, pod: &PodInfo) {
    filters.remove_pod(pod, node);
    node.remove_pod(pod);
}

/// The most important first: higher priority, then longer running. Mirrors `util.MoreImportantPod`.
fn importance(pod: &Arc<PodInfo>) -> (Reverse<i32>, Instant) {
    (Reverse(pod.priority), start_time(pod))
}

/// A pod that has not started counts as starting now.
fn start_time(pod: &PodInfo) -> Instant {
    let time = pod.pod.status.as_ref().and_then(|status| status.start_time.as_ref());
    time.map_or(Instant(u64::MAX), Instant::from_time)
}

/// Pods whose budget would be overdrawn, and the others. Mirrors `filterPodsWithPDBViolation`.
fn split_by_budget(pods: Vec<Arc<PodInfo>>, budgets: &Disruptions) -> (Vec<Arc<PodInfo>>, Vec<Arc<PodInfo>>) {
    let mut allowed: Vec<i32> = budgets.values().map(|budget| disruptions_allowed(budget)).collect();
    pods.into_iter().partition(|pod| {
        let mut violated = false;
        for (budget, allowed) in budgets.values().zip(&mut allowed) {
            let noted = budget.status.as_ref().and_then(|status| status.disrupted_pods.as_ref());
            let disrupted = || noted.is_some_and(|pods| pods.contains_key(pod.key.name()));
            if covers(budget, pod) && !disrupted() {
                *allowed -= 1;
                violated |= *allowed < 0;
            }
        }
        violated
    })
}

/// A budget without a selector, or with an empty one, covers nothing.
fn covers(budget: &PodDisruptionBudget, pod: &PodInfo) -> bool {
    let selector = Matcher::new(budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()));
    budget.metadata.namespace() == pod.namespace()
        && !pod.labels().is_empty()
        && !selector.is_empty()
        && selector.matches(pod.labels())
}

/// What makes one node worse than another, the first difference deciding: violated budgets, the priority of the
/// most important victim, the sum of priorities (each raised so that it is positive), how many there are, and how
/// long the most important ones have run. Mirrors `pickOneNodeForPreemption`.
fn harm(candidate: &Candidate) -> (usize, i32, i64, usize, Reverse<Instant>) {
    let highest = candidate.victims.first().map_or(i32::MIN, |victim| victim.priority);
    let sum = candidate.victims.iter().map(|victim| i64::from(victim.priority) + (1 << 31)).sum();
    let top = candidate.victims.iter().filter(|victim| victim.priority == highest);
    let earliest = top.map(|victim| start_time(victim)).min().unwrap_or_default();
    (candidate.violations, highest, sum, candidate.victims.len(), Reverse(earliest))
}

#[cfg(test)]
mod tests;

//! PodDisruptionBudgets in use: which Pods one covers, and what it says of them.
//!
//! Two write a budget's status: the disruption controller, which counts, and the API server, which takes one off before
//! each eviction. They must say the same with the same words. Mirrors `k8s.io/component-helpers/apps/poddisruptionbudget`.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::Pod;
use super::selector::Selector;
use super::time::Instant;

/// The condition of a Pod that is about to be ended by something that is not its own doing.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";
/// The condition of a budget: whether a Pod that it covers may be evicted now.
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";
/// Why it may not: the controller could not count.
pub const SYNC_FAILED: &str = "SyncFailed";

/// Whether the budget covers the Pod. One without a selector covers nothing, one with an empty selector its namespace.
pub fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let selector = Selector::of_option(budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()));
    budget.metadata.namespace == pod.metadata.namespace
        && selector.is_ok_and(|selector| selector.matches(pod.metadata.labels.as_ref()))
}

/// How many Pods may be evicted now.
pub fn disruptions_allowed(budget: &PodDisruptionBudget) -> i32 {
    budget.status.as_ref().and_then(|status| status.disruptions_allowed).unwrap_or(0)
}

/// The condition `DisruptionAllowed`, if the budget has been looked at.
pub fn allowed_condition(status: &PodDisruptionBudgetStatus) -> Option<&Condition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == DISRUPTION_ALLOWED)
}

/// Makes the condition say what the number of allowed disruptions says.
pub fn update_condition(status: &mut PodDisruptionBudgetStatus, now: Instant) {
    let (value, reason) = match status.disruptions_allowed.unwrap_or(0) {
        1.. => ("True", "SufficientPods"),
        _ => ("False", "InsufficientPods"),
    };
    set_condition(status, value, reason, "", now);
}

/// Sets the condition. The time of its last transition moves only when its value does.
pub fn set_condition(
    status: &mut PodDisruptionBudgetStatus,
    value: &str,
    reason: &str,
    message: impl Into<String>,
    now: Instant,
) {
    let since = allowed_condition(status).filter(|there| there.status == value);
    let new = Condition {
        type_: DISRUPTION_ALLOWED.to_owned(),
        status: value.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        last_transition_time: since.map_or_else(|| now.time(), |there| there.last_transition_time.clone()),
        observed_generation: status.observed_generation,
    };
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|there| there.type_ == DISRUPTION_ALLOWED) {
        Some(there) => *there = new,
        None => conditions.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_budget_covers_what_it_selects_in_its_namespace() {
        for (selector, namespace, covered) in [
            (json!(null), "a", false),
            (json!({}), "a", true),
            (json!({}), "b", false),
            (json!({"matchLabels": {"app": "web"}}), "a", true),
            (json!({"matchLabels": {"app": "db"}}), "a", false),
            (json!({"matchExpressions": [{"key": "app", "operator": "Wrong"}]}), "a", false),
        ] {
            let budget = json!({"metadata": {"namespace": "a"}, "spec": {"selector": selector}});
            let pod = json!({"metadata": {"namespace": namespace, "labels": {"app": "web"}}});
            let budget: PodDisruptionBudget = serde_json::from_value(budget).unwrap();
            assert_eq!(covers(&budget, &serde_json::from_value(pod).unwrap()), covered, "{selector} {namespace}");
        }
    }

    #[test]
    fn the_condition_follows_the_number() {
        let at = |seconds: u64| Instant(seconds * 1_000_000_000);
        let mut status = PodDisruptionBudgetStatus::default();
        for (allowed, now, value, reason, since) in [
            (0, 1, "False", "InsufficientPods", 1),
            (2, 2, "True", "SufficientPods", 2),
            (1, 3, "True", "SufficientPods", 2),
            (0, 4, "False", "InsufficientPods", 4),
        ] {
            status.disruptions_allowed = Some(allowed);
            update_condition(&mut status, at(now));
            let condition = allowed_condition(&status).unwrap();
            let found = (condition.status.as_str(), condition.reason.as_str(), &condition.last_transition_time);
            assert_eq!(found, (value, reason, &at(since).time()), "{allowed}");
            assert_eq!(status.conditions.as_ref().unwrap().len(), 1);
        }
    }
}

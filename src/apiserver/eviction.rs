//! `POST pods/NAME/eviction`: the polite way to delete a Pod. It is refused while the Pod's PodDisruptionBudget allows
//! no disruption.
//!
//! The budget's status is a number that the disruption controller counts, and the cache of a controller is always a
//! little old. Two evictions in a row must not both take the last one: so the server itself takes one off the number,
//! and writes the Pod's name beside it, in the very request that deletes the Pod. The controller leaves a Pod that is
//! named there out of its count, and takes the name away when the Pod is gone, or after two minutes if it is not.
//!
//! A Pod that does no work needs no leave from its budget: one that has ended, is not yet started, or is going
//! already. Neither does one that is not ready, while there are healthy Pods enough without it.
//!
//! Mirrors `pkg/registry/core/pod/storage/eviction.go`. Nothing can come between two steps of a request here, so there is
//! nothing to try again and no race to guard against. The write of the budget is the API server's own, as in a real
//! cluster, where it asks itself over loopback.

use std::sync::Arc;

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};

use object::budget::{self, DISRUPTION_TARGET, SYNC_FAILED};
use object::pod::status::PodCondition;
use object::pod::{has_ended, is_ready, phase};
use object::status::{Cause, Details, Reason};
use object::time::Instant;
use object::{Accessor, Kind, Object, Pod, Status};
use wire::{Body, DeleteOptions, Response};

use super::managed_fields::Written;
use super::pipeline::preconditions::check_options;
use super::pipeline::write::Write;
use super::subresources::set_condition;
use super::{ApiServer, Handling, Outcome};
use object::reader::Reader;

/// More evicted Pods that the controller has not seen go than this are not let pile up. `MaxDisruptedPodSize`.
const DISRUPTED_PODS_MAX: usize = 2000;
/// Seconds after which a client may ask again while the controller has not seen the budget's last change.
const RETRY_AFTER: u32 = 10;

impl ApiServer {
    pub(super) fn evict(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let Body::Delete(options) = &request.body else {
            return Err(Status::bad_request("the request carries no Eviction"));
        };
        let Object::Pod(pod) = self.stored(Kind::Pod, &request.namespace, &request.name)? else {
            return Err(Status::not_found(Kind::Pod, &request.name));
        };
        if !may_ignore_budgets(&pod) {
            self.ask_budgets(handling, &pod)?;
        }
        self.mark_and_delete(handling, Object::Pod(pod), options)?;
        Ok((201, Response::Success { uid: String::new() }))
    }

    /// Takes the disruption off the Pod's budget, if it has one, or says why it may not.
    fn ask_budgets(&mut self, handling: &mut Handling, pod: &Pod) -> Result<(), Status> {
        handling.lists.push((Kind::PodDisruptionBudget, pod.metadata.namespace().to_owned()));
        let mut those = self.budgets_of(pod).into_iter();
        let Some(mut there) = those.next() else {
            handling.stage("eviction", || "no PodDisruptionBudget covers the Pod".into());
            return Ok(());
        };
        if those.next().is_some() {
            return Err(Status { code: 500, ..Status::new(Reason::Unknown, SEVERAL) });
        }
        if !is_ready(pod) && may_go_unready(&there) {
            handling.stage("eviction", || format!("the Pod is not ready: {} does not need it", name_of(&there)));
            return Ok(());
        }
        check(&there)?;
        let status = Arc::make_mut(&mut there).status.get_or_insert_default();
        let left = status.disruptions_allowed.unwrap_or(0) - 1;
        status.disruptions_allowed = Some(left);
        if left == 0 {
            budget::update_condition(status, handling.now);
        }
        let name = pod.metadata.name.clone().unwrap_or_default();
        status.disrupted_pods.get_or_insert_default().insert(name, handling.now.time());
        handling.stage("eviction", || format!("{} allows {left} more", name_of(&there)));
        let object = Object::PodDisruptionBudget(there);
        let written = Written::by_server(Kind::PodDisruptionBudget, "status");
        self.put_written(handling, object.revision(), object, written).map(|_| ())
    }

    /// The budgets that cover a Pod.
    fn budgets_of(&self, pod: &Pod) -> Vec<Arc<PodDisruptionBudget>> {
        let namespace = pod.metadata.namespace();
        let all = Reader::list(&self.store, Kind::PodDisruptionBudget, namespace).into_iter();
        all.filter_map(|object| match object {
            Object::PodDisruptionBudget(there) if budget::covers(&there, pod) => Some(there),
            _ => None,
        })
        .collect()
    }

    /// Writes into the Pod why it goes, then deletes it. Mirrors `addConditionAndDeletePod`.
    fn mark_and_delete(
        &mut self,
        handling: &mut Handling,
        object: Object,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        check_options(&object, options)?;
        let mut marked = object.clone();
        set_disruption_target(&mut marked, handling);
        let marked = if marked == object { object } else { self.put(handling, object.revision(), marked)? };
        // The mark has made a new version: the one that was asked for has been compared already.
        let options = DeleteOptions { resource_version: None, ..options.clone() };
        self.write(handling, Write::delete(marked, options)).map(|_| ())
    }
}

const SEVERAL: &str =
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

fn name_of(budget: &PodDisruptionBudget) -> &str {
    budget.metadata.name()
}

/// Whether no budget can mind: the Pod runs nothing, or goes already. Mirrors `canIgnorePDB`.
fn may_ignore_budgets(pod: &Pod) -> bool {
    has_ended(pod) || phase(pod) == "Pending" || pod.metadata.deletion_timestamp.is_some()
}

/// Whether a Pod that is not ready may go without being counted.
fn may_go_unready(budget: &PodDisruptionBudget) -> bool {
    let policy = budget.spec.as_ref().and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
    let nothing = PodDisruptionBudgetStatus::default();
    let status = budget.status.as_ref().unwrap_or(&nothing);
    let (healthy, desired) = (status.current_healthy.unwrap_or(0), status.desired_healthy.unwrap_or(0));
    policy == Some("AlwaysAllow") || (healthy >= desired && desired > 0)
}

/// Whether the budget allows one disruption more. Mirrors `checkAndDecrement`.
fn check(budget: &PodDisruptionBudget) -> Result<(), Status> {
    let name = name_of(budget);
    let nothing = PodDisruptionBudgetStatus::default();
    let status = budget.status.as_ref().unwrap_or(&nothing);
    if status.observed_generation.unwrap_or(0) < budget.metadata.generation.unwrap_or(0) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refused(why, RETRY_AFTER));
    }
    let forbidden = |why: &str| {
        // The real server names the resource in the singular here.
        Err(Status::forbidden_resource("policy", "poddisruptionbudget", name, why))
    };
    match status.disruptions_allowed.unwrap_or(0) {
        ..0 => forbidden("pdb disruptions allowed is negative"),
        _ if status.disrupted_pods.as_ref().is_some_and(|pods| pods.len() > DISRUPTED_PODS_MAX) => {
            forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
        }
        0 => Err(refused(format!("The disruption budget {name} {}", why_none(status)), 0)),
        _ => Ok(()),
    }
}

/// Why a budget allows nothing. Where the controller failed, its counts say nothing.
fn why_none(status: &PodDisruptionBudgetStatus) -> String {
    let (desired, healthy) = (status.desired_healthy.unwrap_or(0), status.current_healthy.unwrap_or(0));
    let told = budget::allowed_condition(status).filter(|there| there.status == "False" && !there.message.is_empty());
    match told {
        Some(there) if there.reason == SYNC_FAILED => {
            format!("does not allow evicting pods currently because it failed sync: {}", there.message)
        }
        _ if healthy <= desired => format!("needs {desired} healthy pods and has {healthy} currently"),
        Some(there) => format!("does not allow evicting pods currently ({}): {}", there.reason, there.message),
        None => "does not allow evicting pods currently".to_owned(),
    }
}

/// 429, with the reason as its cause.
fn refused(why: String, retry_after_seconds: u32) -> Status {
    let cause = Cause { reason: "DisruptionBudget".into(), message: why, field: String::new() };
    let details = Details { causes: vec![cause], retry_after_seconds, ..Details::default() };
    Status { details: Some(Box::new(details)), ..Status::new(Reason::TooManyRequests, REFUSED) }
}

fn set_disruption_target(object: &mut Object, handling: &Handling) {
    let Object::Pod(pod) = object else { return };
    let conditions = Arc::make_mut(pod).status.get_or_insert_default().conditions.get_or_insert_default();
    let there = conditions.iter().find(|condition| condition.type_ == DISRUPTION_TARGET);
    set_condition(conditions, disruption_target(there, handling.now));
}

/// The condition of a Pod that is evicted. Unlike those who delete Pods themselves the API server does not say which
/// generation of the Pod it is about; what a condition said before that it replaces, it says on.
fn disruption_target(there: Option<&PodCondition>, now: Instant) -> PodCondition {
    let since = there.filter(|there| there.status == "True").and_then(|there| there.last_transition_time.clone());
    PodCondition {
        type_: DISRUPTION_TARGET.into(),
        status: "True".into(),
        reason: Some("EvictionByEvictionAPI".into()),
        message: Some("Eviction API: evicting".into()),
        last_transition_time: since.or_else(|| Some(now.time())),
        observed_generation: there.and_then(|there| there.observed_generation),
        ..PodCondition::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn budget(status: Value) -> PodDisruptionBudget {
        let budget = json!({"metadata": {"name": "b", "generation": 2}, "spec": {}, "status": status});
        serde_json::from_value(budget).unwrap()
    }

    #[test]
    fn a_budget_allows_one_more_or_says_why_not() {
        let seen = |allowed: i32| json!({"observedGeneration": 2, "disruptionsAllowed": allowed, "desiredHealthy": 2, "currentHealthy": 2});
        for (status, code, cause, retry) in [
            (seen(1), 0, "", 0),
            (seen(0), 429, "The disruption budget b needs 2 healthy pods and has 2 currently", 0),
            (
                json!({"observedGeneration": 1, "disruptionsAllowed": 1}),
                429,
                "The disruption budget b is still being processed by the server.",
                10,
            ),
            (json!(null), 429, "The disruption budget b is still being processed by the server.", 10),
            (seen(-1), 403, "", 0),
        ] {
            let found = check(&budget(status.clone())).err();
            assert_eq!(found.as_ref().map_or(0, |status| status.code), code, "{status}");
            let details = found.and_then(|status| status.details).unwrap_or_default();
            assert_eq!(details.causes.first().map_or("", |cause| cause.message.as_str()), cause, "{status}");
            assert_eq!(details.retry_after_seconds, retry, "{status}");
        }
    }

    #[test]
    fn a_budget_that_allows_nothing_says_why() {
        let failed =
            json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "lost"}]);
        let other = json!([{"type": "DisruptionAllowed", "status": "False", "reason": "Because", "message": "so"}]);
        let counted =
            json!([{"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}]);
        for (mut conditions, healthy, why) in [
            (failed, 3, "does not allow evicting pods currently because it failed sync: lost"),
            (other.clone(), 2, "needs 2 healthy pods and has 2 currently"),
            (other, 3, "does not allow evicting pods currently (Because): so"),
            (counted.clone(), 2, "needs 2 healthy pods and has 2 currently"),
            (counted, 3, "does not allow evicting pods currently"),
        ] {
            conditions[0]["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
            let status = json!({"conditions": conditions, "desiredHealthy": 2, "currentHealthy": healthy});
            assert_eq!(why_none(&serde_json::from_value(status).unwrap()), why, "{healthy}");
        }
    }

    #[test]
    fn of_which_generation_a_pod_is_evicted_is_not_said() {
        let at = |seconds: u64| Instant(seconds * 1_000_000_000);
        let first = disruption_target(None, at(1));
        assert_eq!((first.observed_generation, &first.last_transition_time), (None, &Some(at(1).time())));
        let taken_back = PodCondition { status: "False".into(), observed_generation: Some(3), ..first };
        let second = disruption_target(Some(&taken_back), at(2));
        assert_eq!((second.observed_generation, &second.last_transition_time), (Some(3), &Some(at(2).time())));
        let third = disruption_target(Some(&second), at(3));
        assert_eq!(third.last_transition_time, Some(at(2).time()), "its status has not changed");
    }

    #[test]
    fn who_may_go_without_leave() {
        for (phase, deleting, free) in [
            ("Running", false, false),
            ("Running", true, true),
            ("Pending", false, true),
            ("Succeeded", false, true),
            ("Failed", false, true),
        ] {
            let mut pod = json!({"metadata": {"name": "p"}, "status": {"phase": phase}});
            if deleting {
                pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            assert_eq!(may_ignore_budgets(&serde_json::from_value(pod).unwrap()), free, "{phase} {deleting}");
        }
        for (policy, healthy, desired, free) in [
            (None, 1, 2, false),
            (None, 2, 2, true),
            (None, 0, 0, false),
            (Some("IfHealthyBudget"), 1, 2, false),
            (Some("AlwaysAllow"), 1, 2, true),
        ] {
            let mut there = budget(json!({"currentHealthy": healthy, "desiredHealthy": desired}));
            there.spec.get_or_insert_default().unhealthy_pod_eviction_policy = policy.map(str::to_owned);
            assert_eq!(may_go_unready(&there), free, "{policy:?} {healthy} {desired}");
        }
    }
}

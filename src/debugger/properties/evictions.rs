//! What must hold of evictions.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Property, stored};
use apiserver::host::Engine;
use engine::{Step, What};
use kinds::registry::list_prefix;
use object::budget::covers;
use object::pod::is_ready;
use object::time::Instant;
use object::{Accessor, Key, Kind, Object};
use wire::Subresource;

/// How long a Pod that fell ill by itself still counts: the disruption controller needs some time to hear of it, and an
/// eviction in between is no fault of a component.
const HEARD_OF: Duration = Duration::from_secs(5);

/// After an eviction, as many Pods are healthy as its budget asks for.
#[derive(Clone, Default)]
pub(super) struct BudgetsHeld {
    /// Pods that ceased to be healthy otherwise, and when.
    ill: BTreeMap<Key, Instant>,
}

impl Property for BudgetsHeld {
    fn name(&self) -> &'static str {
        "no eviction takes more than a PodDisruptionBudget gives"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            let Some(Object::Pod(pod)) = old.filter(|old| is_healthy(old)) else { continue };
            if new.is_some_and(is_healthy) {
                continue;
            }
            if !is_eviction(step) {
                self.ill.insert(Key::of_meta(&pod.metadata), step.time);
                continue;
            }
            let namespace = pod.metadata.namespace();
            for (_, entry) in engine.server.api.store.prefix(&list_prefix(Kind::PodDisruptionBudget, namespace)) {
                let Object::PodDisruptionBudget(budget) = &entry.value else { continue };
                if covers(budget, pod) {
                    self.check_budget(engine, budget, step.time)?;
                }
            }
        }
        Ok(())
    }
}

impl BudgetsHeld {
    fn check_budget(&self, engine: &Engine, budget: &PodDisruptionBudget, now: Instant) -> Result<(), String> {
        let namespace = budget.metadata.namespace();
        let counts = |object: &Object| {
            let Object::Pod(pod) = object else { return false };
            let recently = self.ill.get(&Key::of(object)).is_some_and(|since| now - *since < HEARD_OF);
            covers(budget, pod) && (recently || is_healthy(object))
        };
        let prefix = list_prefix(Kind::Pod, namespace);
        let healthy = engine.server.api.store.prefix(&prefix).filter(|(_, entry)| counts(&entry.value)).count();
        let wanted = wanted(budget);
        if (healthy as i32) < wanted {
            let budget = Key::of_meta(&budget.metadata);
            return Err(format!("{budget} asks for {wanted} healthy Pods, and an eviction has left {healthy}"));
        }
        Ok(())
    }
}

/// How many Pods must be healthy; where that depends on how many there should be, as the controller has found.
fn wanted(budget: &PodDisruptionBudget) -> i32 {
    match budget.spec.as_ref().and_then(|spec| spec.min_available.as_ref()) {
        Some(IntOrString::Int(number)) => *number,
        _ => budget.status.as_ref().and_then(|status| status.desired_healthy).unwrap_or(0),
    }
}

fn is_healthy(object: &Object) -> bool {
    matches!(object, Object::Pod(pod) if is_ready(pod) && pod.metadata.deletion_timestamp.is_none())
}

fn is_eviction(step: &Step) -> bool {
    matches!(&step.event.what, What::Request { request, .. } if request.subresource == Some(Subresource::Eviction))
}

//! What must hold of HorizontalPodAutoscalers.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::{Property, stored};
use apiserver::host::Engine;
use controllers::podautoscaler;
use engine::{Step, What};
use kinds::registry::list_prefix;
use object::time::Instant;
use object::{Key, Kind, Object};
use wire::{Body, Subresource};

/// The controller needs some time to learn of bounds that a client has changed.
const HEARD_OF: Duration = Duration::from_secs(5);

/// What the autoscaler asks of a target lies within the bounds of the HorizontalPodAutoscaler that names it.
#[derive(Clone, Default)]
pub(super) struct InBounds {
    /// When bounds were last changed.
    changed: BTreeMap<Key, Instant>,
}

impl Property for InBounds {
    fn name(&self) -> &'static str {
        "no autoscaler asks for fewer Pods than minReplicas or more than maxReplicas"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            if let (Some(Object::HorizontalPodAutoscaler(old)), Some(Object::HorizontalPodAutoscaler(new))) = (old, new)
                && bounds(old) != bounds(new)
            {
                self.changed.insert(Key::of_meta(&new.metadata), step.time);
            }
        }
        let What::Request { request, .. } = &step.event.what else { return Ok(()) };
        let (Some(Subresource::Scale), Body::Scale { replicas, .. }) = (request.subresource, &request.body) else {
            return Ok(());
        };
        if &*request.user.agent != podautoscaler::REGISTRATION.name || stored(step).next().is_none() {
            return Ok(());
        }
        let prefix = list_prefix(Kind::HorizontalPodAutoscaler, &request.namespace);
        for (_, entry) in engine.server.api.store.prefix(&prefix) {
            let Object::HorizontalPodAutoscaler(hpa) = &entry.value else { continue };
            let (key, target) = (Key::of_meta(&hpa.metadata), &hpa.spec.scale_target_ref);
            let recently = self.changed.get(&key).is_some_and(|since| step.time - *since < HEARD_OF);
            let names_it = target.kind == request.kind.info().kind && target.name == request.name;
            let (min, max) = bounds(hpa);
            if names_it && !recently && !(min..=max).contains(replicas) {
                return Err(format!("{key} has asked for {replicas} Pods, and may for {min} to {max}"));
            }
        }
        Ok(())
    }
}

fn bounds(hpa: &HorizontalPodAutoscaler) -> (i32, i32) {
    (hpa.spec.min_replicas.unwrap_or(1), hpa.spec.max_replicas)
}

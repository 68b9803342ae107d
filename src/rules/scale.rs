//! The `autoscaling/v1 Scale` of an object: its replica count, seen and changed alone.
//!
//! Policies and webhooks that are asked about a write of `scale` see Scales, and neither the labels nor the rest of the
//! object ([`seen`]).
//!
//! Mirrors `scaleFromDeployment` and its like in the `ScaleREST`s of `pkg/registry/apps`.

use std::sync::Arc;

use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec, ScaleStatus};
use serde_json::Value;

use object::meta::scale_metadata;
use object::selector::{Selector, format_label_selector};
use object::{Object, Status};
use wire::{Request, Subresource};

use super::apiextensions::Version;
use super::apiextensions::scale as custom;

/// Whether a request is about the scale of an object.
pub fn is_asked(request: &Request) -> bool {
    request.subresource == Some(Subresource::Scale)
}

/// What policies and webhooks see of an object that a request is about: itself, or its Scale. `version` is that of a kind
/// that a user has defined.
pub fn seen(request: &Request, version: Option<&Version>, object: &Object) -> Value {
    let scale = is_asked(request).then(|| scale_of(object, version).ok()).flatten();
    scale.and_then(|scale| to_json(&scale).ok()).unwrap_or_else(|| object.to_json())
}

/// Gives an object a replica count, where its kind has one.
pub fn set_replicas(object: &mut Object, version: Option<&Version>, replicas: i32) {
    match object {
        Object::Deployment(d) => Arc::make_mut(d).spec.get_or_insert_default().replicas = Some(replicas),
        Object::ReplicaSet(r) => Arc::make_mut(r).spec.get_or_insert_default().replicas = Some(replicas),
        Object::ReplicationController(r) => Arc::make_mut(r).spec.get_or_insert_default().replicas = Some(replicas),
        Object::StatefulSet(s) => Arc::make_mut(s).spec.get_or_insert_default().replicas = Some(replicas),
        Object::Custom(object) => {
            if let Some(paths) = version.and_then(|version| version.scale.as_ref()) {
                custom::set_replicas(Arc::make_mut(object), paths, replicas);
            }
        }
        _ => {}
    }
}

/// The `autoscaling/v1 Scale` of an object; or that its kind has none.
pub fn scale_of(object: &Object, version: Option<&Version>) -> Result<Scale, Status> {
    if let (Object::Custom(object), Some(paths)) = (object, version.and_then(|version| version.scale.as_ref())) {
        return custom::scale_of(object, paths);
    }
    scale_of_built_in(object).ok_or_else(Status::not_served)
}

fn scale_of_built_in(object: &Object) -> Option<Scale> {
    let (replicas, selector, seen) = match object {
        Object::Deployment(d) => {
            let spec = d.spec.as_ref()?;
            (spec.replicas, format_label_selector(Some(&spec.selector)), d.status.as_ref().and_then(|s| s.replicas))
        }
        Object::ReplicaSet(r) => {
            let spec = r.spec.as_ref()?;
            (spec.replicas, format_label_selector(Some(&spec.selector)), r.status.as_ref().map(|s| s.replicas))
        }
        Object::StatefulSet(s) => {
            let spec = s.spec.as_ref()?;
            (spec.replicas, format_label_selector(Some(&spec.selector)), s.status.as_ref().map(|s| s.replicas))
        }
        Object::ReplicationController(r) => {
            let spec = r.spec.as_ref()?;
            let selector = spec.selector.as_ref().map_or_else(Selector::everything, Selector::of_labels);
            (spec.replicas, selector.to_string(), r.status.as_ref().map(|s| s.replicas))
        }
        _ => return None,
    };
    Some(Scale {
        metadata: scale_metadata(object.meta()),
        // Go leaves a zero out.
        spec: Some(ScaleSpec { replicas: replicas.filter(|n| *n != 0) }),
        status: Some(ScaleStatus { replicas: seen.unwrap_or(0), selector: Some(selector) }),
    })
}

/// How many replicas a Scale asks for.
pub fn replicas(scale: &Scale) -> i32 {
    scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0)
}

/// A Scale as it is sent.
pub fn to_json(scale: &Scale) -> Result<Value, Status> {
    serde_json::to_value(scale).map_err(|e| Status::internal(&e.to_string()))
}

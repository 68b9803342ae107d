//! The replica count of a custom object, where its definition says that it has one.
//!
//! Mirrors `scaleFromCustomResource` and `scaleUpdatedObjectInfo` of `pkg/registry/customresource/etcd.go`.

use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec, ScaleStatus};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceSubresourceScale;
use serde_json::{Map, Value};

use object::meta::scale_metadata;
use object::status::Cause;
use object::validation::field::Problems;
use object::{CustomObject, Status};

/// `autoscaling/v1 Scale` of an object.
pub fn scale_of(object: &CustomObject, paths: &CustomResourceSubresourceScale) -> Result<Scale, Status> {
    let replicas = find(&object.content, &paths.spec_replicas_path).and_then(Value::as_i64).ok_or_else(|| {
        Status::internal(&format!("the spec replicas field {:?} does not exist", paths.spec_replicas_path))
    })?;
    let count = |path: &str| find(&object.content, path).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
    let selector = paths.label_selector_path.as_deref().and_then(|path| find(&object.content, path));
    Ok(Scale {
        metadata: scale_metadata(&object.metadata),
        // Go leaves a zero out.
        spec: Some(ScaleSpec { replicas: i32::try_from(replicas).ok().filter(|n| *n != 0) }),
        status: Some(ScaleStatus {
            replicas: count(&paths.status_replicas_path).unwrap_or(0),
            selector: selector.and_then(Value::as_str).map(str::to_owned),
        }),
    })
}

/// Writes a replica count where the definition says that it stands.
pub fn set_replicas(object: &mut CustomObject, paths: &CustomResourceSubresourceScale, replicas: i32) {
    let mut names: Vec<&str> = steps(&paths.spec_replicas_path).collect();
    let Some(last) = names.pop() else { return };
    let mut fields: &mut Map<String, Value> = &mut object.content;
    for name in names {
        let below = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
        match below {
            Value::Object(below) => fields = below,
            _ => return,
        }
    }
    fields.insert(last.to_owned(), replicas.into());
}

/// Counts are counts. Mirrors `ValidateScaleSpec` and `ValidateScaleStatus`.
pub fn validate(problems: &mut Problems, object: &CustomObject, paths: Option<&CustomResourceSubresourceScale>) {
    let Some(paths) = paths else { return };
    for path in [&paths.spec_replicas_path, &paths.status_replicas_path] {
        let Some(count) = find(&object.content, path).filter(|value| value.is_number()) else { continue };
        if count.as_i64().is_some_and(|n| n < 0) {
            problems.0.push(invalid(path, count, "should be a non-negative integer"));
        } else if count.as_i64().is_some_and(|n| n > i32::MAX.into()) {
            problems.0.push(invalid(path, count, &format!("should be less than or equal to {}", i32::MAX)));
        }
    }
}

fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.trim_start_matches('.').split('.')
}

fn find<'a>(content: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut names = steps(path);
    let first = content.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

/// The cause of a value that stands where it may not.
fn invalid(field: &str, value: &Value, why: &str) -> Cause {
    let message = format!("Invalid value: {value}: {why}");
    Cause { reason: "FieldValueInvalid".into(), message, field: field.into() }
}

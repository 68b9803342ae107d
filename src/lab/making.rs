//! What the questions and rules of several exercises are made of.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::Value;

use controllers::pods::pod_from_template;
use exercise::kube::{Api, Context, Error, ListParams, Resource};
use object::Pod;
use object::meta::controller_ref;
use object::read::from_value;

/// When something was deleted, or began: which time it is does not matter.
pub(super) const TIME: &str = "2026-01-01T00:00:00Z";

/// What is written here as it would be in a manifest.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> T {
    from_value(&value).expect("what is asked is well formed")
}

/// An object with these fields besides, or in the place of its own.
pub(super) fn with(mut object: Value, more: &Value) -> Value {
    more.as_object().into_iter().flatten().for_each(|(key, value)| object[key] = value.clone());
    object
}

/// Whether one text begins like another. What is not there begins like nothing.
pub(super) fn begins(long: Option<&String>, short: Option<&String>) -> bool {
    short.is_some_and(|short| long.is_some_and(|long| long.starts_with(short.as_str())))
}

/// Each row with one item more, which is each of these.
pub(super) fn longer<T: Clone>(rows: &[Vec<T>], next: &[T]) -> Vec<Vec<T>> {
    let each = rows.iter().flat_map(|row| next.iter().map(move |item| (row, item)));
    each.map(|(row, item)| [row.as_slice(), std::slice::from_ref(item)].concat()).collect()
}

/// Numbers below those that are asked for, as if by chance: this row of many.
pub(super) fn drawn(n: usize) -> impl FnMut(usize) -> usize {
    let mut random = 7919 * (n as u64 + 1);
    move |below| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    }
}

/// A Pod as a ReplicaSet asks for it.
pub(super) fn pod_for(set: &ReplicaSet) -> Pod {
    let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
    pod_from_template(&template, &set.metadata, controller_ref(set))
}

/// Whether an object has a long name; some wrong solutions make nothing for one that has.
pub(super) fn has_long_name(meta: &ObjectMeta) -> bool {
    meta.name.as_ref().is_some_and(|name| name.len() > 16)
}

/// All objects of a kind: those of the cache, or of a wrong solution that does not read it, the API server's.
pub(super) async fn all<K: Resource>(api: &Api<K>, context: &Context, lists: bool) -> Result<Vec<Arc<K>>, Error> {
    match lists {
        true => Ok(api.list(&ListParams::default()).await?.into_iter().map(Arc::new).collect()),
        false => Ok(context.store::<K>().state()),
    }
}

//! Exercise 19: who cleans up when an object goes?
//!
//! A ConfigMap with the label `publish: "yes"` has a copy in the namespace `public`: `NAMESPACE-NAME`, with the same `data`.
//! Owner references do not reach into another namespace, so the garbage collector will not delete the copy. You do:
//!
//! - while a ConfigMap is there, so is its copy, with the same data (one that another client changes or deletes is put right when
//!   its original next changes). One that is right is not written again;
//! - when it is deleted, its copy is deleted first. Your finalizer, `FINALIZER`, keeps it until then. Once that is off,
//!   you are done with it, even if others keep it longer;
//! - the finalizers of others are none of your business. They may come and go while you work;
//! - nothing is copied that has no label, and nothing that is being deleted. Labels do not change here.
//!
//! `reconcile` is called with any ConfigMap that may have changed, copies too. Your process may crash after any call, any call
//! may fail or its answer get lost, and the ConfigMap may be deleted at any moment. Return an error, and you are called again.

#![allow(unused_imports)]

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubestep_exercise::finalizer::{FINALIZER, PUBLIC};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use serde_json::json;

// Yours from here.

/// Publishes a ConfigMap, or cleans up behind it.
pub async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let meta = &map.metadata;
    let (namespace, name) = (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let copy_name = format!("{namespace}-{name}");
    let mut finalizers = meta.finalizers.clone().unwrap_or_default();
    let is_held = finalizers.iter().any(|one| one == FINALIZER);
    let is_published = meta.labels.iter().flatten().any(|(key, value)| key == "publish" && value == "yes");

    if meta.deletion_timestamp.is_some() {
        if is_held {
            match copies.delete(&copy_name, &DeleteParams::default()).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
            finalizers.retain(|one| one != FINALIZER);
            maps.patch(&name, &PatchParams::default(), &list_of(&map, &finalizers)).await?;
        }
        return Ok(Action::await_change());
    }
    if !is_published {
        return Ok(Action::await_change());
    }
    if !is_held {
        finalizers.push(FINALIZER.to_owned());
        maps.patch(&name, &PatchParams::default(), &list_of(&map, &finalizers)).await?;
    }
    match copies.get_opt(&copy_name).await? {
        None => {
            let metadata = ObjectMeta { name: Some(copy_name), ..ObjectMeta::default() };
            let copy = ConfigMap { metadata, data: map.data.clone(), ..ConfigMap::default() };
            copies.create(&PostParams::default(), &copy).await?;
        }
        Some(copy) if copy.data != map.data => {
            let copy = ConfigMap { data: map.data.clone(), ..copy };
            copies.replace(&copy_name, &PostParams::default(), &copy).await?;
        }
        Some(_) => {}
    }
    Ok(Action::await_change())
}

/// A list of finalizers, which is refused if the object has changed since it was read.
fn list_of(map: &ConfigMap, finalizers: &[String]) -> Patch<serde_json::Value> {
    let version = &map.metadata.resource_version;
    Patch::Merge(json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}}))
}

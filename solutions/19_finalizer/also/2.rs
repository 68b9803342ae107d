//! Tests in the patch itself that the list is still the same.
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubestep_exercise::finalizer::{FINALIZER, PUBLIC};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use serde_json::{from_value, json};

pub async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let meta = &map.metadata;
    let name = meta.name.as_deref().unwrap_or_default();
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
    let public: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let copy = [namespace, name].join("-");
    let before = meta.finalizers.clone();
    let others: Vec<String> = before.iter().flatten().filter(|one| *one != FINALIZER).cloned().collect();
    let held = others.len() < before.as_ref().map_or(0, Vec::len);
    let change = |after: Vec<String>| {
        Patch::Json(json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
            {"op": "add", "path": "/metadata/finalizers", "value": after},
        ]))
    };
    let params = PatchParams::default();
    if meta.deletion_timestamp.is_some() && !held {
        return Ok(Action::await_change());
    }
    if meta.deletion_timestamp.is_some() {
        let gone = public.delete(&copy, &DeleteParams::default()).await;
        if gone.as_ref().is_err_and(|error| !error.is_not_found()) {
            return gone.map(|()| Action::await_change());
        }
        api.patch(name, &params, &change(others)).await?;
        return Ok(Action::await_change());
    }
    if meta.labels.as_ref().is_none_or(|labels| labels.get("publish").is_none_or(|value| value != "yes")) {
        return Ok(Action::await_change());
    }
    if !held {
        let after = [others, vec![FINALIZER.to_owned()]].concat();
        api.patch(name, &params, &change(after)).await?;
    }
    let there = public.get_opt(&copy).await?;
    let body = |version: Option<&String>| -> Result<ConfigMap, Error> {
        from_value(json!({"metadata": {"name": copy, "resourceVersion": version}, "data": map.data}))
            .map_err(|error| Error::Other(error.to_string()))
    };
    match there {
        Some(there) if there.data == map.data => {}
        Some(there) => {
            let body = body(there.metadata.resource_version.as_ref())?;
            public.replace(&copy, &PostParams::default(), &body).await?;
        }
        None => drop(public.create(&PostParams::default(), &body(None)?).await?),
    }
    Ok(Action::await_change())
}

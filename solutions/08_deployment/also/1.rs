//! Compares templates as JSON, and asks for the ReplicaSet when the cache does not have it.
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::deployment::{TEMPLATE_HASH, template_hash};
use kubestep_exercise::kube::{Action, Api, Context, Error, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, from_value, json};

pub async fn reconcile(d: Arc<Deployment>, context: Arc<Context>) -> Result<Action, Error> {
    let Some(spec) = d.spec.as_ref().filter(|_| d.metadata.deletion_timestamp.is_none()) else {
        return Ok(Action::await_change());
    };
    let uid = d.metadata.uid.clone().unwrap_or_default();
    let ns = d.metadata.namespace.clone().unwrap_or_default();
    let deployment_name = d.metadata.name.clone().unwrap_or_default();
    let hash = template_hash(&spec.template);
    let name = format!("{deployment_name}-{hash}");
    let api: Api<ReplicaSet> = Api::namespaced(context.client.clone(), &ns);
    let own: Vec<Arc<ReplicaSet>> = context
        .store::<ReplicaSet>()
        .state()
        .into_iter()
        .filter(|rs| rs.metadata.owner_references.iter().flatten().any(|o| o.uid == uid && o.controller == Some(true)))
        .collect();
    let wanted = json_of(&spec.template);
    let is_of_today = |rs: &&Arc<ReplicaSet>| {
        rs.spec.iter().flat_map(|spec| &spec.template).any(|template| json_of(template) == wanted)
    };
    let today = own.iter().filter(is_of_today).min_by_key(|rs| rs.metadata.creation_timestamp.clone());
    let today = today.and_then(|rs| rs.metadata.name.clone());
    if today.is_none() && api.get_opt(&name).await?.is_none() {
        let labels = spec.template.metadata.as_ref().and_then(|meta| meta.labels.clone()).unwrap_or_default();
        let mut rs: ReplicaSet = from_value(json!({
            "metadata": {
                "name": name,
                "namespace": ns,
                "labels": labels,
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "Deployment", "name": deployment_name, "uid": uid, "controller": true,
                }],
            },
            "spec": {"replicas": spec.replicas, "selector": spec.selector, "template": spec.template},
        }))
        .map_err(|error| Error::Other(error.to_string()))?;
        let label = (TEMPLATE_HASH.to_owned(), hash);
        rs.metadata.labels.get_or_insert_default().extend([label.clone()]);
        if let Some(spec) = &mut rs.spec {
            spec.selector.match_labels.get_or_insert_default().extend([label.clone()]);
            if let Some(template) = &mut spec.template {
                template.metadata.get_or_insert_default().labels.get_or_insert_default().extend([label]);
            }
        }
        api.create(&PostParams::default(), &rs).await?;
    }
    for rs in own {
        let its = rs.metadata.name.clone().unwrap_or_default();
        let size = if Some(&its) == today.as_ref() { spec.replicas.unwrap_or(1) } else { 0 };
        if rs.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1) != size {
            let patch = Patch::Strategic(json!({"spec": {"replicas": size}}));
            api.patch(&its, &PatchParams::default(), &patch).await?;
        }
    }
    Ok(Action::await_change())
}

fn json_of(template: &PodTemplateSpec) -> Value {
    let mut value = json!(template);
    if let Some(labels) = value.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(TEMPLATE_HASH);
    }
    value
}

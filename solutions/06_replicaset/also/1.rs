#![allow(unused_imports)]

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

pub async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result<Action, Error> {
    let meta = &set.metadata;
    let (Some(namespace), Some(name)) = (&meta.namespace, &meta.name) else { return Ok(Action::await_change()) };
    if meta.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let api: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let selector = set.spec.as_ref().and_then(|spec| spec.selector.match_labels.clone()).unwrap_or_default();
    let selector: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut ready = Vec::new();
    let mut waiting = Vec::new();
    for pod in api.list(&ListParams::default().labels(&selector.join(","))).await? {
        let ours = pod
            .metadata
            .owner_references
            .iter()
            .flatten()
            .any(|owner| owner.controller.unwrap_or(false) && owner.uid == meta.uid.clone().unwrap_or_default());
        let status = pod.status.clone().unwrap_or_default();
        let ended = status.phase == Some("Failed".into()) || status.phase == Some("Succeeded".into());
        if !ours || ended || pod.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let good = status.conditions.unwrap_or_default().iter().any(|c| c.type_ == "Ready" && c.status == "True");
        if good { ready.push(pod) } else { waiting.push(pod) }
    }
    let there = ready.len() + waiting.len();
    let good = ready.len() as i32;
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1).max(0) as usize;
    let status = set.status.clone().unwrap_or_default();
    let fields = [
        ("/status/replicas", json!(status.replicas), json!(there)),
        ("/status/readyReplicas", json!(status.ready_replicas.unwrap_or(0)), json!(good)),
        ("/status/observedGeneration", json!(status.observed_generation), json!(meta.generation)),
    ];
    let differ = fields.iter().filter(|(_, before, after)| before != after);
    let patch: Vec<_> = differ.map(|(path, _, value)| json!({"op": "add", "path": path, "value": value})).collect();
    if !patch.is_empty() {
        let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
        sets.patch_status(name, &PatchParams::default(), &Patch::Json(patch)).await?;
    }
    if there < wanted {
        let template = set.spec.clone().unwrap_or_default().template.unwrap_or_default();
        let mut pod = Pod { metadata: template.metadata.unwrap_or_default(), spec: template.spec, status: None };
        pod.metadata.name = None;
        pod.metadata.generate_name = Some(format!("{name}-"));
        pod.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name: name.clone(),
            uid: meta.uid.clone().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: None,
        }]);
        for _ in there..wanted {
            api.create(&PostParams::default(), &pod).await?;
        }
    }
    for pod in waiting.iter().chain(&ready).take(there.saturating_sub(wanted)) {
        let params = DeleteParams { uid: pod.metadata.uid.clone() };
        let deleted = api.delete(pod.metadata.name.as_deref().unwrap_or_default(), &params).await;
        if let Err(error) = deleted
            && !error.is_not_found()
        {
            return Err(error);
        }
    }
    Ok(Action::await_change())
}

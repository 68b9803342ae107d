//! Makes the old ones small first, and writes whole objects.
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::deployment::{TEMPLATE_HASH, template_hash};
use kubestep_exercise::kube::{Action, Api, Context, Error, ListParams, Patch, PatchParams, PostParams};
use serde_json::{from_value, json};

pub async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>) -> Result<Action, Error> {
    let meta = &deployment.metadata;
    let (Some(spec), None) = (&deployment.spec, &meta.deletion_timestamp) else { return Ok(Action::await_change()) };
    let api: Api<ReplicaSet> = Api::namespaced(context.client.clone(), meta.namespace.as_deref().unwrap_or_default());
    let is_ours = |set: &&Arc<ReplicaSet>| {
        let owners = set.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.controller.unwrap_or_default() && Some(&owner.uid) == meta.uid.as_ref())
    };
    let with_hash = |template: &PodTemplateSpec, hash: &str| {
        let mut template = template.clone();
        let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
        labels.insert(TEMPLATE_HASH.into(), hash.into());
        template
    };
    let mut ours: Vec<Arc<ReplicaSet>> = context.store().state();
    ours.retain(|set| is_ours(&set));
    ours.sort_by_key(|set| (set.metadata.creation_timestamp.clone(), set.metadata.name.clone()));
    let new = ours.iter().position(|set| {
        let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
        template.is_some_and(|template| with_hash(template, "") == with_hash(&spec.template, ""))
    });
    let new = new.map(|n| ours.remove(n));
    let sized = ours.iter().map(|set| (set, 0)).chain(new.iter().map(|set| (set, spec.replicas.unwrap_or(1))));
    for (set, size) in sized {
        let mut set = ReplicaSet::clone(set);
        let its = &mut set.spec.get_or_insert_default().replicas;
        if *its == Some(size) {
            continue;
        }
        *its = Some(size);
        let name = set.metadata.name.clone().unwrap_or_default();
        api.replace(&name, &PostParams::default(), &set).await?;
    }
    if new.is_none() {
        let hash = template_hash(&spec.template);
        let mut selector = spec.selector.clone();
        selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.into(), hash.clone());
        let template = with_hash(&spec.template, &hash);
        let metadata = ObjectMeta {
            name: meta.name.as_ref().map(|name| format!("{name}-{hash}")),
            labels: template.metadata.as_ref().and_then(|meta| meta.labels.clone()),
            owner_references: Some(vec![OwnerReference {
                api_version: "apps/v1".into(),
                kind: "Deployment".into(),
                name: meta.name.clone().unwrap_or_default(),
                uid: meta.uid.clone().unwrap_or_default(),
                controller: Some(true),
                block_owner_deletion: Some(false),
            }]),
            ..ObjectMeta::default()
        };
        let spec =
            ReplicaSetSpec { replicas: spec.replicas, selector, template: Some(template), min_ready_seconds: None };
        let set = ReplicaSet { metadata, spec: Some(spec), status: None };
        match api.create(&PostParams::default(), &set).await {
            Err(error) if error.is_already_exists() => {
                return Ok(Action::requeue(std::time::Duration::from_millis(500)));
            }
            other => drop(other?),
        }
    }
    Ok(Action::await_change())
}

//! Goes through the sets from the oldest on, and is called again with the error that the one it makes is there already.
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::deployment::{TEMPLATE_HASH, template_hash};
use kubestep_exercise::kube::{Action, Api, Context, Error, Patch, PatchParams, PostParams};
use serde_json::{from_value, json};

pub async fn reconcile(d: Arc<Deployment>, context: Arc<Context>) -> Result<Action, Error> {
    if d.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let api: Api<ReplicaSet> =
        Api::namespaced(context.client.clone(), d.metadata.namespace.as_deref().unwrap_or_default());
    let spec = d.spec.clone().unwrap_or_default();
    let mut found = false;
    let mut sets = context.store::<ReplicaSet>().state();
    sets.sort_by_key(|set| set.metadata.creation_timestamp.clone());
    for set in sets {
        let owner = set.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        if owner.map(|owner| &owner.uid) != d.metadata.uid.as_ref() {
            continue;
        }
        let is_of_today = !found && same(&spec.template, set.spec.as_ref().and_then(|spec| spec.template.as_ref()));
        found |= is_of_today;
        let size = if is_of_today { spec.replicas } else { Some(0) };
        if set.spec.as_ref().and_then(|spec| spec.replicas) != size {
            let patch = Patch::Json(json!([{"op": "replace", "path": "/spec/replicas", "value": size}]));
            api.patch(set.metadata.name.as_deref().unwrap_or_default(), &PatchParams::default(), &patch).await?;
        }
    }
    if !found {
        api.create(&PostParams::default(), &made_from(&d, spec)).await?;
    }
    Ok(Action::await_change())
}

fn same(wanted: &PodTemplateSpec, its: Option<&PodTemplateSpec>) -> bool {
    let labels = |template: &PodTemplateSpec| {
        let mut labels = template.metadata.clone().unwrap_or_default().labels.unwrap_or_default();
        labels.remove("pod-template-hash");
        labels
    };
    let annotations = |template: &PodTemplateSpec| template.metadata.clone().unwrap_or_default().annotations;
    its.is_some_and(|its| {
        its.spec == wanted.spec && labels(its) == labels(wanted) && annotations(its) == annotations(wanted)
    })
}

fn made_from(d: &Deployment, spec: k8s_openapi::api::apps::v1::DeploymentSpec) -> ReplicaSet {
    let hash = template_hash(&spec.template);
    let mut set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(d.metadata.name.clone().unwrap_or_default() + "-" + &hash),
            owner_references: Some(vec![OwnerReference {
                api_version: "apps/v1".into(),
                kind: "Deployment".into(),
                name: d.metadata.name.clone().unwrap_or_default(),
                uid: d.metadata.uid.clone().unwrap_or_default(),
                controller: Some(true),
                block_owner_deletion: None,
            }]),
            ..Default::default()
        },
        spec: Some(ReplicaSetSpec {
            min_ready_seconds: spec.min_ready_seconds,
            replicas: spec.replicas,
            selector: spec.selector,
            template: Some(spec.template),
        }),
        status: None,
    };
    let spec = set.spec.get_or_insert_default();
    let template = spec.template.get_or_insert_default().metadata.get_or_insert_default();
    for labels in [&mut template.labels, &mut set.metadata.labels, &mut spec.selector.match_labels] {
        labels.get_or_insert_default().insert("pod-template-hash".into(), hash.clone());
    }
    let all = template.labels.clone();
    set.metadata.labels = all;
    set
}

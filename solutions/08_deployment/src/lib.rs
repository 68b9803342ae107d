//! Exercise 08: how does a Deployment find its ReplicaSet?
//!
//! `reconcile` is called with a Deployment whenever it, or a ReplicaSet that it controls, may have changed. A Deployment
//! has one ReplicaSet for each Pod template that it ever had, a dozen at most, and moves from one to the other:
//!
//! - the ReplicaSet of today is the one whose template is the Deployment's, the label `pod-template-hash` ignored in both. Its
//!   name does not matter. Of several it is the oldest;
//! - if there is none, make it. It is named `NAME-HASH`, and has the hash as the label `pod-template-hash` in its template and
//!   in its selector. Its own labels are those of its template. An owner reference names the Deployment as its controller;
//! - it is as large as the Deployment asks; all others that the Deployment controls have 0 replicas. Do it all at once: how to
//!   go step by step is the next exercise. A number that is right already is not written again, and what others write into a
//!   ReplicaSet stays;
//! - a Deployment that is being deleted is left alone, and so are its ReplicaSets.
//!
//! Read the ReplicaSets from the cache. It is behind, so you may be called again before it shows what you have just made. Why
//! is there never a second one? What does the API server say, and what do you make of that? You need not remember
//! anything here.

#![allow(unused_imports)]

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::deployment::{TEMPLATE_HASH, template_hash};
use kubestep_exercise::kube::{Action, Api, Context, Error, Patch, PatchParams, PostParams};
use serde_json::json;

// Yours from here.

/// Brings the cluster one step closer to what `deployment` asks for.
pub async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>) -> Result<Action, Error> {
    if deployment.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let spec = deployment.spec.clone().unwrap_or_default();
    let wanted = spec.replicas.unwrap_or(1);
    let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
    let mut mine = context.store::<ReplicaSet>().state();
    mine.retain(|set| is_controlled_by(set, &deployment));
    let all_of_today = mine.iter().filter(|set| has_template(set, &spec.template));
    let of_today = all_of_today.min_by_key(|set| set.metadata.creation_timestamp.clone()).cloned();

    if of_today.is_none() {
        match sets.create(&PostParams::default(), &replica_set_for(&deployment)).await {
            // It is there, and the cache does not know it yet.
            Err(error) if error.is_already_exists() => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    for set in mine {
        let is_of_today = of_today.as_ref().is_some_and(|one| one.metadata.uid == set.metadata.uid);
        let size = if is_of_today { wanted } else { 0 };
        if set.spec.as_ref().and_then(|spec| spec.replicas) != Some(size) {
            let name = set.metadata.name.as_deref().unwrap_or_default();
            let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
            sets.patch(name, &PatchParams::default(), &patch).await?;
        }
    }
    Ok(Action::await_change())
}

fn is_controlled_by(set: &ReplicaSet, deployment: &Deployment) -> bool {
    let mut owners = set.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == deployment.metadata.uid.as_ref())
}

/// Whether a ReplicaSet was made from this template: the same, but for the label that tells them apart.
fn has_template(set: &ReplicaSet, wanted: &PodTemplateSpec) -> bool {
    let Some(its) = set.spec.as_ref().and_then(|spec| spec.template.as_ref()) else { return false };
    let (its, wanted) = (without_hash(its), without_hash(wanted));
    its == wanted
}

fn without_hash(template: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = template.clone();
    if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
        labels.remove(TEMPLATE_HASH);
    }
    template
}

fn replica_set_for(deployment: &Deployment) -> ReplicaSet {
    let spec = deployment.spec.clone().unwrap_or_default();
    let hash = template_hash(&spec.template);
    let (mut template, mut selector) = (spec.template, spec.selector);
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(TEMPLATE_HASH.to_owned(), hash.clone());
    selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.to_owned(), hash.clone());
    let name = deployment.metadata.name.clone().unwrap_or_default();
    let owner = OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        name: name.clone(),
        uid: deployment.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let metadata = ObjectMeta {
        name: Some(format!("{name}-{hash}")),
        labels: Some(labels.clone()),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    let spec =
        ReplicaSetSpec { replicas: spec.replicas, selector, template: Some(template), ..ReplicaSetSpec::default() };
    ReplicaSet { metadata, spec: Some(spec), status: None }
}

//! Exercise 06: how does a ReplicaSet keep its Pods?
//!
//! `reconcile` is called with a ReplicaSet whenever it, or a Pod that it controls, may have changed, and once more after
//! every failure. It is not told what has changed. Make the cluster look as the ReplicaSet asks, and say in its status what
//! you have seen:
//!
//! - `spec.replicas` Pods that it controls and that count: neither being deleted nor ended (phase `Succeeded`, `Failed`);
//! - new ones made from `spec.template`, with a `generateName` and an owner reference that names the set as controller
//!   (a template that changes is for new ones only);
//! - if there are too many, those go first that are not ready;
//! - `status.replicas` and `status.readyReplicas` of the Pods that count, and `status.observedGeneration`, the generation
//!   that you have acted upon: written only when they differ, and also when a Pod could not be created or deleted. What others
//!   write into the status stays.
//!
//! Whose a Pod is, its owner references say. Labels do not change here: to adopt Pods and to release them is left out.
//! No set asks for more than a hundred Pods.
//!
//! A ReplicaSet that is being deleted gets no Pods and loses none: they are the garbage collector's business. Its status may
//! be kept up to date, as a real controller does, or left as it is.
//!
//! Ask the API server for the Pods (`Api::list`). The cache (`context.store`) is quicker, but a little behind: that is the
//! next exercise. What you use here has the shape of the kube-rs crates.

#![allow(unused_imports)]

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

// Yours from here.

/// Brings the cluster one step closer to what `set` asks for.
pub async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result<Action, Error> {
    if set.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let namespace = set.metadata.namespace.clone().unwrap_or_default();
    let name = set.metadata.name.clone().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &namespace);
    let mut mine = pods.list(&ListParams::default()).await?.items;
    mine.retain(|pod| is_controlled_by(pod, &set) && is_active(pod));
    let seen = (mine.len() as i32, mine.iter().filter(|pod| is_ready(pod)).count() as i32, set.metadata.generation);
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1) as usize;

    // A failure does not keep the status from being written: users look there.
    let acted: Result<(), Error> = async {
        for _ in mine.len()..wanted {
            pods.create(&PostParams::default(), &pod_for(&set)).await?;
        }
        mine.sort_by_key(is_ready);
        for pod in mine.iter().take(mine.len().saturating_sub(wanted)) {
            let pod = pod.metadata.name.as_deref().unwrap_or_default();
            match pods.delete(pod, &DeleteParams::default()).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
    .await;

    let status = set.status.clone().unwrap_or_default();
    if seen != (status.replicas, status.ready_replicas.unwrap_or(0), status.observed_generation) {
        let patch = json!({"status": {"replicas": seen.0, "readyReplicas": seen.1, "observedGeneration": seen.2}});
        let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), &namespace);
        sets.patch_status(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    }
    acted.map(|()| Action::await_change())
}

fn is_controlled_by(pod: &Pod, set: &ReplicaSet) -> bool {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == set.metadata.uid.as_ref())
}

fn is_active(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn pod_for(set: &ReplicaSet) -> Pod {
    let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
    let owner = OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        name: set.metadata.name.clone().unwrap_or_default(),
        uid: set.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let metadata = ObjectMeta {
        // A template may have a name; its Pods have their own.
        name: None,
        generate_name: set.metadata.name.as_ref().map(|name| format!("{name}-")),
        owner_references: Some(vec![owner]),
        ..template.metadata.unwrap_or_default()
    };
    Pod { metadata, spec: template.spec, status: None }
}

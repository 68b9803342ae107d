#![allow(unused_imports)]

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

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
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1) as usize;

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

    let seen = (mine.len() as i32, mine.iter().filter(|pod| is_ready(pod)).count() as i32, set.metadata.generation);
    let status = set.status.clone().unwrap_or_default();
    if seen != (status.replicas, status.ready_replicas.unwrap_or(0), status.observed_generation) {
        let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), &namespace);
        loop {
            let Some(mut fresh) = sets.get_opt(&name).await? else { break };
            let mut status = fresh.status.take().unwrap_or_default();
            (status.replicas, status.ready_replicas, status.observed_generation) = (seen.0, Some(seen.1), seen.2);
            fresh.status = Some(status);
            match sets.replace_status(&name, &PostParams::default(), &fresh).await {
                Err(error) if error.is_conflict() => continue,
                other => drop(other?),
            }
            break;
        }
    }
    acted?;
    Ok(Action::await_change())
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

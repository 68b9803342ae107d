//! The real controller's way: creations in batches that double, the ranks of Pods, and a status that is written even after
//! a failed call, and of a ReplicaSet that is being deleted too. It is replaced as a whole, from the version that was read.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, PostParams};

pub async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = set.metadata.namespace.clone().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &namespace);
    let mut active = pods.list(&ListParams::default()).await?.items;
    active.retain(|pod| is_controlled_by(pod, &set) && is_active(pod));
    let managed = match set.metadata.deletion_timestamp {
        None => manage(&set, &pods, active.clone()).await,
        Some(_) => Ok(()),
    };
    let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), &namespace);
    write(&sets, &set, status_of(&set, &active)).await?;
    managed.map(|()| Action::await_change())
}

async fn manage(set: &ReplicaSet, pods: &Api<Pod>, mut active: Vec<Pod>) -> Result<(), Error> {
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1) as usize;
    let (mut missing, mut batch) = (wanted.saturating_sub(active.len()), 1);
    while missing > 0 {
        batch = batch.min(missing);
        let mut failed = None;
        for _ in 0..batch {
            failed = pods.create(&PostParams::default(), &pod_for(set)).await.err().or(failed);
        }
        if let Some(error) = failed {
            return Err(error);
        }
        (missing, batch) = (missing - batch, 2 * batch);
    }
    let too_many = active.len().saturating_sub(wanted);
    active.sort_by_key(rank);
    let mut failed = None;
    for pod in active.iter().take(too_many) {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let error = pods.delete(name, &DeleteParams::default()).await.err();
        failed = error.filter(|error| !error.is_not_found()).or(failed);
    }
    failed.map_or(Ok(()), Err)
}

/// The first go first: those without a node, those that do not run, those that are not ready.
fn rank(pod: &Pod) -> (bool, bool, bool) {
    let assigned = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let runs = pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
    (assigned, runs, is_ready(pod))
}

fn status_of(set: &ReplicaSet, active: &[Pod]) -> ReplicaSetStatus {
    let ready = active.iter().filter(|pod| is_ready(pod)).count() as i32;
    ReplicaSetStatus {
        replicas: active.len() as i32,
        fully_labeled_replicas: Some(active.len() as i32),
        ready_replicas: Some(ready),
        available_replicas: Some(ready),
        observed_generation: set.metadata.generation,
        ..set.status.clone().unwrap_or_default()
    }
}

async fn write(sets: &Api<ReplicaSet>, set: &ReplicaSet, mut status: ReplicaSetStatus) -> Result<(), Error> {
    let counts = |status: &ReplicaSetStatus| {
        let ready = (status.ready_replicas.unwrap_or(0), status.available_replicas.unwrap_or(0));
        (status.replicas, status.fully_labeled_replicas.unwrap_or(0), ready, status.observed_generation)
    };
    if set.status.as_ref().is_some_and(|before| counts(before) == counts(&status)) {
        return Ok(());
    }
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let mut set = set.clone();
    set.status = Some(status.clone());
    if sets.replace_status(name, &PostParams::default(), &set).await.is_ok() {
        return Ok(());
    }
    // Once more, from the newest version.
    let mut set = sets.get(name).await?;
    status.conditions = set.status.take().and_then(|status| status.conditions);
    set.status = Some(status);
    sets.replace_status(name, &PostParams::default(), &set).await.map(drop)
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
        name: None,
        generate_name: set.metadata.name.as_ref().map(|name| format!("{name}-")),
        owner_references: Some(vec![owner]),
        ..template.metadata.unwrap_or_default()
    };
    Pod { metadata, spec: template.spec, status: None }
}

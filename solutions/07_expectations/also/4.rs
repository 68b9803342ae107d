//! Another right answer: remembers each Pod by its uid, in a type of its own. The watch may be quicker than the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, PostParams};
use serde::{Deserialize, Serialize};

/// The Pods that were asked for.
#[derive(Default, Serialize, Deserialize)]
pub struct Expected {
    /// Those that are not seen yet, by uid, and the uid of their ReplicaSet.
    waiting: BTreeMap<String, String>,
    /// Those that were seen before the API server had answered.
    arrived: BTreeSet<String>,
}

/// A Pod has come, changed or gone.
pub fn observe(old: Option<Pod>, new: Option<Pod>, context: &Context) {
    if let (None, Some(pod)) = (&old, &new) {
        let mut all: Expected = context.remembered();
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if all.waiting.remove(&uid).is_none() {
            all.arrived.insert(uid);
        }
        context.remember(&all);
    }
}

/// Brings the cluster one step closer to what `set` asks for, if the cache can be trusted.
pub async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result<Action, Error> {
    let uid = set.metadata.uid.clone().unwrap_or_default();
    let expected: Expected = context.remembered();
    if set.metadata.deletion_timestamp.is_some() || expected.waiting.values().any(|whose| *whose == uid) {
        return Ok(Action::await_change());
    }
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), set.metadata.namespace.as_deref().unwrap_or_default());
    let mut mine = context.store::<Pod>().state();
    mine.retain(|pod| controller(pod).is_some_and(|owner| owner.uid == uid) && is_active(pod));
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1) as usize;

    for _ in mine.len()..wanted {
        let made = pods.create(&PostParams::default(), &pod_for(&set)).await?.metadata.uid.unwrap_or_default();
        let mut all: Expected = context.remembered();
        if !all.arrived.remove(&made) {
            all.waiting.insert(made, uid.clone());
        }
        context.remember(&all);
    }
    for pod in mine.iter().skip(wanted) {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        match pods.delete(name, &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
    }
    Ok(Action::await_change())
}

fn controller(pod: &Pod) -> Option<&OwnerReference> {
    pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

fn is_active(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
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

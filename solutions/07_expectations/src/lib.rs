//! Exercise 07: how does a controller work on a cache that is behind?
//!
//! The same ReplicaSet as before, but this time you may read Pods from the cache only (`context.store::<Pod>().state()`): a
//! real controller cannot list thousands of Pods for each change. The cache is filled by a watch, so it does not show at
//! once what you have just created. A controller that counts by it creates everything twice.
//!
//! The answer of Kubernetes is to remember what one has asked for and not seen yet, and to create nothing as long as there is
//! some of that. (It deletes nothing then either; here you may.) `observe` is called for each Pod that comes (no `old`), changes,
//! or goes (no `new`), before you are called because of it. `context.remembered()` and `context.remember()` keep a value from
//! call to call: a map, or a type of your own that derives `Default`, `Deserialize` and `Serialize`.
//!
//! The status is left out here. A ReplicaSet that is being deleted is left alone. Pods that are too many are
//! deleted, the first in the cache that is not needed; that can be done twice without harm. No set asks for more than a
//! hundred Pods.

#![allow(unused_imports)]

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::kube::{Action, Api, Context, DeleteParams, Error, PostParams};
use serde::{Deserialize, Serialize};

// Yours from here.

/// What is expected, by the uid of the ReplicaSet: so many Pods that were asked for and not seen yet.
pub type Expected = BTreeMap<String, i32>;

/// A Pod has come, changed or gone.
pub fn observe(old: Option<Pod>, new: Option<Pod>, context: &Context) {
    if let (None, Some(pod)) = (&old, &new)
        && let Some(owner) = controller(pod)
    {
        expect(context, &owner.uid, -1);
    }
}

/// Brings the cluster one step closer to what `set` asks for, if the cache can be trusted.
pub async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>) -> Result<Action, Error> {
    let uid = set.metadata.uid.clone().unwrap_or_default();
    let expected: Expected = context.remembered();
    if set.metadata.deletion_timestamp.is_some() || expected.get(&uid).is_some_and(|count| *count > 0) {
        return Ok(Action::await_change());
    }
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), set.metadata.namespace.as_deref().unwrap_or_default());
    let mut mine = context.store::<Pod>().state();
    mine.retain(|pod| controller(pod).is_some_and(|owner| owner.uid == uid) && is_active(pod));
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1) as usize;

    let missing = wanted.saturating_sub(mine.len()) as i32;
    expect(&context, &uid, missing);
    for left in (1..=missing).rev() {
        if let Err(error) = pods.create(&PostParams::default(), &pod_for(&set)).await {
            expect(&context, &uid, -left);
            return Err(error);
        }
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

/// Expects so many more, or fewer, but never less than none.
fn expect(context: &Context, uid: &str, more: i32) {
    let mut expected: Expected = context.remembered();
    let count = expected.entry(uid.to_owned()).or_default();
    *count = (*count + more).max(0);
    context.remember(&expected);
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

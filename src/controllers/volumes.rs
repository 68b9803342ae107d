//! What the controllers of volumes share: which Pods use a claim, and a cache that knows
//! what was written through it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use client::Lister;
use engine::{Hub, Memory};
use object::pod::has_ended;
use object::pod::status::ContainerState;
use object::volume::{UsedClaim, claims_behind, made_for};
use object::{Key, Object, Pod, Resource};

/// The index of Pods by the claims they use: `namespace/claim`.
pub const PODS_BY_CLAIM: &str = "pods by claim";

/// The claims that a Pod uses, as the index names them. Mirrors `PodPVCIndexFunc`.
pub fn claims_of(object: &Object) -> Vec<String> {
    let Object::Pod(pod) = object else { return Vec::new() };
    let namespace = object.namespace();
    claim_names(pod).map(|claim| format!("{namespace}/{claim}")).collect()
}

/// The names of the claims behind a Pod's volumes, those that are made for it too.
pub fn claim_names(pod: &Pod) -> impl Iterator<Item = Cow<'_, str>> {
    claims_behind(pod).map(|used| used.name)
}

/// The volumes of a Pod behind which this claim is. One that should be made for the Pod, but was not, is behind none.
pub fn uses_of<'a>(pod: &'a Pod, claim: &'a PersistentVolumeClaim) -> impl Iterator<Item = UsedClaim<'a>> {
    let is_it = |used: &UsedClaim| Some(&*used.name) == claim.metadata.name.as_deref();
    let is_its_own = |used: &UsedClaim| !used.ephemeral || made_for(&pod.metadata, claim).is_ok();
    claims_behind(pod).filter(move |used| is_it(used) && is_its_own(used))
}

/// Whether the Pod wants no volume any more: it has ended, or is being deleted and nothing of it runs. Mirrors
/// `volumeutil.IsPodTerminated`.
pub fn is_terminated(pod: &Pod) -> bool {
    let Some(status) = &pod.status else { return pod.metadata.deletion_timestamp.is_some() };
    let lists = [&status.init_container_statuses, &status.container_statuses, &status.ephemeral_container_statuses];
    let mut states = lists.into_iter().flatten().flatten().map(|status| status.state.as_ref());
    let stands = |state: Option<&ContainerState>| state.is_some_and(|s| s.terminated.is_some() || s.waiting.is_some());
    has_ended(pod) || (pod.metadata.deletion_timestamp.is_some() && states.all(stands))
}

/// An annotation of an object; empty if it has none.
pub fn annotation<'a, T: Resource>(object: &'a T, name: &str) -> &'a str {
    object.metadata().annotations.as_ref().and_then(|all| all.get(name)).map_or("", String::as_str)
}

/// A cache with the controller's own writes laid over it, so that a reconcile does not act on what its predecessor
/// has already changed. Mirrors `storeObjectUpdate` of `pv_controller_base.go`.
pub struct Newest<T> {
    lister: Lister<T>,
    written: Memory<BTreeMap<Key, Arc<T>>>,
}

impl<T: Resource> Newest<T> {
    /// Over this cache.
    pub fn new(hub: &Hub, lister: Lister<T>) -> Newest<T> {
        Newest { lister, written: hub.memory(BTreeMap::new()) }
    }

    /// The object as last seen or written.
    pub fn get(&self, key: &Key) -> Option<Arc<T>> {
        let seen = self.lister.get(key);
        let mut written = self.written.borrow_mut();
        let newer = |ours: &&Arc<T>| seen.as_ref().is_some_and(|seen| revision(&***ours) > revision(&**seen));
        if let Some(ours) = written.get(key).filter(newer) {
            return Some(ours.clone());
        }
        written.remove(key);
        seen
    }

    /// Notes what the API server answered to a write.
    pub fn put(&self, object: &Arc<T>) {
        self.written.borrow_mut().insert(Key::of_meta(object.metadata()), object.clone());
    }

    /// The cache below.
    pub fn lister(&self) -> &Lister<T> {
        &self.lister
    }
}

fn revision<T: Resource>(object: &T) -> u64 {
    object.metadata().resource_version.as_deref().and_then(|rv| rv.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_pod_wants_its_volume_until_nothing_of_it_runs() {
        let (running, waiting, ended) = ("running", "waiting", "terminated");
        for (phase, deleted, containers, want) in [
            ("Running", false, &[running][..], false),
            ("Running", false, &[ended], false),
            ("Succeeded", false, &[ended], true),
            ("Running", true, &[running, ended], false),
            ("Running", true, &[ended, waiting], true),
            ("Pending", false, &[], false),
            ("Pending", true, &[], true),
        ] {
            let state =
                |state: &&str| if *state == ended { json!({ended: {"exitCode": 0}}) } else { json!({*state: {}}) };
            let status = |s: &&str| json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state(s)});
            let statuses: Vec<Value> = containers.iter().map(status).collect();
            let at = deleted.then_some("2026-01-01T00:00:00Z");
            let pod = json!({
                "metadata": {"deletionTimestamp": at}, "status": {"phase": phase, "containerStatuses": statuses},
            });
            let pod: Pod = serde_json::from_value(pod).unwrap();
            assert_eq!(is_terminated(&pod), want, "{phase} {deleted} {containers:?}");
        }
    }
}

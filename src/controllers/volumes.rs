//! What the controllers of volumes share: which Pods use a claim, and a cache that knows
//! what was written through it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::client::Lister;
use crate::engine::{Hub, Memory};
use crate::object::{Key, Object, Pod, Resource};

/// The index of Pods by the claims they use: `namespace/claim`.
pub const PODS_BY_CLAIM: &str = "pods by claim";

/// The claims that a Pod uses, as the index names them.
pub fn claims_of(object: &Object) -> Vec<String> {
    let Object::Pod(pod) = object else { return Vec::new() };
    let namespace = object.namespace();
    claim_names(pod).map(|claim| format!("{namespace}/{claim}")).collect()
}

/// The names of the claims in a Pod's volumes.
pub fn claim_names(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref()).map(|claim| claim.claim_name.as_str())
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

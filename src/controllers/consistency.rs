//! Reading one's own writes: a guard that keeps a controller from acting on a cache older than its last write.
//!
//! Expectations count creations and deletions; this guard, new in Kubernetes 1.36, covers every other write too. The
//! controller remembers for each parent at which revision it wrote which kind, and does not work on the parent until
//! the cache of that kind has come as far. Mirrors `pkg/controller/util/consistency`.

use std::collections::BTreeMap;

use client::Error;
use engine::{Hub, Memory};
use object::{Key, Kind};

/// The newest revisions that one controller wrote, by parent and kind.
#[derive(Clone, Debug)]
pub struct Consistency(Memory<BTreeMap<Key, BTreeMap<Kind, u64>>>);

impl Consistency {
    /// Nothing was written yet.
    pub fn new(hub: &Hub) -> Consistency {
        Consistency(hub.memory(BTreeMap::new()))
    }

    /// Working on `parent`, the controller wrote an object of `kind` that now has this resourceVersion.
    pub fn wrote(&self, parent: &Key, kind: Kind, resource_version: Option<&str>) {
        let Some(revision) = resource_version.and_then(|version| version.parse().ok()) else { return };
        let mut written = self.0.borrow_mut();
        let newest = written.entry(parent.clone()).or_default().entry(kind).or_insert(revision);
        *newest = revision.max(*newest);
    }

    /// Whether the caches, each with the revision it has come to, hold all that was written for `parent`. If not, the
    /// reconcile ends with this error and is tried again a few milliseconds later.
    pub fn ensure_ready(&self, parent: &Key, caches: &[(Kind, u64)]) -> Result<(), Error> {
        let mut written = self.0.borrow_mut();
        let Some(of_parent) = written.get(parent) else { return Ok(()) };
        for (kind, read) in caches {
            let wrote = of_parent.get(kind).copied().unwrap_or(0);
            if *read < wrote {
                let what = kind.info().qualified_plural();
                return Err(Error::Other(format!(
                    "the version of {what} read, {read}, is not as new as the version written, {wrote}"
                )));
            }
        }
        written.remove(parent);
        Ok(())
    }

    /// The parent is gone, or is another object of the same name.
    pub fn forget(&self, parent: &Key) {
        self.0.borrow_mut().remove(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_until_the_cache_has_what_was_written() {
        let (guard, web) = (Consistency::new(&Hub::new(0)), Key::new("default", "web"));
        assert!(guard.ensure_ready(&web, &[(Kind::Pod, 0)]).is_ok(), "nothing was written");
        guard.wrote(&web, Kind::Pod, Some("12"));
        guard.wrote(&web, Kind::Pod, Some("11"));
        guard.wrote(&web, Kind::ReplicaSet, Some("14"));
        for (pods, replica_sets, want) in [(11, 20, false), (12, 13, false), (12, 14, true), (0, 0, true)] {
            let caches = [(Kind::Pod, pods), (Kind::ReplicaSet, replica_sets)];
            assert_eq!(guard.ensure_ready(&web, &caches).is_ok(), want, "pods {pods}, replicasets {replica_sets}");
        }
    }
}

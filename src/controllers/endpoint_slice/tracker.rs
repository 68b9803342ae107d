//! Whether the cache holds what was written last. Mirrors `EndpointSliceTracker` of `k8s.io/endpointslice/util`.
//!
//! A slice counts its generations. The controller remembers the newest that it wrote of each: a cache with an older
//! one is stale, and a change to a newer one was made by another client.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use engine::{Hub, Memory};
use object::Key;

/// The newest generation of each slice, by Service and uid; None: deletion is expected.
#[derive(Clone, Debug)]
pub struct Tracker(Memory<BTreeMap<Key, BTreeMap<String, Option<i64>>>>);

impl Tracker {
    /// Nothing was written yet.
    pub fn new(hub: &Hub) -> Tracker {
        Tracker(hub.memory(BTreeMap::new()))
    }

    /// This version of a slice was written.
    pub fn wrote(&self, service: &Key, slice: &EndpointSlice) {
        let (uid, generation) = version(slice);
        self.0.borrow_mut().entry(service.clone()).or_default().insert(uid, Some(generation));
    }

    /// This slice already says what it should, no matter which client wrote it.
    pub fn knows(&self, service: &Key, slice: &EndpointSlice) {
        let (uid, generation) = version(slice);
        self.0.borrow_mut().entry(service.clone()).or_default().entry(uid).or_insert(Some(generation));
    }

    /// This slice was deleted.
    pub fn deleted(&self, service: &Key, slice: &EndpointSlice) {
        self.0.borrow_mut().entry(service.clone()).or_default().insert(version(slice).0, None);
    }

    /// Whether these slices, from the cache, are older than what was written.
    pub fn is_stale(&self, service: &Key, slices: &[Arc<EndpointSlice>]) -> bool {
        let all = self.0.borrow();
        let Some(written) = all.get(service) else { return false };
        let there: BTreeMap<String, i64> = slices.iter().map(|slice| version(slice)).collect();
        written.iter().any(|(uid, wrote)| match (wrote, there.get(uid)) {
            (Some(wrote), Some(read)) => wrote > read,
            (Some(_), None) | (None, Some(_)) => true,
            (None, None) => false,
        })
    }

    /// Whether a version that a watch brought is not this controller's own.
    pub fn is_foreign(&self, service: &Key, slice: &EndpointSlice) -> bool {
        let (uid, generation) = version(slice);
        let all = self.0.borrow();
        let written = all.get(service).and_then(|written| written.get(&uid));
        written.is_none_or(|written| written.is_some_and(|wrote| generation > wrote))
    }

    /// A slice is gone; returns whether another client deleted it.
    pub fn is_foreign_deletion(&self, service: &Key, slice: &EndpointSlice) -> bool {
        let mut all = self.0.borrow_mut();
        let removed = all.get_mut(service).and_then(|written| written.remove(&version(slice).0));
        matches!(removed, Some(Some(_)))
    }

    /// The Service is gone.
    pub fn forget(&self, service: &Key) {
        self.0.borrow_mut().remove(service);
    }
}

fn version(slice: &EndpointSlice) -> (String, i64) {
    (slice.metadata.uid.clone().unwrap_or_default(), slice.metadata.generation.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(uid: &str, generation: i64) -> EndpointSlice {
        let mut slice = EndpointSlice::default();
        (slice.metadata.uid, slice.metadata.generation) = (Some(uid.into()), Some(generation));
        slice
    }

    #[test]
    fn what_was_written_must_have_arrived() {
        let (tracker, web) = (Tracker::new(&Hub::new(0)), Key::new("n", "web"));
        let stale = |slices: &[EndpointSlice]| {
            let slices: Vec<_> = slices.iter().cloned().map(Arc::new).collect();
            tracker.is_stale(&web, &slices)
        };
        assert!(!stale(&[]));
        tracker.wrote(&web, &slice("a", 2));
        assert!(stale(&[]) && stale(&[slice("a", 1)]));
        assert!(!stale(&[slice("a", 2), slice("b", 1)]) && !stale(&[slice("a", 3)]));
        assert!(tracker.is_foreign(&web, &slice("a", 3)) && !tracker.is_foreign(&web, &slice("a", 2)));
        tracker.deleted(&web, &slice("a", 2));
        assert!(stale(&[slice("a", 2)]) && !stale(&[]));
        assert!(!tracker.is_foreign_deletion(&web, &slice("a", 2)), "it was expected");
    }
}

//! Expectations: what a controller has done and not yet seen.
//!
//! A controller that has just created three Pods still reads a cache without them; counting again it would create
//! three more. So it writes down that it expects three creations, and creates nothing more until its informer has
//! shown it all three. Mirrors `ControllerExpectations` of `pkg/controller/controller_utils.go`.
//!
//! Must hold:
//! - An expectation is written before the request is sent. Kept by `creations_are_awaited` and
//!   `no_order_of_events_makes_a_pod_too_many`.
//! - A controller that sees a request fail takes it back, for no event will. Kept by
//!   `pods_that_cannot_be_made_are_told_in_the_status`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::{Hub, Memory};
use object::Key;
use object::time::Instant;

/// After so long an event that did not come is not waited for any more.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// What is still awaited for one parent.
#[derive(Clone, Debug)]
struct Expectation {
    /// Creations not yet seen; below zero when more were seen than expected.
    creations: i64,
    /// Deletions not yet seen.
    deletions: i64,
    /// The children whose deletions are awaited, where the controller names them.
    deleting: BTreeSet<Key>,
    since: Instant,
}

/// What one controller awaits, by parent.
#[derive(Clone, Debug)]
pub struct Expectations(Memory<BTreeMap<Key, Expectation>>);

impl Expectations {
    /// Nothing is expected.
    pub fn new(hub: &Hub) -> Expectations {
        Expectations(hub.memory(BTreeMap::new()))
    }

    /// `parent` will get `count` more children. Replaces what was expected before.
    pub fn expect_creations(&self, parent: &Key, count: usize, now: Instant) {
        self.set(parent, count, 0, BTreeSet::new(), now);
    }

    /// `parent` will lose `count` children.
    pub fn expect_deletions(&self, parent: &Key, count: usize, now: Instant) {
        self.set(parent, 0, count, BTreeSet::new(), now);
    }

    /// `parent` will lose these children. A child counts once, although its deletion shows twice: as a
    /// deletionTimestamp first, and when it is gone. Mirrors `UIDTrackingControllerExpectations`.
    pub fn expect_deletions_of(&self, parent: &Key, children: BTreeSet<Key>, now: Instant) {
        self.set(parent, 0, children.len(), children, now);
    }

    /// `parent` will get and lose so many children. Replaces what was expected before.
    pub fn expect(&self, parent: &Key, creations: usize, deletions: usize, now: Instant) {
        self.set(parent, creations, deletions, BTreeSet::new(), now);
    }

    fn set(&self, parent: &Key, creations: usize, deletions: usize, deleting: BTreeSet<Key>, now: Instant) {
        let (creations, deletions) = (creations as i64, deletions as i64);
        self.0.borrow_mut().insert(parent.clone(), Expectation { creations, deletions, deleting, since: now });
    }

    /// Whether the parent may be acted on: all was seen, or it has been waited for long enough.
    pub fn satisfied(&self, parent: &Key, now: Instant) -> bool {
        let expectations = self.0.borrow();
        let Some(expected) = expectations.get(parent) else { return true };
        (expected.creations <= 0 && expected.deletions <= 0) || now - expected.since > TIMEOUT
    }

    /// A child was seen, or will not come.
    pub fn creation_observed(&self, parent: &Key) {
        if let Some(expected) = self.0.borrow_mut().get_mut(parent) {
            expected.creations -= 1;
        }
    }

    /// A child was seen to go, or will not go.
    pub fn deletion_observed(&self, parent: &Key) {
        if let Some(expected) = self.0.borrow_mut().get_mut(parent) {
            expected.deletions -= 1;
        }
    }

    /// This child was seen to go, or will not go. One that was not expected to go changes nothing.
    pub fn deletion_of_observed(&self, parent: &Key, child: &Key) {
        if let Some(expected) = self.0.borrow_mut().get_mut(parent)
            && expected.deleting.remove(child)
        {
            expected.deletions -= 1;
        }
    }

    /// The parent is gone.
    pub fn forget(&self, parent: &Key) {
        self.0.borrow_mut().remove(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(0);

    fn key(name: &str) -> Key {
        Key::new("default", name)
    }

    #[test]
    fn creations_are_awaited() {
        let (web, expectations) = (key("web"), Expectations::new(&Hub::new(0)));
        assert!(expectations.satisfied(&web, NOW), "nothing was expected yet");
        expectations.expect_creations(&web, 2, NOW);
        for want in [false, true, true] {
            expectations.creation_observed(&web);
            assert_eq!(expectations.satisfied(&web, NOW), want);
        }
    }

    #[test]
    fn a_deletion_counts_once() {
        let (web, expectations) = (key("web"), Expectations::new(&Hub::new(0)));
        expectations.expect_deletions_of(&web, [key("a"), key("b")].into(), NOW);
        for (child, want) in [("a", false), ("a", false), ("c", false), ("b", true)] {
            expectations.deletion_of_observed(&web, &key(child));
            assert_eq!(expectations.satisfied(&web, NOW), want, "{child}");
        }
    }

    #[test]
    fn nothing_is_awaited_for_ever() {
        let (web, expectations) = (key("web"), Expectations::new(&Hub::new(0)));
        expectations.expect_deletions(&web, 1, NOW);
        assert!(!expectations.satisfied(&web, NOW + TIMEOUT));
        assert!(expectations.satisfied(&web, NOW + TIMEOUT + Duration::from_nanos(1)));
        expectations.forget(&web);
        assert!(expectations.satisfied(&web, NOW));
    }
}

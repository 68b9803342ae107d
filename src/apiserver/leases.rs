//! What the API server has etcd forget: Events, an hour after they were last written (`--event-ttl`).
//!
//! A lease of etcd's costs something, so the server does not ask for one with each Event: it takes one that lasts a minute
//! longer, and hangs on it what it writes in that minute. Mirrors `storage/etcd3/lease_manager.go`.
//!
//! Left out: of several API servers each has leases of its own; etcd looks only twice a second whether one is over.

use std::time::Duration;

use crate::store::{Change, LeaseId, Store};
use object::Kind;
use object::time::Instant;
use wire::{WatchEvent, WatchId};

/// So long an Event stays.
const EVENT_TTL: Duration = Duration::from_secs(3600);
/// So much longer a lease lasts than what is asked for, to serve for what is written in the meantime too.
const REUSED_FOR: Duration = Duration::from_secs(60);
/// So many objects may hang on one lease.
const OBJECTS_MAX: u32 = 1000;

/// The lease that was granted last.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaseManager {
    lease: Lease,
    hanging: u32,
}

/// A lease, and when it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Its number.
    pub id: LeaseId,
    /// When etcd revokes it.
    pub expires: Instant,
}

/// What came of the end of a lease.
#[derive(Debug, Default)]
pub struct Expired {
    /// What the store did, in order.
    pub changes: Vec<Change>,
    /// For the watchers, in order.
    pub fanout: Vec<(WatchId, WatchEvent)>,
}

impl LeaseManager {
    /// The lease for an object of a kind that is written now, and whether it is a new one. Mirrors `GetLease`.
    pub fn lease_for(&mut self, store: &mut Store, kind: Kind, now: Instant) -> (LeaseId, Option<Lease>) {
        if kind != Kind::Event {
            return (0, None);
        }
        self.hanging += 1;
        if now + EVENT_TTL < self.lease.expires && self.hanging <= OBJECTS_MAX {
            return (self.lease.id, None);
        }
        let lease = Lease { id: store.grant(), expires: now + EVENT_TTL + REUSED_FOR };
        *self = LeaseManager { lease, hanging: 1 };
        (lease.id, Some(lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_serves_for_a_minute_and_a_thousand_objects() {
        let (mut manager, mut store) = (LeaseManager::default(), Store::default());
        let mut at =
            |seconds| manager.lease_for(&mut store, Kind::Event, Instant::default() + Duration::from_secs(seconds));
        let expires = |seconds| Instant::default() + Duration::from_secs(seconds);
        assert_eq!(at(0), (1, Some(Lease { id: 1, expires: expires(3660) })));
        assert_eq!(at(59), (1, None));
        assert_eq!(at(60), (2, Some(Lease { id: 2, expires: expires(3720) })));
        for _ in 1..OBJECTS_MAX {
            assert_eq!(at(61), (2, None));
        }
        assert_eq!(at(61), (3, Some(Lease { id: 3, expires: expires(3721) })));
    }

    #[test]
    fn only_events_are_forgotten() {
        let (mut manager, mut store) = (LeaseManager::default(), Store::default());
        assert_eq!(manager.lease_for(&mut store, Kind::Pod, Instant::default()), (0, None));
    }
}

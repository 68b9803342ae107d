//! Who an event is: the same in every order of delivery.

use std::collections::BTreeMap;

use cluster::Cluster;
use engine::{EventId, Step};

use super::causality::digest;

/// Events by who they are. Their numbers depend on the order of delivery, their ancestry does not.
#[derive(Clone)]
pub(super) struct Names {
    /// Who an event is.
    pub by_event: BTreeMap<EventId, u64>,
    /// Which event it is.
    pub by_identity: BTreeMap<u64, EventId>,
    /// The step that sent an event.
    causes: BTreeMap<EventId, usize>,
    /// The number that the next event gets.
    next: EventId,
}

impl Names {
    /// Those in flight at the beginning.
    pub fn of(cluster: &Cluster) -> Names {
        let (by_event, by_identity, causes) = Default::default();
        let mut names = Names { by_event, by_identity, causes, next: cluster.engine.next_event() };
        for event in cluster.engine.pending() {
            names.add(event.id, digest(&event.id), None);
        }
        names
    }

    fn add(&mut self, event: EventId, identity: u64, cause: Option<usize>) {
        self.by_event.insert(event, identity);
        self.by_identity.insert(identity, event);
        if let Some(cause) = cause {
            self.causes.insert(event, cause);
        }
    }

    /// Who an event in flight is.
    pub fn of_event(&self, event: EventId) -> u64 {
        self.by_event.get(&event).copied().unwrap_or_default()
    }

    /// An event was delivered in the step at `place`: who it was, and which step sent it. What it sent is named.
    pub fn take(&mut self, cluster: &Cluster, step: &Step, place: usize) -> (u64, Option<usize>) {
        let identity = self.by_event.remove(&step.event.id).unwrap_or_default();
        self.by_identity.remove(&identity);
        let cause = self.causes.remove(&step.event.id);
        self.adopt(cluster, identity, place);
        (identity, cause)
    }

    /// Names what has been sent since this was last called, by the step at `place`.
    pub fn adopt(&mut self, cluster: &Cluster, parent: u64, place: usize) {
        let next = cluster.engine.next_event();
        for (n, event) in (self.next.0..next.0).enumerate() {
            self.add(EventId(event), digest(&(parent, n)), Some(place));
        }
        self.next = next;
    }
}

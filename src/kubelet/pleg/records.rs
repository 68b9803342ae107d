//! What the last relist saw, and who waits for the next.

use std::collections::{BTreeMap, BTreeSet};

use crate::runtime_pod::RunState;
use object::small_map::SmallMap;
use object::text::Text;
use object::time::Instant;

/// What the last relist saw, and who waits for the next.
#[derive(Clone, Debug, Default)]
pub struct Pleg {
    /// When the runtime was last listed as a whole.
    pub relisted: Instant,
    /// Pods whose next sync waits for the next relist.
    pub waiting: BTreeSet<String>,
    /// A timer for the next relist is armed.
    pub armed: bool,
    /// A relist is under way.
    pub busy: bool,
    /// A container has ended after the relist under way began.
    pub exited: bool,
    /// State by id of every sandbox and container, by pod uid.
    records: BTreeMap<Text, Record>,
}

/// The states of one pod's sandboxes and containers, by id.
pub type Record = SmallMap<Text, Seen>;

/// A state as lists show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A sandbox, ready or not.
    Sandbox(bool),
    /// A container.
    Container(RunState),
}

impl Pleg {
    /// Takes a whole list in, and says which pods differ from the list before.
    pub fn take(&mut self, list: BTreeMap<Text, Record>, now: Instant) -> Vec<Text> {
        let others = list.iter().filter(|(uid, record)| self.records.get(*uid) != Some(record)).map(|(uid, _)| uid);
        let gone = self.records.keys().filter(|uid| !list.contains_key(*uid));
        let changed: BTreeSet<&Text> = others.chain(gone).collect();
        let changed = changed.into_iter().cloned().collect();
        self.records = list;
        self.relisted = now;
        changed
    }

    /// Takes one pod's list in.
    pub(super) fn take_pod(&mut self, uid: Text, record: Record) {
        self.records.insert(uid, record);
    }

    /// What the runtime has of the pod, as last listed.
    pub fn record(&self, uid: &str) -> Record {
        self.records.get(uid).cloned().unwrap_or_default()
    }

    /// Whether the runtime has anything of the pod.
    pub fn knows(&self, uid: &str) -> bool {
        self.records.contains_key(uid)
    }

    /// Pods that the runtime has something of.
    pub fn known(&self) -> Vec<Text> {
        self.records.keys().cloned().collect()
    }

    /// A container has been removed.
    pub fn forget_container(&mut self, uid: &str, id: &str) {
        if let Some(record) = self.records.get_mut(uid) {
            record.remove(id);
        }
    }

    /// Nothing of the pod is left in the runtime.
    pub fn forget(&mut self, uid: &str) {
        self.records.remove(uid);
        self.waiting.remove(uid);
    }
}

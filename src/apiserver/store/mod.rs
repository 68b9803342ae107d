//! etcd: one ordered map of keys, in which every change gets the next revision.
//!
//! Kubernetes keeps all state here and nowhere else. A key is a path (`/registry/pods/default/web`); each value
//! knows the revision that made it, the one that last changed it, and how often it changed. A transaction
//! compares a key's mod revision and then writes, which is all that optimistic concurrency needs. The log of
//! changes, from the last compaction on, feeds watches and reads of the past.
//!
//! A key may hang on a lease, and goes with it. The caller that grants a lease knows when it ends, for the store has no clock.
//!
//! Must hold:
//! - Revisions only grow, one step a write. Kept by `a_key_counts_its_revisions`.
//! - A refused transaction changes nothing. Kept by `a_failed_comparison_changes_nothing`.
//! - A revision before the compacted one is gone, and a read of it says so. Kept by
//!   `the_past_can_be_read_until_it_is_compacted`.
//!
//! Left out: multi-key transactions (the keys of a lease go one revision after the other, where etcd deletes them in one),
//! members and raft.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::rc::Rc;

use object::Object;
use object::fields::History;

/// A value with etcd's bookkeeping.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The revision that created the key.
    pub create_revision: u64,
    /// The revision that last changed it; an object's resourceVersion.
    pub mod_revision: u64,
    /// 1 when created, one more with each change.
    pub version: u64,
    /// The object, carrying its resourceVersion already.
    pub value: Object,
    /// The lease that it hangs on; 0: none.
    pub lease: LeaseId,
    /// Who wrote it. In etcd this is part of the object.
    pub history: History,
}

/// A lease's number. 0 is none.
pub type LeaseId = u64;

/// One change in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The revision that the change made.
    pub revision: u64,
    /// The key that changed.
    pub key: Rc<str>,
    /// What was there, if anything.
    pub old: Option<Entry>,
    /// What is there now; none after a delete.
    pub new: Option<Entry>,
}

impl Change {
    /// The object as it is now, or was last.
    pub fn latest(&self) -> Option<&Object> {
        self.new.as_ref().or(self.old.as_ref()).map(|entry| &entry.value)
    }

    /// What a watch sees of it: what was there, and what is there now or was last, then with the revision of the deletion.
    pub fn seen(&self) -> Option<(Option<&Object>, Object)> {
        let mut last = self.latest()?.clone();
        if self.new.is_none() {
            last.meta_mut().resource_version = Some(self.revision.to_string());
        }
        Some((self.old.as_ref().map(|entry| &entry.value), last))
    }
}

/// Why a transaction or a read was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The comparison failed: the key's mod revision is another one (0 when the key is absent).
    #[error("the key is at revision {actual}, not {expected}")]
    Compare {
        /// The revision asked for.
        expected: u64,
        /// The revision there.
        actual: u64,
    },
    /// The revision asked for has been compacted away.
    #[error("mvcc: required revision has been compacted")]
    Compacted {
        /// The oldest revision that can still be read.
        oldest: u64,
    },
    /// The revision asked for is not written yet.
    #[error("mvcc: required revision is a future revision")]
    Future,
}

/// The store. Revision 1 is the empty store, as in etcd.
#[derive(Clone, Debug)]
pub struct Store {
    keys: BTreeMap<Rc<str>, Entry>,
    revision: u64,
    /// Changes with a revision above this are still in the log.
    compacted: u64,
    /// Shared with the saved copies of the store.
    log: VecDeque<Rc<Change>>,
    /// The keys that hang on each lease.
    leases: BTreeMap<LeaseId, BTreeSet<Rc<str>>>,
    last_lease: LeaseId,
}

impl Default for Store {
    fn default() -> Self {
        Store {
            keys: BTreeMap::new(),
            revision: 1,
            compacted: 0,
            log: VecDeque::new(),
            leases: BTreeMap::new(),
            last_lease: 0,
        }
    }
}

impl Store {
    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The entry at `key` now.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.keys.get(key)
    }

    /// Who wrote the version of `key` that `revision` made, or that was there when it was deleted; none if it is forgotten.
    pub fn history_at(&self, key: &str, revision: u64) -> Option<History> {
        if let Some(entry) = self.get(key).filter(|entry| entry.mod_revision == revision) {
            return Some(entry.history.clone());
        }
        let change = self.change_at(revision).filter(|change| &*change.key == key)?;
        change.new.as_ref().or(change.old.as_ref()).map(|entry| entry.history.clone())
    }

    /// The change that made a revision; none if it is forgotten.
    pub fn change_at(&self, revision: u64) -> Option<&Change> {
        let at = self.log.partition_point(|change| change.revision < revision);
        self.log.get(at).map(|change| &**change).filter(|change| change.revision == revision)
    }

    /// All entries whose key starts with `prefix`, in key order.
    pub fn prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        self.keys
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, entry)| (&**key, entry))
    }

    /// The entries under `prefix` as they were right after `revision`.
    pub fn prefix_at(&self, prefix: &str, revision: u64) -> Result<BTreeMap<String, Entry>, Error> {
        if revision > self.revision {
            return Err(Error::Future);
        }
        if revision < self.compacted {
            return Err(Error::Compacted { oldest: self.compacted });
        }
        let mut then: BTreeMap<String, Entry> =
            self.prefix(prefix).map(|(key, entry)| (key.to_owned(), entry.clone())).collect();
        for change in self.log.iter().rev().take_while(|c| c.revision > revision) {
            if !change.key.starts_with(prefix) {
                continue;
            }
            match &change.old {
                Some(old) => then.insert(change.key.as_ref().to_owned(), old.clone()),
                None => then.remove(&*change.key),
            };
        }
        Ok(then)
    }

    /// A new lease, on which nothing hangs yet.
    pub fn grant(&mut self) -> LeaseId {
        self.last_lease += 1;
        self.leases.insert(self.last_lease, BTreeSet::new());
        self.last_lease
    }

    /// A lease is over: deletes all that hangs on it, in the order of the keys.
    pub fn revoke(&mut self, lease: LeaseId) -> Vec<Change> {
        let keys = self.leases.remove(&lease).unwrap_or_default();
        keys.iter().map(|key| self.remove(key).clone()).collect()
    }

    /// Transaction: if `key` is at `expected` (0: absent), put `value` there. The value's resourceVersion becomes
    /// the new revision, `history` says who wrote it over what, and from now on it hangs on `lease`. Returns the change.
    pub fn put(
        &mut self,
        key: &str,
        expected: u64,
        lease: LeaseId,
        mut value: Object,
        history: impl FnOnce(Option<&Entry>, &Object) -> History,
    ) -> Result<&Change, Error> {
        self.compare(key, expected)?;
        self.revision += 1;
        value.meta_mut().resource_version = Some(self.revision.to_string());
        let (key, old) = match self.keys.get_key_value(key) {
            Some((key, old)) => (key.clone(), Some(old.clone())),
            None => (key.into(), None),
        };
        let (create_revision, version) =
            old.as_ref().map_or((self.revision, 1), |o| (o.create_revision, o.version + 1));
        let history = history(old.as_ref(), &value);
        self.hang(&key, old.as_ref().map_or(0, |old| old.lease), lease);
        let new = Entry { create_revision, mod_revision: self.revision, version, value, lease, history };
        self.keys.insert(key.clone(), new.clone());
        Ok(self.append(Change { revision: self.revision, key, old, new: Some(new) }))
    }

    /// Transaction: if `key` is at `expected`, delete it. Returns the change.
    pub fn delete(&mut self, key: &str, expected: u64) -> Result<&Change, Error> {
        self.compare(key, expected)?;
        Ok(self.remove(key))
    }

    /// The changes after `revision`, oldest first: what a watch from there is sent.
    pub fn changes_after(&self, revision: u64) -> Result<impl Iterator<Item = &Change>, Error> {
        if revision < self.compacted {
            return Err(Error::Compacted { oldest: self.compacted });
        }
        let start = self.log.partition_point(|c| c.revision <= revision);
        Ok(self.log.range(start..).map(|change| &**change))
    }

    /// Forgets all changes up to and including `revision`.
    pub fn compact(&mut self, revision: u64) {
        let revision = revision.min(self.revision);
        self.compacted = self.compacted.max(revision);
        let keep_from = self.log.partition_point(|c| c.revision <= revision);
        self.log.drain(..keep_from);
    }

    /// Forgets all but about the newest `count` changes. It works in strides, so that most writes pay nothing.
    pub fn keep_changes(&mut self, count: usize) {
        if self.log.len() >= count + count / 8 {
            self.compact(self.log[self.log.len() - count - 1].revision);
        }
    }

    /// The oldest revision from which a watch can still start.
    pub fn compacted(&self) -> u64 {
        self.compacted
    }

    fn remove(&mut self, key: &str) -> &Change {
        self.revision += 1;
        let (key, old) = self.keys.remove_entry(key).map_or_else(|| (key.into(), None), |(key, old)| (key, Some(old)));
        self.hang(&key, old.as_ref().map_or(0, |old| old.lease), 0);
        self.append(Change { revision: self.revision, key, old, new: None })
    }

    /// A key hangs on another lease than before. One that is over holds nothing.
    fn hang(&mut self, key: &Rc<str>, before: LeaseId, after: LeaseId) {
        if before == after {
            return;
        }
        if let Some(keys) = self.leases.get_mut(&before) {
            keys.remove(key);
        }
        if let Some(keys) = self.leases.get_mut(&after) {
            keys.insert(key.clone());
        }
    }

    fn compare(&self, key: &str, expected: u64) -> Result<(), Error> {
        let actual = self.keys.get(key).map_or(0, |entry| entry.mod_revision);
        if actual == expected { Ok(()) } else { Err(Error::Compare { expected, actual }) }
    }

    fn append(&mut self, change: Change) -> &Change {
        self.log.push_back(Rc::new(change));
        self.log.back().expect("a change was just pushed")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn value(name: &str) -> Object {
        let mut object = Object::ConfigMap(Arc::new(ConfigMap::default()));
        object.meta_mut().name = Some(name.into());
        object
    }

    fn put<'a>(store: &'a mut Store, key: &str, expected: u64, name: &str) -> Result<&'a Change, Error> {
        store.put(key, expected, 0, value(name), |_, _| History::default())
    }

    #[test]
    fn a_key_counts_its_revisions() {
        let mut store = Store::default();
        put(&mut store, "/a", 0, "one").unwrap();
        put(&mut store, "/b", 0, "b").unwrap();
        put(&mut store, "/a", 2, "two").unwrap();
        let entry = store.get("/a").unwrap();
        assert_eq!((entry.create_revision, entry.mod_revision, entry.version), (2, 4, 2));
        assert_eq!(entry.value.revision(), 4);
    }

    #[test]
    fn a_failed_comparison_changes_nothing() {
        let mut store = Store::default();
        put(&mut store, "/a", 0, "one").unwrap();
        assert_eq!(put(&mut store, "/a", 0, "x").unwrap_err(), Error::Compare { expected: 0, actual: 2 });
        assert_eq!(store.delete("/a", 9).unwrap_err(), Error::Compare { expected: 9, actual: 2 });
        assert_eq!(store.revision(), 2);
    }

    #[test]
    fn what_hangs_on_a_lease_goes_with_it() {
        let mut store = Store::default();
        let (first, second) = (store.grant(), store.grant());
        let mut put = |key: &str, expected, lease| {
            let change = store.put(key, expected, lease, value(key), |_, _| History::default());
            change.unwrap().revision
        };
        let (moved, _) = (put("/moved", 0, first), put("/kept", 0, 0));
        put("/deleted", 0, first);
        put("/b", 0, first);
        put("/a", 0, first);
        put("/moved", moved, second);
        store.delete("/deleted", 4).unwrap();
        let gone = store.revoke(first);
        assert_eq!(gone.iter().map(|c| (&*c.key, c.revision)).collect::<Vec<_>>(), [("/a", 9), ("/b", 10)]);
        assert_eq!(store.prefix("/").map(|(key, _)| key).collect::<Vec<_>>(), ["/kept", "/moved"]);
        assert!(store.revoke(first).is_empty(), "a lease ends once");
        assert_eq!(store.revoke(second).len(), 1);
    }

    #[test]
    fn the_past_can_be_read_until_it_is_compacted() {
        let mut store = Store::default();
        put(&mut store, "/a", 0, "one").unwrap();
        put(&mut store, "/a", 2, "two").unwrap();
        store.delete("/a", 3).unwrap();
        assert_eq!(store.prefix_at("/", 2).unwrap()["/a"].value.name(), "one");
        assert_eq!(store.prefix_at("/", 3).unwrap()["/a"].value.name(), "two");
        assert!(store.prefix_at("/", 4).unwrap().is_empty());
        store.compact(3);
        assert_eq!(store.prefix_at("/", 2).unwrap_err(), Error::Compacted { oldest: 3 });
        assert_eq!(store.changes_after(3).unwrap().count(), 1);
    }
}

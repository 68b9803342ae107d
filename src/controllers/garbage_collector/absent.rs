//! Owners that were looked up and are not there. Mirrors `ReferenceCache` of `uid_cache.go`.

use std::collections::BTreeMap;

use super::graph::Identity;

/// So many are remembered; then the ones that were of no use the longest go.
const CAPACITY: usize = 500;

/// A memory of absent owners, so that a thousand orphans of one owner cost one look. A uid is never used again: what
/// is absent stays absent.
#[derive(Clone, Debug, Default)]
pub struct AbsentOwners {
    /// Each owner, and when it was last of use.
    used: BTreeMap<Identity, u64>,
    by_use: BTreeMap<u64, Identity>,
    uses: u64,
}

impl AbsentOwners {
    /// Remembers an owner.
    pub fn insert(&mut self, owner: Identity) {
        self.uses += 1;
        if let Some(before) = self.used.insert(owner.clone(), self.uses) {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.uses, owner);
        if self.used.len() > CAPACITY
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.used.remove(&oldest);
        }
    }

    /// All owners that are remembered to be absent.
    pub fn iter(&self) -> impl Iterator<Item = &Identity> {
        self.used.keys()
    }

    /// Whether the owner is known to be absent. To ask is to use.
    pub fn contains(&mut self, owner: &Identity) -> bool {
        let known = self.used.contains_key(owner);
        if known {
            self.insert(owner.clone());
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_is_forgotten() {
        let owner = |n: usize| Identity {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: "default".into(),
            name: "web".into(),
            uid: format!("uid-{n}").into(),
        };
        let mut absent = AbsentOwners::default();
        for n in 0..CAPACITY {
            absent.insert(owner(n));
        }
        assert!(absent.contains(&owner(0)));
        absent.insert(owner(CAPACITY));
        assert!(absent.contains(&owner(0)), "it was of use just now");
        assert!(!absent.contains(&owner(1)), "it was of no use for the longest time");
        assert_eq!(absent.used.len(), absent.by_use.len());
    }
}

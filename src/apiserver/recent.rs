//! What came by lately, by key.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How much is remembered; what comes then begins anew.
const MAX: usize = 256;

/// What came by lately, by key. Nothing is decided by what is in it: it only saves room or work.
pub struct Recent<K, V>(Rc<BTreeMap<K, V>>);

impl<K: Ord + Clone, V: Clone> Recent<K, V> {
    /// What came by last with this key, if it is still known.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }

    /// Remembers it instead of what had the key before. A saved copy of the server keeps what was known when it was made.
    pub fn insert(&mut self, key: K, value: V) {
        let known = Rc::make_mut(&mut self.0);
        if known.len() >= MAX {
            known.clear();
        }
        known.insert(key, value);
    }
}

impl<K, V> Clone for Recent<K, V> {
    fn clone(&self) -> Recent<K, V> {
        Recent(self.0.clone())
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent(Rc::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_remembered_and_a_copy_keeps_what_it_knew() {
        let mut recent = Recent::default();
        recent.insert("a".to_owned(), 1);
        let saved = recent.clone();
        (0..MAX).for_each(|n| recent.insert(format!("b{n}"), n));
        assert_eq!((recent.get("a"), saved.get("a")), (None, Some(&1)));
        assert_eq!(recent.get("b255"), Some(&255));
    }
}

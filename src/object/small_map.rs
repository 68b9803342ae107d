//! A map for a few things.

use std::borrow::Borrow;
use std::ops::Index;

/// Values by name, in the order of the names. It takes the room that it needs, where a `BTreeMap` has room for eleven: of
/// what there is for each Pod there are mostly two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> SmallMap<K, V> {
        SmallMap(Vec::new())
    }
}

impl<K: Borrow<str>, V> SmallMap<K, V> {
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(there, _)| there.borrow().cmp(name))
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.place(name).ok().map(|at| &self.0[at].1)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.place(name).ok().map(|at| &mut self.0[at].1)
    }

    /// Whether there is a value of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Puts a value in, instead of one that has its name.
    pub fn insert(&mut self, name: K, value: V) -> &mut V {
        let at = match self.place(name.borrow()) {
            Ok(at) => {
                self.0[at].1 = value;
                at
            }
            Err(at) => {
                if self.0.len() < 4 {
                    self.0.reserve_exact(1);
                }
                self.0.insert(at, (name, value));
                at
            }
        };
        &mut self.0[at].1
    }

    /// Takes a value out.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        self.place(name).ok().map(|at| self.0.remove(at).1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each value with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// The names.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(name, _)| name)
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Borrow<str>, V> Index<&str> for SmallMap<K, V> {
    type Output = V;

    fn index(&self, name: &str) -> &V {
        self.get(name).expect("a value of that name")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_in_the_order_of_the_names() {
        let mut map = SmallMap::default();
        for (name, value) in [("b", 1), ("c", 2), ("a", 3), ("b", 4)] {
            *map.insert(name, value) += 10;
        }
        assert!(map.iter().eq([(&"a", &13), (&"b", &14), (&"c", &12)]));
        assert_eq!((map.remove("b"), map.remove("d"), map.get("c"), map["a"]), (Some(14), None, Some(&12), 13));
        map.values_mut().for_each(|value| *value = 0);
        assert!(map.keys().eq(["a", "c"].iter()) && map.contains_key("a") && !map.contains_key("b"));
        assert_eq!((map.values().sum::<i32>(), map.get_mut("b")), (0, None));
    }
}

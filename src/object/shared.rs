//! Parts of an object that its versions share.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of an object. Cloning it copies a pointer; a holder that changes it gets a copy of its own first, unless it is the only
/// holder. It reads, compares and prints as the part itself.
#[derive(Debug, Default)]
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> From<T> for Shared<T> {
    fn from(part: T) -> Shared<T> {
        Shared(Arc::new(part))
    }
}

impl<T> Shared<T> {
    /// Whether both are one in memory.
    pub fn same(&self, other: &Shared<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Clone> Shared<T> {
    /// The part, copied if anyone else holds it.
    pub fn into_inner(self) -> T {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        self.same(other) || self.0 == other.0
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize(&self.0, serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shared<T>, D::Error> {
        T::deserialize(deserializer).map(Shared::from)
    }
}

/// The part that was made last. A caller that makes an equal one gets that one: things that are made many in a row are
/// mostly alike.
#[derive(Debug, Default)]
pub struct Last<T>(RefCell<Shared<T>>);

impl<T> Last<T> {
    /// The part, if it is the one that is wanted; else another is made.
    pub fn or_make(&self, is_wanted: impl FnOnce(&T) -> bool, make: impl FnOnce() -> T) -> Shared<T> {
        let mut last = self.0.borrow_mut();
        if !is_wanted(&last) {
            *last = make().into();
        }
        last.clone()
    }
}

impl<T: PartialEq> Last<T> {
    /// The part, shared with the one before it if they are equal.
    pub fn share(&self, part: T) -> Shared<T> {
        let mut last = self.0.borrow_mut();
        if **last != part {
            *last = part.into();
        }
        last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_copied_when_it_is_changed_and_somebody_else_holds_it() {
        let first = Shared::from(vec![1]);
        let mut second = first.clone();
        assert!(std::ptr::eq(&*first, &*second));
        second.push(2);
        assert_eq!((&*first, &*second), (&vec![1], &vec![1, 2]));
        let before: *const Vec<i32> = &*second;
        second.push(3);
        assert!(std::ptr::eq(before, &*second));
        assert_ne!(first, second);
    }

    #[test]
    fn equal_parts_made_in_a_row_are_one() {
        let last = Last::default();
        let [first, second, third] = [1, 1, 2].map(|part| last.share(part));
        assert!(first.same(&second) && !second.same(&third));
        assert_eq!((*first, *second, *third), (1, 1, 2));
    }
}

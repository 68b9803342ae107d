//! What a component remembers between two steps, in a form that the whole world can be saved and brought back.
//!
//! Handlers, tasks and listers of one process share its state through pointers. A world could not be copied without
//! redirecting every one of them. So it is not copied: each piece of state sits in a [`Memory`] that the hub knows,
//! saving takes a copy of what is inside, and restoring puts it back in place. Everyone's pointers stay right.

use std::any::Any;
use std::cell::{Ref, RefCell, RefMut};
use std::fmt;
use std::rc::{Rc, Weak};

/// A shared piece of a component's state. Cloning copies a pointer.
///
/// Everything that changes while a component works lives in one of these, made with `Hub::memory`; other cells would be
/// forgotten when a session goes back in time (`tests/architecture` keeps them out).
pub struct Memory<T>(Rc<Slot<T>>);

struct Slot<T> {
    value: RefCell<T>,
    /// The copy that was saved last, as long as the value has not been touched since.
    saved: RefCell<Option<Rc<dyn Any>>>,
}

impl<T> Clone for Memory<T> {
    fn clone(&self) -> Memory<T> {
        Memory(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl<T: Clone + 'static> Memory<T> {
    /// A piece of state, to be listed in `memories`.
    pub(super) fn new(value: T, memories: &mut Vec<Weak<dyn Remembers>>) -> Memory<T> {
        let slot = Rc::new(Slot { value: RefCell::new(value), saved: RefCell::default() });
        let remembers: Rc<dyn Remembers> = slot.clone();
        memories.push(Rc::downgrade(&remembers));
        Memory(slot)
    }

    /// Looks at it.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        self.0.value.borrow()
    }

    /// Changes it.
    #[track_caller]
    pub fn borrow_mut(&self) -> RefMut<'_, T> {
        self.0.saved.take();
        self.0.value.borrow_mut()
    }

    /// Changes it, unless it is borrowed: for values that are dropped at any time.
    pub fn try_borrow_mut(&self) -> Option<RefMut<'_, T>> {
        self.0.saved.take();
        self.0.value.try_borrow_mut().ok()
    }

    /// A copy of it.
    pub fn get(&self) -> T {
        self.borrow().clone()
    }

    /// Exchanges it.
    pub fn set(&self, value: T) {
        *self.borrow_mut() = value;
    }

    /// Takes it and leaves the default.
    pub fn take(&self) -> T
    where
        T: Default,
    {
        std::mem::take(&mut *self.borrow_mut())
    }
}

/// What the hub can do with a piece of state whose type it does not know.
pub(super) trait Remembers {
    /// A copy. The same one as last time if nothing has changed.
    fn save(&self) -> Rc<dyn Any>;
    /// Puts a copy back.
    fn restore(&self, saved: &Rc<dyn Any>);
}

impl<T: Clone + 'static> Remembers for Slot<T> {
    fn save(&self) -> Rc<dyn Any> {
        let copy = || -> Rc<dyn Any> { Rc::new(self.value.borrow().clone()) };
        self.saved.borrow_mut().get_or_insert_with(copy).clone()
    }

    fn restore(&self, saved: &Rc<dyn Any>) {
        let value = saved.downcast_ref::<T>().expect("a memory is given back what it saved");
        self.value.borrow_mut().clone_from(value);
        *self.saved.borrow_mut() = Some(saved.clone());
    }
}

/// All memories of a world at one moment. They are kept, so that processes that end later can come back.
pub(super) struct Memories(Vec<(Rc<dyn Remembers>, Rc<dyn Any>)>);

impl Memories {
    /// Copies what is remembered now.
    pub(super) fn save(all: &mut Vec<Weak<dyn Remembers>>) -> Memories {
        all.retain(|memory| memory.strong_count() > 0);
        Memories(
            all.iter().filter_map(Weak::upgrade).map(|memory| (memory.save(), memory)).map(|(s, m)| (m, s)).collect(),
        )
    }

    /// Puts everything back, and returns the list of what there was.
    pub(super) fn restore(&self) -> Vec<Weak<dyn Remembers>> {
        for (memory, saved) in &self.0 {
            memory.restore(saved);
        }
        self.0.iter().map(|(memory, _)| Rc::downgrade(memory)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_comes_back_in_place() {
        let mut all = Vec::new();
        let names = Memory::new(vec!["a"], &mut all);
        let elsewhere = names.clone();
        let saved = Memories::save(&mut all);
        names.borrow_mut().push("b");
        assert_eq!(elsewhere.get(), ["a", "b"]);
        saved.restore();
        assert_eq!(elsewhere.get(), ["a"]);
    }

    #[test]
    fn what_has_not_changed_is_copied_once() {
        let mut all = Vec::new();
        let number = Memory::new(1, &mut all);
        let (first, second) = (Memories::save(&mut all), Memories::save(&mut all));
        assert!(Rc::ptr_eq(&first.0[0].1, &second.0[0].1));
        number.set(2);
        assert!(!Rc::ptr_eq(&first.0[0].1, &Memories::save(&mut all).0[0].1));
    }

    #[test]
    fn what_is_gone_is_kept_by_those_who_saved_it() {
        let mut all = Vec::new();
        let number = Memory::new(1, &mut all);
        let saved = Memories::save(&mut all);
        drop(number);
        assert_eq!(Memories::save(&mut all).0.len(), 1, "a save holds what it can bring back");
        drop(saved);
        assert!(Memories::save(&mut all).0.is_empty());
    }
}

//! Exercise 04: how does a watch keep a cache?
//!
//! An informer holds all objects of a kind, as far as it has heard. Each event changes its cache first; then the handlers
//! learn what that was: an addition, an update, a deletion. When a watch cannot go on where it broke off, a new list
//! comes, and only comparing tells what has happened meanwhile. Then first the objects that are
//! gone are reported, and after them the listed ones, each in the order of the keys. A deletion is reported even for an object that the
//! cache does not have.

#![allow(unused_imports)]

use kubestep_exercise::cache::{Cache, Event, Item, Told};

// Yours from here.

/// One lookup at a time.
pub fn apply(cache: &mut Cache, event: &Event) -> Vec<Told> {
    let mut told = vec![];
    let all: Vec<Item> = match event {
        Event::Deleted(item) => {
            let _ = cache.remove(&item.key);
            return vec![Told::Deleted(item.clone())];
        }
        Event::Added(item) => vec![item.clone()],
        Event::Modified(item) => vec![item.clone()],
        Event::Relisted(list) => {
            let keys: Vec<String> = cache.keys().cloned().collect();
            for key in keys {
                if list.iter().find(|item| item.key == key).is_none() {
                    told.push(Told::Deleted(cache.remove(&key).unwrap()));
                }
            }
            list.clone()
        }
    };
    for new in all {
        if cache.contains_key(&new.key) {
            let old = cache[&new.key].clone();
            told.push(Told::Updated { old, new: new.clone() });
        } else {
            told.push(Told::Added(new.clone()));
        }
        cache.insert(new.key.clone(), new);
    }
    told
}

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

/// By building the next cache and comparing.
pub fn apply(cache: &mut Cache, event: &Event) -> Vec<Told> {
    let before = cache.clone();
    let tell = |item: &Item| match before.get(&item.key) {
        Some(old) => Told::Updated { old: old.clone(), new: item.clone() },
        None => Told::Added(item.clone()),
    };
    match event {
        Event::Added(item) | Event::Modified(item) => {
            cache.insert(item.key.clone(), item.clone());
            vec![tell(item)]
        }
        Event::Deleted(item) => {
            cache.retain(|key, _| *key != item.key);
            vec![Told::Deleted(item.clone())]
        }
        Event::Relisted(list) => {
            *cache = list.iter().map(|item| (item.key.clone(), item.clone())).collect();
            let gone = before.values().filter(|item| !cache.contains_key(&item.key));
            gone.cloned().map(Told::Deleted).chain(list.iter().map(tell)).collect()
        }
    }
}

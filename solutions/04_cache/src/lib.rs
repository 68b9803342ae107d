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

/// Changes the cache as the event says, and gives what the handlers receive, in order.
pub fn apply(cache: &mut Cache, event: &Event) -> Vec<Told> {
    match event {
        Event::Added(item) | Event::Modified(item) => vec![put(cache, item)],
        Event::Deleted(item) => {
            cache.remove(&item.key);
            vec![Told::Deleted(item.clone())]
        }
        Event::Relisted(list) => {
            let listed = |item: &Item| list.iter().any(|other| other.key == item.key);
            let gone: Vec<Item> = cache.values().filter(|item| !listed(item)).cloned().collect();
            let mut told = Vec::new();
            for item in gone {
                cache.remove(&item.key);
                told.push(Told::Deleted(item));
            }
            for item in list {
                told.push(put(cache, item));
            }
            told
        }
    }
}

fn put(cache: &mut Cache, item: &Item) -> Told {
    match cache.insert(item.key.clone(), item.clone()) {
        Some(old) => Told::Updated { old, new: item.clone() },
        None => Told::Added(item.clone()),
    }
}

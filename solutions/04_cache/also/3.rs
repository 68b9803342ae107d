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

/// With retain and entries.
pub fn apply(cache: &mut Cache, event: &Event) -> Vec<Told> {
    let mut told = Vec::new();
    if let Event::Deleted(item) = event {
        cache.remove(&item.key);
        told.push(Told::Deleted(item.clone()));
    }
    if let Event::Relisted(list) = event {
        cache.retain(|key, item| {
            let stays = list.iter().any(|listed| listed.key == *key);
            if !stays {
                told.push(Told::Deleted(item.clone()));
            }
            stays
        });
    }
    let news: &[Item] = match event {
        Event::Relisted(list) => list,
        Event::Added(item) | Event::Modified(item) => std::slice::from_ref(item),
        Event::Deleted(_) => &[],
    };
    for new in news {
        let old = cache.remove(&new.key);
        cache.insert(new.key.clone(), new.clone());
        let new = new.clone();
        told.push(old.map_or(Told::Added(new.clone()), |old| Told::Updated { old, new }));
    }
    told
}

//! Exercise 03: how a watch keeps a cache. Mirrors `processDeltas` and `Replace` of `client-go/tools/cache`.
//!
//! Every short history of a few objects is asked, those with a gap in the watch too: events that were missed show only in
//! the next list.

use std::fmt;

use super::function::Function;
use super::making::{drawn, longer};
use super::words::{Part, part};
use super::{Exercise, Judging, words};
use crate::exercise::cache::{Cache, Event, Item, Outcome, Told};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "03_cache",
    title: "How does a watch keep a cache?",
    outcome: "say what handlers are told for each watch event, and what only a new list can tell",
    needs: &[],
    hints: [
        "What the event is called and what the handlers are told are two things. What decides what they are told?",
        "Added and Modified do the same: put the object in. Whether the cache had it before decides between Added and \
         Updated. A list brings no event for what has been deleted meanwhile.",
        "Relisted: first, in key order, Deleted for everything in the cache that is not in the list, with what the cache \
         has of it; then put in each listed object, in key order. Deleted is told even of what the cache did not have.",
    ],
    minutes: 25,
    judging: Judging::of::<Caching>(),
};

struct Caching;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slip {
    TrustsNames,
    KeepsDeleted,
    SilentUnknownDelete,
    MissesDeletes,
    DeletesSilently,
    ClearsFirst,
    OnlyChanged,
    DeletesLast,
    IgnoresOldList,
    TellsLateState,
    NoNamespace,
    OneGone,
    NeverBack,
    IgnoresOlder,
    IgnoresSame,
    FewListed,
    ByName,
}

impl Function for Caching {
    type Question = Vec<Event>;
    type Answer = Outcome;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("the event's name decides what is told; what the cache had before must", Slip::TrustsNames),
        ("a deleted object stays in the cache", Slip::KeepsDeleted),
        ("a deletion of what the cache did not have is not told", Slip::SilentUnknownDelete),
        ("what is not in the new list stays in the cache", Slip::MissesDeletes),
        ("what is not in the new list leaves the cache, and nobody is told", Slip::DeletesSilently),
        ("the cache is emptied before the new list, so that all of it seems new", Slip::ClearsFirst),
        ("what is listed again unchanged is not told", Slip::OnlyChanged),
        ("deletions found by a list are told after the rest", Slip::DeletesLast),
        ("a list that is empty is ignored", Slip::IgnoresOldList),
        ("a deletion is told with the state that the cache has; the event has the last one", Slip::TellsLateState),
        ("the key is cut to the name; another namespace can have the same", Slip::NoNamespace),
        ("only the first object that is not in the new list is taken out", Slip::OneGone),
        (
            "what is listed with an older revision is ignored; a list may come from a server that is behind",
            Slip::NeverBack,
        ),
        ("an event of an older revision is ignored; each event changes the cache", Slip::IgnoresOlder),
        ("an event of the revision that the cache has is ignored; each is told", Slip::IgnoresSame),
        ("only the first few objects of a list are looked at; it can be long", Slip::FewListed),
        ("a list is told in the order of the names; the namespace comes first in a key", Slip::ByName),
    ];

    fn questions() -> Vec<Vec<Event>> {
        let mut all: Vec<Vec<Event>> = vec![Vec::new()];
        let mut longest = all.clone();
        for revision in 1..=3 {
            longest = longer(&longest, &events(revision));
            all.extend(longest.clone());
        }
        all.extend((0..300).map(walk));
        // A list from an API server that is behind.
        for (first, then) in [(9, 8), (9, 3), (12, 9), (100, 99)] {
            let before = [Event::Added(item(0, first)), Event::Added(item(2, first + 1))];
            let lists =
                [vec![item(0, then)], vec![item(0, then), item(2, first + 1)], vec![item(1, then), item(2, then)]];
            all.extend(lists.map(|list| [&before[..], &[Event::Relisted(list)]].concat()));
        }
        all.extend(besides());
        all
    }

    fn rule(history: &Vec<Event>, slip: Option<Slip>) -> Outcome {
        let mut cache = Cache::new();
        let told = history.iter().map(|event| apply(&mut cache, event, slip)).collect();
        let cache = cache.into_iter().map(|(key, item)| Item { key, ..item });
        Outcome { told, cache: cache.collect() }
    }

    fn property(history: &Vec<Event>, given: Option<&Outcome>) -> &'static str {
        let right = Caching::rule(history, None);
        match given {
            Some(given) if given.told.len() == history.len() && given.cache == right.cache => {
                "handlers are told what happened to the cache, once and in order"
            }
            Some(_) => "the cache holds what the API server has last said",
            None => "every event is answered",
        }
    }

    fn show(history: &Vec<Event>) -> String {
        let event = |event: &Event| match event {
            Event::Added(item) => format!("Added {item}"),
            Event::Modified(item) => format!("Modified {item}"),
            Event::Deleted(item) => format!("Deleted {item}"),
            Event::Relisted(items) => format!("Relisted: {}", all_of(items)),
        };
        if history.is_empty() { "no event at all".to_owned() } else { words::numbered(history.iter().map(event)) }
    }

    fn say(_: &Vec<Event>, Outcome { told, cache }: &Outcome) -> Vec<Part> {
        let each = (1..).zip(told).map(|(n, told)| part(format!("told the handlers after {n}"), all_of(told)));
        each.chain([part("had in the cache at the end", all_of(cache))]).collect()
    }
}

fn all_of<T: fmt::Display>(all: &[T]) -> String {
    if all.is_empty() { "nothing".to_owned() } else { words::listed(all.iter().map(ToString::to_string)) }
}

/// Two of one name, in two namespaces, and two of one namespace.
const KEYS: [&str; 4] = ["default/a", "other/a", "other/b", "other/b-2"];

fn item(key: usize, revision: u64) -> Item {
    Item { key: KEYS[key].to_owned(), revision }
}

/// What can happen at a revision, with two objects.
fn events(revision: u64) -> Vec<Event> {
    let mut all = Vec::new();
    for key in [0, 1] {
        all.push(Event::Added(item(key, revision)));
        all.push(Event::Modified(item(key, revision)));
        all.push(Event::Deleted(item(key, revision)));
    }
    let same = revision.saturating_sub(1).max(1);
    all.push(Event::Relisted(Vec::new()));
    all.push(Event::Relisted(vec![item(1, same)]));
    all.push(Event::Relisted(vec![item(0, revision), item(2, revision)]));
    all
}

/// Events of a revision that is older than what the cache has, or the same; keys in which the order of names is another one,
/// or which have no namespace; revisions that are large; and long lists.
fn besides() -> Vec<Vec<Event>> {
    let item = |key: &str, revision| Item { key: key.to_owned(), revision };
    let mut all = Vec::new();
    for (before, then) in [(9, 8), (9, 9), (9, 3), (12, 10)] {
        let first = [Event::Added(item("dev/web", before)), Event::Relisted(vec![item("dev/web", before)])];
        for first in first {
            for event in [Event::Added, Event::Modified, Event::Deleted] {
                let last = Event::Modified(item("dev/web", before + 1));
                all.push(vec![first.clone(), event(item("dev/web", then)), last]);
            }
        }
    }
    // Not in the order of the names, nor of the revisions.
    let list = |from: u64| {
        vec![item("app/web", from + 3), item("dev/db", from + 1), item("node-1", from), item("prod/a", from + 2)]
    };
    let large = (1 << 40) + 7;
    for from in [10, large] {
        let watched: Vec<Event> = list(from).into_iter().rev().map(Event::Added).collect();
        all.push(vec![Event::Relisted(list(from)), Event::Relisted(Vec::new())]);
        all.push([&watched[..], &[Event::Relisted(list(from + 1)), Event::Deleted(item("node-1", from + 9))]].concat());
        all.push([&watched[..], &[Event::Relisted(Vec::new())]].concat());
    }
    let many =
        |each: usize| -> Vec<Item> { (0..6).step_by(each).map(|n| item(&format!("dev/job-{n}"), 50 - n)).collect() };
    all.push(vec![Event::Relisted(many(1))]);
    all.push(vec![Event::Relisted(many(1)), Event::Relisted(many(5))]);
    let crowd: Vec<Item> = (0..50).map(|n| item(&format!("a/{n:02}"), 100 - n)).collect();
    all.push(vec![Event::Relisted(crowd)]);
    all
}

/// A long history of four objects: this one of many.
fn walk(n: usize) -> Vec<Event> {
    let mut next = drawn(n);
    let length = 4 + n % 5;
    let mut event = |revision: u64| {
        let key = next(KEYS.len());
        match next(7) {
            0..=2 => Event::Added(item(key, revision)),
            3 => Event::Modified(item(key, revision)),
            4 => Event::Deleted(item(key, revision)),
            _ => {
                let some = next(1 << KEYS.len());
                let listed = (0..KEYS.len()).filter(|at| some & (1 << at) != 0);
                // One that nobody has written since has its old revision.
                Event::Relisted(listed.map(|at| item(at, if at == key { revision - 1 } else { revision })).collect())
            }
        }
    };
    (9..9 + length).map(|revision| event(revision as u64)).collect()
}

fn apply(cache: &mut Cache, event: &Event, slip: Option<Slip>) -> Vec<Told> {
    match event {
        Event::Added(item) if slip == Some(Slip::TrustsNames) => {
            cache.insert(item.key.clone(), item.clone());
            vec![Told::Added(item.clone())]
        }
        Event::Added(item) | Event::Modified(item) | Event::Deleted(item) if is_ignored(cache, item, slip) => {
            Vec::new()
        }
        Event::Added(item) | Event::Modified(item) => vec![put(cache, item, slip)],
        Event::Deleted(item) => {
            let old = match slip {
                Some(Slip::KeepsDeleted) => cache.get(&item.key).cloned(),
                _ => cache.remove(&key_of(item, slip)),
            };
            match (slip, old) {
                (Some(Slip::SilentUnknownDelete), None) => Vec::new(),
                (Some(Slip::TellsLateState), Some(old)) => vec![Told::Deleted(old)],
                _ => vec![Told::Deleted(item.clone())],
            }
        }
        Event::Relisted(list) if list.is_empty() && slip == Some(Slip::IgnoresOldList) => Vec::new(),
        Event::Relisted(list) => relist(cache, list, slip),
    }
}

fn is_ignored(cache: &Cache, item: &Item, slip: Option<Slip>) -> bool {
    cache.get(&item.key).is_some_and(|old| match slip {
        Some(Slip::IgnoresOlder) => old.revision > item.revision,
        Some(Slip::IgnoresSame) => old.revision == item.revision,
        _ => false,
    })
}

fn key_of(item: &Item, slip: Option<Slip>) -> String {
    let name = item.key.rsplit('/').next().filter(|_| slip == Some(Slip::NoNamespace));
    name.unwrap_or(&item.key).to_owned()
}

fn put(cache: &mut Cache, item: &Item, slip: Option<Slip>) -> Told {
    match cache.insert(key_of(item, slip), item.clone()) {
        Some(old) => Told::Updated { old, new: item.clone() },
        None => Told::Added(item.clone()),
    }
}

fn relist(cache: &mut Cache, list: &[Item], slip: Option<Slip>) -> Vec<Told> {
    let mut sorted = list.to_vec();
    if slip == Some(Slip::ByName) {
        sorted.sort_by_key(|item| item.key.rsplit('/').map(str::to_owned).collect::<Vec<_>>());
    }
    let list = &sorted[..];
    let list = if slip == Some(Slip::FewListed) { &list[..list.len().min(4)] } else { list };
    let listed = |one: &Item| list.iter().any(|item| key_of(item, slip) == key_of(one, slip));
    let mut gone: Vec<Item> = cache.values().filter(|item| !listed(item)).cloned().collect();
    gone.truncate(if slip == Some(Slip::OneGone) { 1 } else { usize::MAX });
    let mut deleted = Vec::new();
    if slip != Some(Slip::MissesDeletes) {
        gone.iter().for_each(|item| drop(cache.remove(&key_of(item, slip))));
        deleted = gone.into_iter().map(Told::Deleted).collect();
    }
    if slip == Some(Slip::DeletesSilently) {
        deleted.clear();
    }
    if slip == Some(Slip::ClearsFirst) {
        cache.clear();
    }
    let unchanged: Vec<Item> = cache.values().cloned().collect();
    let is_old = |item: &&Item| {
        let known = unchanged.iter().find(|one| one.key == item.key);
        slip == Some(Slip::NeverBack) && known.is_some_and(|known| known.revision > item.revision)
    };
    let all = list.iter().filter(|item| !is_old(item)).map(|item| (item, put(cache, item, slip)));
    let silent = |item: &Item| slip == Some(Slip::OnlyChanged) && unchanged.contains(item);
    let put: Vec<Told> = all.filter(|(item, _)| !silent(item)).map(|(_, told)| told).collect();
    if slip == Some(Slip::DeletesLast) { [put, deleted].concat() } else { [deleted, put].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Caching>("cache");
    }
}

//! Exercise 04: how a watch keeps a cache. Mirrors `processDeltas` and `Replace` of `client-go/tools/cache`.
//!
//! Every short history of a few objects is asked, those with a gap in the watch too: events that were missed show only in
//! the next list.

use std::fmt;

use super::function::Function;
use super::making::{drawn, longer};
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, words};
use exercise::cache::{Cache, Event, Item, Outcome, Told};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "04_cache",
    title: "How does a watch keep a cache?",
    outcome: "say what handlers receive for each watch event, and what only a new list can show",
    needs: &[],
    hints: [
        "The name of the event and the call of the handlers are two things. What decides the call?",
        "Added and Modified do the same: put the object in. Whether the cache had it before decides between Added and \
         Updated. A list brings no event for what has been deleted meanwhile.",
        "Relisted: first, in key order, Deleted for everything in the cache that is not in the list, with what the cache \
         has of it; then put in each listed object, in key order. Deleted is told even of what the cache did not have.",
    ],
    minutes: 25,
    judging: Judging::of::<Caching>(),
};

struct Caching;

impl Function for Caching {
    type Question = Vec<Event>;
    type Answer = Outcome;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

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

    fn answer(rule: &Rule, history: &Vec<Event>) -> Outcome {
        let mut cache = Cache::new();
        let told = history.iter().map(|event| apply(rule, &mut cache, event)).collect();
        let cache = cache.into_iter().map(|(key, item)| Item { key, ..item });
        Outcome { told, cache: cache.collect() }
    }

    fn property(history: &Vec<Event>, given: Option<&Outcome>) -> &'static str {
        let right = Caching::right(history);
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
                // One that was not written since has its old revision.
                Event::Relisted(listed.map(|at| item(at, if at == key { revision - 1 } else { revision })).collect())
            }
        }
    };
    (9..9 + length).map(|revision| event(revision as u64)).collect()
}

/// What decides.
struct Rule {
    /// The key of an object in the cache.
    key: fn(&Item) -> &str,
    /// Whether an event is ignored, by what the cache has.
    is_ignored: fn(&Item, &Item) -> bool,
    /// What is told of an object that an event calls new, by what the cache had.
    told_of_added: fn(Option<Item>, &Item) -> Told,
    /// Takes a deleted object out of the cache. Gives what that had.
    take_out: fn(&mut Cache, &str) -> Option<Item>,
    /// What is told of it, by what the cache had.
    told_of_deleted: fn(Option<Item>, &Item) -> Option<Told>,
    /// Whether a list is looked at.
    is_heard: fn(&[Item]) -> bool,
    /// What of a list is looked at, and in which order.
    listed: fn(&mut Vec<Item>),
    /// Which of the objects that are not in it are gone.
    gone: fn(&mut Vec<Item>),
    /// What becomes of the cache before a list is put into it.
    before_list: fn(&mut Cache),
    /// Whether a listed object is put into the cache, by what that has.
    is_put: fn(Option<&Item>, &Item) -> bool,
    /// Whether that is told.
    is_told: fn(Option<&Item>, &Item) -> bool,
    /// All that is told of a list: of what is gone, and of what was put.
    together: fn(Vec<Told>, Vec<Told>) -> Vec<Told>,
}

const RULE: Rule = Rule {
    key: |item| &item.key,
    is_ignored: |_, _| false,
    told_of_added: told_of,
    take_out: |cache, key| cache.remove(key),
    told_of_deleted: |_, last| Some(Told::Deleted(last.clone())),
    is_heard: |_| true,
    listed: |_| {},
    gone: |_| {},
    before_list: |_| {},
    is_put: |_, _| true,
    is_told: |_, _| true,
    together: |deleted, put| [deleted, put].concat(),
};

fn told_of(old: Option<Item>, new: &Item) -> Told {
    match old {
        Some(old) => Told::Updated { old, new: new.clone() },
        None => Told::Added(new.clone()),
    }
}

fn apply(rule: &Rule, cache: &mut Cache, event: &Event) -> Vec<Told> {
    if let Event::Added(item) | Event::Modified(item) | Event::Deleted(item) = event
        && cache.get(&item.key).is_some_and(|known| (rule.is_ignored)(known, item))
    {
        return Vec::new();
    }
    match event {
        Event::Added(item) => vec![(rule.told_of_added)(put(rule, cache, item), item)],
        Event::Modified(item) => vec![told_of(put(rule, cache, item), item)],
        Event::Deleted(item) => {
            let old = (rule.take_out)(cache, (rule.key)(item));
            (rule.told_of_deleted)(old, item).into_iter().collect()
        }
        Event::Relisted(list) if (rule.is_heard)(list) => relist(rule, cache, list.clone()),
        Event::Relisted(_) => Vec::new(),
    }
}

fn put(rule: &Rule, cache: &mut Cache, item: &Item) -> Option<Item> {
    cache.insert((rule.key)(item).to_owned(), item.clone())
}

fn relist(rule: &Rule, cache: &mut Cache, mut list: Vec<Item>) -> Vec<Told> {
    (rule.listed)(&mut list);
    let is_listed = |one: &Item| list.iter().any(|item| (rule.key)(item) == (rule.key)(one));
    let mut gone: Vec<Item> = cache.values().filter(|item| !is_listed(item)).cloned().collect();
    (rule.gone)(&mut gone);
    gone.iter().for_each(|item| drop(cache.remove((rule.key)(item))));
    (rule.before_list)(cache);
    let before: Vec<Item> = cache.values().cloned().collect();
    let mut told = Vec::new();
    for item in &list {
        let known = before.iter().find(|one| one.key == item.key);
        if (rule.is_put)(known, item) {
            let one = told_of(put(rule, cache, item), item);
            told.extend((rule.is_told)(known, item).then_some(one));
        }
    }
    (rule.together)(gone.into_iter().map(Told::Deleted).collect(), told)
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    trusts_names: "the event's name decides what is told; what the cache had before must"
        => { told_of_added: |_, new| Told::Added(new.clone()) };
    keeps_deleted: "a deleted object stays in the cache" => { take_out: |cache, key| cache.get(key).cloned() };
    silent_unknown_delete: "a deletion of what the cache did not have is not told"
        => { told_of_deleted: |old, last| old.map(|_| Told::Deleted(last.clone())) };
    misses_deletes: "what is not in the new list stays in the cache" => { gone: |gone| gone.clear() };
    deletes_silently: "what is not in the new list leaves the cache, and its deletion is not told" => { together: |_, put| put };
    clears_first: "the cache is emptied before the new list, so that all of it seems new"
        => { before_list: |cache| cache.clear() };
    only_changed: "what is listed again unchanged is not told" => { is_told: |known, item| known != Some(item) };
    deletes_last: "deletions found by a list are told after the rest"
        => { together: |deleted, put| [put, deleted].concat() };
    ignores_old_list: "a list that is empty is ignored" => { is_heard: |list| !list.is_empty() };
    tells_late_state: "a deletion is told with the state that the cache has; the event has the last one"
        => { told_of_deleted: |old, last| Some(Told::Deleted(old.unwrap_or_else(|| last.clone()))) };
    no_namespace: "the key is cut to the name; another namespace can have the same"
        => { key: |item| item.key.rsplit('/').next().unwrap_or_default() };
    one_gone: "only the first object that is not in the new list is taken out" => { gone: |gone| gone.truncate(1) };
    never_back: "what is listed with an older revision is ignored; a list may come from a server that is behind"
        => { is_put: |known, item| known.is_none_or(|known| known.revision <= item.revision) };
    ignores_older: "an event of an older revision is ignored; each event changes the cache"
        => { is_ignored: |known, item| known.revision > item.revision };
    ignores_same: "an event of the revision that the cache has is ignored; each is told"
        => { is_ignored: |known, item| known.revision == item.revision };
    few_listed: "only the first few objects of a list are looked at; it can be long"
        => { listed: |list| list.truncate(4) };
    by_name: "a list is told in the order of the names; the namespace comes first in a key"
        => { listed: |list| list.sort_by_key(|item| item.key.rsplit('/').map(str::to_owned).collect::<Vec<_>>()) };
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Caching>("cache");
    }
}

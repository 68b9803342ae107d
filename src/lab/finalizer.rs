//! Exercise 20: a controller that has to clean up behind an object, and the finalizer that gives it the time. Owner
//! references do not reach into another namespace, so here nobody else would do it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::mistake::{Mistake, mistaken_hosts};
use super::reconcile::guest::Duty;
use super::reconcile::{Plan, scenario};
use super::{Exercise, Judging};
use crate::exercise::finalizer::{FINALIZER, PUBLIC};
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use crate::object::{Accessor, Kind};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "20_finalizer",
    title: "Who cleans up when an object goes?",
    outcome: "use a finalizer so that nothing is left behind and nothing is kept for ever, whatever crashes when",
    needs: &["update", "replicaset"],
    hints: [
        "Imagine that your process crashes between any two calls, and that the object is deleted while it is down. After which \
         calls would something stay behind that nobody knows of any more?",
        "The finalizer goes on before there is anything to clean up, and comes off after it has been cleaned up. A copy that \
         is gone already has been cleaned up. The list of finalizers is not yours alone: what do others write into it while \
         you think?",
        "If it is being deleted: only if your finalizer is there, delete the copy (NotFound is fine) and then take yours, and \
         no other, off the list. Else: put it on the list if it is missing, and only then write the copy. Send the list \
         together with the resourceVersion that you have read, as in {\"metadata\": {\"finalizers\": …, \
         \"resourceVersion\": …}}: who has an old one gets a 409, returns the error and is called again.",
    ],
    minutes: 35,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "publisher",
        kind: Kind::ConfigMap,
        others: &[],
        concerns: |_, _| Vec::new(),
        workers: 1,
        observes: false,
    },
    trials: &[
        scenario!("finalizer", "published"),
        scenario!("finalizer", "not-published"),
        scenario!("finalizer", "elsewhere"),
        scenario!("finalizer", "changed"),
        scenario!("finalizer", "there-and-back"),
        scenario!("finalizer", "deleted"),
        scenario!("finalizer", "deleted-at-once"),
        scenario!("finalizer", "deleted-while-down"),
        scenario!("finalizer", "never-there"),
        scenario!("finalizer", "kept-by-others"),
        scenario!("finalizer", "again"),
        scenario!("finalizer", "copies-stay"),
        scenario!("finalizer", "others-finalizer"),
        scenario!("finalizer", "others-write-too"),
        scenario!("finalizer", "others-write-first"),
        scenario!("finalizer", "copy-meanwhile"),
        scenario!("finalizer", "others-let-go"),
        scenario!("finalizer", "let-go"),
        scenario!("finalizer", "public-comes-later"),
        scenario!("finalizer", "first-call-fails"),
        scenario!("finalizer", "one-call-fails"),
        scenario!("finalizer", "broken-calls"),
        scenario!("finalizer", "any-number"),
    ],
    reference: |read| host(read, RULE),
    mistakes: MISTAKES,
};

/// What is done, one after another, with an object that is being deleted.
#[derive(Clone, Copy)]
enum End {
    Copy,
    Delete,
    Release,
}

/// What comes of a finalizer that could not be put on, if that is no failure.
#[derive(PartialEq)]
enum Unheld {
    GoesOn,
    Ends,
}

/// Where a copy is looked for.
#[derive(Clone, Copy)]
enum Looks {
    AtServer,
    Cache,
    Nowhere,
}

/// How a copy is changed.
#[derive(Clone, Copy)]
enum Change {
    Replaced,
    Merged,
    MadeAnew,
}

type Data = BTreeMap<String, String>;

/// What decides.
#[derive(Clone, Copy)]
struct Rule {
    /// What is read of an object's data.
    read: fn(&Data) -> Data,
    /// Whether it is to have a copy.
    is_published: fn(&ConfigMap) -> bool,
    /// What that is called.
    name: fn(&ConfigMap) -> String,
    /// The labels that it gets.
    labels: fn(&ObjectMeta) -> Option<Data>,
    /// Whether the finalizer is on a list.
    is_held: fn(&[String]) -> bool,
    /// Whether it is remembered that it is.
    remembers_hold: bool,
    /// What is done with an object that is being deleted.
    at_end: &'static [End],
    /// Also if the finalizer is not on its list.
    ends_unheld: bool,
    /// Whether the finalizer is put on.
    holds: bool,
    /// Whether it is put on what is not published, too.
    holds_all: bool,
    /// Whether the copy of what is not published is deleted.
    deletes_others: bool,
    /// Whether what is being deleted gets a copy.
    copies_going: bool,
    /// Whether the copy is made before the finalizer is there.
    copies_first: bool,
    /// Whether no finalizer is put on if there is a copy.
    trusts_copy: bool,
    /// What is made of a finalizer that could not be put on.
    not_held: fn(Error) -> Result<Unheld, Error>,
    /// Whether it is remembered what has a copy.
    remembers: bool,
    /// The list with the finalizer on it or without.
    list: fn(&[String], bool) -> Vec<String>,
    /// Whether the version is sent with a list of this length, on which the finalizer is put or not.
    sends_version: fn(bool, usize) -> bool,
    /// Whether that is read anew.
    reads_version: bool,
    /// The place in the list from which something is taken off; none: the list is written.
    take_off: fn(&[String]) -> Option<usize>,
    /// Whether a copy that somebody has changed stays.
    spares_changed: bool,
    /// Whether there is a copy to delete.
    has_copy: fn(&ConfigMap, &Context) -> bool,
    /// What is made of a deletion that fails.
    deleted: fn(Error, &Context) -> Result<(), Error>,
    /// Where a copy is looked for.
    looks: Looks,
    /// What is made of a creation that fails.
    created: fn(Error) -> Result<(), Error>,
    /// Whether a copy has to be changed, by its data and its original's.
    differs: fn(&Option<Data>, &Option<Data>) -> bool,
    /// How it is changed.
    change: Change,
    /// What is made of a failure of that.
    changed: fn(Error) -> Result<(), Error>,
}

const RULE: Rule = Rule {
    read: Data::clone,
    is_published,
    name: name_of_copy,
    labels: |_| None,
    is_held: |list| list.iter().any(|one| one == FINALIZER),
    remembers_hold: false,
    at_end: &[End::Delete, End::Release],
    ends_unheld: false,
    holds: true,
    holds_all: false,
    deletes_others: false,
    copies_going: false,
    copies_first: false,
    trusts_copy: false,
    not_held: Err,
    remembers: false,
    list: with_own,
    sends_version: |_, _| true,
    reads_version: false,
    take_off: |_| None,
    spares_changed: false,
    has_copy: |_, _| true,
    deleted: |error, _| if error.is_not_found() { Ok(()) } else { Err(error) },
    looks: Looks::AtServer,
    created: Err,
    differs: |copy, map| copy != map,
    change: Change::Replaced,
    changed: Err,
};

fn host(read: Read, rule: Rule) -> Host {
    Host::new(read, move |map, context| reconcile(map, context, rule))
}

async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>, rule: Rule) -> Result<Action, Error> {
    let map = ConfigMap { data: map.data.as_ref().map(rule.read), ..ConfigMap::clone(&map) };
    let (name, wants_copy) = ((rule.name)(&map), (rule.is_published)(&map));
    let is_going = map.metadata.deletion_timestamp.is_some();
    let held: Vec<String> = if rule.remembers_hold { context.remembered() } else { Vec::new() };
    let is_held = !is_going && held.contains(&name) || (rule.is_held)(list_of(&map));
    if is_going && (is_held || rule.ends_unheld) {
        for step in rule.at_end {
            match step {
                End::Copy => write_copy(&context, &map, rule).await?,
                End::Delete => delete_copy(&context, &map, rule).await?,
                End::Release => hold(&context, &map, false, rule).await?,
            }
        }
    }
    if rule.holds_all && !is_going && !is_held {
        hold(&context, &map, true, rule).await?;
    }
    if rule.deletes_others && !wants_copy && !is_going {
        delete_copy(&context, &map, rule).await?;
    }
    if !wants_copy || is_going && (is_held || !rule.copies_going) {
        return Ok(Action::await_change());
    }
    if rule.copies_first && !is_held {
        write_copy(&context, &map, rule).await?;
    }
    if rule.holds && !is_held && !is_going && hold_first(&context, &map, held, rule).await? == Unheld::Ends {
        return Ok(Action::await_change());
    }
    publish(&context, &map, rule).await?;
    Ok(Action::await_change())
}

/// Puts the finalizer on before there is a copy.
async fn hold_first(
    context: &Context,
    map: &ConfigMap,
    mut held: Vec<String>,
    rule: Rule,
) -> Result<Unheld, Error> {
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    if rule.trusts_copy && copies.get_opt(&(rule.name)(map)).await?.is_some() {
        return Ok(Unheld::GoesOn);
    }
    if let Err(error) = hold(context, map, true, rule).await {
        return (rule.not_held)(error);
    }
    if rule.remembers_hold {
        held.push((rule.name)(map));
        context.remember(&held);
    }
    Ok(Unheld::GoesOn)
}

/// Writes the copy, unless it is remembered that this was done.
async fn publish(context: &Context, map: &ConfigMap, rule: Rule) -> Result<(), Error> {
    let mut published: Vec<(String, Option<Data>)> = context.remembered();
    let this = ((rule.name)(map), map.data.clone());
    if rule.remembers && published.contains(&this) {
        return Ok(());
    }
    write_copy(context, map, rule).await?;
    if rule.remembers {
        published.push(this);
        context.remember(&published);
    }
    Ok(())
}

fn is_published(map: &ConfigMap) -> bool {
    has_label(map, |key, value| key == "publish" && value == "yes")
}

fn has_label(map: &ConfigMap, is: fn(&str, &str) -> bool) -> bool {
    map.metadata.labels.iter().flatten().any(|(key, value)| is(key, value))
}

fn list_of(map: &ConfigMap) -> &[String] {
    map.metadata.finalizers.as_deref().unwrap_or_default()
}

fn with_own(list: &[String], on: bool) -> Vec<String> {
    let others = list.iter().filter(|one| *one != FINALIZER).cloned();
    others.chain(on.then(|| FINALIZER.to_owned())).collect()
}

/// Whoever does not see that it is on the list puts it there once more.
fn once_more(list: &[String], on: bool) -> Vec<String> {
    if on { [list, &[FINALIZER.to_owned()]].concat() } else { with_own(list, on) }
}

/// Puts the finalizer on the object's list, or takes it off.
async fn hold(context: &Context, map: &ConfigMap, on: bool, rule: Rule) -> Result<(), Error> {
    let list = (rule.list)(list_of(map), on);
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), map.metadata.namespace());
    let name = map.metadata.name();
    let version = match rule.reads_version && on {
        true => maps.get(name).await?.metadata.resource_version,
        false => map.metadata.resource_version.clone(),
    };
    let version = version.filter(|_| (rule.sends_version)(on, list.len()));
    let patch = match (rule.take_off)(list_of(map)).filter(|_| !on) {
        Some(place) => Patch::Json(json!([{"op": "remove", "path": format!("/metadata/finalizers/{place}")}])),
        None => Patch::Merge(json!({"metadata": {"finalizers": list, "resourceVersion": version}})),
    };
    maps.patch(name, &PatchParams::default(), &patch).await.map(drop)
}

async fn delete_copy(context: &Context, map: &ConfigMap, rule: Rule) -> Result<(), Error> {
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let name = (rule.name)(map);
    if rule.spares_changed && copies.get_opt(&name).await?.is_none_or(|copy| copy.data != map.data) {
        return Ok(());
    }
    if !(rule.has_copy)(map, context) {
        return Ok(());
    }
    copies.delete(&name, &DeleteParams::default()).await.or_else(|error| (rule.deleted)(error, context))
}

async fn write_copy(context: &Context, map: &ConfigMap, rule: Rule) -> Result<(), Error> {
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let name = (rule.name)(map);
    let metadata =
        ObjectMeta { name: Some(name.clone()), labels: (rule.labels)(&map.metadata), ..ObjectMeta::default() };
    let whole = ConfigMap { metadata, data: map.data.clone(), ..ConfigMap::default() };
    let there = match rule.looks {
        Looks::AtServer => copies.get_opt(&name).await?,
        Looks::Cache => cached_copy(context, &name),
        Looks::Nowhere => None,
    };
    let Some(copy) = there else {
        return match (copies.create(&PostParams::default(), &whole).await, rule.looks) {
            (Err(error), Looks::Nowhere) if error.is_already_exists() => {
                copies.replace(&name, &PostParams::default(), &whole).await.map(drop)
            }
            (made, _) => made.map(drop).or_else(rule.created),
        };
    };
    if !(rule.differs)(&copy.data, &map.data) {
        return Ok(());
    }
    match rule.change {
        Change::Replaced => {
            let copy = ConfigMap { data: map.data.clone(), ..copy };
            copies.replace(&name, &PostParams::default(), &copy).await.map(drop).or_else(rule.changed)
        }
        Change::Merged => {
            let patch = Patch::Merge(json!({"data": map.data}));
            copies.patch(&name, &PatchParams::default(), &patch).await.map(drop)
        }
        Change::MadeAnew => {
            copies.delete(&name, &DeleteParams::default()).await?;
            copies.create(&PostParams::default(), &whole).await.map(drop)
        }
    }
}

/// The copy as the cache shows it.
fn cached_copy(context: &Context, name: &str) -> Option<ConfigMap> {
    let mut cached = context.store::<ConfigMap>().state().into_iter().map(|one| (*one).clone());
    cached.find(|one| one.metadata.namespace.as_deref() == Some(PUBLIC) && one.metadata.name.as_deref() == Some(name))
}

/// Whether one lacks an entry of the other.
fn lacks(one: &Option<Data>, other: &Option<Data>) -> bool {
    let is_there = |entry: (&String, &String)| one.iter().flatten().any(|there| there == entry);
    other.iter().flatten().any(|entry| !is_there(entry))
}

fn name_of_copy(map: &ConfigMap) -> String {
    format!("{}-{}", map.metadata.namespace(), map.metadata.name())
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<fn(Read) -> Host>] = mistaken_hosts! {
    no_finalizer: "it has no finalizer, so the object goes and the copy stays" => { holds: false };
    copies_first: "it makes the copy before the finalizer is there" => { copies_first: true };
    releases_first: "it takes its finalizer off before the copy is deleted" => { at_end: &[End::Release, End::Delete] };
    releases_anyway: "it takes its finalizer off even if the copy could not be deleted" => { deleted: |_, _| Ok(()) };
    gone_is_failure: "it takes it for a failure that the copy is gone already" => { deleted: |error, _| Err(error) };
    never_releases: "it never takes its finalizer off" => { at_end: &[End::Delete] };
    takes_all: "it takes the finalizers of others off too"
        => { list: |list, on| if on { with_own(list, on) } else { Vec::new() } };
    ignores_version: "it writes the list of finalizers without the version that it has read"
        => { sends_version: |_, _| false };
    copies_the_going: "it makes a copy of an object that is being deleted" => { copies_going: true };
    never_changes: "it does not change a copy that is there" => { differs: |_, _| false };
    always_writes: "a copy is written again, though it is as its original"
        => { differs: |_, _| true }
        | { looks: Looks::Nowhere };
    copies_all: "it copies what nobody has asked it to"
        => { is_published: |map| is_published(map) || map.metadata.namespace() == "default" };
    swallows_creation: "it takes a copy that could not be made for made" => { created: |_| Ok(()) };
    swallows_change: "it takes a copy that could not be changed for changed"
        => { changed: |_| Ok(()) }
        | { changed: |error| if error.is_conflict() { Ok(()) } else { Err(error) } };
    never_lets_go: "it goes on with an object after its finalizer is off" => { ends_unheld: true };
    copies_labels: "the copy has the labels of its original, and so it gets a copy too"
        => { labels: |meta| meta.labels.clone() };
    any_value: "it does not look at the value of the label"
        => { is_published: |map| has_label(map, |key, _| key == "publish") };
    keeps_entries: "an entry that is gone stays in the copy if nothing else has changed"
        => { differs: |copy, map| lacks(copy, map) };
    misses_entries: "an entry that is new does not get into the copy if nothing else has changed"
        => { differs: |copy, map| lacks(map, copy) };
    holds_all: "its finalizer is put on what is not published too"
        => {
            holds: false,
            holds_all: true
        };
    deletes_others: "it deletes what has the name of a copy, of something that is not published"
        => { deletes_others: true };
    remembers: "it remembers what it has published, and does not forget it when that is deleted" => { remembers: true };
    spares_changed: "a copy that somebody has changed is not deleted" => { spares_changed: true };
    first_without_version: "it puts its finalizer on an empty list without the version that it has read"
        => { sends_version: |on, length| !on || length > 1 };
    gives_up: "it gives up after a while, and takes its finalizer off with the copy still there"
        => {
            deleted: |error, context| {
                let failures: u32 = context.remembered();
                if error.is_not_found() {
                    return Ok(());
                }
                context.remember(&(failures + 1));
                if failures < 1 { Err(error) } else { Ok(()) }
            }
        };
    empty_differs: "a copy without data is written again each time"
        => { differs: |copy, map| *copy != Some(map.clone().unwrap_or_default()) };
    any_case: "it takes YES for yes"
        => { is_published: |map| has_label(map, |key, value| key == "publish" && value.eq_ignore_ascii_case("yes")) };
    cached_copy: "it looks at the copy in its cache, which may be behind" => { looks: Looks::Cache };
    swallows_conflict: "it goes on although its finalizer could not be put on"
        => { not_held: |error| if error.is_conflict() { Ok(Unheld::GoesOn) } else { Err(error) } };
    keeps_last: "the copy keeps its data when the original has none left"
        => { differs: |copy, map| map.is_some() && copy != map };
    trusts_copy: "it puts no finalizer on if there is a copy already" => { trusts_copy: true };
    swallows_hold: "it takes its finalizer for put on though the call has failed" => { not_held: |_| Ok(Unheld::Ends) };
    nearly_yes: "it takes for yes what only begins like it"
        => { is_published: |map| has_label(map, |key, value| key == "publish" && value.starts_with("yes")) };
    nearly_publish: "it takes a label for publish whose name only ends like that"
        => { is_published: |map| has_label(map, |key, value| key.ends_with("publish") && value == "yes") };
    not_in_public: "nothing is published that is in the namespace of the copies itself"
        => { is_published: |map| is_published(map) && map.metadata.namespace() != PUBLIC };
    remembers_hold: "it remembers what has its finalizer by name: what is made again gets none"
        => { remembers_hold: true };
    fresh_version: "it reads the version of the list anew, and writes the list that it knew before"
        => { reads_version: true };
    exists_is_done: "it is content with a copy that somebody else has made meanwhile"
        => { created: |error| if error.is_already_exists() { Ok(()) } else { Err(error) } };
    empty_stays: "a copy that has no data never gets any" => { differs: |copy, map| copy.is_some() && copy != map };
    nearly_finalizer: "it takes a finalizer for its own whose name only begins like that"
        => { is_held: |list| list.iter().any(|one| one.starts_with(FINALIZER)) };
    copies_to_delete: "it makes a copy that is missing, only to delete it"
        => { at_end: &[End::Copy, End::Delete, End::Release] };
    gone_is_changed: "it takes a copy that somebody has deleted meanwhile for changed"
        => { changed: |error| if error.is_not_found() { Ok(()) } else { Err(error) } };
    leaves_empty: "a copy without data is not deleted" => { has_copy: |map, _| map.data.is_some() };
    one_end: "it looks for its finalizer at one end of the list only"
        => {
            is_held: |list| list.last().is_some_and(|one| one == FINALIZER),
            list: once_more
        }
        | {
            is_held: |list| list.first().is_some_and(|one| one == FINALIZER),
            list: once_more
        };
    cached_deletion: "it asks its cache, which may be behind, whether there is a copy to delete"
        => { has_copy: |map, context| cached_copy(context, &name_of_copy(map)).is_some() };
    by_place: "it takes off what is at the place where its cache shows its finalizer; that may be another's by now"
        => { take_off: |list| Some(list.iter().position(|one| one == FINALIZER).unwrap_or(0)) };
    takes_first: "it takes the first finalizer off, whoever it is of" => { take_off: |_| Some(0) };
    merges_data: "it merges the new data into those of the copy, and what is gone stays there"
        => { change: Change::Merged };
    makes_anew: "the copy is deleted and made anew; meanwhile there is none" => { change: Change::MadeAnew };
    ten_entries: "of many entries, the copy has the first ten"
        => { read: |data| data.iter().take(10).map(|(key, text)| (key.clone(), text.clone())).collect() };
    cuts_values: "the copy has the beginning of a long value only"
        => { read: |data| data.iter().map(|(key, text)| (key.clone(), text.chars().take(100).collect())).collect() };
    trims_values: "spaces around a value are not in its copy"
        => { read: |data| data.iter().map(|(key, text)| (key.clone(), text.trim().to_owned())).collect() };
    cuts_name: "the name of the copy has only the beginning of a long name"
        => {
            name: |map| {
                let begin: String = map.metadata.name().chars().take(20).collect();
                format!("{}-{begin}", map.metadata.namespace())
            }
        };
    values_only: "of the data of a copy it compares the values only, and not what they are called"
        => {
            differs: |copy, map| {
                let [copy, map] = [copy, map].map(|data| data.iter().flatten().map(|(_, value)| value));
                !copy.eq(map)
            }
        };
    two_labels: "of the labels of an object it looks at two only"
        => {
            is_published: |map| {
                let mut labels = map.metadata.labels.iter().flatten().take(2);
                labels.any(|(key, value)| key == "publish" && value == "yes")
            }
        };
};

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("finalizer", &super::PLAN);
    }
}

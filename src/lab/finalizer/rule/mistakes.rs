//! What learners do instead.

use super::*;
use crate::mistake::mistaken_hosts;
use crate::reconcile::Mistaken;

/// What learners really write, and how to say so.
pub(crate) const MISTAKES: &[Mistaken] = mistaken_hosts! {
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
    copies_all: "it also copies what is not labelled to be published"
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
    spares_changed: "a copy that another client has changed is not deleted" => { spares_changed: true };
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
    exists_is_done: "it is content with a copy that another client has made meanwhile"
        => { created: |error| if error.is_already_exists() { Ok(()) } else { Err(error) } };
    empty_stays: "a copy that has no data never gets any" => { differs: |copy, map| copy.is_some() && copy != map };
    nearly_finalizer: "it takes a finalizer for its own whose name only begins like that"
        => { is_held: |list| list.iter().any(|one| one.starts_with(FINALIZER)) };
    copies_to_delete: "it makes a copy that is missing, only to delete it"
        => { at_end: &[End::Copy, End::Delete, End::Release] };
    gone_is_changed: "it takes a copy that another client has deleted meanwhile for changed"
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
    takes_first: "it takes the first finalizer off, even if that is another controller's" => { take_off: |_| Some(0) };
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

/// A solution that does not see its finalizer on the list puts it there once more.
fn once_more(list: &[String], on: bool) -> Vec<String> {
    if on { [list, &[FINALIZER.to_owned()]].concat() } else { with_own(list, on) }
}

/// Whether one lacks an entry of the other.
fn lacks(one: &Option<Data>, other: &Option<Data>) -> bool {
    let is_there = |entry: (&String, &String)| one.iter().flatten().any(|there| there == entry);
    other.iter().flatten().any(|entry| !is_there(entry))
}

//! What the controller does with an object, and its copy.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use exercise::finalizer::{FINALIZER, PUBLIC};
use exercise::host::{Host, Read};
use exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use object::Accessor;

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
pub(super) struct Rule {
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
    /// Whether a copy that another client has changed stays.
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

pub(super) const RULE: Rule = Rule {
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

pub(super) fn host(read: Read, rule: Rule) -> Host {
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
async fn hold_first(context: &Context, map: &ConfigMap, mut held: Vec<String>, rule: Rule) -> Result<Unheld, Error> {
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

fn name_of_copy(map: &ConfigMap) -> String {
    format!("{}-{}", map.metadata.namespace(), map.metadata.name())
}

mod mistakes;
pub(super) use mistakes::MISTAKES;

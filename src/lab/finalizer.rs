//! Exercise 20: a controller that has to clean up behind an object, and the finalizer that gives it the time. Owner
//! references do not reach into another namespace, so here nobody else would do it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::reconcile::guest::Duty;
use super::reconcile::{Plan, scenario, slip};
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
    reference: |read| host(read, None),
    mistakes: &[
        slip!("it has no finalizer, so the object goes and the copy stays", NoFinalizer),
        slip!("it makes the copy before the finalizer is there", CopiesFirst),
        slip!("it takes its finalizer off before the copy is deleted", ReleasesFirst),
        slip!("it takes its finalizer off even if the copy could not be deleted", ReleasesAnyway),
        slip!("it takes it for a failure that the copy is gone already", GoneIsFailure),
        slip!("it never takes its finalizer off", NeverReleases),
        slip!("it takes the finalizers of others off too", TakesAll),
        slip!("it writes the list of finalizers without the version that it has read", IgnoresVersion),
        slip!("it makes a copy of an object that is being deleted", CopiesTheGoing),
        slip!("it does not change a copy that is there", NeverChanges),
        slip!("a copy is written again, though it is as its original", AlwaysChanges),
        slip!("a copy is written again, though it is as its original", AlwaysCreates),
        slip!("it copies what nobody has asked it to", CopiesAll),
        slip!("it takes a copy that could not be made for made", SwallowsCreation),
        slip!("it takes a copy that could not be changed for changed", SwallowsChange),
        slip!("it goes on with an object after its finalizer is off", NeverLetsGo),
        slip!("the copy has the labels of its original, and so it gets a copy too", CopiesLabels),
        slip!("it does not look at the value of the label", AnyValue),
        slip!("an entry that is gone stays in the copy if nothing else has changed", KeepsEntries),
        slip!("an entry that is new does not get into the copy if nothing else has changed", MissesEntries),
        slip!("its finalizer is put on what is not published too", HoldsAll),
        slip!("it deletes what has the name of a copy, of something that is not published", DeletesOthers),
        slip!("it remembers what it has published, and does not forget it when that is deleted", Remembers),
        slip!("a copy that somebody has changed is not deleted", SparesChanged),
        slip!("it puts its finalizer on an empty list without the version that it has read", FirstWithoutVersion),
        slip!("it gives up after a while, and takes its finalizer off with the copy still there", GivesUp),
        slip!("a copy without data is written again each time", EmptyDiffers),
        slip!("it takes YES for yes", AnyCase),
        slip!("it looks at the copy in its cache, which may be behind", CachedCopy),
        slip!("it goes on although its finalizer could not be put on", SwallowsConflict),
        slip!("the copy keeps its data when the original has none left", KeepsLast),
        slip!("it puts no finalizer on if there is a copy already", TrustsCopy),
        slip!("it takes its finalizer for put on though the call has failed", SwallowsHold),
        slip!("it takes for yes what only begins like it", NearlyYes),
        slip!("it takes a label for publish whose name only ends like that", NearlyPublish),
        slip!("nothing is published that is in the namespace of the copies itself", NotInPublic),
        slip!("it remembers what has its finalizer by name: what is made again gets none", RemembersHold),
        slip!("it reads the version of the list anew, and writes the list that it knew before", FreshVersion),
        slip!("it is content with a copy that somebody else has made meanwhile", ExistsIsDone),
        slip!("a copy that has no data never gets any", EmptyStays),
        slip!("it takes a finalizer for its own whose name only begins like that", NearlyFinalizer),
        slip!("it makes a copy that is missing, only to delete it", CopiesToDelete),
        slip!("it takes a copy that somebody has deleted meanwhile for changed", GoneIsChanged),
        slip!("it takes a copy that could not be changed for changed", ConflictIsChanged),
        slip!("a copy without data is not deleted", LeavesEmpty),
        slip!("it looks for its finalizer at one end of the list only", LastFinalizer),
        slip!("it looks for its finalizer at one end of the list only", FirstFinalizer),
        slip!("it asks its cache, which may be behind, whether there is a copy to delete", CachedDeletion),
        slip!(
            "it takes off what is at the place where its cache shows its finalizer; that may be another's by now",
            ByPlace
        ),
        slip!("it takes the first finalizer off, whoever it is of", TakesFirst),
        slip!("it merges the new data into those of the copy, and what is gone stays there", MergesData),
        slip!("the copy is deleted and made anew; meanwhile there is none", MakesAnew),
        slip!("of many entries, the copy has the first ten", TenEntries),
        slip!("the copy has the beginning of a long value only", CutsValues),
        slip!("spaces around a value are not in its copy", TrimsValues),
        slip!("the name of the copy has only the beginning of a long name", CutsName),
        slip!("of the data of a copy it compares the values only, and not what they are called", ValuesOnly),
        slip!("of the labels of an object it looks at two only", TwoLabels),
    ],
};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    NoFinalizer,
    CopiesFirst,
    ReleasesFirst,
    ReleasesAnyway,
    GoneIsFailure,
    NeverReleases,
    TakesAll,
    IgnoresVersion,
    CopiesTheGoing,
    NeverChanges,
    AlwaysChanges,
    AlwaysCreates,
    CopiesAll,
    SwallowsCreation,
    SwallowsChange,
    NeverLetsGo,
    CopiesLabels,
    AnyValue,
    KeepsEntries,
    MissesEntries,
    HoldsAll,
    DeletesOthers,
    Remembers,
    SparesChanged,
    FirstWithoutVersion,
    GivesUp,
    EmptyDiffers,
    AnyCase,
    CachedCopy,
    SwallowsConflict,
    KeepsLast,
    TrustsCopy,
    SwallowsHold,
    NearlyYes,
    NearlyPublish,
    NotInPublic,
    RemembersHold,
    FreshVersion,
    ExistsIsDone,
    EmptyStays,
    NearlyFinalizer,
    CopiesToDelete,
    GoneIsChanged,
    ConflictIsChanged,
    LeavesEmpty,
    LastFinalizer,
    FirstFinalizer,
    CachedDeletion,
    ByPlace,
    TakesFirst,
    MergesData,
    MakesAnew,
    TenEntries,
    CutsValues,
    TrimsValues,
    CutsName,
    ValuesOnly,
    TwoLabels,
}

fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |map, context| reconcile(map, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let map = Arc::new(as_read(&map, slip));
    let seen = if is(Slip::TwoLabels) { 2 } else { usize::MAX };
    let is_asked = map.metadata.labels.iter().flatten().take(seen).any(|(key, value)| {
        let is_yes = match slip {
            Some(Slip::AnyValue) => true,
            Some(Slip::AnyCase) => value.eq_ignore_ascii_case("yes"),
            Some(Slip::NearlyYes) => value.starts_with("yes"),
            _ => value == "yes",
        };
        is_yes && (key == "publish" || is(Slip::NearlyPublish) && key.ends_with("publish"))
    });
    let namespace = map.metadata.namespace();
    let wants_copy =
        is_asked && !(is(Slip::NotInPublic) && namespace == PUBLIC) || is(Slip::CopiesAll) && namespace == "default";
    let is_going = map.metadata.deletion_timestamp.is_some();
    let mut held: Vec<String> = if is(Slip::RemembersHold) { context.remembered() } else { Vec::new() };
    let is_held = !is_going && held.contains(&name_of_copy(&map, slip)) || has_finalizer(&map, slip);
    if is_going && (is_held || is(Slip::NeverLetsGo)) {
        if is(Slip::ReleasesFirst) {
            hold(&context, &map, false, slip).await?;
        }
        if is(Slip::CopiesToDelete) {
            write_copy(&context, &map, slip).await?;
        }
        delete_copy(&context, &map, slip).await?;
        if !is(Slip::ReleasesFirst) && !is(Slip::NeverReleases) {
            hold(&context, &map, false, slip).await?;
        }
    }
    if is(Slip::HoldsAll) && !is_going && !is_held {
        hold(&context, &map, true, slip).await?;
    }
    if is(Slip::DeletesOthers) && !wants_copy && !is_going {
        delete_copy(&context, &map, slip).await?;
    }
    if !wants_copy || is_going && (is_held || !is(Slip::CopiesTheGoing)) {
        return Ok(Action::await_change());
    }
    if is(Slip::CopiesFirst) && !is_held {
        write_copy(&context, &map, slip).await?;
    }
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let trusts = is(Slip::TrustsCopy) && !is_held && copies.get_opt(&name_of_copy(&map, slip)).await?.is_some();
    if !is_held && !is_going && !is(Slip::NoFinalizer) && !is(Slip::HoldsAll) && !trusts {
        match hold(&context, &map, true, slip).await {
            Err(error) if error.is_conflict() && is(Slip::SwallowsConflict) => {}
            Err(_) if is(Slip::SwallowsHold) => return Ok(Action::await_change()),
            other => other?,
        }
        if is(Slip::RemembersHold) {
            held.push(name_of_copy(&map, slip));
            context.remember(&held);
        }
    }
    let mut published: Vec<(String, Option<BTreeMap<String, String>>)> = context.remembered();
    let this = (name_of_copy(&map, slip), map.data.clone());
    if is(Slip::Remembers) && published.contains(&this) {
        return Ok(Action::await_change());
    }
    write_copy(&context, &map, slip).await?;
    if is(Slip::Remembers) {
        published.push(this);
        context.remember(&published);
    }
    Ok(Action::await_change())
}

/// The object as a solution reads it, which may pass something over.
fn as_read(map: &ConfigMap, slip: Option<Slip>) -> ConfigMap {
    let value = |value: &String| match slip {
        Some(Slip::CutsValues) => value.chars().take(100).collect(),
        Some(Slip::TrimsValues) => value.trim().to_owned(),
        _ => value.clone(),
    };
    let most = if slip == Some(Slip::TenEntries) { 10 } else { usize::MAX };
    let entries = |data: &BTreeMap<String, String>| {
        data.iter().take(most).map(|(key, text)| (key.clone(), value(text))).collect()
    };
    ConfigMap { data: map.data.as_ref().map(entries), ..map.clone() }
}

/// Whether the finalizer is on the object's list.
fn has_finalizer(map: &ConfigMap, slip: Option<Slip>) -> bool {
    let list = map.metadata.finalizers.as_deref().unwrap_or_default();
    match slip {
        Some(Slip::FirstFinalizer) => list.first().is_some_and(|one| one == FINALIZER),
        Some(Slip::LastFinalizer) => list.last().is_some_and(|one| one == FINALIZER),
        Some(Slip::NearlyFinalizer) => list.iter().any(|one| one.starts_with(FINALIZER)),
        _ => list.iter().any(|one| one == FINALIZER),
    }
}

/// Puts the finalizer on the object's list, or takes it off.
async fn hold(context: &Context, map: &ConfigMap, on: bool, slip: Option<Slip>) -> Result<(), Error> {
    let meta = &map.metadata;
    let mut list = meta.finalizers.clone().unwrap_or_default();
    // Whoever does not see that it is on the list puts it there once more.
    let stays = on && matches!(slip, Some(Slip::FirstFinalizer | Slip::LastFinalizer));
    list.retain(|one| stays || one != FINALIZER && (on || slip != Some(Slip::TakesAll)));
    list.extend(on.then(|| FINALIZER.to_owned()));
    let says_none = slip == Some(Slip::FirstWithoutVersion) && on && list.len() == 1;
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), meta.namespace());
    let name = meta.name();
    let fresh = if on && slip == Some(Slip::FreshVersion) { Some(maps.get(name).await?.metadata) } else { None };
    let meta = fresh.as_ref().unwrap_or(meta);
    let version = meta.resource_version.as_ref().filter(|_| slip != Some(Slip::IgnoresVersion) && !says_none);
    let patch = match slip {
        Some(Slip::ByPlace | Slip::TakesFirst) if !on => take_off(map, slip),
        _ => Patch::Merge(json!({"metadata": {"finalizers": list, "resourceVersion": version}})),
    };
    maps.patch(name, &PatchParams::default(), &patch).await.map(drop)
}

/// Takes a finalizer off by its place.
fn take_off(map: &ConfigMap, slip: Option<Slip>) -> Patch<Value> {
    let known = map.metadata.finalizers.iter().flatten().position(|one| one == FINALIZER).unwrap_or(0);
    let place = if slip == Some(Slip::TakesFirst) { 0 } else { known };
    Patch::Json(json!([{"op": "remove", "path": format!("/metadata/finalizers/{place}")}]))
}

async fn delete_copy(context: &Context, map: &ConfigMap, slip: Option<Slip>) -> Result<(), Error> {
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    if slip == Some(Slip::SparesChanged) {
        let copy = copies.get_opt(&name_of_copy(map, slip)).await?;
        if copy.is_none_or(|copy| copy.data != map.data) {
            return Ok(());
        }
    }
    if slip == Some(Slip::LeavesEmpty) && map.data.is_none()
        || slip == Some(Slip::CachedDeletion) && cached_copy(context, map).is_none()
    {
        return Ok(());
    }
    match copies.delete(&name_of_copy(map, slip), &DeleteParams::default()).await {
        Err(error) if error.is_not_found() && slip != Some(Slip::GoneIsFailure) => Ok(()),
        Err(_) if slip == Some(Slip::ReleasesAnyway) => Ok(()),
        Err(error) if slip == Some(Slip::GivesUp) => {
            let failures: u32 = context.remembered();
            context.remember(&(failures + 1));
            if failures < 1 { Err(error) } else { Ok(()) }
        }
        other => other,
    }
}

async fn write_copy(context: &Context, map: &ConfigMap, slip: Option<Slip>) -> Result<(), Error> {
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), PUBLIC);
    let name = name_of_copy(map, slip);
    let there = match slip {
        Some(Slip::CachedCopy) => cached_copy(context, map),
        Some(Slip::AlwaysCreates) => None,
        _ => copies.get_opt(&name).await?,
    };
    match there {
        None => match copies.create(&PostParams::default(), &copy_of(map, slip)).await {
            Err(error) if error.is_already_exists() && slip == Some(Slip::ExistsIsDone) => Ok(()),
            Err(error) if error.is_already_exists() && slip == Some(Slip::AlwaysCreates) => {
                copies.replace(&name, &PostParams::default(), &copy_of(map, slip)).await.map(drop)
            }
            made => unless(slip == Some(Slip::SwallowsCreation), made),
        },
        Some(copy) if differs(&copy, map, slip) && slip == Some(Slip::MergesData) => {
            let patch = Patch::Merge(json!({"data": map.data}));
            copies.patch(&name, &PatchParams::default(), &patch).await.map(drop)
        }
        Some(copy) if differs(&copy, map, slip) && slip == Some(Slip::MakesAnew) => {
            copies.delete(&name, &DeleteParams::default()).await?;
            copies.create(&PostParams::default(), &copy_of(map, slip)).await.map(drop)
        }
        Some(copy) if differs(&copy, map, slip) => {
            let copy = ConfigMap { data: map.data.clone(), ..copy };
            match copies.replace(&name, &PostParams::default(), &copy).await {
                Err(error) if error.is_not_found() && slip == Some(Slip::GoneIsChanged) => Ok(()),
                Err(error) if error.is_conflict() && slip == Some(Slip::ConflictIsChanged) => Ok(()),
                changed => unless(slip == Some(Slip::SwallowsChange), changed),
            }
        }
        Some(_) => Ok(()),
    }
}

/// The copy as it is made.
fn copy_of(map: &ConfigMap, slip: Option<Slip>) -> ConfigMap {
    let labels = map.metadata.labels.clone().filter(|_| slip == Some(Slip::CopiesLabels));
    let metadata = ObjectMeta { name: Some(name_of_copy(map, slip)), labels, ..ObjectMeta::default() };
    ConfigMap { metadata, data: map.data.clone(), ..ConfigMap::default() }
}

/// The copy as the cache shows it.
fn cached_copy(context: &Context, map: &ConfigMap) -> Option<ConfigMap> {
    let name = name_of_copy(map, None);
    let mut cached = context.store::<ConfigMap>().state().into_iter().map(|one| (*one).clone());
    cached.find(|one| one.metadata.namespace.as_deref() == Some(PUBLIC) && one.metadata.name.as_ref() == Some(&name))
}

/// Whether a copy has to be changed.
fn differs(copy: &ConfigMap, map: &ConfigMap, slip: Option<Slip>) -> bool {
    let has = |one: &ConfigMap, entry: (&String, &String)| one.data.iter().flatten().any(|there| there == entry);
    match slip {
        Some(Slip::NeverChanges) => false,
        Some(Slip::AlwaysChanges) => true,
        Some(Slip::KeepsEntries) => map.data.iter().flatten().any(|entry| !has(copy, entry)),
        Some(Slip::MissesEntries) => copy.data.iter().flatten().any(|entry| !has(map, entry)),
        Some(Slip::EmptyDiffers) => copy.data != Some(map.data.clone().unwrap_or_default()),
        Some(Slip::EmptyStays) => copy.data.is_some() && copy.data != map.data,
        Some(Slip::ValuesOnly) => {
            !copy.data.iter().flatten().map(|one| one.1).eq(map.data.iter().flatten().map(|one| one.1))
        }
        Some(Slip::KeepsLast) => map.data.is_some() && copy.data != map.data,
        _ => copy.data != map.data,
    }
}

/// What came of a call, unless nobody looks at it.
fn unless(swallowed: bool, written: Result<ConfigMap, Error>) -> Result<(), Error> {
    if swallowed { Ok(()) } else { written.map(drop) }
}

fn name_of_copy(map: &ConfigMap, slip: Option<Slip>) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let most = if slip == Some(Slip::CutsName) { 20 } else { usize::MAX };
    let name: String = part(&map.metadata.name).chars().take(most).collect();
    format!("{}-{name}", part(&map.metadata.namespace))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("finalizer", &super::PLAN);
    }
}

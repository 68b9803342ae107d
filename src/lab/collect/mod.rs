//! Exercise 17: one look of the garbage collector at one object. Mirrors `attemptToDeleteItem` of
//! `pkg/controller/garbagecollector`.
//!
//! A Pod is asked about with every owner and every pair of owners out of eight that are there, gone, leaving or elsewhere;
//! itself there, leaving or waiting; with and without objects of its own.
//!
//! Left out: circles of objects that wait for one another, and kinds that the API server does not know.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::function::Function;
use super::making::begins;
use super::{Exercise, Judging, controlling, words};
use crate::controllers::garbage_collector::graph::owners_of;
use crate::exercise::collect::{Action, Case, Item, Propagation, is_namespaced};
use crate::object::Accessor;
use crate::object::meta::has_finalizer;
use crate::object::well_known::{FOREGROUND, ORPHAN};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "17_collect",
    title: "What goes when its owner is gone?",
    outcome: "say which objects the garbage collector deletes, how, and which only lose a reference",
    needs: &["ownership"],
    hints: [
        "Begin with the object itself: is it being deleted, and does it wait for its dependents? Only then do its owners \
         matter. When is an owner there?",
        "An owner is there if an object of its kind, name and uid is, in the namespace of the dependent (or in none, if its \
         kind has none). It waits if it is being deleted with the finalizer foregroundDeletion. All others are gone.",
        "Being deleted: Leave; with foregroundDeletion RemoveFinalizer once no object with blockOwnerDeletion is left. No \
         owners: Leave. An owner there that does not wait: RemoveOwners of all the others, or Leave. None: Delete; Foreground \
         if an owner waits and there are dependents, else as the object's own finalizer says (orphan, foregroundDeletion), \
         else Background.",
    ],
    minutes: 40,
    judging: Judging::of_part::<Collecting>(controlling::with_collect),
};

pub(super) struct Collecting;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    OrphansDie,
    ByName,
    ByUid,
    NamespacedNode,
    NodeMayDepend,
    OnlyController,
    AnyGone,
    KeepsReferences,
    RemovesGoneOnly,
    WaitingStays,
    LeavingIsGone,
    DeletesTwice,
    NeverLetsGo,
    AllBlock,
    NoneBlocks,
    LeavingIsNoBlock,
    GoingIsNoDependent,
    AlwaysBackground,
    NotItsDependents,
    DependentsByName,
    FirstOwnerOfDependent,
    UnsaidBlocks,
    AnyName,
    AnyKind,
    FinalizerWaits,
    DependentsAtHome,
    WaitsIfBlocked,
    OrphanLetsGo,
    LeavesWithFinalizer,
    FinalizerAlike,
    DefaultNamespace,
    DependentsCalledSo,
    ThreeDependents,
    NotOfItsName,
    NotOfItsKind,
    KnownKinds,
    UidAlike,
    FinalizerBegins,
    OnlyBlocking,
    NamespaceAlike,
}

impl Function for Collecting {
    type Question = Case;
    type Answer = Action;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("an object without owners is deleted", Slip::OrphansDie),
        ("an owner is recognised by its name; a new one of the same name has another uid", Slip::ByName),
        ("an owner is looked for in all namespaces; it must be in that of the dependent", Slip::ByUid),
        ("an owner whose kind has no namespace is looked for in one", Slip::NamespacedNode),
        (
            "an object without namespace is deleted because of an owner in one, which can never be found",
            Slip::NodeMayDepend,
        ),
        ("only the owner with controller: true counts; every one keeps its dependents", Slip::OnlyController),
        ("an object goes when one of its owners is gone; it goes with the last", Slip::AnyGone),
        ("references to owners that are gone are left", Slip::KeepsReferences),
        ("references to owners that wait for their dependents are left", Slip::RemovesGoneOnly),
        ("an owner that waits for its dependents counts as one that stays", Slip::WaitingStays),
        ("an owner that is being deleted counts as gone; it may take its time", Slip::LeavingIsGone),
        ("what is being deleted already is deleted once more", Slip::DeletesTwice),
        ("what waits for its dependents is left alone, also when there are none any more", Slip::NeverLetsGo),
        ("all dependents are waited for, not those with blockOwnerDeletion", Slip::AllBlock),
        ("dependents are not waited for", Slip::NoneBlocks),
        ("a dependent that is being deleted is not waited for; it is still there", Slip::LeavingIsNoBlock),
        (
            "a dependent that is being deleted and has no finalizer is taken for gone; it may take its time",
            Slip::GoingIsNoDependent,
        ),
        ("the object's own finalizers do not decide how it is deleted", Slip::AlwaysBackground),
        ("an owner waits, and the object's own dependents are not deleted before it", Slip::NotItsDependents),
        (
            "a dependent is recognised by its owner's name; one of an earlier object has another uid",
            Slip::DependentsByName,
        ),
        ("only the first owner of a dependent is looked at", Slip::FirstOwnerOfDependent),
        ("a dependent that does not say blockOwnerDeletion is waited for; only true is", Slip::UnsaidBlocks),
        ("an owner's name is not compared", Slip::AnyName),
        ("an owner's kind is not compared", Slip::AnyKind),
        ("an owner with foregroundDeletion counts as waiting, though nobody has deleted it", Slip::FinalizerWaits),
        (
            "dependents are looked for in its own namespace; what has none may have some in every namespace",
            Slip::DependentsAtHome,
        ),
        ("an owner counts as waiting only if the reference says blockOwnerDeletion", Slip::WaitsIfBlocked),
        ("the finalizer orphan is taken off; here that is done with foregroundDeletion only", Slip::OrphanLetsGo),
        ("what is being deleted counts so only if it has finalizers", Slip::LeavesWithFinalizer),
        ("a finalizer whose name only ends so is taken for the garbage collector's", Slip::FinalizerAlike),
        ("a dependent that calls its owner by another name is overlooked; the uid decides", Slip::DependentsCalledSo),
        (
            "an owner is looked for in the namespace default; it must be in that of the dependent",
            Slip::DefaultNamespace,
        ),
        ("only the first three dependents are looked at", Slip::ThreeDependents),
        ("a dependent that has its owner's name is taken for the owner itself", Slip::NotOfItsName),
        ("a dependent of its owner's kind is overlooked; what kind it is does not matter", Slip::NotOfItsKind),
        ("only some kinds are taken for ones without namespace; is_namespaced knows them all", Slip::KnownKinds),
        ("a dependent of an object whose uid only begins alike is taken for one's own", Slip::UidAlike),
        ("a finalizer whose name only begins so is taken for the garbage collector's", Slip::FinalizerBegins),
        (
            "an owner counts only if the reference says blockOwnerDeletion; every one keeps its dependents",
            Slip::OnlyBlocking,
        ),
        ("an owner in a namespace whose name only begins alike is taken", Slip::NamespaceAlike),
    ];

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Action {
        let is = |one| slip == Some(one);
        let meta = &case.item.metadata;
        let dependents = dependents_of(case, slip);
        let held = |meta: &ObjectMeta| meta.finalizers.iter().flatten().next().is_some();
        let leaves = meta.deletion_timestamp.is_some() && (held(meta) || !is(Slip::LeavesWithFinalizer));
        if leaves && !is(Slip::DeletesTwice) {
            let blocks = |(item, owner): &(&Item, &OwnerReference)| {
                (owner.block_owner_deletion.unwrap_or(is(Slip::UnsaidBlocks)) || is(Slip::AllBlock))
                    && (item.metadata.deletion_timestamp.is_none() || !is(Slip::LeavingIsNoBlock))
                    && !is(Slip::NoneBlocks)
            };
            let orphans = has(meta, ORPHAN, slip) && is(Slip::OrphanLetsGo);
            let waits = (has(meta, FOREGROUND, slip) || orphans) && !is(Slip::NeverLetsGo);
            return if waits && !dependents.iter().any(blocks) { Action::RemoveFinalizer } else { Action::Leave };
        }
        let owners: Vec<(&OwnerReference, Owner)> =
            owners_of(meta).iter().map(|owner| (owner, look_up(case, owner, slip))).collect();
        if (owners.is_empty() && !is(Slip::OrphansDie)) || owners.iter().any(|(_, how)| *how == Owner::Impossible) {
            return Action::Leave;
        }
        let counts = |owner: &OwnerReference| match slip {
            Some(Slip::OnlyController) => owner.controller == Some(true),
            Some(Slip::OnlyBlocking) => owner.block_owner_deletion == Some(true),
            _ => true,
        };
        let solid = owners.iter().any(|(owner, how)| *how == Owner::There && counts(owner));
        let any_gone = owners.iter().any(|(_, how)| *how == Owner::Gone);
        if solid && !(any_gone && is(Slip::AnyGone)) {
            let lost = |how: Owner| how == Owner::Gone || (how == Owner::Waits && !is(Slip::RemovesGoneOnly));
            let mut lost: Vec<String> =
                owners.iter().filter(|(_, how)| lost(*how)).map(|(owner, _)| owner.uid.clone()).collect();
            lost.sort();
            return match lost.is_empty() || is(Slip::KeepsReferences) {
                true => Action::Leave,
                false => Action::RemoveOwners(lost),
            };
        }
        let waits = owners.iter().any(|(_, how)| *how == Owner::Waits);
        Action::Delete(match () {
            () if waits && !dependents.is_empty() && !is(Slip::NotItsDependents) => Propagation::Foreground,
            () if is(Slip::AlwaysBackground) => Propagation::Background,
            () if has(meta, ORPHAN, slip) => Propagation::Orphan,
            () if has(meta, FOREGROUND, slip) => Propagation::Foreground,
            () => Propagation::Background,
        })
    }

    fn property(case: &Case, given: Option<&Action>) -> &'static str {
        match (Collecting::rule(case, None), given) {
            (_, None) => "every object gets an answer",
            (Action::Delete(_), Some(Action::Delete(_))) => "it is deleted the way its owners and finalizers ask for",
            (_, Some(Action::Delete(_))) => "what somebody still owns, or nobody ever did, is not deleted",
            (Action::Delete(_), _) => "what has no owner left is deleted",
            (Action::RemoveFinalizer, _) => "what waits for its dependents goes once none of them holds it up",
            (_, Some(Action::RemoveFinalizer)) => "what waits for its dependents does not go before them",
            (Action::RemoveOwners(_), _) => "of several owners those that are gone or wait are taken off",
            (Action::Leave, _) => "what is as it should be is left alone",
        }
    }

    fn show(case: &Case) -> String {
        let related = |other: &&Item| {
            let names = |one: &Item, other: &ObjectMeta| {
                owners_of(&one.metadata)
                    .iter()
                    .any(|owner| Some(&owner.name) == other.name.as_ref() || Some(&owner.uid) == other.uid.as_ref())
            };
            names(&case.item, &other.metadata) || names(other, &case.item.metadata)
        };
        let owners: Vec<Value> = owners_of(&case.item.metadata).iter().map(words::owner).collect();
        let owners = ("ownerReferences", if owners.is_empty() { Value::Null } else { json!(owners) });
        let others = || case.all.iter().filter(|one| **one != case.item);
        let mut text = words::object(&called(&case.item), fields(&case.item.metadata).into_iter().chain([owners]))
            + "\nthere are also:";
        for other in others().filter(related) {
            let fields = fields(&other.metadata).into_iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| format!("{name} {}", words::flow(&value)));
            let owners = owners_of(&other.metadata).iter().map(|owner| {
                let blocks = owner.block_owner_deletion.map_or("not given".to_owned(), |blocks| blocks.to_string());
                format!("owner {} with blockOwnerDeletion {blocks}", owner.uid)
            });
            text += &format!("\n  {}: {}", called(other), words::listed(fields.chain(owners)));
        }
        let rest = others().count() - others().filter(related).count();
        text + &format!("\n  {rest} that have nothing to do with it")
    }
}

/// `Pod web-1 in default`.
fn called(item: &Item) -> String {
    let place = item.metadata.namespace.as_ref().map_or(String::new(), |namespace| format!(" in {namespace}"));
    format!("{} {}{place}", item.kind, item.metadata.name())
}

/// What the collector looks at of an object itself.
fn fields(meta: &ObjectMeta) -> [(&'static str, Value); 3] {
    let ObjectMeta { uid, deletion_timestamp, finalizers, .. } = meta;
    [("uid", json!(uid)), ("deletionTimestamp", json!(deletion_timestamp)), ("finalizers", json!(finalizers))]
}

/// What is known of an owner.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    There,
    Waits,
    Gone,
    Impossible,
}

fn look_up(case: &Case, owner: &OwnerReference, slip: Option<Slip>) -> Owner {
    let is = |one| slip == Some(one);
    let home = case.item.metadata.namespace.as_ref();
    let default = "default".to_owned();
    let home_or_default = if is(Slip::DefaultNamespace) { Some(&default) } else { home };
    let known = ["Node", "PersistentVolume"].contains(&&*owner.kind);
    let is_namespaced = |kind: &str| if is(Slip::KnownKinds) { !known } else { is_namespaced(kind) };
    let namespace = if is_namespaced(&owner.kind) || is(Slip::NamespacedNode) { home_or_default } else { None };
    if is_namespaced(&owner.kind) && home.is_none() && !is(Slip::NodeMayDepend) {
        return Owner::Impossible;
    }
    let found = case.all.iter().find(|item| {
        let meta = &item.metadata;
        (item.kind == owner.kind || is(Slip::AnyKind))
            && (meta.name.as_ref() == Some(&owner.name) || is(Slip::AnyName))
            && (meta.namespace.as_ref() == namespace
                || is(Slip::ByUid)
                || is(Slip::NamespaceAlike) && begins(meta.namespace.as_ref(), namespace))
            && (meta.uid.as_ref() == Some(&owner.uid) || is(Slip::ByName))
    });
    match found
        .map(|item| &item.metadata)
        .map(|meta| (meta.deletion_timestamp.is_some(), has(meta, FOREGROUND, slip)))
        .map(|(leaves, waits)| (leaves || is(Slip::FinalizerWaits) && waits, waits))
    {
        None => Owner::Gone,
        Some((true, true)) if is(Slip::WaitsIfBlocked) && owner.block_owner_deletion != Some(true) => Owner::There,
        Some((true, true)) if !is(Slip::WaitingStays) => Owner::Waits,
        Some((true, false)) if is(Slip::LeavingIsGone) => Owner::Gone,
        Some(_) => Owner::There,
    }
}

fn has(meta: &ObjectMeta, finalizer: &str, slip: Option<Slip>) -> bool {
    let alike = |one: &String| match slip {
        Some(Slip::FinalizerAlike) => one.ends_with(finalizer),
        Some(Slip::FinalizerBegins) => one.starts_with(finalizer),
        _ => false,
    };
    has_finalizer(meta, finalizer) || meta.finalizers.iter().flatten().any(alike)
}

/// The objects that name this one as an owner, and how.
fn dependents_of(case: &Case, slip: Option<Slip>) -> Vec<(&Item, &OwnerReference)> {
    let ObjectMeta { uid, name, .. } = &case.item.metadata;
    let is_it = |owner: &OwnerReference| match slip {
        Some(Slip::DependentsByName) => owner.kind == case.item.kind && Some(&owner.name) == name.as_ref(),
        Some(Slip::DependentsCalledSo) => Some(&owner.uid) == uid.as_ref() && Some(&owner.name) == name.as_ref(),
        Some(Slip::UidAlike) => begins(Some(&owner.uid), uid.as_ref()),
        _ => Some(&owner.uid) == uid.as_ref(),
    };
    let most = if slip == Some(Slip::FirstOwnerOfDependent) { 1 } else { usize::MAX };
    let named = |item: &'_ Item| owners_of(&item.metadata).iter().take(most).position(is_it);
    let home =
        |item: &&Item| slip != Some(Slip::DependentsAtHome) || item.metadata.namespace == case.item.metadata.namespace;
    let alike = |item: &&Item| match slip {
        Some(Slip::NotOfItsName) => item.metadata.name == *name,
        Some(Slip::NotOfItsKind) => item.kind == case.item.kind,
        Some(Slip::GoingIsNoDependent) => {
            item.metadata.deletion_timestamp.is_some() && item.metadata.finalizers.is_none()
        }
        _ => false,
    };
    let all = case
        .all
        .iter()
        .filter(|item| home(item) && !alike(item))
        .filter_map(|item| Some((item, &owners_of(&item.metadata)[named(item)?])));
    all.take(if slip == Some(Slip::ThreeDependents) { 3 } else { usize::MAX }).collect()
}

mod questions;
#[cfg(test)]
mod tests;

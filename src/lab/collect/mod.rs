//! Exercise 18: one look of the garbage collector at one object. Mirrors `attemptToDeleteItem` of
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
use super::mistake::{Mistake, mistakes};
use super::{Exercise, Judging, controlling, words};
use controllers::garbage_collector::graph::owners_of;
use exercise::collect::{Action, Case, Item, Propagation, is_namespaced};
use object::Accessor;
use object::well_known::{FOREGROUND, ORPHAN};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "18_collect",
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

impl Function for Collecting {
    type Question = Case;
    type Answer = Action;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Action {
        let meta = &case.item.metadata;
        let dependents = dependents_of(rule, case);
        let [foreground, orphan] = [FOREGROUND, ORPHAN].map(|finalizer| has(rule, meta, finalizer));
        if (rule.leaves)(meta) {
            let is_held_up = dependents.iter().any(|(item, owner)| (rule.blocks)(item, owner));
            let goes = (rule.lets_go)(foreground, orphan) && !is_held_up;
            return if goes { Action::RemoveFinalizer } else { Action::Leave };
        }
        let owners: Vec<(&OwnerReference, Owner)> =
            owners_of(meta).iter().map(|owner| (owner, look_up(rule, case, owner))).collect();
        let is_any = |how: Owner| owners.iter().any(|(_, one)| *one == how);
        if owners.is_empty() && rule.keeps_orphans || is_any(Owner::Impossible) {
            return Action::Leave;
        }
        let is_owned = owners.iter().any(|(owner, how)| *how == Owner::There && (rule.counts)(owner));
        if (rule.is_kept)(is_owned, is_any(Owner::Gone)) {
            let lost = owners.iter().filter(|(_, how)| (rule.is_lost)(*how));
            let mut lost: Vec<String> = lost.map(|(owner, _)| owner.uid.clone()).collect();
            lost.sort();
            return if lost.is_empty() { Action::Leave } else { Action::RemoveOwners(lost) };
        }
        let dependents_first = is_any(Owner::Waits) && !dependents.is_empty() && rule.dependents_first;
        Action::Delete(if dependents_first { Propagation::Foreground } else { (rule.own)(foreground, orphan) })
    }

    fn property(case: &Case, given: Option<&Action>) -> &'static str {
        match (Collecting::right(case), given) {
            (_, None) => "every object gets an answer",
            (Action::Delete(_), Some(Action::Delete(_))) => "it is deleted the way its owners and finalizers ask for",
            (_, Some(Action::Delete(_))) => "what still has an owner, or never had one, is not deleted",
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
pub(super) enum Owner {
    There,
    Waits,
    Gone,
    Impossible,
}

/// What decides.
pub(super) struct Rule {
    /// Whether an object is being deleted.
    leaves: fn(&ObjectMeta) -> bool,
    /// Whether one that is, with or without the two finalizers, waits for its dependents.
    lets_go: fn(bool, bool) -> bool,
    /// Whether a dependent that names it so holds it up.
    blocks: fn(&Item, &OwnerReference) -> bool,
    /// Whether a finalizer is this one.
    is_finalizer: fn(&str, &str) -> bool,
    /// Whether what has no owners is left alone.
    keeps_orphans: bool,
    /// Whether a kind has namespaces.
    is_namespaced: fn(&str) -> bool,
    /// Whether an owner, whose kind has a namespace or none, cannot be one of what is there.
    is_impossible: fn(bool, Option<&str>) -> bool,
    /// The namespace in which it is looked for, by that of the dependent.
    place: fn(bool, Option<&str>) -> Option<&str>,
    /// Whether an object is in that namespace.
    same_place: fn(Option<&str>, Option<&str>) -> bool,
    /// Whether it is the owner: by its kind, its name, its namespace and its uid.
    is_owner: fn([bool; 4]) -> bool,
    /// What an owner is that is being deleted, and has the finalizer of one that waits.
    owner: fn(bool, bool, &OwnerReference) -> Owner,
    /// Whether one keeps its dependents.
    counts: fn(&OwnerReference) -> bool,
    /// Whether an object stays that is owned, or one of whose owners is gone.
    is_kept: fn(bool, bool) -> bool,
    /// Whether such a one is taken off then.
    is_lost: fn(Owner) -> bool,
    /// Whether its dependents go before an object whose owner waits.
    dependents_first: bool,
    /// How it is deleted by its own finalizers, foregroundDeletion and orphan.
    own: fn(bool, bool) -> Propagation,
    /// Whether an object may be a dependent of this one.
    is_seen: fn(&Item, &Item) -> bool,
    /// So many of its owners are looked at.
    owners: usize,
    /// Whether one of them is this object.
    depends: fn(&OwnerReference, &Item) -> bool,
    /// So many dependents are looked at.
    dependents: usize,
}

const RULE: Rule = Rule {
    leaves: |meta| meta.deletion_timestamp.is_some(),
    lets_go: |foreground, _| foreground,
    blocks,
    is_finalizer: |one, finalizer| one == finalizer,
    keeps_orphans: true,
    is_namespaced,
    is_impossible: |is_namespaced, home| is_namespaced && home.is_none(),
    place: |is_namespaced, home| home.filter(|_| is_namespaced),
    same_place: |its, place| its == place,
    is_owner: |same| same == [true; 4],
    owner: |leaves, waits, _| if leaves && waits { Owner::Waits } else { Owner::There },
    counts: |_| true,
    is_kept: |is_owned, _| is_owned,
    is_lost: |owner| matches!(owner, Owner::Gone | Owner::Waits),
    dependents_first: true,
    own: |foreground, orphan| match (orphan, foreground) {
        (true, _) => Propagation::Orphan,
        (false, true) => Propagation::Foreground,
        (false, false) => Propagation::Background,
    },
    is_seen: |_, _| true,
    owners: usize::MAX,
    depends,
    dependents: usize::MAX,
};

fn blocks(_: &Item, owner: &OwnerReference) -> bool {
    owner.block_owner_deletion == Some(true)
}

fn depends(owner: &OwnerReference, item: &Item) -> bool {
    Some(&owner.uid) == item.metadata.uid.as_ref()
}

fn look_up(rule: &Rule, case: &Case, owner: &OwnerReference) -> Owner {
    let home = case.item.metadata.namespace.as_deref();
    let is_namespaced = (rule.is_namespaced)(&owner.kind);
    if (rule.is_impossible)(is_namespaced, home) {
        return Owner::Impossible;
    }
    let place = (rule.place)(is_namespaced, home);
    let found = case.all.iter().find(|item| {
        let meta = &item.metadata;
        let same_place = (rule.same_place)(meta.namespace.as_deref(), place);
        let (name, uid) = (meta.name.as_ref() == Some(&owner.name), meta.uid.as_ref() == Some(&owner.uid));
        (rule.is_owner)([item.kind == owner.kind, name, same_place, uid])
    });
    let Some(Item { metadata, .. }) = found else { return Owner::Gone };
    (rule.owner)(metadata.deletion_timestamp.is_some(), has(rule, metadata, FOREGROUND), owner)
}

fn has(rule: &Rule, meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|one| (rule.is_finalizer)(one, finalizer))
}

/// The objects that name this one as an owner, and how.
fn dependents_of<'a>(rule: &Rule, case: &'a Case) -> Vec<(&'a Item, &'a OwnerReference)> {
    let seen = case.all.iter().filter(|one| (rule.is_seen)(one, &case.item));
    let named = seen.filter_map(|one| {
        let mut owners = owners_of(&one.metadata).iter().take(rule.owners);
        Some((one, owners.find(|owner| (rule.depends)(owner, &case.item))?))
    });
    named.take(rule.dependents).collect()
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    orphans_die: "an object without owners is deleted" => { keeps_orphans: false };
    by_name: "an owner is recognised by its name; a new one of the same name has another uid"
        => { is_owner: |[kind, name, place, _]| kind && name && place };
    by_uid: "an owner is looked for in all namespaces; it must be in that of the dependent"
        => { is_owner: |[kind, name, _, uid]| kind && name && uid };
    namespaced_node: "an owner whose kind has no namespace is looked for in one" => { place: |_, home| home };
    node_may_depend: "an object without namespace is deleted because of an owner in one, which can never be found"
        => { is_impossible: |_, _| false };
    only_controller: "only the owner with controller: true counts; every one keeps its dependents"
        => { counts: |owner| owner.controller == Some(true) };
    any_gone: "an object goes when one of its owners is gone; it goes with the last"
        => { is_kept: |is_owned, is_any_gone| is_owned && !is_any_gone };
    keeps_references: "references to owners that are gone are left" => { is_lost: |_| false };
    removes_gone_only: "references to owners that wait for their dependents are left"
        => { is_lost: |owner| owner == Owner::Gone };
    waiting_stays: "an owner that waits for its dependents counts as one that stays"
        => { owner: |_, _, _| Owner::There };
    leaving_is_gone: "an owner that is being deleted counts as gone; it may take its time"
        => {
            owner: |leaves, waits, _| match (leaves, waits) {
                (true, true) => Owner::Waits,
                (true, false) => Owner::Gone,
                _ => Owner::There,
            }
        };
    deletes_twice: "what is being deleted already is deleted once more" => { leaves: |_| false };
    never_lets_go: "what waits for its dependents is left alone, also when there are none any more"
        => { lets_go: |_, _| false };
    all_block: "all dependents are waited for, not those with blockOwnerDeletion" => { blocks: |_, _| true };
    none_blocks: "dependents are not waited for" => { blocks: |_, _| false };
    leaving_is_no_block: "a dependent that is being deleted is not waited for; it is still there"
        => { blocks: |item, owner| blocks(item, owner) && item.metadata.deletion_timestamp.is_none() };
    going_is_no_dependent:
        "a dependent that is being deleted and has no finalizer is taken for gone; it may take its time"
        => { is_seen: |one, _| one.metadata.deletion_timestamp.is_none() || one.metadata.finalizers.is_some() };
    always_background: "the object's own finalizers do not decide how it is deleted"
        => { own: |_, _| Propagation::Background };
    not_its_dependents: "an owner waits, and the object's own dependents are not deleted before it"
        => { dependents_first: false };
    dependents_by_name: "a dependent is recognised by its owner's name; one of an earlier object has another uid"
        => { depends: |owner, item| owner.kind == item.kind && Some(&owner.name) == item.metadata.name.as_ref() };
    first_owner_of_dependent: "only the first owner of a dependent is looked at" => { owners: 1 };
    unsaid_blocks: "a dependent that does not say blockOwnerDeletion is waited for; only true is"
        => { blocks: |_, owner| owner.block_owner_deletion != Some(false) };
    any_name: "an owner's name is not compared" => { is_owner: |[kind, _, place, uid]| kind && place && uid };
    any_kind: "an owner's kind is not compared" => { is_owner: |[_, name, place, uid]| name && place && uid };
    finalizer_waits: "an owner with foregroundDeletion counts as waiting, though it is not being deleted"
        => { owner: |_, waits, _| if waits { Owner::Waits } else { Owner::There } };
    dependents_at_home: "dependents are looked for in its own namespace; what has none may have some in every namespace"
        => { is_seen: |one, item| one.metadata.namespace == item.metadata.namespace };
    waits_if_blocked: "an owner counts as waiting only if the reference says blockOwnerDeletion"
        => {
            owner: |leaves, waits, owner| match owner.block_owner_deletion {
                Some(true) if leaves && waits => Owner::Waits,
                _ => Owner::There,
            }
        };
    orphan_lets_go: "the finalizer orphan is taken off; here that is done with foregroundDeletion only"
        => { lets_go: |foreground, orphan| foreground || orphan };
    leaves_with_finalizer: "what is being deleted counts so only if it has finalizers"
        => { leaves: |meta| meta.deletion_timestamp.is_some() && meta.finalizers.iter().flatten().next().is_some() };
    finalizer_alike: "a finalizer whose name only ends so is taken for the garbage collector's"
        => { is_finalizer: |one, finalizer| one.ends_with(finalizer) };
    dependents_called_so: "a dependent that calls its owner by another name is overlooked; the uid decides"
        => { depends: |owner, item| depends(owner, item) && Some(&owner.name) == item.metadata.name.as_ref() };
    default_namespace: "an owner is looked for in the namespace default; it must be in that of the dependent"
        => { place: |is_namespaced, _| is_namespaced.then_some("default") };
    three_dependents: "only the first three dependents are looked at" => { dependents: 3 };
    not_of_its_name: "a dependent that has its owner's name is taken for the owner itself"
        => { is_seen: |one, item| one.metadata.name != item.metadata.name };
    not_of_its_kind: "a dependent of its owner's kind is overlooked; what kind it is does not matter"
        => { is_seen: |one, item| one.kind != item.kind };
    known_kinds: "only some kinds are taken for ones without namespace; is_namespaced knows them all"
        => { is_namespaced: |kind| !["Node", "PersistentVolume"].contains(&kind) };
    uid_alike: "a dependent of an object whose uid only begins alike is taken for one's own"
        => { depends: |owner, item| begins(Some(&owner.uid), item.metadata.uid.as_ref()) };
    finalizer_begins: "a finalizer whose name only begins so is taken for the garbage collector's"
        => { is_finalizer: |one, finalizer| one.starts_with(finalizer) };
    only_blocking: "an owner counts only if the reference says blockOwnerDeletion; every one keeps its dependents"
        => { counts: |owner| owner.block_owner_deletion == Some(true) };
    namespace_alike: "an owner in a namespace whose name only begins alike is taken"
        => {
            same_place: |its, place| its == place || its.zip(place).is_some_and(|(its, place)| its.starts_with(place))
        };
};

mod questions;
#[cfg(test)]
mod tests;

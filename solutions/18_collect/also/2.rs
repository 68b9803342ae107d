//! Exercise 18: what goes when its owner is gone?
//!
//! The garbage collector looks at one object and decides. `all` are all objects there are.
//!
//! An object that is being deleted is left alone; but if it has the finalizer `foregroundDeletion` it waits for those that
//! name it as owner (by uid) with `blockOwnerDeletion: true`, and when none of them is there any more the finalizer is removed.
//!
//! Else its owners decide. One is there if an object of that kind, name and uid is: in the object's own namespace, or in none
//! if `is_namespaced` says so of its kind. One that is being deleted and has `foregroundDeletion` waits for its dependents. An
//! object without a namespace whose owner should have one is left alone. With an owner that is there and does not wait, the
//! references to all others are removed, if there are any. With none the object is deleted: `Foreground` if an owner waits for
//! it and it has dependents of its own; else `Orphan` or `Foreground` if it has the finalizer `orphan` or
//! `foregroundDeletion`; else `Background`.

#![allow(unused_imports)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubestep_exercise::collect::{Action, Item, Propagation, is_namespaced};

// Yours from here.

#[derive(PartialEq)]
enum State {
    Solid,
    Waiting,
    Dangling,
}

/// With an enum of states, and a match at the end.
pub fn attempt(item: &Item, all: &[Item]) -> Action {
    let meta = &item.metadata;
    let has = |meta: &ObjectMeta, name: &str| meta.finalizers.as_ref().is_some_and(|all| all.iter().any(|f| f == name));
    let owned = all.iter().flat_map(|one| one.metadata.owner_references.iter().flatten());
    let owned: Vec<_> = owned.filter(|reference| meta.uid.as_deref() == Some(&reference.uid)).collect();
    match (&meta.deletion_timestamp, has(meta, "foregroundDeletion")) {
        (Some(_), true) if owned.iter().all(|one| one.block_owner_deletion != Some(true)) => {
            return Action::RemoveFinalizer;
        }
        (Some(_), _) => return Action::Leave,
        (None, _) => {}
    }
    let owners: &[OwnerReference] = meta.owner_references.as_deref().unwrap_or(&[]);
    if meta.namespace.is_none() && owners.iter().any(|owner| is_namespaced(&owner.kind)) {
        return Action::Leave;
    }
    let state = |owner: &OwnerReference| {
        let found = all.iter().find(|one| {
            one.kind == owner.kind
                && one.metadata.uid.as_deref() == Some(owner.uid.as_str())
                && one.metadata.name.as_deref() == Some(owner.name.as_str())
                && (!is_namespaced(&one.kind) || one.metadata.namespace == meta.namespace)
        });
        match found {
            None => State::Dangling,
            Some(one) if one.metadata.deletion_timestamp.is_none() => State::Solid,
            Some(one) if has(&one.metadata, "foregroundDeletion") => State::Waiting,
            Some(_) => State::Solid,
        }
    };
    let states: Vec<State> = owners.iter().map(state).collect();
    let lost = owners.iter().zip(&states).filter(|(_, state)| **state != State::Solid);
    let lost: Vec<String> = lost.map(|(owner, _)| owner.uid.clone()).collect();
    if lost.is_empty() {
        return Action::Leave;
    }
    if lost.len() < owners.len() {
        return Action::RemoveOwners(lost);
    }
    let first = states.contains(&State::Waiting) && !owned.is_empty();
    Action::Delete(match (first, has(meta, "orphan"), has(meta, "foregroundDeletion")) {
        (true, _, _) => Propagation::Foreground,
        (false, true, _) => Propagation::Orphan,
        (false, false, true) => Propagation::Foreground,
        (false, false, false) => Propagation::Background,
    })
}

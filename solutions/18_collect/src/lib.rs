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

/// What the collector does about an object.
pub fn attempt(item: &Item, all: &[Item]) -> Action {
    let meta = &item.metadata;
    let dependents: Vec<(&Item, &OwnerReference)> = all.iter().filter_map(|one| depends(one, meta)).collect();
    let blocks = |(_, owner): &(&Item, &OwnerReference)| owner.block_owner_deletion == Some(true);
    if meta.deletion_timestamp.is_some() {
        let goes = has(meta, "foregroundDeletion") && !dependents.iter().any(blocks);
        return if goes { Action::RemoveFinalizer } else { Action::Leave };
    }
    let owners = meta.owner_references.as_deref().unwrap_or_default();
    let impossible = |owner: &OwnerReference| is_namespaced(&owner.kind) && meta.namespace.is_none();
    if owners.is_empty() || owners.iter().any(impossible) {
        return Action::Leave;
    }
    let (mut solid, mut lost, mut waits) = (0, Vec::new(), false);
    for owner in owners {
        match find(owner, meta, all) {
            Some(there) if is_waiting(there) => {
                waits = true;
                lost.push(owner.uid.clone());
            }
            Some(_) => solid += 1,
            None => lost.push(owner.uid.clone()),
        }
    }
    if solid > 0 {
        return if lost.is_empty() { Action::Leave } else { Action::RemoveOwners(lost) };
    }
    if waits && !dependents.is_empty() {
        return Action::Delete(Propagation::Foreground);
    }
    Action::Delete(own_policy(meta))
}

fn own_policy(meta: &ObjectMeta) -> Propagation {
    if has(meta, "orphan") {
        Propagation::Orphan
    } else if has(meta, "foregroundDeletion") {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

fn depends<'a>(item: &'a Item, owner: &ObjectMeta) -> Option<(&'a Item, &'a OwnerReference)> {
    let mut owners = item.metadata.owner_references.iter().flatten();
    Some((item, owners.find(|one| Some(&one.uid) == owner.uid.as_ref())?))
}

/// The owner that a reference means, if it is there.
fn find<'a>(owner: &OwnerReference, dependent: &ObjectMeta, all: &'a [Item]) -> Option<&'a ObjectMeta> {
    let namespace = if is_namespaced(&owner.kind) { dependent.namespace.clone() } else { None };
    let same = |one: &&Item| {
        one.kind == owner.kind
            && one.metadata.name.as_ref() == Some(&owner.name)
            && one.metadata.uid.as_ref() == Some(&owner.uid)
            && one.metadata.namespace == namespace
    };
    all.iter().find(same).map(|one| &one.metadata)
}

fn is_waiting(owner: &ObjectMeta) -> bool {
    owner.deletion_timestamp.is_some() && has(owner, "foregroundDeletion")
}

fn has(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|one| one == finalizer)
}

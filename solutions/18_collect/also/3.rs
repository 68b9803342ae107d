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

/// Questions first, as small functions on a view of the world.
pub fn attempt(item: &Item, all: &[Item]) -> Action {
    let view = View { item, all };
    if item.metadata.deletion_timestamp.is_some() {
        return match view.waits_for_dependents(&item.metadata) && !view.is_held_up() {
            true => Action::RemoveFinalizer,
            false => Action::Leave,
        };
    }
    if view.references().is_empty() || view.has_impossible_owner() {
        return Action::Leave;
    }
    let is_solid = |r: &OwnerReference| view.owner(r).is_some_and(|owner| !view.waits_for_dependents(&owner.metadata));
    let (keep, drop): (Vec<_>, Vec<_>) = view.references().iter().partition(|reference| is_solid(reference));
    if keep.is_empty() {
        let waits = drop.iter().any(|reference| view.owner(reference).is_some());
        if waits && view.has_dependents() {
            return Action::Delete(Propagation::Foreground);
        }
        let finalizers = item.metadata.finalizers.as_deref().unwrap_or_default();
        let named = |name: &str| finalizers.iter().any(|one| one == name);
        let policies = [("orphan", Propagation::Orphan), ("foregroundDeletion", Propagation::Foreground)];
        let policy = policies.into_iter().find(|(name, _)| named(name));
        return Action::Delete(policy.map_or(Propagation::Background, |(_, policy)| policy));
    }
    if drop.is_empty() {
        return Action::Leave;
    }
    Action::RemoveOwners(drop.into_iter().map(|reference| reference.uid.clone()).collect())
}

struct View<'a> {
    item: &'a Item,
    all: &'a [Item],
}

impl<'a> View<'a> {
    fn references(&self) -> &'a [OwnerReference] {
        self.item.metadata.owner_references.as_deref().unwrap_or_default()
    }

    fn has_impossible_owner(&self) -> bool {
        self.item.metadata.namespace.is_none() && self.references().iter().any(|one| is_namespaced(&one.kind))
    }

    fn owner(&self, reference: &OwnerReference) -> Option<&'a Item> {
        let by_uid = self.all.iter().find(|one| one.metadata.uid.as_ref() == Some(&reference.uid))?;
        let reachable = !is_namespaced(&by_uid.kind) || by_uid.metadata.namespace == self.item.metadata.namespace;
        let same = by_uid.kind == reference.kind && by_uid.metadata.name.as_ref() == Some(&reference.name);
        (reachable && same).then_some(by_uid)
    }

    fn waits_for_dependents(&self, meta: &ObjectMeta) -> bool {
        let finalizers = meta.finalizers.iter().flatten();
        meta.deletion_timestamp.is_some() && finalizers.filter(|one| *one == "foregroundDeletion").count() > 0
    }

    fn dependents(&self) -> impl Iterator<Item = &'a OwnerReference> {
        let uid = self.item.metadata.uid.clone();
        let all = self.all.iter().flat_map(|one| one.metadata.owner_references.iter().flatten());
        all.filter(move |one| Some(one.uid.clone()) == uid)
    }

    fn has_dependents(&self) -> bool {
        self.dependents().next().is_some()
    }

    fn is_held_up(&self) -> bool {
        self.dependents().any(|one| one.block_owner_deletion == Some(true))
    }
}

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

/// Sorted into three lists, as the collector does it.
pub fn attempt(item: &Item, all: &[Item]) -> Action {
    let me = item.metadata.clone();
    let mine = |one: &Item| -> Option<OwnerReference> {
        one.metadata.owner_references.clone().unwrap_or_default().into_iter().find(|r| Some(r.uid.clone()) == me.uid)
    };
    let dependents: Vec<OwnerReference> = all.iter().filter_map(mine).collect();
    let finalizers = me.finalizers.clone().unwrap_or_default();
    let foreground = finalizers.contains(&"foregroundDeletion".to_string());
    if me.deletion_timestamp.is_some() {
        if !foreground {
            return Action::Leave;
        }
        for dependent in dependents {
            if dependent.block_owner_deletion.unwrap_or(false) {
                return Action::Leave;
            }
        }
        return Action::RemoveFinalizer;
    }
    let references = me.owner_references.unwrap_or_default();
    if references.len() == 0 {
        return Action::Leave;
    }
    let mut solid = vec![];
    let mut dangling = vec![];
    let mut waiting = vec![];
    for reference in &references {
        let mut namespace = me.namespace.clone();
        if is_namespaced(&reference.kind) {
            if namespace == None {
                return Action::Leave;
            }
        } else {
            namespace = None;
        }
        let mut list = &mut dangling;
        for other in all {
            let there = &other.metadata;
            let same = there.uid.as_ref() == Some(&reference.uid) && there.name.as_ref() == Some(&reference.name);
            if same && other.kind == reference.kind && there.namespace == namespace {
                let deleting = there.deletion_timestamp.is_some();
                let finalizers = there.finalizers.clone().unwrap_or_default();
                list = if deleting && finalizers.iter().any(|f| f == "foregroundDeletion") {
                    &mut waiting
                } else {
                    &mut solid
                };
            }
        }
        list.push(reference.uid.clone());
    }
    if solid.is_empty() {
        let policy = if !waiting.is_empty() && !dependents.is_empty() {
            Propagation::Foreground
        } else if finalizers.contains(&"orphan".to_string()) {
            Propagation::Orphan
        } else if foreground {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        return Action::Delete(policy);
    }
    let others = references.into_iter().map(|reference| reference.uid).filter(|uid| !solid.contains(uid));
    let others: Vec<String> = others.collect();
    match others.len() {
        0 => Action::Leave,
        _ => Action::RemoveOwners(others),
    }
}

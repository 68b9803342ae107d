//! What the strategies say of an object that is valid and yet hardly what its author wanted: a port that is there twice, memory
//! in thousandths of a byte, a selector that matches nothing. It comes in `Warning` headers, and `kubectl` prints it.
//!
//! Mirrors `WarningsOnCreate` and `WarningsOnUpdate` of `pkg/registry`, with `pkg/api/{pod,service}/warnings.go`. Pods are
//! warned of only when they are new, workloads whenever what they ask for has changed.
//!
//! Left out: addresses in a form that was right once, for new ones are refused, and
//! those that a status says of a Pod.

use crate::pod_template::warnings::of_pod_spec;
use crate::row::Known;
use crate::table::row;
use object::{Object, template};

pub mod addresses;
pub mod amounts;
mod custom;
pub mod names;

/// What is said of a new object.
pub fn on_create(object: &Object) -> Vec<String> {
    let mut told = Vec::new();
    let Some(row) = row(object.kind()) else {
        custom::of_finalizers(&mut told, object.meta(), None);
        return told;
    };
    told.extend(row.name_is_used_in().and_then(|used| names::of_name(object.name(), used)));
    of_any(&mut told, row, object);
    row.warn_on_create(&mut told, object);
    told
}

/// What is said of a new version of an object.
pub fn on_update(new: &Object, old: &Object) -> Vec<String> {
    let mut told = Vec::new();
    let Some(row) = row(new.kind()) else {
        custom::of_finalizers(&mut told, new.meta(), Some(old.meta()));
        return told;
    };
    if asks_for_other_pods(row, new, old) {
        of_any(&mut told, row, new);
    }
    row.warn_on_update(&mut told, new, old);
    told
}

/// What is said of a new status.
pub fn on_status_update(new: &Object) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(row) = row(new.kind()) {
        row.warn_on_status_update(&mut told, new);
    }
    told
}

/// Whether the Pods that an object makes may be other ones now; of what makes none it is always looked at.
fn asks_for_other_pods(row: &dyn Known, new: &Object, old: &Object) -> bool {
    let by_generation = || template::of(new).is_none() || new.meta().generation != old.meta().generation;
    row.asks_for_other_pods(new, old).unwrap_or_else(by_generation)
}

/// What is said of an object whether it is new or changed.
fn of_any(told: &mut Vec<String>, row: &dyn Known, object: &Object) {
    row.warn(told, object);
    if let Some((path, template)) = template::of(object) {
        of_pod_spec(told, &format!("{path}.spec"), template.metadata.as_ref(), template.spec.as_ref());
    }
}

#[cfg(test)]
mod tests;

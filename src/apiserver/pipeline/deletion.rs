//! What a DELETE means for an object: graceful for Pods, held back by finalizers, at once for the rest.
//!
//! Mirrors `rest/delete.go` (`BeforeDelete`) and `deletionFinalizersForGarbageCollection` of
//! `registry/generic/registry/store.go`.

use std::time::Duration;

use crate::strategy;
use object::pod::{assigned_node, has_ended};
use object::time::Instant;
use object::well_known::{FOREGROUND, ORPHAN};
use object::{Kind, Object};
use wire::{DeleteOptions, Propagation};

/// What is to be done with an object that is to go.
#[derive(Clone)]
pub enum Deletion {
    /// It goes now; a Pod is first to be this.
    Now(Option<Object>),
    /// It is to be this, and stays until its grace is over and nothing holds it any more.
    Later(Object),
}

impl Deletion {
    /// What the options mean for this object.
    pub fn of(object: &Object, options: &DeleteOptions, now: Instant) -> Deletion {
        let grace = grace_period(object, options);
        let finalizers = finalizers_for(object, options);
        let held = !finalizers.is_empty() || strategy::outlives_first_delete(object);
        let mut dying = object.clone();
        if grace == 0 && !held {
            // A Pod is first written with grace 0, as the real server does.
            let graceful = kinds::facts(object.kind()).graceful;
            return Deletion::Now(graceful.then(|| {
                mark_deleted(&mut dying, object, 0, now);
                dying
            }));
        }
        if object.meta().finalizers.as_deref().unwrap_or_default() != finalizers.as_slice() {
            dying.meta_mut().finalizers = (!finalizers.is_empty()).then_some(finalizers);
        }
        mark_deleted(&mut dying, object, grace, now);
        strategy::prepare_for_deletion(&mut dying, object, now);
        Deletion::Later(dying)
    }
}

/// Whether an object is going already, and will not go sooner for this. Mirrors `rest.BeforeDelete`.
pub(super) fn is_pending(object: &Object, options: &DeleteOptions) -> bool {
    let there = object.meta().deletion_grace_period_seconds.unwrap_or(0);
    let sooner = options.grace_period_seconds.is_some_and(|grace| not_negative(grace) < there);
    let in_its_grace = kinds::facts(object.kind()).graceful && !sooner;
    object.meta().deletion_timestamp.is_some() && (strategy::has_spec_finalizers(object) || in_its_grace)
}

/// Sets deletionTimestamp and grace, once; a later delete may only shorten the grace.
fn mark_deleted(dying: &mut Object, object: &Object, grace: i64, now: Instant) {
    let seconds = |grace: i64| Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    let there = object.meta().deletion_grace_period_seconds;
    let at = match &object.meta().deletion_timestamp {
        None => now + seconds(grace),
        // The grace is counted from when it began, but does not end in the past.
        Some(ends) => match there {
            Some(there) if grace < there => {
                let sooner = Instant::from_time(ends).since_start().saturating_sub(seconds(there - grace));
                now.max(Instant::default() + sooner)
            }
            _ => return,
        },
    };
    let first = object.meta().deletion_timestamp.is_none();
    let meta = dying.meta_mut();
    meta.deletion_timestamp = Some(at.time());
    if !matches!(object.kind(), Kind::Namespace | Kind::CustomResourceDefinition) {
        meta.deletion_grace_period_seconds = Some(grace);
    }
    if first && object.kind() != Kind::CustomResourceDefinition && meta.generation.unwrap_or(0) > 0 {
        meta.generation = meta.generation.map(|g| g + 1);
    }
}

/// Seconds of grace: 0 for all but running Pods. Mirrors `podStrategy.CheckGracefulDelete`.
fn grace_period(object: &Object, options: &DeleteOptions) -> i64 {
    let Object::Pod(pod) = object else { return 0 };
    let asked = options.grace_period_seconds.map(not_negative);
    if pod.metadata.deletion_timestamp.is_some() {
        return asked.unwrap_or(0).min(pod.metadata.deletion_grace_period_seconds.unwrap_or(0));
    }
    if assigned_node(pod).is_none() || has_ended(pod) {
        return 0;
    }
    let own = pod.spec.as_ref().and_then(|s| s.termination_grace_period_seconds).unwrap_or(30);
    asked.unwrap_or(not_negative(own))
}

/// A grace that is negative means one second.
fn not_negative(grace: i64) -> i64 {
    if grace < 0 { 1 } else { grace }
}

/// The object's finalizers with those of the garbage collector added or removed, as the propagation policy asks.
fn finalizers_for(object: &Object, options: &DeleteOptions) -> Vec<String> {
    let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
    // Events have no dependents.
    if object.kind() == Kind::Event {
        return finalizers;
    }
    let wanted = match options.propagation {
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Background) => None,
        // Finalizers that are there already decide, as the choice was made before.
        None if finalizers.iter().any(|f| f == ORPHAN || f == FOREGROUND) => return finalizers,
        None if kinds::facts(object.kind()).orphans_by_default => Some(ORPHAN),
        None => return finalizers,
    };
    finalizers.retain(|f| (f != ORPHAN && f != FOREGROUND) || Some(f.as_str()) == wanted);
    if let Some(wanted) = wanted
        && !finalizers.iter().any(|f| f == wanted)
    {
        finalizers.push(wanted.to_owned());
    }
    finalizers
}

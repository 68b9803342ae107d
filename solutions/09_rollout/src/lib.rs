//! Exercise 09: how far may a rolling update go now?
//!
//! A Deployment replaces its Pods: the new ReplicaSet grows, the old ones shrink, a little in each reconcile. All
//! ReplicaSets together never ask for more than `replicas + max_surge` Pods, and old Pods and available new ones together are
//! never made fewer than `replicas - max_unavailable`. Of the old Pods those that are not available go first, and of either
//! sort those of the oldest ReplicaSet. A new ReplicaSet that is larger than the Deployment asks shrinks to that, alone and at
//! once. Say which sizes one reconcile gives to the ReplicaSets.

#![allow(unused_imports)]

use kubestep_exercise::rollout::{Rollout, Set, Sizes};

// Yours from here.

/// The sizes after one reconcile: it grows the new ReplicaSet, or else shrinks old ones, or else changes nothing.
pub fn step(rollout: &Rollout) -> Sizes {
    let Rollout { replicas, new, old, .. } = rollout;
    let mut sizes = Sizes { new: new.size, old: old.iter().map(|set| set.size).collect() };
    let total = new.size + sizes.old.iter().sum::<i32>();

    let room = (replicas + rollout.max_surge - total).max(0);
    sizes.new = if new.size > *replicas { *replicas } else { new.size + room.min(replicas - new.size) };
    if sizes.new != new.size {
        return sizes;
    }

    // New Pods that are not available yet cannot stand in for old ones.
    let minimum = replicas - rollout.max_unavailable.min(*replicas);
    let mut room = total - minimum - (new.size - new.available);
    if room <= 0 {
        return sizes;
    }
    for (size, set) in sizes.old.iter_mut().zip(old) {
        let broken = (set.size - set.available).min(room);
        *size -= broken;
        room -= broken;
    }
    let available = new.available + old.iter().map(|set| set.available).sum::<i32>();
    let mut spare = (available - minimum).max(0);
    for size in &mut sizes.old {
        let less = spare.min(*size);
        *size -= less;
        spare -= less;
    }
    sizes
}

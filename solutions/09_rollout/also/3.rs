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

/// With what may go, counted in two ways.
pub fn step(rollout: &Rollout) -> Sizes {
    let (wanted, new) = (rollout.replicas, &rollout.new);
    let mut old: Vec<Set> = rollout.old.clone();
    let total = new.size + old.iter().map(|set| set.size).sum::<i32>();
    let grown = match new.size > wanted {
        true => wanted,
        false => new.size + (wanted + rollout.max_surge - total).clamp(0, wanted - new.size),
    };
    let min = wanted - rollout.max_unavailable.min(wanted);
    let mut room = total - min - (new.size - new.available);
    if grown == new.size && room > 0 {
        let mut spare = old.iter().map(|set| set.available).sum::<i32>() + new.available - min;
        for set in &mut old {
            let less = (set.size - set.available).clamp(0, room);
            set.size -= less;
            room -= less;
        }
        for set in &mut old {
            let less = set.size.min(spare).max(0);
            set.size -= less;
            spare -= less;
        }
    }
    Sizes { new: grown, old: old.into_iter().map(|set| set.size).collect() }
}

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

/// With loops that move one Pod at a time.
pub fn step(rollout: &Rollout) -> Sizes {
    let total = |sizes: &Sizes| sizes.new + sizes.old.iter().sum::<i32>();
    let start = Sizes { new: rollout.new.size, old: rollout.old.iter().map(|set| set.size).collect() };
    let mut sizes = start.clone();
    while sizes.new > rollout.replicas {
        sizes.new -= 1;
    }
    while sizes.new < rollout.replicas && total(&sizes) < rollout.replicas + rollout.max_surge {
        sizes.new += 1;
    }
    if sizes.new != start.new {
        return sizes;
    }
    let floor = (rollout.replicas - rollout.max_unavailable).max(0);
    let mut room = total(&sizes) - floor - (rollout.new.size - rollout.new.available);
    if room <= 0 {
        return sizes;
    }
    for (at, set) in rollout.old.iter().enumerate() {
        let mut broken = set.size - set.available;
        while broken > 0 && room > 0 {
            sizes.old[at] -= 1;
            broken -= 1;
            room -= 1;
        }
    }
    let mut spare = rollout.new.available + rollout.old.iter().map(|set| set.available).sum::<i32>() - floor;
    for size in &mut sizes.old {
        while *size > 0 && spare > 0 {
            *size -= 1;
            spare -= 1;
        }
    }
    sizes
}

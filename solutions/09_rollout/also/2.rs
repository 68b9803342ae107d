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

/// In two functions.
pub fn step(rollout: &Rollout) -> Sizes {
    let old: Vec<i32> = rollout.old.iter().map(|set| set.size).collect();
    let sum: i32 = old.iter().sum();
    let new = up(rollout, sum);
    if new != rollout.new.size { Sizes { new, old } } else { Sizes { new, old: down(rollout, old, sum) } }
}

fn up(rollout: &Rollout, old: i32) -> i32 {
    let (new, most) = (rollout.new.size, rollout.replicas + rollout.max_surge);
    if new > rollout.replicas { rollout.replicas } else { rollout.replicas.min(new.max(most - old)) }
}

fn down(rollout: &Rollout, mut old: Vec<i32>, sum: i32) -> Vec<i32> {
    let least = 0.max(rollout.replicas - rollout.max_unavailable);
    let mut room = sum + rollout.new.available - least;
    if room <= 0 {
        return old;
    }
    for (size, set) in old.iter_mut().zip(&rollout.old) {
        let take = room.min(set.size - set.available);
        (*size, room) = (*size - take, room - take);
    }
    let available: i32 = rollout.old.iter().map(|set| set.available).sum();
    let mut spare = (available + rollout.new.available - least).max(0);
    old.iter_mut().for_each(|size| {
        let take = spare.min(*size);
        (*size, spare) = (*size - take, spare - take);
    });
    old
}

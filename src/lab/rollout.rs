//! Exercise 09: one reconcile of a rolling update. Mirrors `pkg/controller/deployment/rolling.go`.
//!
//! Every state of a few small rollouts is asked, those that a rollout can reach and those that only a crash, a scaling or
//! an undo can leave behind.

use serde_json::json;

use super::function::Function;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, controlling, words};
use controllers::deployment::arithmetic::{max_scaled_down, new_replicas};
use exercise::rollout::{Rollout, Set, Sizes};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "09_rollout",
    title: "How far may a rolling update go now?",
    outcome: "work out one step of a rolling update from maxSurge, maxUnavailable and what is available",
    needs: &["ownership"],
    hints: [
        "How many Pods may there be at most, and how many must be available? Which of the two limits growing, and which \
         shrinking?",
        "One reconcile either grows the new ReplicaSet or shrinks old ones, never both. Pods of the new one that are not \
         available yet cannot replace an old one.",
        "Grow: new + min(replicas + maxSurge - all sizes, replicas - new), if there is room. Else room = all sizes - \
         (replicas - maxUnavailable) - (new size - new available); if it is above zero, take Pods that are not \
         available from the old ones first, oldest first; then shrink old ones by all that is available beyond the \
         minimum.",
    ],
    minutes: 40,
    judging: Judging::of_part::<Rolling>(controlling::with_rollout),
};

pub(super) struct Rolling;

impl Function for Rolling {
    type Question = Rollout;
    type Answer = Sizes;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Rollout> {
        let mut all = Vec::new();
        for replicas in [1, 3] {
            for (max_surge, max_unavailable) in [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 2)] {
                for new in sets(4) {
                    for old in olds() {
                        all.push(Rollout { replicas, max_surge, max_unavailable, new: new.clone(), old });
                    }
                }
            }
        }
        all.extend(others());
        all.sort_by_key(|one| one.old.iter().map(|set| set.size).sum::<i32>() + one.new.size);
        all
    }

    fn answer(rule: &Rule, rollout: &Rollout) -> Sizes {
        let new = grown(rule, rollout);
        let old = if (rule.shrinks)(new != rollout.new.size) { shrunk(rule, rollout) } else { sizes_of(rollout) };
        Sizes { new, old }
    }

    fn property(rollout: &Rollout, given: Option<&Sizes>) -> &'static str {
        let right = Rolling::right(rollout);
        let Some(given) = given.filter(|given| given.old.len() == rollout.old.len()) else {
            return "every ReplicaSet gets a size";
        };
        let total = |sizes: &Sizes| sizes.new + sizes.old.iter().sum::<i32>();
        let least = rollout.replicas - rollout.max_unavailable;
        let before = rollout.new.size + rollout.old.iter().map(|set| set.size).sum::<i32>();
        if total(given) > (rollout.replicas + rollout.max_surge).max(before) {
            "there are never more Pods than replicas + maxSurge"
        } else if given.new != rollout.new.size && given.old != sizes_of(rollout) {
            "one reconcile either grows or shrinks"
        } else if given.new != right.new {
            "the new ReplicaSet grows as far as it may, and no further than the Deployment asks for"
        } else if stay_available(rollout, given) < least.min(stay_available(rollout, &right)) {
            "never fewer Pods are available than replicas - maxUnavailable"
        } else if given.old.iter().sum::<i32>() < right.old.iter().sum() {
            "old Pods and available new ones together are never made fewer than replicas - maxUnavailable"
        } else if given.old.iter().sum::<i32>() > right.old.iter().sum() {
            "old Pods go as soon as they may"
        } else {
            "old Pods that are not available go first"
        }
    }

    fn show(rollout: &Rollout) -> String {
        let Rollout { replicas, max_surge, max_unavailable, new, old } = rollout;
        let set = |set: &Set| format!("size {}, available {}", set.size, set.available);
        let mut text = format!("replicas {replicas}, maxSurge {max_surge}, maxUnavailable {max_unavailable}");
        text += &format!("\nnew: {}", set(new));
        (0..).zip(old).for_each(|(n, one)| text += &format!("\nold[{n}]: {}", set(one)));
        text
    }

    fn say(_: &Rollout, Sizes { new, old }: &Sizes) -> Vec<Part> {
        vec![part("gave", format!("new {new}, old {}", words::flow(&json!(old))))]
    }
}

fn sets(largest: i32) -> Vec<Set> {
    let of = |size: i32| (0..=size).map(move |available| Set { size, available });
    (0..=largest).flat_map(of).collect()
}

/// A Deployment of none, three and four old ReplicaSets, and large numbers.
fn others() -> Vec<Rollout> {
    let set = |size, available| Set { size, available };
    let mut all = Vec::new();
    for (max_surge, max_unavailable) in [(1, 0), (0, 1), (2, 2)] {
        for new in sets(2) {
            for old in olds().into_iter().step_by(3) {
                all.push(Rollout { replicas: 0, max_surge, max_unavailable, new: new.clone(), old });
            }
        }
    }
    let third = [set(1, 1), set(2, 0), set(2, 1)];
    for (replicas, max_surge, max_unavailable) in [(3, 1, 0), (3, 0, 2), (4, 2, 1), (5, 5, 5)] {
        for (n, new) in sets(4).into_iter().enumerate() {
            for (at, old) in olds().into_iter().filter(|old| old.len() == 2).enumerate() {
                if (n + at) % 7 == 0 {
                    let old = [old, vec![third[(n + at / 7) % 3].clone()]].concat();
                    all.push(Rollout { replicas, max_surge, max_unavailable, new: new.clone(), old });
                }
            }
        }
        let four = [set(0, 0), set(1, 0), set(0, 0), set(2, 2)];
        for (n, new) in sets(4).into_iter().enumerate() {
            let mut old = four.to_vec();
            old.rotate_left(n % 4);
            all.push(Rollout { replicas, max_surge, max_unavailable, new, old });
        }
    }
    // Other sizes, and a Deployment with a long history.
    for (replicas, max_surge, max_unavailable) in
        [(2, 1, 0), (2, 0, 1), (7, 3, 3), (10, 3, 2), (40_000, 10_000, 10_000)]
    {
        for new in [set(0, 0), set(1, 0), set(1, 1), set(2, 2), set(4, 3), set(7, 7)] {
            for old in [
                vec![set(1, 1), set(0, 0), set(1, 0), set(0, 0), set(2, 1), set(1, 1), set(1, 0)],
                vec![set(0, 0), set(0, 0), set(0, 0), set(0, 0), set(3, 3)],
                vec![set(replicas, replicas)],
                vec![set(replicas - 1, replicas - 2), set(1, 0)],
            ] {
                all.push(Rollout { replicas, max_surge, max_unavailable, new: new.clone(), old });
            }
        }
    }
    for (max_surge, max_unavailable) in [(250, 250), (1000, 0), (0, 300), (3, 1000)] {
        for new in [set(0, 0), set(300, 200), set(1000, 999), set(1300, 1300)] {
            for old in
                [vec![set(1000, 1000)], vec![set(300, 10), set(800, 790)], vec![set(5, 0), set(600, 600), set(1, 1)]]
            {
                all.push(Rollout { replicas: 1000, max_surge, max_unavailable, new: new.clone(), old });
            }
        }
    }
    all
}

/// None, one or two old ReplicaSets.
fn olds() -> Vec<Vec<Set>> {
    let second = [Set { size: 1, available: 1 }, Set { size: 2, available: 0 }, Set { size: 3, available: 2 }];
    let two = sets(3).into_iter().flat_map(|one| second.iter().map(move |two| vec![one.clone(), two.clone()]));
    let one = sets(3).into_iter().map(|one| vec![one]);
    [Vec::new()].into_iter().chain(one).chain(two).collect()
}

/// How many Pods are available with these sizes, if those go first that are not.
fn stay_available(rollout: &Rollout, sizes: &Sizes) -> i32 {
    let old = rollout.old.iter().zip(&sizes.old).map(|(set, size)| set.available.min(*size));
    rollout.new.available + old.sum::<i32>()
}

fn sizes_of(rollout: &Rollout) -> Vec<i32> {
    rollout.old.iter().map(|set| set.size).collect()
}

/// What decides.
pub(super) struct Rule {
    /// The size of a new ReplicaSet that is larger than what is wanted.
    too_large: fn(i32, i32) -> i32,
    /// So many Pods there may be.
    most: fn(&Rollout) -> i32,
    /// So many there are, by those of the new ReplicaSet and of the old ones.
    total: fn(i32, i32) -> i32,
    /// What the new one grows to: by what is wanted, how many there may be and are, and its size.
    grown: fn(i32, i32, i32, i32) -> i32,
    /// Whether old ones shrink, where the new one changes or does not.
    shrinks: fn(bool) -> bool,
    /// So many Pods need not be available.
    unavailable: fn(&Rollout) -> i32,
    /// So many of the new ReplicaSet are.
    new_available: fn(&Set) -> i32,
    /// So many of an old one are.
    old_available: fn(&Set) -> i32,
    /// So many of those that are not available go first, where there is room to take so many.
    broken: fn(i32) -> i32,
    /// So much of the room is used up when so many have gone.
    used: fn(i32) -> i32,
    /// So many old ReplicaSets are looked at.
    olds: usize,
}

const RULE: Rule = Rule {
    too_large: |_, wanted| wanted,
    most: |rollout| rollout.replicas + rollout.max_surge,
    total: |new, old| new + old,
    grown: new_replicas,
    shrinks: |changes| !changes,
    unavailable: |rollout| rollout.max_unavailable,
    new_available: |set| set.available,
    old_available: |set| set.available,
    broken: |room| room,
    used: |gone| gone,
    olds: usize::MAX,
};

fn grown(rule: &Rule, rollout: &Rollout) -> i32 {
    let (wanted, new) = (rollout.replicas, rollout.new.size);
    if new > wanted {
        return (rule.too_large)(new, wanted);
    }
    let old: i32 = sizes_of(rollout).iter().sum();
    (rule.grown)(wanted, (rule.most)(rollout), (rule.total)(new, old), new)
}

fn shrunk(rule: &Rule, rollout: &Rollout) -> Vec<i32> {
    let mut sizes = sizes_of(rollout);
    let minimum = rollout.replicas - (rule.unavailable)(rollout).min(rollout.replicas);
    let new = &rollout.new;
    let room = max_scaled_down(new.size + sizes.iter().sum::<i32>(), minimum, new.size, (rule.new_available)(new));
    let mut left = (rule.broken)(room);
    for (size, set) in sizes.iter_mut().zip(&rollout.old).take(rule.olds) {
        let less = left.min(set.size - (rule.old_available)(set)).max(0);
        *size -= less;
        left -= less;
    }
    let mut left = new.available + rollout.old.iter().map(rule.old_available).sum::<i32>() - minimum;
    for size in sizes.iter_mut().take(rule.olds) {
        let less = left.min(*size).max(0);
        *size -= less;
        left -= (rule.used)(less);
    }
    sizes
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    ignores_surge: "maxSurge is not used" => { most: |rollout| rollout.replicas };
    counts_new_only: "the old Pods are not counted when the new ReplicaSet grows" => { total: |new, _| new };
    never_shrinks_new: "a new ReplicaSet that is larger than the Deployment stays so" => { too_large: |new, _| new };
    grows_past_wanted: "the new ReplicaSet grows beyond what the Deployment asks for"
        => { grown: |_, most, total, new| new + (most - total).max(0) };
    nothing_unavailable: "maxUnavailable is not used" => { unavailable: |_| 0 };
    grows_and_shrinks: "one reconcile grows the new ReplicaSet and shrinks old ones too" => { shrinks: |_| true };
    trusts_new_pods: "new Pods that are not available yet are not kept out of the room to shrink"
        => { new_available: |set| set.size };
    trusts_old_pods: "old Pods that are not available are taken for available" => { old_available: |set| set.size };
    healthy_first: "old Pods that are not available are not taken first" => { broken: |_| 0 };
    room_for_each: "each old ReplicaSet shrinks by all the room there is; it is the room of all together"
        => { used: |_| 0 };
    four_olds: "only the first four old ReplicaSets are looked at; there can be more" => { olds: 4 };
    all_broken: "all old Pods that are not available go at once; as many go as there are too many"
        => { broken: |_| i32::MAX };
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Rolling>("rollout");
    }

    /// The first three states of a Deployment of 3 with one Pod of surge, as a recorded rollout goes through them.
    #[test]
    fn the_rule_is_that_of_a_rollout() {
        let set = |size, available| Set { size, available };
        let rollout = |new, old| Rollout { replicas: 3, max_surge: 1, max_unavailable: 0, new, old: vec![old] };
        for (before, new, old) in [
            (rollout(set(0, 0), set(3, 3)), 1, 3),
            (rollout(set(1, 0), set(3, 3)), 1, 3),
            (rollout(set(1, 1), set(3, 3)), 1, 2),
            (rollout(set(1, 1), set(2, 2)), 2, 2),
            (rollout(set(3, 3), set(1, 1)), 3, 0),
        ] {
            assert_eq!(Rolling::right(&before), Sizes { new, old: vec![old] }, "{before:?}");
        }
    }
}

//! What depends on what in one run: which steps came before a step because they had to, and which only happened to.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::access::Access;

/// How many steps back an order is looked at. What is further back is never reordered with a step.
pub const NEAR: usize = 128;

/// The steps of one run so far.
#[derive(Clone, Debug, Default)]
pub struct Causality {
    nodes: Vec<Node>,
    places: BTreeMap<u64, Touched>,
}

#[derive(Clone, Debug)]
struct Node {
    past: u64,
    /// Bit n: the step n + 1 before this one had to come before it.
    before: u128,
}

/// Who touched a place last.
#[derive(Clone, Debug, Default)]
struct Touched {
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// How a step hangs together with those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// A digest of the step and of all that it depends on: the same in every order of independent steps.
    pub past: u64,
    /// The steps that it needs: the one that sent it, and those that came right before it in some place.
    pub needs: Vec<usize>,
    /// Those of them that it races with: nothing but the place says that they had to come first.
    pub races: Vec<usize>,
}

impl Causality {
    /// Adds the next step: who it is, what it touches, and the step that sent it.
    pub fn add(&mut self, identity: u64, access: &Access, cause: Option<usize>) -> Linked {
        let at = self.nodes.len();
        let mut needs: Vec<usize> = cause.into_iter().collect();
        for (place, writes) in &access.0 {
            let touched = self.places.entry(*place).or_default();
            needs.extend(touched.writer);
            if *writes {
                needs.append(&mut touched.readers);
                touched.writer = Some(at);
            } else {
                touched.readers.push(at);
            }
        }
        // One step may touch a place twice: it does not wait for itself.
        needs.retain(|step| *step < at);
        needs.sort_unstable();
        needs.dedup();
        let sum = needs.iter().fold(0_u64, |sum, step| sum.wrapping_add(self.nodes[*step].past));
        let races = needs.iter().copied().filter(|step| Some(*step) != cause && self.races(*step, at, &needs));
        let races = races.collect();
        let before = needs.iter().fold(0, |before, step| before | self.through(*step, at));
        let past = digest(&(identity, sum));
        self.nodes.push(Node { past, before });
        Linked { past, needs, races }
    }

    /// Whether `step` came before `at` only by chance: no other step that `at` needs needs it.
    fn races(&self, step: usize, at: usize, needs: &[usize]) -> bool {
        at - step <= NEAR && !needs.iter().any(|other| *other > step && self.had_to(step, *other))
    }

    /// Whether `first` had to come before `second`.
    pub fn had_to(&self, first: usize, second: usize) -> bool {
        first < second && second - first <= NEAR && self.nodes[second].before >> (second - first - 1) & 1 == 1
    }

    /// Whether one who needs `needs` would come where it came if `late` came later: of all that it needs, only `step`, with
    /// which it races, had to come after `late`.
    pub fn spares(&self, late: usize, step: usize, needs: &[usize]) -> bool {
        !needs.iter().any(|other| *other != step && (*other == late || self.had_to(late, *other)))
    }

    /// What had to come before `at` if `step` had to.
    fn through(&self, step: usize, at: usize) -> u128 {
        let gap = at - step;
        if gap > NEAR {
            return 0;
        }
        let shifted = if gap < NEAR { self.nodes[step].before << gap } else { 0 };
        shifted | 1 << (gap - 1)
    }
}

/// A digest that is the same in every run of one build.
pub fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(place: u64) -> Access {
        Access(vec![(place, true)])
    }

    fn reads(place: u64) -> Access {
        Access(vec![(place, false)])
    }

    #[test]
    fn only_neighbours_race() {
        let mut run = Causality::default();
        assert!(run.add(1, &writes(1), None).races.is_empty());
        assert!(run.add(2, &writes(2), None).races.is_empty(), "they touch different places");
        assert_eq!(run.add(3, &writes(1), None).races, [0]);
        assert_eq!(run.add(4, &writes(1), None).races, [2], "0 had to come before 2");
        assert_eq!(run.add(5, &writes(2), Some(3)).races, [1]);
        assert!(run.add(6, &writes(2), Some(4)).races.is_empty(), "its cause came right before it");
        assert!(run.had_to(0, 3) && run.had_to(1, 4) && !run.had_to(1, 3));
    }

    #[test]
    fn a_step_does_not_wait_for_itself() {
        let mut run = Causality::default();
        run.add(1, &writes(1), None);
        let twice = run.add(2, &Access(vec![(1, true), (1, false), (1, true)]), None);
        assert_eq!((twice.needs, twice.races), (vec![0], vec![0]));
        assert_eq!(run.add(3, &writes(1), None).needs, [1]);
    }

    #[test]
    fn readers_do_not_race() {
        let mut run = Causality::default();
        run.add(1, &reads(1), None);
        assert!(run.add(2, &reads(1), None).races.is_empty());
        assert_eq!(run.add(3, &writes(1), None).races, [0, 1]);
    }

    #[test]
    fn independent_steps_have_one_past_in_any_order() {
        let past = |order: [(u64, u64); 3]| {
            let mut run = Causality::default();
            let pasts = order.map(|(identity, place)| run.add(identity, &writes(place), None).past);
            pasts.into_iter().fold(0_u64, u64::wrapping_add)
        };
        assert_eq!(past([(1, 1), (2, 2), (3, 1)]), past([(2, 2), (1, 1), (3, 1)]));
        assert_ne!(past([(1, 1), (2, 2), (3, 1)]), past([(3, 1), (1, 1), (2, 2)]));
    }
}

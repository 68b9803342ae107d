//! Sets of completion indexes, as a Job's status has them: `0-3,5,7`. Mirrors `orderedIntervals` of
//! `pkg/controller/job/indexed_job_utils.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use object::Pod;

/// Where a Pod says which index it works on.
pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Some indexes of a Job: intervals, the first index of each and the last. No two touch. A Job may have two thousand
/// million indexes, so they are never counted one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes(BTreeMap<i32, i32>);

impl Indexes {
    /// The indexes that `text` names; those below zero and beyond `completions` are left out.
    pub fn parse(text: &str, completions: i32) -> Indexes {
        let mut indexes = Indexes::default();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
                indexes.insert(first.max(0), last.min(completions.saturating_sub(1)));
            }
        }
        indexes
    }

    /// Adds those from `first` to `last`, none if that is backwards.
    fn insert(&mut self, mut first: i32, mut last: i32) {
        if first > last {
            return;
        }
        while let Some((&from, &to)) = self.0.range(..=last.saturating_add(1)).next_back() {
            if to < first.saturating_sub(1) {
                break;
            }
            (first, last) = (first.min(from), last.max(to));
            self.0.remove(&from);
        }
        self.0.insert(first, last);
    }

    /// How many they are.
    pub fn total(&self) -> i32 {
        self.0.iter().map(|(first, last)| last - first + 1).fold(0, i32::saturating_add)
    }

    /// Whether `index` is one of them.
    pub fn has(&self, index: i32) -> bool {
        self.0.range(..=index).next_back().is_some_and(|(_, last)| index <= *last)
    }

    /// How many of them are in the other set too.
    pub fn common(&self, other: &Indexes) -> i32 {
        let shared = |(first, last): (&i32, &i32)| {
            let there = other.0.range(..=*last).rev().take_while(move |(_, to)| *to >= first);
            there.map(move |(from, to)| to.min(last) - from.max(first) + 1).fold(0, i32::saturating_add)
        };
        self.0.iter().map(shared).fold(0, i32::saturating_add)
    }
}

impl Extend<i32> for Indexes {
    fn extend<I: IntoIterator<Item = i32>>(&mut self, indexes: I) {
        indexes.into_iter().for_each(|index| self.insert(index, index));
    }
}

/// Intervals; one that holds just two numbers is written with a comma.
impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// The index that the Pod works on, if it is one of the Job's `completions`.
pub fn index_of(pod: &Pod, completions: i32) -> Option<i32> {
    let index = pod.metadata.annotations.as_ref()?.get(INDEX)?.parse().ok()?;
    (0..completions).contains(&index).then_some(index)
}

/// The lowest `count` indexes on which nothing works and nothing has to. Mirrors `firstPendingIndexes`.
pub fn first_pending(active: &BTreeSet<i32>, done: &[&Indexes], count: usize, completions: i32) -> Vec<i32> {
    let is_free = |index: &i32| !active.contains(index) && done.iter().all(|done| !done.has(*index));
    (0..completions).filter(is_free).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_written_short() {
        for (text, want) in [
            ("", ""),
            ("3", "3"),
            ("3,4", "3,4"),
            ("1-3", "1-3"),
            ("1,2,3,5,7,8", "1-3,5,7,8"),
            ("0-2,4-20", "0-2,4-9"),
            ("x,2,-4", "2"),
            ("7,5,6,1", "1,5-7"),
            ("3-5,0-9", "0-9"),
            ("5-4", ""),
        ] {
            assert_eq!(Indexes::parse(text, 10).to_string(), want, "{text:?}");
        }
    }

    #[test]
    fn as_many_as_a_job_may_have() {
        let all = Indexes::parse("0-2147483645", i32::MAX);
        let mut some = Indexes::parse("0,7-9", i32::MAX);
        some.extend([2, 1, 10]);
        assert_eq!((all.total(), some.total(), all.common(&some), some.common(&all)), (i32::MAX - 1, 7, 7, 7));
        assert_eq!(some.common(&Indexes::parse("2-8,10,20", 30)), 4);
        assert_eq!([2, 3, 6, 7, 10].map(|index| some.has(index)), [true, false, false, true, true]);
    }

    #[test]
    fn free_indexes_come_lowest_first() {
        let (done, failed) = (Indexes::parse("0,3", 8), Indexes::parse("5", 8));
        for (count, want) in [(0, vec![]), (2, vec![2, 4]), (9, vec![2, 4, 6, 7])] {
            assert_eq!(first_pending(&BTreeSet::from([1]), &[&done, &failed], count, 8), want);
        }
    }
}

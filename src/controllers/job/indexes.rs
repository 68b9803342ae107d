//! Sets of completion indexes, as a Job's status has them: `0-3,5,7`. Mirrors `orderedIntervals` of
//! `pkg/controller/job/indexed_job_utils.go`.

use std::collections::BTreeSet;
use std::fmt;

use crate::object::Pod;

/// Where a Pod says which index it works on.
pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Some indexes of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes(pub BTreeSet<i32>);

impl Indexes {
    /// The indexes that `text` names; those below zero and beyond `completions` are left out.
    pub fn parse(text: &str, completions: i32) -> Indexes {
        let mut indexes = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
                indexes.extend(first.max(0)..=last.min(completions - 1));
            }
        }
        Indexes(indexes)
    }

    /// How many they are.
    pub fn total(&self) -> i32 {
        self.0.len() as i32
    }

    /// Whether `index` is one of them.
    pub fn has(&self, index: i32) -> bool {
        self.0.contains(&index)
    }
}

/// Intervals, of which one of two numbers is written with a comma.
impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut intervals: Vec<(i32, i32)> = Vec::new();
        for &index in &self.0 {
            match intervals.last_mut() {
                Some((_, last)) if *last + 1 == index => *last = index,
                _ => intervals.push((index, index)),
            }
        }
        for (i, (first, last)) in intervals.into_iter().enumerate() {
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
        ] {
            assert_eq!(Indexes::parse(text, 10).to_string(), want, "{text:?}");
        }
    }

    #[test]
    fn free_indexes_come_lowest_first() {
        let (done, failed) = (Indexes::parse("0,3", 8), Indexes::parse("5", 8));
        for (count, want) in [(0, vec![]), (2, vec![2, 4]), (9, vec![2, 4, 6, 7])] {
            assert_eq!(first_pending(&BTreeSet::from([1]), &[&done, &failed], count, 8), want);
        }
    }
}

//! The explorer: runs a scenario in every order of delivery within a bound, and looks for one that breaks a property.
//!
//! A real cluster delivers its messages in some order that nobody chose. Most bugs of controllers hide in orders that are
//! rare. The explorer begins with the usual order, in which the event that is due first comes first. In each run it looks
//! for *races*: two steps whose order matters (the same component got both, or one wrote what the other read), the later
//! of which was already in flight when the earlier was delivered. For each race it runs the scenario again with the later
//! event delivered first. Orders that differ only in events that have nothing to do with each other count as one. This is
//! dynamic partial-order reduction; the bound is on how many events overtake others in one run, so that the shortest
//! counterexample is found first.
//!
//! - [`run`]: one run with some events out of turn.
//! - [`access`]: when the order of two steps matters.
//!
//! Must hold: the same scenario and bound give the same report, whatever the number of threads.
//!
//! Left out: traffic in the background is never reordered. Two writes to different objects count as independent, although
//! an informer of their kind hears of them in the order of writing. Faults are not explored, only orders.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::cluster::Cluster;
use crate::engine::EventId;

use super::properties::Property;

pub mod access;
pub mod run;

use run::{Runner, Trace};

/// How far the explorer looks.
#[derive(Clone, Debug)]
pub struct Bound {
    /// How many events may be delivered before their turn in one run.
    pub swaps: usize,
    /// An event may overtake only what is due less than this before it.
    pub window: Duration,
    /// So many runs at most.
    pub schedules: u64,
    /// So many steps a run at most; a longer one never comes to rest.
    pub steps: u64,
}

impl Default for Bound {
    fn default() -> Bound {
        Bound { swaps: 1, window: Duration::from_millis(50), schedules: 10_000, steps: 20_000 }
    }
}

/// What is explored, and what must hold. Each thread makes its own cluster.
pub struct Subject<'a> {
    /// A cluster at a quiet moment, with whatever is to happen about to happen.
    pub cluster: &'a (dyn Fn() -> Cluster + Sync),
    /// What must hold after every step, and in the end.
    pub properties: &'a (dyn Fn() -> Vec<Box<dyn Property>> + Sync),
}

/// A run that breaks a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property, in words.
    pub property: String,
    /// What broke it.
    pub what: String,
    /// Events delivered out of turn: after so many steps, this one. All others come in their turn.
    pub schedule: Vec<(u64, EventId)>,
    /// The step at which it showed.
    pub step: u64,
}

/// What the explorer found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Orders that were run.
    pub schedules: u64,
    /// Steps in all of them.
    pub transitions: u64,
    /// Orders that differ in more than independent events.
    pub distinct: u64,
    /// Whether every order within the bound was run, or is like one that was.
    pub exhausted: bool,
    /// The first that breaks a property, with the fewest events out of turn.
    pub violation: Option<Violation>,
}

/// So many runs are handed out at once; the order of what they find is that of the list, not of the threads.
const BATCH: usize = 64;

/// Explores. `progress` is told the report so far now and then, and ends the search with false.
pub fn explore(
    subject: &Subject,
    bound: &Bound,
    threads: usize,
    mut progress: impl FnMut(&Report, usize) -> bool,
) -> Report {
    let mut search = Search::default();
    search.frontier.push_back(Vec::new());
    let mut workers = run::Workers::default();
    std::thread::scope(|scope| {
        workers.start(scope, subject, bound, threads.max(1));
        while !search.frontier.is_empty() && search.report.violation.is_none() {
            let left = bound.schedules.saturating_sub(search.report.schedules) as usize;
            if left == 0 || !progress(&search.report, search.frontier.len()) {
                break;
            }
            let size = search.frontier.len().min(BATCH).min(left);
            let batch: Vec<Schedule> = search.frontier.drain(..size).collect();
            for (schedule, trace) in batch.iter().zip(workers.run(&batch)) {
                search.learn(schedule, trace, bound);
            }
        }
        workers.stop();
    });
    search.report.exhausted = search.frontier.is_empty() && search.report.violation.is_none();
    search.report
}

/// Which events are delivered out of turn: after so many steps, the event with this identity.
pub type Schedule = Vec<(usize, u64)>;

#[derive(Default)]
struct Search {
    frontier: VecDeque<Schedule>,
    /// Digests of beginnings that are in the frontier or were run.
    seen: BTreeSet<u64>,
    /// Digests of whole runs.
    ends: BTreeSet<u64>,
    report: Report,
}

impl Search {
    fn learn(&mut self, schedule: &Schedule, trace: Trace, bound: &Bound) {
        self.report.schedules += 1;
        self.report.transitions += trace.steps.len() as u64;
        self.ends.insert(trace.digest());
        self.report.distinct = self.ends.len() as u64;
        if self.report.violation.is_some() {
            return;
        }
        if trace.violation.is_some() {
            self.report.violation = trace.violation;
            return;
        }
        for (place, later) in trace.races(bound.window) {
            let mut next: Schedule = schedule.iter().copied().filter(|(at, _)| *at < place).collect();
            next.push((place, trace.steps[later].identity));
            if next.len() <= bound.swaps && self.seen.insert(trace.beginning(place, later)) {
                self.frontier.push_back(next);
            }
        }
    }
}

/// Explores on this thread alone: for tests and graders with a cluster of their own.
pub fn explore_here(subject: &Subject, bound: &Bound) -> Report {
    let mut search = Search::default();
    search.frontier.push_back(Vec::new());
    let mut runner = Runner::new(subject, bound);
    while search.report.schedules < bound.schedules
        && search.report.violation.is_none()
        && let Some(schedule) = search.frontier.pop_front()
    {
        let trace = runner.run(&schedule);
        search.learn(&schedule, trace, bound);
    }
    search.report.exhausted = search.frontier.is_empty() && search.report.violation.is_none();
    search.report
}

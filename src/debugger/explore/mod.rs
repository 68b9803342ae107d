//! The explorer: runs a scenario in every order of delivery within a bound, with what may break, and looks for a run that
//! breaks a property.
//!
//! A real cluster delivers its messages in an order that no one has chosen. Most bugs of controllers hide in orders that are
//! rare, or behind a crash at just the wrong moment. The explorer begins with the usual course, in which the event that
//! is due first comes first. In each run it looks for *races*: two steps whose order matters and came about by chance.
//! For each it runs the scenario again with the earlier event so late that it comes after the other; and again with each
//! message late that led to the earlier event, since all that follows from it is then late too. And wherever something that
//! may break would matter, it runs the scenario again with that broken. Schedules with the fewest deviations come first,
//! so the first counterexample is a shortest one.
//!
//! - [`run`]: one run. [`trace`]: what it says is worth running next. [`names`]: who an event is in all of them.
//! - [`access`], [`causality`]: when the order of two steps matters.
//! - [`fault`]: what may break, and where that matters.
//! - [`walk`]: runs in which chance decides.
//! - [`workers`]: threads. [`resume`]: a search as a file. [`plan`]: what a scenario says of its exploration.
//!
//! Must hold:
//! - The same scenario and bound give the same report, with any number of threads. Kept by
//!   `threads_change_nothing`.
//!
//! # What "exhausted" says
//!
//! Orders that differ only in steps that do not depend on each other end in the same state, so one of them is enough: this
//! is dynamic partial-order reduction, with the races of each run as its backtrack points. It leaves nothing out as long
//! as [`access`] calls two steps independent only if they are. Three things keep that true:
//!
//! - Two writes of one kind depend on each other even if they concern different objects, since an informer hears of them
//!   in the order of writing. (Taken for independent, they would show a controller that adds up what it hears one
//!   order only.)
//! - A fault is a step of its own that depends on the whole memory of the component it concerns. It is never reordered with
//!   other steps by way of races; instead it is tried before every event that it changes, in every order that is run.
//!   Between two such events it touches nothing that any step touches, so that all its other places are like one of these.
//! - A crash is tried only if the process has sent something since the last place at which it was tried: otherwise
//!   everything that it did since is lost with its memory, and the two runs are the same from there on.
//!
//! Exhausted means that no race and no fault is left to turn within the bound: at most `late` messages that come late,
//! each by at most `window`, and at most `faults` faults of the chosen kinds at the chosen places. A message is as late as
//! one race after another asks for, and no later; with no limit to `late` every order could be had so. With one, an order
//! counts as within it if the search comes to it that way: what a delay of any other length would show besides (a timer
//! that goes off in between, three races turned at once) may need one late message more.
//!
//! Left out: traffic in the background is never late, though others may be so late that it overtakes them. Steps that
//! lie more than [`causality::NEAR`] apart are not reordered. Generated names, uids, and resourceVersions of different
//! kinds depend on the order of independent writes, and are taken to be of no consequence; so is the storage system
//! that controller and nodes share behind CSI. A watch that is held is released when all else is done, or after six
//! minutes, not earlier: a late message stands for a short hold.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use cluster::Cluster;

use super::choice::Choice;
use super::properties::Property;

pub mod access;
pub mod causality;
pub mod fault;
mod marks;
mod names;
pub mod plan;
pub mod resume;
pub mod run;
pub mod trace;
pub mod walk;
pub mod workers;

use fault::{FaultKind, Where};
use run::{Repeat, Runner, Schedule};
use trace::Next;
use walk::Walk;
use workers::{Job, Outcome};

/// How far the explorer looks.
#[derive(Clone, Debug)]
pub struct Bound {
    /// How many messages may come late in one run.
    pub late: usize,
    /// By how much at most.
    pub window: Duration,
    /// Whose: what they send and get. Empty: everyone's.
    pub late_at: Vec<Where>,
    /// How many faults there may be in one run.
    pub faults: usize,
    /// The kinds of these faults.
    pub kinds: Vec<FaultKind>,
    /// Nothing is held back for longer.
    pub held: Duration,
    /// Where; empty: everywhere.
    pub places: Vec<Where>,
    /// So many runs at most.
    pub schedules: u64,
    /// So many steps a run at most; a longer one never comes to rest.
    pub steps: u64,
    /// Whether orders that differ only in independent steps count as one. Off only to see what that is worth.
    pub reduce: bool,
}

impl Default for Bound {
    fn default() -> Bound {
        Bound {
            late: 1,
            window: Duration::from_millis(50),
            late_at: Vec::new(),
            faults: 0,
            kinds: Vec::new(),
            // Longer than anything in Kubernetes waits for its own watch.
            held: Duration::from_secs(6 * 60),
            places: Vec::new(),
            schedules: 10_000,
            steps: 20_000,
            reduce: true,
        }
    }
}

impl Bound {
    /// Whether what one sends to the other may come late.
    fn may_be_late(&self, from: &str, to: &str) -> bool {
        self.late_at.is_empty() || self.late_at.iter().any(|place| place.allows(from, None) || place.allows(to, None))
    }
}

/// What is explored, and what must hold. Each thread makes its own cluster.
pub struct Subject<'a> {
    /// A cluster at a quiet moment, with everything that is to happen about to happen.
    pub cluster: &'a (dyn Fn() -> Cluster + Sync),
    /// What must hold after every step, and in the end.
    pub properties: &'a (dyn Fn() -> Vec<Box<dyn Property>> + Sync),
}

/// What sort of property a run breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// One that is stated.
    Stated,
    /// A task panicked, and said this.
    Panic(String),
    /// There was always something more to do.
    Unrest,
}

/// A run that breaks a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The sort of property that it breaks.
    pub breach: Breach,
    /// The property, in words.
    pub property: String,
    /// What broke it.
    pub what: String,
    /// What deviates: after so many steps, this choice.
    pub choices: Vec<(u64, Choice)>,
    /// The step at which it showed.
    pub step: u64,
}

/// What the explorer found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Schedules that were run.
    pub schedules: u64,
    /// Steps in all of them.
    pub transitions: u64,
    /// Runs that differ in more than the order of independent steps.
    pub orders: u64,
    /// Different states in all of them.
    pub states: u64,
    /// Whether every schedule within the bound was run, or is like one that was.
    pub exhausted: bool,
    /// The first that breaks a property, with the fewest deviations.
    pub violation: Option<Violation>,
}

/// So many runs are handed out at once; the order of what they find is that of the list, not of the threads.
const BATCH: usize = 64;

/// How runs are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All, those with the fewest deviations first.
    Search,
    /// So many at random.
    Random {
        /// How many.
        runs: u64,
        /// What chance begins with.
        seed: u64,
        /// The depth of PCT, if that is how.
        depth: Option<usize>,
    },
}

/// A search under way: what is left to run, and what was found.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// What is left, by the number of deviations.
    frontier: BTreeMap<usize, VecDeque<Schedule>>,
    /// Beginnings that are in the frontier or were run, with the fewest deviations that led to each.
    seen: BTreeMap<u64, usize>,
    /// Digests of whole runs.
    ends: BTreeSet<u64>,
    states: BTreeSet<u64>,
    /// What was found so far.
    pub report: Report,
}

impl Search {
    /// One that has not begun.
    pub fn new() -> Search {
        let frontier = BTreeMap::from([(0, VecDeque::from([Schedule::new()]))]);
        Search { frontier, ..Search::default() }
    }

    /// How many schedules wait to be run.
    pub fn waiting(&self) -> usize {
        self.frontier.values().map(VecDeque::len).sum()
    }

    /// Goes on until all was run, something broke, so many schedules were run, or `progress` says no.
    pub fn go(&mut self, subject: &Subject, bound: &Bound, threads: usize, mut progress: impl FnMut(&Search) -> bool) {
        workers::on(subject, bound, threads, |run| {
            while self.report.violation.is_none() && self.report.schedules < bound.schedules && progress(self) {
                let batch = self.batch(bound);
                if batch.is_empty() {
                    break;
                }
                let jobs: Vec<Job> = batch.into_iter().map(Job::Schedule).collect();
                run(&jobs).into_iter().for_each(|outcome| self.learn(outcome));
            }
        });
        self.report.exhausted = self.waiting() == 0 && self.report.violation.is_none();
    }

    /// The next schedules, all with the same number of deviations. None if there are no more, or enough were run.
    pub fn batch(&mut self, bound: &Bound) -> Vec<Schedule> {
        let Some(mut first) = self.frontier.first_entry() else { return Vec::new() };
        let most = bound.schedules.saturating_sub(self.report.schedules) as usize;
        let size = first.get().len().min(BATCH).min(most);
        let batch = first.get_mut().drain(..size).collect();
        if first.get().is_empty() {
            first.remove();
        }
        batch
    }

    /// Notes what came of a schedule. Those of one batch are noted in its order, so that threads decide nothing.
    pub fn learn(&mut self, outcome: Outcome) {
        if self.report.violation.is_some() {
            return;
        }
        self.report.schedules += 1;
        self.report.transitions += outcome.events;
        let end = outcome.states.last().copied().unwrap_or_default();
        self.states.extend(outcome.states);
        self.ends.insert(end);
        self.report.orders = self.ends.len() as u64;
        self.report.states = self.states.len() as u64;
        self.report.violation = outcome.violation.map(|(violation, _)| violation);
        if self.report.violation.is_some() {
            return;
        }
        for Next { beginning, schedule } in outcome.next {
            let cost = schedule.len();
            if self.seen.get(&beginning).is_none_or(|fewest| *fewest > cost) {
                self.seen.insert(beginning, cost);
                self.frontier.entry(cost).or_default().push_back(schedule);
            }
        }
    }
}

/// Explores in the way that `mode` says. `progress` is told how it stands now and then, and ends it with false.
pub fn explore(
    subject: &Subject,
    bound: &Bound,
    mode: Mode,
    threads: usize,
    progress: impl FnMut(&Search) -> bool,
) -> Report {
    let mut search = Search::new();
    match mode {
        Mode::Search => search.go(subject, bound, threads, progress),
        Mode::Random { runs, seed, depth } => {
            walks(&mut search, subject, bound, (runs, seed, depth), threads, progress)
        }
    }
    search.report
}

/// Runs in which chance decides. What is found is made as short as leaving things out makes it.
fn walks(
    search: &mut Search,
    subject: &Subject,
    bound: &Bound,
    (runs, seed, depth): (u64, u64, Option<usize>),
    threads: usize,
    mut progress: impl FnMut(&Search) -> bool,
) {
    search.frontier.clear();
    let mut runner = Runner::new(subject, bound);
    let usual = runner.run(&mut Repeat::new(&Schedule::new()));
    let length = usual.events();
    let mut found = None;
    workers::on(subject, bound, threads, |run| {
        let mut next = 0;
        while next < runs && found.is_none() && progress(search) {
            let end = runs.min(next + BATCH as u64);
            let walk = |run| Job::Walk(Walk { seed: seed.wrapping_mul(1_000_003).wrapping_add(run), depth, length });
            let jobs: Vec<Job> = (next..end).map(walk).collect();
            for outcome in run(&jobs) {
                if found.is_none() {
                    found = outcome.violation.clone().map(|(_, schedule)| schedule);
                    search.learn(outcome);
                }
            }
            next = end;
        }
    });
    if let Some(schedule) = found {
        search.report.violation = shortened(&mut runner, schedule);
    }
}

/// Leaves out of a schedule what the violation does not need.
pub fn shortened(runner: &mut Runner, mut schedule: Schedule) -> Option<Violation> {
    let mut violation = runner.repeat(&schedule).violation;
    let mut size = schedule.len();
    while size > 0 {
        let mut at = 0;
        while at < schedule.len() {
            let mut shorter = schedule.clone();
            shorter.drain(at..schedule.len().min(at + size));
            let again = runner.repeat(&shorter).violation;
            if again.is_some() && again.as_ref().map(|v| &v.property) == violation.as_ref().map(|v| &v.property) {
                (schedule, violation) = (shorter, again);
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    violation
}

/// Explores on this thread alone. Gives the same report as [`explore`].
pub fn explore_here(subject: &Subject, bound: &Bound) -> Report {
    let mut runner = Runner::new(subject, bound);
    let mut search = Search::new();
    loop {
        let batch = search.batch(bound);
        if batch.is_empty() {
            break;
        }
        for schedule in batch {
            search.learn(Job::Schedule(schedule.clone()).run(&mut runner, bound));
            if search.report.violation.is_some() {
                search.report.violation = shortened(&mut runner, schedule);
                return search.report;
            }
        }
    }
    search.report.exhausted = search.waiting() == 0;
    search.report
}

/// Runs the usual course twice: what came of it, if it went the same way. It does not if there is something in the cluster
/// that goes back with nothing: code in a process of its own that keeps a state, or that looks at a clock.
///
/// # Errors
/// What the usual course breaks. It is not run again then.
pub fn repeats(runner: &mut Runner, bound: &Bound) -> Result<Option<Outcome>, Violation> {
    let mut first = runner.run(&mut Repeat::new(&Schedule::new()));
    if let Some(violation) = first.violation.take() {
        return Err(violation);
    }
    let again = runner.repeat(&Schedule::new());
    Ok(again.went_as(&first).then(|| Outcome::of(again, Some(bound))))
}

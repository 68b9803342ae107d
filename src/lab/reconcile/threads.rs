//! Runs trials on all cores. First each takes its usual course: most of what is wrong shows there, soon and in the simplest
//! way. Only if all went well the other orders follow. A thread goes on with its trial, and then helps with one that is not
//! ended, so a long one is not waited for alone. What threads find is noted in the order of the schedules, and the first
//! trial that fails is the first of the list: which thread was faster decides nothing.

use std::collections::{BTreeMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use cluster::scenario::Scenario;
use debugger::explore::run::{Runner, Schedule};
use debugger::explore::workers::{Job, Outcome};
use debugger::explore::{Bound, Search, Subject, Violation, repeats, shortened};
use debugger::properties::own::Stated;

/// More steps than any trial needs, all runs together; a right solution takes fewer than 50,000.
const TRANSITIONS: u64 = 70_000;

/// A scenario to be run in every order within a bound.
pub(super) struct Trial {
    pub scenario: Scenario,
    pub bound: Bound,
    pub stated: Vec<Stated>,
}

/// What is wrong in a trial.
pub(super) enum Wrong {
    /// The usual course went otherwise when it was run again.
    NotAgain,
    /// There are more orders than are run.
    TooMany,
    /// A property does not hold.
    Broken(Violation),
}

/// Runs them. Gives how many orders there are in each: runs that differ in more than the order of independent steps.
///
/// # Errors
/// What is wrong in the first trial in whose usual course something is, or else in any order, and which trial that is.
pub(super) fn run(trials: &[Trial]) -> Result<Vec<usize>, (usize, Wrong)> {
    let board = Board::new(trials.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores()).map(|_| scope.spawn(|| board.work(trials))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
    let stages = board.stages.into_inner().unwrap_or_else(PoisonError::into_inner);
    let ended = stages.into_iter().enumerate().filter_map(|(n, stage)| Some((n, stage.ended?)));
    ended.map(|(n, ended)| ended.map_err(|wrong| (n, wrong))).collect()
}

/// Does something with each, on all cores. What comes of it, in the order of the list.
pub(super) fn each<T: Sync, R: Send>(all: &[T], what: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(n) else { return done };
            done.push((n, what(one)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores().min(all.len())).map(|_| scope.spawn(work)).collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.flatten().collect::<Vec<_>>()
    });
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, result)| result).collect()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What a thread does next for a trial.
enum Task {
    /// Runs the usual course twice.
    Repeat,
    /// Runs the schedule of this number in the batch.
    Run(usize, Schedule),
    /// Leaves out what the violation does not need.
    Shorten(Schedule),
}

/// What came of it.
enum Done {
    Repeated(Result<Option<Outcome>, Violation>),
    Ran(usize, Outcome),
    Shortened(Option<Violation>),
}

/// How far a trial is.
struct Stage {
    search: Search,
    /// Whether the usual course has gone well.
    explores: bool,
    tasks: VecDeque<Task>,
    /// How many tasks are under way.
    open: usize,
    /// The schedules that are run now, and what came of each.
    batch: Vec<(Schedule, Option<Outcome>)>,
    ended: Option<Result<usize, Wrong>>,
}

impl Stage {
    fn new() -> Stage {
        let tasks = VecDeque::from([Task::Repeat]);
        Stage { search: Search::new(), explores: false, tasks, open: 0, batch: Vec::new(), ended: None }
    }

    fn is_new(&self) -> bool {
        matches!(self.tasks.front(), Some(Task::Repeat))
    }

    fn note(&mut self, done: Done, bound: &Bound) {
        self.open -= 1;
        match done {
            Done::Repeated(Err(violation)) => self.ended = Some(Err(Wrong::Broken(violation))),
            Done::Repeated(Ok(None)) => self.ended = Some(Err(Wrong::NotAgain)),
            Done::Repeated(Ok(Some(outcome))) => {
                self.explores = true;
                // The usual course is the first schedule.
                self.search.batch(bound);
                self.search.learn(outcome);
            }
            Done::Ran(n, outcome) => {
                if outcome.violation.is_some() {
                    // No later one is the first.
                    self.tasks.clear();
                }
                self.batch[n].1 = Some(outcome);
            }
            Done::Shortened(violation) => {
                let found = violation.or(self.search.report.violation.take());
                self.ended = found.map(|violation| Err(Wrong::Broken(violation)));
            }
        }
        if self.tasks.is_empty() && self.open == 0 && self.ended.is_none() {
            self.go_on(bound);
        }
    }

    /// All of a batch were run.
    fn go_on(&mut self, bound: &Bound) {
        for (schedule, outcome) in std::mem::take(&mut self.batch) {
            let Some(outcome) = outcome else { continue };
            self.search.learn(outcome);
            if self.search.report.violation.is_some() {
                self.tasks.push_back(Task::Shorten(schedule));
                return;
            }
        }
        if self.search.report.transitions > TRANSITIONS {
            self.ended = Some(Err(Wrong::TooMany));
            return;
        }
        self.batch = self.search.batch(bound).into_iter().map(|schedule| (schedule, None)).collect();
        let runs = self.batch.iter().enumerate().map(|(n, (schedule, _))| Task::Run(n, schedule.clone()));
        self.tasks.extend(runs);
        if self.tasks.is_empty() {
            let all = self.search.waiting() == 0;
            self.ended = Some(if all { Ok(self.search.report.orders as usize) } else { Err(Wrong::TooMany) });
        }
    }
}

/// What all threads look at.
struct Board {
    stages: Mutex<Vec<Stage>>,
    changed: Condvar,
}

/// A thread that panics leaves no other thread waiting: it ends every trial.
struct Watched<'a>(&'a Board);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().iter_mut().for_each(|stage| stage.ended = Some(Err(Wrong::TooMany)));
            self.0.changed.notify_all();
        }
    }
}

impl Board {
    fn new(trials: usize) -> Board {
        Board { stages: Mutex::new((0..trials).map(|_| Stage::new()).collect()), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Stage>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, trials: &[Trial]) {
        let _watched = Watched(self);
        let clusters: Vec<_> = trials.iter().map(|trial| || bugs::cluster(&trial.scenario)).collect();
        let properties: Vec<_> =
            trials.iter().map(|trial| || trial.stated.iter().map(Stated::begin).collect()).collect();
        let subjects = clusters.iter().zip(&properties).map(|(cluster, properties)| Subject { cluster, properties });
        let subjects: Vec<Subject> = subjects.collect();
        // Where a thread has taken the usual course, it takes others from its marks.
        let mut runners = BTreeMap::new();
        let mut current = None;
        while let Some((n, task)) = self.next(current, |n| runners.contains_key(&n)) {
            let bound = &trials[n].bound;
            current = if matches!(task, Task::Repeat) { None } else { Some(n) };
            let runner = runners.entry(n).or_insert_with(|| Runner::new(&subjects[n], bound));
            let done = match task {
                Task::Repeat => Done::Repeated(repeats(runner, bound)),
                Task::Run(n, schedule) => Done::Ran(n, Job::Schedule(schedule).run(runner, bound)),
                Task::Shorten(schedule) => Done::Shortened(shortened(runner, schedule)),
            };
            let mut stages = self.lock();
            stages[n].note(done, bound);
            runners.retain(|n, _| stages[*n].ended.is_none());
            self.changed.notify_all();
        }
    }

    /// What a thread does next that works on the `current` trial, and knows the usual course of some. None once nothing
    /// matters any more.
    fn next(&self, current: Option<usize>, knows: impl Fn(usize) -> bool) -> Option<(usize, Task)> {
        let mut stages = self.lock();
        loop {
            let last = first_wrong(&stages);
            let matter = || stages[..last].iter().enumerate().filter(|(_, stage)| stage.ended.is_none());
            let is_wrong_at_once = stages.get(last).is_some_and(|stage| !stage.explores);
            let next = match matter().find(|(_, stage)| !stage.explores) {
                // The usual courses come first; some may still be under way.
                Some(_) => matter().find(|(_, stage)| stage.is_new()),
                None if is_wrong_at_once || matter().next().is_none() => return None,
                // Each a trial of its own as far as there are some.
                None => {
                    let rank = |n: usize, stage: &Stage| (current != Some(n), stage.open > 0, !knows(n));
                    let with_tasks = matter().filter(|(_, stage)| !stage.tasks.is_empty());
                    with_tasks.min_by_key(|(n, stage)| rank(*n, stage))
                }
            };
            if let Some((n, _)) = next {
                return take(&mut stages[n]).map(|task| (n, task));
            }
            stages = self.changed.wait(stages).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The first trial that has failed: no later one matters. Without one, how many there are.
fn first_wrong(stages: &[Stage]) -> usize {
    stages.iter().position(|stage| matches!(stage.ended, Some(Err(_)))).unwrap_or(stages.len())
}

fn take(stage: &mut Stage) -> Option<Task> {
    let task = stage.tasks.pop_front()?;
    stage.open += 1;
    Some(task)
}

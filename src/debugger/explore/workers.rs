//! Threads that run schedules, each on a cluster of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use super::run::{Runner, Schedule};
use super::trace::{Next, Trace};
use super::walk::Walk;
use super::{Bound, Subject, Violation};

/// What is to be run.
#[derive(Clone, Debug)]
pub enum Job {
    /// These deviations, and none else.
    Schedule(Schedule),
    /// Chance decides what deviates.
    Walk(Walk),
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How many events were delivered.
    pub events: u64,
    /// Digests of the states that it went through; the last stands for the whole run.
    pub states: Vec<u64>,
    /// What is worth running next.
    pub next: Vec<Next>,
    /// What it broke, and by what deviations.
    pub violation: Option<(Violation, Schedule)>,
}

impl Job {
    /// Runs the cluster once as the job says.
    pub fn run(&self, runner: &mut Runner, bound: &Bound) -> Outcome {
        match self {
            Job::Schedule(schedule) => Outcome::of(runner.repeat(schedule), Some(bound)),
            Job::Walk(walk) => Outcome::of(runner.run(&mut walk.begin(bound)), None),
        }
    }
}

impl Outcome {
    /// Of a run. Within a bound there may be more that is worth running.
    pub fn of(trace: Trace, bound: Option<&Bound>) -> Outcome {
        let bound = bound.filter(|_| trace.violation.is_none());
        let next = bound.map_or(Vec::new(), |bound| trace.next(bound));
        let (events, states, schedule) = (trace.events(), trace.states(), trace.schedule());
        Outcome { events, states, next, violation: trace.violation.map(|violation| (violation, schedule)) }
    }
}

/// Has `search` done with a way to run a batch of jobs, on so many threads; what comes back is in the batch's order. One is
/// the caller's own, and none is started then.
pub fn on<T>(
    subject: &Subject,
    bound: &Bound,
    threads: usize,
    search: impl FnOnce(&mut dyn FnMut(&[Job]) -> Vec<Outcome>) -> T,
) -> T {
    if threads <= 1 {
        let mut runner = Runner::new(subject, bound);
        return search(&mut |batch| batch.iter().map(|job| job.run(&mut runner, bound)).collect());
    }
    std::thread::scope(|scope| {
        let workers: Vec<Worker> = (0..threads).map(|_| Worker::start(scope, subject, bound)).collect();
        search(&mut |batch| run(&workers, batch))
    })
}

/// A thread that runs jobs until there is nothing left that could send it one.
struct Worker {
    to: Sender<Vec<Job>>,
    from: Receiver<Vec<Outcome>>,
}

impl Worker {
    fn start<'s, 'e>(scope: &'s Scope<'s, 'e>, subject: &'e Subject<'e>, bound: &'e Bound) -> Worker {
        let (to, work) = channel::<Vec<Job>>();
        let (done, from) = channel();
        scope.spawn(move || {
            let mut runner = Runner::new(subject, bound);
            for jobs in work {
                let outcomes: Vec<Outcome> = jobs.iter().map(|job| job.run(&mut runner, bound)).collect();
                if done.send(outcomes).is_err() {
                    return;
                }
            }
        });
        Worker { to, from }
    }
}

/// Runs a batch, a share on each thread.
fn run(workers: &[Worker], batch: &[Job]) -> Vec<Outcome> {
    let share = batch.len().div_ceil(workers.len()).max(1);
    let shares: Vec<&[Job]> = batch.chunks(share).collect();
    for (worker, share) in workers.iter().zip(&shares) {
        // A worker that is gone has panicked; the scope passes that on.
        let _ = worker.to.send(share.to_vec());
    }
    workers.iter().zip(&shares).flat_map(|(worker, _)| worker.from.recv().unwrap_or_default()).collect()
}

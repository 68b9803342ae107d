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

/// Threads that run jobs.
#[derive(Default)]
pub struct Workers {
    to: Vec<Sender<Vec<Job>>>,
    from: Vec<Receiver<Vec<Outcome>>>,
}

impl Workers {
    /// Starts so many.
    pub fn start<'s, 'e>(
        &mut self,
        scope: &'s Scope<'s, 'e>,
        subject: &'e Subject<'e>,
        bound: &'e Bound,
        threads: usize,
    ) {
        for _ in 0..threads {
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
            self.to.push(to);
            self.from.push(from);
        }
    }

    /// Runs a batch. What comes back is in its order.
    pub fn run(&mut self, batch: &[Job]) -> Vec<Outcome> {
        let share = batch.len().div_ceil(self.to.len()).max(1);
        let shares: Vec<&[Job]> = batch.chunks(share).collect();
        for (to, share) in self.to.iter().zip(&shares) {
            // A worker that is gone has panicked; the scope passes that on.
            let _ = to.send(share.to_vec());
        }
        self.from.iter().zip(&shares).flat_map(|(from, _)| from.recv().unwrap_or_default()).collect()
    }

    /// Ends the threads: each stops when there is nobody left to send it a job.
    pub fn stop(&mut self) {
        self.to.clear();
    }
}

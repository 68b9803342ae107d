//! A session: a cluster, every step that ran, and where we stand.

use crate::cluster::Cluster;
use crate::engine::{Step, StepId, What};
use crate::object::time::Instant;

use super::describe;

/// Where stepping stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAt {
    /// At an informer notification that is not background traffic.
    Notification,
    /// At every event that is not background traffic.
    Event,
    /// At every event.
    Anything,
}

/// How a move ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// At a stop.
    Stopped,
    /// Nothing but background traffic is pending.
    Quiet,
    /// The number of steps asked for ran out.
    Limit,
}

/// A running cluster under the debugger.
pub struct Session {
    /// The cluster.
    pub cluster: Cluster,
    history: Vec<Step>,
    origin: Instant,
    background: u64,
}

impl Session {
    /// A session that stands before the first step.
    pub fn new(cluster: Cluster) -> Session {
        let origin = cluster.engine.now();
        Session { cluster, history: Vec::new(), origin, background: 0 }
    }

    /// Every step that ran, oldest first; step N is at N - 1.
    pub fn history(&self) -> &[Step] {
        &self.history
    }

    /// The step where we stand.
    pub fn current(&self) -> Option<&Step> {
        self.history.last()
    }

    /// A step by its number.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.history.get(usize::try_from(id.0.checked_sub(1)?).ok()?)
    }

    /// Virtual time since the user's part began.
    pub fn time(&self, at: Instant) -> Instant {
        Instant(at.0.saturating_sub(self.origin.0))
    }

    /// How many background events ran since the last stop.
    pub fn background(&self) -> u64 {
        self.background
    }

    /// Steps until `stop`. `limit` bounds the steps taken; 0 means none.
    pub fn advance(&mut self, stop: StopAt, limit: u64) -> Advance {
        self.background = 0;
        let mut taken = 0;
        loop {
            if self.cluster.is_quiet() && stop != StopAt::Anything {
                return Advance::Quiet;
            }
            let Some(step) = self.cluster.step() else { return Advance::Quiet };
            self.background += u64::from(step.event.background);
            let here = match stop {
                StopAt::Notification => describe::is_notification(&step),
                StopAt::Event => !step.event.background,
                StopAt::Anything => true,
            };
            self.history.push(step);
            taken += 1;
            if here {
                return Advance::Stopped;
            }
            if limit != 0 && taken >= limit {
                return Advance::Limit;
            }
        }
    }

    /// Runs a kubectl command that only reads, at once: nobody is told, and time stands still.
    pub fn read(&mut self, words: &[String]) -> String {
        self.cluster.read_now(words)
    }

    /// The causes of a step, nearest first, back to the start of the run.
    pub fn why(&self, id: StepId) -> Vec<&Step> {
        let mut chain = Vec::new();
        let mut next = self.step(id).map(|step| step.event.cause);
        while let Some(step) = next.and_then(|id| self.step(id)) {
            chain.push(step);
            next = Some(step.event.cause);
        }
        chain
    }

    /// The nearest request among a step's causes: the write behind a notification.
    pub fn write_behind(&self, id: StepId) -> Option<&Step> {
        self.why(id).into_iter().find(|step| matches!(step.event.what, What::Request { .. }))
    }
}

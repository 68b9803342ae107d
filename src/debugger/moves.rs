//! Where a move forward ends.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use cluster::Cluster;
use engine::{ActorId, EventId, Note, Step, What};
use object::time::Instant;

use super::breakpoint::Breakpoints;
use super::describe;
use super::facts::Facts;
use super::quiet;

/// Where stepping stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAt {
    /// At an informer notification or a packet's hop that is not background traffic.
    Notification,
    /// At every event that is not background traffic.
    Event,
    /// At every event.
    Anything,
}

/// What does not say how long it takes gets so much virtual time.
pub const MOST: Duration = Duration::from_secs(600);

/// Where a move ends, unless a breakpoint ends it first.
#[derive(Debug)]
pub enum Goal {
    /// At the next stop of this kind.
    Stop(StopAt),
    /// When nothing is left to do.
    Quiet,
    /// When so much virtual time is over: before the event that comes after that.
    Time(Instant),
    /// When the scenario's next command is about to run.
    NextLine {
        /// None has run yet: the first is on its way.
        first: bool,
    },
    /// When a component has finished reacting.
    Reaction(Reaction),
    /// When this reconcile or pod worker ends.
    End {
        /// Whose it is.
        actor: ActorId,
        /// Its label.
        task: Rc<str>,
    },
    /// When no command of the user's runs any more.
    CommandsEnd,
    /// When nothing in the foreground is pending.
    Idle,
    /// When this fits, which is written like a breakpoint.
    Until(Box<Breakpoints>),
}

impl Goal {
    /// Whether the step that just ran is the end of the move. `seconds` is its virtual time.
    pub fn reached(&mut self, cluster: &Cluster, step: &Step, seconds: f64) -> bool {
        match self {
            Goal::Stop(StopAt::Notification) => describe::is_notification(step),
            Goal::Stop(StopAt::Event) => !step.event.background,
            Goal::Stop(StopAt::Anything) => true,
            Goal::Quiet | Goal::Time(_) => false,
            Goal::NextLine { first } => {
                let typed = step.notes.iter().any(|note| matches!(note, Note::Typed { .. }));
                typed && !std::mem::replace(first, false)
            }
            Goal::Reaction(reaction) => reaction.over(cluster, step),
            Goal::End { actor, task } => step
                .notes
                .iter()
                .any(|note| matches!(note, Note::Finished { actor: a, task: t } if a == actor && t == task)),
            Goal::CommandsEnd => !cluster.has_commands(),
            Goal::Idle => cluster.engine.foreground() == 0,
            Goal::Until(condition) => {
                let facts = Facts::of(&cluster.engine, step);
                !condition.check(&facts, seconds).hits.is_empty()
            }
        }
    }

    /// How far ahead something may lie that the move still waits for. What a person names may be far away: an eviction,
    /// the end of a deadline.
    pub fn horizon(&self) -> Duration {
        if matches!(self, Goal::Until(_)) { MOST } else { quiet::SOON }
    }

    /// Whether the move goes on through background traffic when nothing else is left.
    pub fn outlasts_quiet(&self) -> bool {
        matches!(self, Goal::Stop(StopAt::Anything) | Goal::Time(_) | Goal::Idle)
    }
}

/// A timer armed this far ahead is no part of a reaction: retries are, resyncs and probes are not.
const PROMPT: Duration = Duration::from_secs(1);

/// What one delivery set off in the component that got it: work taken up, calls made, answers awaited. What others learn
/// of it through their watches is their own reaction. The API server's reaction to a request is its answer.
#[derive(Debug)]
pub struct Reaction {
    /// Events of the reaction that are still in flight.
    open: BTreeSet<EventId>,
    /// Whether they may set off more that belongs to it.
    goes_on: bool,
}

impl Reaction {
    /// What `step` set off; None if it set nothing off that is still under way.
    pub fn to(cluster: &Cluster, step: &Step) -> Option<Reaction> {
        let goes_on = !matches!(step.event.what, What::Request { .. });
        let mut reaction = Reaction { open: BTreeSet::new(), goes_on };
        reaction.follow(cluster, step);
        (!reaction.open.is_empty()).then_some(reaction)
    }

    fn over(&mut self, cluster: &Cluster, step: &Step) -> bool {
        if !self.open.remove(&step.event.id) {
            return false;
        }
        if self.goes_on {
            self.follow(cluster, step);
        }
        self.open.is_empty()
    }

    fn follow(&mut self, cluster: &Cluster, step: &Step) {
        for sent in &step.sent {
            let Some(event) = cluster.engine.in_flight(*sent) else { continue };
            let soon = event.due - step.time < PROMPT;
            let part = match event.what {
                What::Notification { .. } => false,
                What::Wake { .. } => soon && !event.background,
                _ => !event.background,
            };
            if part {
                self.open.insert(event.id);
            }
        }
    }
}

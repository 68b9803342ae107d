//! What comes of a cluster in which nothing is left to do.
//!
//! A Lease that is renewed no more makes a node NotReady, a probe that fails takes a Pod out of its Services. Whether
//! anything of that kind may come is told by [`cluster::quiet`]. If so, the session lets the cluster run on for a
//! while, sees what comes, and returns. For a session, quiet is a cluster in which
//!
//! - nothing but background traffic is pending, and no command or choice is under way, and
//! - within that while the background changes no object, but for what heartbeats say, and nothing else comes due.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::{Step, StepId};
use object::time::Instant;
use object::{Kind, Object};

use super::Session;
use super::changes::stored;
use super::diff;
use super::moves::MOST;

/// So far ahead a move looks that waits for nothing in particular. A node that is silent is given up sooner.
pub const SOON: Duration = cluster::quiet::NOTICED;

impl Session {
    /// Whether nothing is in flight but background traffic, and no choice is to be made again here.
    pub(super) fn is_idle(&self) -> bool {
        self.cluster.is_quiet() && !self.has_a_choice()
    }

    /// Whether the cluster is quiet, and stays so for that long if the user does nothing.
    pub fn is_quiet(&mut self, within: Duration) -> bool {
        let steps = self.cluster.engine.steps();
        if !self.is_idle() || steps < self.comes {
            return false;
        }
        self.comes = if self.cluster.may_stir(within) { self.comes_within(within).unwrap_or_default() } else { 0 };
        self.comes == 0
    }

    /// The step at which something comes of the background within that time.
    pub fn comes_within(&mut self, within: Duration) -> Option<u64> {
        self.first_within(within).map(|(step, _)| step.0)
    }

    /// When something comes of a cluster that is quiet, if that is in sight: a schedule's next time, the next start of a
    /// container that crashes.
    pub fn next_comes(&mut self) -> Option<Instant> {
        let comes = if self.cluster.may_stir(MOST) { self.first_within(MOST) } else { None };
        comes.map(|(_, at)| at)
    }

    /// The first step in which something comes of the background, and its time, found out by letting the cluster run. It is
    /// brought back to where it stands.
    fn first_within(&mut self, within: Duration) -> Option<(StepId, Instant)> {
        let (place, now, passed) = (self.place(), self.cluster.engine.now(), self.passed);
        let saved = self.cluster.save();
        let comes = self.look(now + within);
        match saved {
            Some(saved) => self.cluster.restore(&saved),
            // A task that hangs, as behind a link that is cut, cannot be saved. The way here can be gone again.
            None => {
                let (hits, background) = (std::mem::take(&mut self.hits), self.background);
                self.return_to(place.0);
                self.return_here(place);
                self.cluster.engine.pass(now);
                (self.hits, self.background, self.passed) = (hits, background, passed);
            }
        }
        comes
    }

    fn look(&mut self, end: Instant) -> Option<(StepId, Instant)> {
        let mut echo = Echo::default();
        while let Some(step) = self.cluster.step_due(end) {
            if self.has_a_choice() || !self.cluster.engine.take_crashes().is_empty() || echo.ends_with(&step) {
                return Some((step.id, step.time));
            }
        }
        None
    }

    /// Lets time pass up to `end`, if nothing is due before. What the user chooses next is chosen at that time.
    pub(super) fn pass(&mut self, end: Instant) -> bool {
        let due = self.cluster.engine.peek().is_some_and(|next| next.due <= end);
        if due || self.has_a_choice() {
            return false;
        }
        self.passed += self.cluster.engine.pass(end);
        true
    }
}

/// Steps that only carry on the news of heartbeats, or look whether a time that was far away brings anything.
#[derive(Default)]
struct Echo(BTreeSet<StepId>);

impl Echo {
    /// Whether the step is more than that, and more than background traffic.
    fn ends_with(&mut self, step: &Step) -> bool {
        let event = &step.event;
        let mut beats = self.0.contains(&event.cause) || (event.idle && !event.background);
        for (_, old, new) in stored(step) {
            match old.or(new).map(Object::kind) {
                Some(Kind::Lease | Kind::Event) | None => {}
                _ if is_heartbeat(old, new) => beats = true,
                _ => return true,
            }
        }
        if beats {
            self.0.insert(step.id);
        }
        !beats && !event.background
    }
}

/// Whether nothing differs but what a node reports round by round and no component acts upon: the times of its heartbeats, and
/// the images that it has.
fn is_heartbeat(old: Option<&Object>, new: Option<&Object>) -> bool {
    let beats = |change: &diff::FieldChange| {
        change.path.ends_with(".lastHeartbeatTime") || change.path.starts_with("status.images")
    };
    old.is_some() && new.is_some() && diff::fields(old, new).iter().all(beats)
}

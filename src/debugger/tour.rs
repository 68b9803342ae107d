//! A scenario's narration, stop by stop.

use cluster::scenario::TourStop;

use super::breakpoint::Breakpoints;
use super::moves::Goal;
use super::{Advance, Session};

/// Which stops of a tour were reached, and in which steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tour {
    reached: Vec<u64>,
}

impl Tour {
    /// The next stop, and its number from 0. Where the session has gone back, stops ahead are to come again.
    pub fn next<'a>(&mut self, session: &'a Session) -> Option<(usize, &'a TourStop)> {
        let here = session.history().len() as u64;
        self.reached.retain(|step| *step <= here);
        let number = self.reached.len();
        session.scenario().tour.get(number).map(|stop| (number, stop))
    }

    /// The step at which the story was left. A user who has stepped on from there may have passed its next stop already.
    pub fn left_at(&self) -> u64 {
        self.reached.last().copied().unwrap_or(0)
    }

    /// The session stands at that stop now, or this run never comes by there.
    pub fn pass(&mut self, session: &Session) {
        self.reached.push(session.history().len() as u64);
    }
}

/// So many steps ahead a stop may be.
const STEPS_AHEAD: u64 = 100_000;

/// Whether a run that is left alone comes to a stop. Another order of events, or what was chosen, may lead past it.
pub fn comes(session: &mut Session, stop: &TourStop) -> Result<bool, String> {
    let Some(mut goal) = goal(session, stop)? else { return Ok(true) };
    Ok(session.ahead(|session| session.go(&mut goal, STEPS_AHEAD) == Advance::Stopped))
}

/// Whether all conditions of a session's tour can be read, before a learner takes it.
///
/// # Errors
/// Which one cannot, and why.
pub fn check(session: &Session) -> Result<(), String> {
    for stop in &session.scenario().tour {
        goal(session, stop).map_err(|error| format!("tour: until: {}: {error}", stop.until))?;
    }
    Ok(())
}

/// The move to a stop; none if it is where the session stands.
pub fn goal(session: &Session, stop: &TourStop) -> Result<Option<Goal>, String> {
    if stop.until.is_empty() {
        return Ok(None);
    }
    let mut condition = Breakpoints::default();
    condition.add(&stop.until, true, &session.names())?;
    Ok(Some(Goal::Until(Box::new(condition))))
}

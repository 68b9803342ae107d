//! A scenario's narration, place by place.

use crate::cluster::scenario::Place;

use super::breakpoint::Breakpoints;
use super::moves::Goal;
use super::{Advance, Session};

/// Which places of a tour were reached, and in which steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tour {
    reached: Vec<u64>,
}

impl Tour {
    /// The next place, and its number from 0. Where the session has gone back, places ahead are to come again.
    pub fn next<'a>(&mut self, session: &'a Session) -> Option<(usize, &'a Place)> {
        let here = session.history().len() as u64;
        self.reached.retain(|step| *step <= here);
        let number = self.reached.len();
        session.scenario().tour.get(number).map(|place| (number, place))
    }

    /// The step at which the story was left. Whoever has stepped on from there may have passed its next place already.
    pub fn left_at(&self) -> u64 {
        self.reached.last().copied().unwrap_or(0)
    }

    /// The session stands at that place now, or this run never comes by there.
    pub fn pass(&mut self, session: &Session) {
        self.reached.push(session.history().len() as u64);
    }
}

/// So many steps ahead a place may be.
const STEPS_AHEAD: u64 = 100_000;

/// Whether a run that is left alone comes to a place. Another order of events, or what was chosen, may lead past it.
pub fn comes(session: &mut Session, place: &Place) -> Result<bool, String> {
    let Some(mut goal) = goal(session, place)? else { return Ok(true) };
    Ok(session.ahead(|session| session.go(&mut goal, STEPS_AHEAD) == Advance::Stopped))
}

/// Whether all conditions of a session's tour can be read, before anybody takes it.
///
/// # Errors
/// Which one cannot, and why.
pub fn check(session: &Session) -> Result<(), String> {
    for place in &session.scenario().tour {
        goal(session, place).map_err(|error| format!("tour: until: {}: {error}", place.until))?;
    }
    Ok(())
}

/// The move to a place; none if it is where the session stands.
pub fn goal(session: &Session, place: &Place) -> Result<Option<Goal>, String> {
    if place.until.is_empty() {
        return Ok(None);
    }
    let mut condition = Breakpoints::default();
    condition.add(&place.until, true, &session.names())?;
    Ok(Some(Goal::Until(Box::new(condition))))
}

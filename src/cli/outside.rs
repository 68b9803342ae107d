//! `kubestep explore --wire COMMAND`: the user's own operator, and what breaks at its requests.
//!
//! The sockets are in another program, as with [`super::serve`].

use std::time::Duration;

use cluster::scenario::Scenario;
use debugger::explore::{Bound, Breach};
use debugger::properties::own::Stated;

/// What was out of the usual: after so many steps, this.
pub type Deviations = Vec<(u64, String)>;

/// What is explored.
pub struct Outside {
    /// The scenario: what users do.
    pub scenario: Scenario,
    /// A line for a shell: the operator.
    pub command: String,
    /// What must hold.
    pub stated: Vec<Stated>,
    /// Faults, their kinds and places, and how many runs.
    pub bound: Bound,
    /// How long to look, by the clock on the wall.
    pub time: Duration,
    /// A client that does nothing for so long is done.
    pub rest: Duration,
}

/// What came of it.
#[derive(Default)]
pub struct Found {
    /// Runs of the command.
    pub runs: u64,
    /// Runs that were worth it and were not made.
    pub left: usize,
    /// Requests and watches at which something could be broken, in the run in which nothing was.
    pub places: usize,
    /// Runs in which the client did not come to where something was to be broken.
    pub missed: u64,
    /// Of these: runs that were begun and for which there was no time.
    pub unmade: usize,
    /// A run that breaks a property.
    pub broken: Option<Broken>,
}

/// A run that breaks a property.
pub struct Broken {
    /// Its session as a file, at the step at which it shows.
    pub session: String,
    /// The sort of the property.
    pub breach: Breach,
    /// The property, in words.
    pub property: String,
    /// What broke it.
    pub what: String,
    /// What was broken in the run.
    pub deviations: Deviations,
    /// The last lines that the command printed.
    pub printed: String,
}

/// Explores, and tells now and then how it stands.
///
/// # Errors
/// The command does not start, ends by itself, or sends nothing.
pub type Explore = fn(&Outside, &mut dyn FnMut(&Found)) -> anyhow::Result<Found>;

/// What was tried, and how far that goes.
pub(super) fn summary(found: &Found) -> String {
    let runs = format!(
        "{} of the command, {}",
        many(found.runs, "run"),
        match &found.broken {
            Some(_) => "the last breaks a property",
            None => "none breaks a property",
        }
    );
    let places = format!("{} at which to break something", many(found.places as u64, "place"));
    let missed = match found.missed {
        0 => String::new(),
        n => format!("; in {} the command did not come to the place again", many(n, "run")),
    };
    let extent = match (found.left, &found.broken) {
        (_, Some(_)) => "the search ended there".to_owned(),
        (0, None) if found.places == 0 => "so nothing was broken".to_owned(),
        (0, None) => "each was tried".to_owned(),
        (left, None) => {
            format!("{} left; --seconds looks for longer", many(left as u64, "run"))
        }
    };
    format!("{runs}; {places}{missed}; {extent}")
}

/// Seconds on the command line.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("write a number from 0.1 to 600".to_owned()),
    }
}

/// So many of something.
pub(super) fn many(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

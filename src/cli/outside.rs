//! `kubestep explore --wire COMMAND`: the user's own operator, and what breaks at its requests.
//!
//! The sockets are in another program, as with [`super::serve`].

use std::io::Write;
use std::time::Duration;

use anyhow::anyhow;

use cluster::scenario::{Exploration, Scenario};
use debugger::explore::{Bound, Breach, Violation, plan};
use debugger::file;
use debugger::properties::own::Stated;

use super::explore::{Deviations, bar, keep, many};
use super::terminal::laid_out;
use super::{ExploreArguments, out, serve, step};

/// What is tried unless the command line or the scenario says otherwise.
const KINDS: [&str; 5] = ["crash", "lost-after", "409", "500", "disconnect"];
/// The places at which it is tried: all clients outside.
const CLIENTS: &str = "wire/*";

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
    /// Of which sort the property is.
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

pub(super) fn command(
    arguments: &ExploreArguments,
    command: &str,
    scenario: Scenario,
    explore: Option<Explore>,
) -> anyhow::Result<()> {
    let Some(explore) = explore else { return serve::elsewhere() };
    let (name, scenario) = (scenario.name.clone(), step::from_now(scenario));
    let stated = plan::properties(&scenario, &arguments.property).map_err(|error| anyhow!(error))?;
    let (bound, command) = (bound(arguments, &scenario)?, command.to_owned());
    let (time, rest) = (Duration::from_secs(arguments.seconds.into()), Duration::from_secs_f64(arguments.rest));
    let bar = bar();
    let mut progress = |found: &Found| {
        bar.set_message(format!("{} made, {} waiting", many(found.runs, "run"), found.left));
        bar.tick();
    };
    let found = explore(&Outside { scenario, command, stated, bound, time, rest }, &mut progress)?;
    bar.finish_and_clear();
    let mut to = out::text();
    writeln!(to, "{}", laid_out(&summary(&found), 0).trim_end())?;
    let Some(Broken { session, breach, property, what, deviations, printed }) = found.broken else { return Ok(()) };
    if !printed.is_empty() {
        writeln!(to, "the command's last lines:\n{printed}")?;
    }
    // So it is known that it repeats without the command.
    let session = file::open(&session, None).map_err(|error| anyhow!("the run does not repeat: {error}"))?;
    let violation = Violation { breach, property, what, choices: Vec::new(), step: session.history().len() as u64 };
    keep((&name, &session), &violation, &deviations, arguments, &mut to)
}

fn bound(arguments: &ExploreArguments, scenario: &Scenario) -> anyhow::Result<Bound> {
    let said = scenario.explore.clone().unwrap_or_default();
    let first = |asked: &[String], said: Vec<String>, usual: &[&str]| match (asked.is_empty(), said.is_empty()) {
        (false, _) => asked.to_vec(),
        (true, false) => said,
        (true, true) => usual.iter().map(|word| (*word).to_owned()).collect(),
    };
    let wanted = Exploration {
        late: Some(0),
        faults: arguments.faults.or(said.faults).or(Some(1)),
        kinds: first(&arguments.kinds, said.kinds, &KINDS),
        at: first(&arguments.at, said.at, &[CLIENTS]),
        ..Exploration::default()
    };
    let bound = plan::bound(&wanted).map_err(|error| anyhow!(error))?;
    Ok(Bound { schedules: arguments.schedules, ..bound })
}

fn summary(found: &Found) -> String {
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

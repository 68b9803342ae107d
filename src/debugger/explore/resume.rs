//! A search as a file: what is left to run and what is known, so that it can go on another day.

use serde::{Deserialize, Serialize};

use super::run::Schedule;
use super::{Bound, Report, Search};

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    kubestep: String,
    /// What was explored, and how far.
    about: String,
    schedules: u64,
    transitions: u64,
    frontier: Vec<Schedule>,
    seen: Vec<(u64, usize)>,
    ends: Vec<u64>,
    states: Vec<u64>,
}

/// What a search must agree in to be gone on with.
fn about(what: &str, bound: &Bound) -> String {
    let Bound { late, window, late_at, faults, kinds, places, steps, reduce, .. } = bound;
    format!(
        "{what}; {late} late by {window:?} at {late_at:?}, {faults} faults {kinds:?} at {places:?}, {steps} steps, reduced {reduce}"
    )
}

/// The text of a file. `what` says what is explored: the whole scenario and the properties.
pub fn save(search: &Search, what: &str, bound: &Bound) -> String {
    let pairs = |map: &std::collections::BTreeMap<u64, usize>| map.iter().map(|(a, b)| (*a, *b)).collect();
    let saved = Saved {
        kubestep: env!("CARGO_PKG_VERSION").to_owned(),
        about: about(what, bound),
        schedules: search.report.schedules,
        transitions: search.report.transitions,
        frontier: search.frontier.values().flatten().cloned().collect(),
        seen: pairs(&search.seen),
        ends: search.ends.iter().copied().collect(),
        states: search.states.iter().copied().collect(),
    };
    serde_json::to_string(&saved).expect("numbers and texts print as JSON")
}

/// Reads a file. Refused if it is of another search.
pub fn open(text: &str, what: &str, bound: &Bound) -> Result<Search, String> {
    let saved: Saved = serde_json::from_str(text).map_err(|error| format!("this is not a saved search: {error}"))?;
    if saved.kubestep != env!("CARGO_PKG_VERSION") {
        return Err(format!("it was saved by version {}, and this is {}", saved.kubestep, env!("CARGO_PKG_VERSION")));
    }
    if saved.about != about(what, bound) {
        return Err("it is a search of another scenario, of other properties, or with another bound".to_owned());
    }
    let mut search = Search::default();
    for schedule in saved.frontier {
        search.frontier.entry(schedule.len()).or_default().push_back(schedule);
    }
    search.seen = saved.seen.into_iter().collect();
    search.ends = saved.ends.into_iter().collect();
    search.states = saved.states.into_iter().collect();
    let (orders, states) = (search.ends.len() as u64, search.states.len() as u64);
    search.report =
        Report { schedules: saved.schedules, transitions: saved.transitions, orders, states, ..Report::default() };
    Ok(search)
}

//! What a scenario says of how it is to be explored, and what must hold.

use std::time::Duration;

use crate::properties::own::{Stated, read};
use crate::properties::{SHARED, named};
use cluster::Cluster;
use cluster::scenario::{Exploration, Scenario};

use super::Bound;
use super::fault::{FaultKind, Where};

/// How far a scenario wants to be explored.
pub fn bound(wanted: &Exploration) -> Result<Bound, String> {
    let usual = Bound::default();
    let kinds: Vec<FaultKind> = wanted.kinds.iter().map(|word| FaultKind::parse(word)).collect::<Result<_, _>>()?;
    let faults = wanted.faults.map_or(usual.faults, usize::from);
    Ok(Bound {
        late: wanted.late.map_or(usual.late, usize::from),
        window: wanted.window.map_or(usual.window, Duration::from_millis),
        late_at: wanted.late_at.iter().map(|text| Where::parse(text)).collect::<Result<_, _>>()?,
        faults,
        kinds: if kinds.is_empty() && faults > 0 { every_kind() } else { kinds },
        steps: wanted.steps.unwrap_or(usual.steps),
        places: wanted.at.iter().map(|text| Where::parse(text)).collect::<Result<_, _>>()?,
        ..usual
    })
}

/// What is wrong with the places that a bound names, if any of them is none of the components of such a cluster. A search that
/// looks nowhere would find nothing, and look like a proof. A component of a node that joins later is there at the end.
pub fn unknown(bound: &Bound, mut cluster: Cluster) -> Option<String> {
    let missing = |components: &[String]| {
        let mut places = bound.places.iter().chain(&bound.late_at);
        places.find(|place| !components.iter().any(|name| place.allows(name, None)))
    };
    missing(&cluster.component_names())?;
    let _ = (0..bound.steps).find(|_| cluster.step().is_none());
    missing(&cluster.component_names()).map(|wrong| cluster.no_component(wrong.component()))
}

/// The kinds that are tried if none are named.
fn every_kind() -> Vec<FaultKind> {
    FaultKind::all().into_iter().map(|(_, kind)| kind).collect()
}

/// What must hold: what is asked for by name, or else what the scenario states and what holds anywhere.
pub fn properties(scenario: &Scenario, asked: &[String]) -> Result<Vec<Stated>, String> {
    let own = read(&scenario.properties)?;
    if asked.is_empty() && scenario.explore.as_ref().is_some_and(|explore| explore.stated_only) {
        return Ok(own);
    }
    if asked.is_empty() {
        let shared = SHARED.iter().map(|(name, make)| Stated::Shared((*name).to_owned(), *make));
        return Ok(own.into_iter().chain(shared).collect());
    }
    let find = |word: &String| match own.iter().find(|stated| stated.name() == word) {
        Some(stated) => Ok(stated.clone()),
        None => {
            let names: Vec<String> = own.iter().map(|stated| format!("{:?}", stated.name())).collect();
            let of_scenario =
                if names.is_empty() { String::new() } else { format!("; the scenario states {}", names.join(", ")) };
            named(word).map(|make| Stated::Shared(word.clone(), make)).map_err(|error| format!("{error}{of_scenario}"))
        }
    };
    asked.iter().map(find).collect()
}

//! `explore --wire`: runs of the user's own operator, each with something broken at another of its requests.
//!
//! The first run is undisturbed. It shows where something can be broken; each run with a fault shows where a second can be, and so on
//! within the bound. What finds most bugs is tried first: a crash right after a write, and an answer that is lost.
//!
//! Each run has a cluster, a port and a secret of its own, so nothing that one has left behind comes to another.
//!
//! Left out: the order of a client's requests. They come as it sends them, and two runs of it may differ.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use anyhow::{Context, ensure};

use debugger::explore::fault::Fault;
use kubestep::cli::outside::{Found, Outside};
use kubestep::cli::signals::Signals;

use super::trial::{self, Outcome, Place, Schedule, wall};

/// Explores. `progress` is told after each run how it stands.
///
/// # Errors
/// See [`trial::run`].
pub fn explore(outside: &Outside, progress: &mut dyn FnMut(&Found)) -> anyhow::Result<Found> {
    let folder = Folder::new()?;
    let signals = Signals::listen()?;
    let end = wall() + outside.time;
    let mut found = Found::default();
    let mut frontier = BTreeMap::from([((0, 0), VecDeque::from([Schedule::new()]))]);
    while let Some(schedule) = next(&mut frontier, found.runs < outside.bound.schedules) {
        let Some(outcome) = trial::run(outside, &schedule, &folder.0, (end, &signals))? else { break };
        let Outcome { places, broken, violation } = outcome;
        if found.runs == 0 {
            found.places = places.len();
        }
        found.runs += 1;
        found.missed += u64::from(broken < schedule.len());
        if let Some((session, violation, deviations, printed)) = violation {
            found.broken = Some((session, violation, deviations, printed));
            break;
        }
        if broken == schedule.len() && broken < outside.bound.faults {
            for (place, faults) in places {
                for fault in faults {
                    let rank = (broken + 1, rank(&place, &fault));
                    let further = schedule.iter().cloned().chain([(place.clone(), fault)]).collect();
                    frontier.entry(rank).or_default().push_back(further);
                }
            }
        }
        found.left = frontier.values().map(VecDeque::len).sum();
        progress(&found);
    }
    ensure!(found.runs > 0, "there was no time for one run of the command");
    Ok(found)
}

type Frontier = BTreeMap<(usize, u8), VecDeque<Schedule>>;

/// The next schedule, unless there have been enough.
fn next(frontier: &mut Frontier, goes_on: bool) -> Option<Schedule> {
    let mut first = frontier.first_entry().filter(|_| goes_on)?;
    let schedule = first.get_mut().pop_front();
    if first.get().is_empty() {
        first.remove();
    }
    schedule
}

/// What is tried sooner finds more.
fn rank(place: &Place, fault: &Fault) -> u8 {
    let reads = ["get ", "list "].iter().any(|verb| place.sort.starts_with(verb));
    match fault {
        Fault::Crash(_) => 0,
        Fault::Fail(how) if how == "lost-after" => 0,
        Fault::Fail(how) if how == "409" => 1,
        Fault::Fail(_) if !reads => 2,
        Fault::Fail(_) => 4,
        _ => 3,
    }
}

/// A folder for kubeconfigs. It goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Folder> {
        let path = std::env::temp_dir().join(format!("kubestep-explore-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may have been cleared away.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! `explore --wire`: runs of the user's own operator, each with something broken at another of its requests.
//!
//! The first run is undisturbed. It shows where something can be broken; each run with a fault shows where a second can be, and so on
//! within the bound. What finds most bugs is tried first: a crash right after a write, and an answer that is lost.
//!
//! Each run has a cluster, a port and a secret of its own, so nothing that one has left behind comes to another.
//!
//! Left out: the order of a client's requests. They come as it sends them, and two runs of it may differ.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use anyhow::{Context, anyhow, ensure};

use debugger::explore::fault::Fault;
use kubestep::cli::outside::{Found, Outside};

use super::trial::{self, Outcome, Place, Schedule, Until};

/// Explores. `progress` is told after each run how it stands.
///
/// # Errors
/// See [`trial::run`].
pub fn explore(outside: &Outside, progress: &mut dyn FnMut(&Found)) -> anyhow::Result<Found> {
    let (folder, until) = (Folder::new()?, Until::after(outside.time)?);
    // A good part of a run is waiting.
    let at_once = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let mut found = Found::default();
    let mut frontier = BTreeMap::from([((0, 0), VecDeque::from([Schedule::new()]))]);
    loop {
        let most = outside.bound.schedules.saturating_sub(found.runs);
        let left = usize::try_from(most).unwrap_or(at_once).min(at_once);
        let batch: Vec<Schedule> = (0..left).map_while(|_| next(&mut frontier)).collect();
        if batch.is_empty() {
            break;
        }
        let mut failed = None;
        for (schedule, outcome) in batch.iter().zip(run(outside, &batch, &folder.0, &until)) {
            match outcome {
                Ok(Some(outcome)) if found.broken.is_none() => {
                    learn(&mut found, &mut frontier, outside, schedule, outcome)
                }
                Ok(Some(_)) => {}
                Ok(None) => found.unmade += 1,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed.filter(|_| found.broken.is_none()) {
            return Err(error);
        }
        found.left = found.unmade + frontier.values().map(VecDeque::len).sum::<usize>();
        progress(&found);
        if found.broken.is_some() || until.is_over() {
            break;
        }
    }
    ensure!(found.runs > 0, "there was no time for one run of the command");
    Ok(found)
}

/// Runs several schedules at once.
fn run(outside: &Outside, batch: &[Schedule], folder: &Path, until: &Until) -> Vec<anyhow::Result<Option<Outcome>>> {
    std::thread::scope(|scope| {
        let begin = |schedule| scope.spawn(move || trial::run(outside, schedule, folder, until));
        let threads: Vec<_> = batch.iter().map(begin).collect();
        let end = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|_| Err(anyhow!("a run panicked")));
        threads.into_iter().map(end).collect()
    })
}

/// Notes what came of a run, and which are worth making next.
fn learn(found: &mut Found, frontier: &mut Frontier, outside: &Outside, schedule: &Schedule, outcome: Outcome) {
    let Outcome { places, broken, violation } = outcome;
    if found.runs == 0 {
        found.places = places.len();
    }
    found.runs += 1;
    found.missed += u64::from(broken < schedule.len());
    found.broken = violation;
    if broken < schedule.len() || broken >= outside.bound.faults {
        return;
    }
    for (place, faults) in places {
        for fault in faults {
            let rank = (broken + 1, rank(&place, &fault));
            let further = schedule.iter().cloned().chain([(place.clone(), fault)]).collect();
            frontier.entry(rank).or_default().push_back(further);
        }
    }
}

type Frontier = BTreeMap<(usize, u8), VecDeque<Schedule>>;

/// The next schedule.
fn next(frontier: &mut Frontier) -> Option<Schedule> {
    let mut first = frontier.first_entry()?;
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

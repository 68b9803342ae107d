//! Judging: each scenario of a plan is run in every order of delivery within its bound, with the learner's controller in
//! the place of the cluster's own.

use std::sync::{Arc, Mutex, PoisonError};

use super::Plan;
use super::compare::{Compared, Findings, Parting};
use super::partner::{Make, Partner};
use crate::bugs;
use crate::cluster::scenario::{Plugged, Scenario};
use crate::debugger::explore::{Bound, Mode, Search, Subject, Violation, explore, explore_here, plan as wanted};
use crate::debugger::{Session, describe, file};
use crate::lab::{Failure, Replay};

/// No run is longer: a controller that still writes then will write for ever.
const STEPS: u64 = 3_000;
/// More schedules than any plan needs; a right solution takes fewer than 100.
const SCHEDULES: u64 = 2_000;
/// So many lines of the run are shown.
const LINES: usize = 9;

/// Runs all trials of a plan with this partner. Gives how many orders were run.
///
/// # Errors
/// The first property that is broken, in the shortest run that was found.
pub fn judge(exercise: &str, plan: &'static Plan, make: Make) -> Result<usize, Box<Failure>> {
    let mut schedules = 0;
    for (name, text) in plan.trials {
        let scenario = trial(exercise, plan, name, text, make);
        let (bound, stated) = (bound(&scenario), wanted::properties(&scenario, &[]));
        let stated = stated.unwrap_or_else(|error| panic!("a shipped trial is whole: {name}: {error}"));
        let subject = Subject {
            cluster: &|| bugs::cluster(&scenario),
            properties: &|| stated.iter().map(|stated| stated.begin()).collect(),
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let report = explore(&subject, &bound, Mode::Search, threads, |_: &Search| true);
        if let Some(violation) = &report.violation {
            return Err(Box::new(failure(exercise, plan, (name, text), make, violation)));
        }
        if !report.exhausted {
            return Err(Box::new(Failure {
                property: "all orders of what it does can be tried".to_owned(),
                case: format!("{}\nafter {SCHEDULES} orders there are more: it makes too many calls", scenario.title),
                mistake: None,
                replay: None,
            }));
        }
        schedules += report.schedules as usize;
    }
    Ok(schedules)
}

/// A scenario of a plan with this partner in it.
pub fn trial(exercise: &str, plan: &'static Plan, name: &str, text: &str, make: Make) -> Scenario {
    let mut scenario =
        Scenario::parse(name, text).unwrap_or_else(|error| panic!("a shipped trial is whole: {name}: {error}"));
    scenario.exercise = Some(exercise.to_owned());
    scenario.plugged = Plugged(Some(plan.parts(make)));
    scenario
}

fn bound(scenario: &Scenario) -> Bound {
    let asked = scenario.explore.clone().unwrap_or_default();
    let bound = wanted::bound(&asked).unwrap_or_else(|error| panic!("a shipped trial is whole: {error}"));
    Bound { steps: STEPS, schedules: SCHEDULES, ..bound }
}

/// What there is to say of a run that breaks something.
fn failure(
    exercise: &str,
    plan: &'static Plan,
    (name, text): (&str, &str),
    make: Make,
    violation: &Violation,
) -> Failure {
    let findings = Arc::new(Mutex::new(Findings::default()));
    let heard = findings.clone();
    let compared: Make =
        Box::leak(Box::new(move || -> Box<dyn Partner> { Box::new(Compared::new(make(), plan, heard.clone())) }));
    let scenario = trial(exercise, plan, name, text, compared);
    let session = file::of_run(scenario, violation.choices.clone(), violation.step);
    let parting = heard_parting(&findings);
    // Several mistakes may do the same in this one run; what they do in others tells them apart.
    for (name, text) in plan.trials {
        let scenario = trial(exercise, plan, name, text, compared);
        let bound = Bound { late: 0, faults: 0, ..bound(&scenario) };
        explore_here(&Subject { cluster: &|| bugs::cluster(&scenario), properties: &Vec::new }, &bound);
    }
    let findings = findings.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut case = format!("{}\n", session.scenario().title);
    case += &story(plan, &session, violation);
    case += &format!("then: {}\n", without_task(&violation.what));
    if let Some(parting) = &parting {
        let at = parting.at.as_ref().map_or(String::new(), |(file, line)| format!(" ({file}:{line})"));
        case += &format!("yours did: {}{at}\nright was: {}\n", parting.did, parting.right);
    }
    Failure {
        property: property(violation),
        case,
        mistake: findings.mistake(plan),
        replay: Some(Replay { text: file::save(&session), step: violation.step }),
    }
}

/// Where the right solution parted in the run that is shown.
fn heard_parting(findings: &Mutex<Findings>) -> Option<Parting> {
    findings.lock().unwrap_or_else(PoisonError::into_inner).parting.clone()
}

/// The property, in a learner's words.
fn property(violation: &Violation) -> String {
    match &*violation.property {
        "nothing panics" => "every reconcile comes to its end".to_owned(),
        "the cluster comes to rest" => "when all is as asked for, nothing more is written".to_owned(),
        other => other.to_owned(),
    }
}

/// A panic is said of a task; here there is only one that matters.
fn without_task(what: &str) -> &str {
    what.split_once(": it ").map_or(what, |(_, how)| how)
}

/// The last lines of the run that concern the controller, and all that was out of the usual.
fn story(plan: &Plan, session: &Session, violation: &Violation) -> String {
    let concerns = |headline: &str| {
        let kinds = [plan.duty.kind].into_iter().chain(plan.duty.others.iter().copied());
        let informer =
            |kind: crate::object::Kind| headline.contains(&format!("{} informer in", kind.info().singular()));
        headline.contains(plan.duty.name) || kinds.into_iter().any(informer) && headline.contains("controller-manager")
    };
    let mut lines = Vec::new();
    let mut choices = violation.choices.iter().peekable();
    for (number, step) in (1..).zip(session.history()) {
        let headline = describe::headline(&session.cluster.engine, &step.event).to_string();
        if concerns(&headline) || number == violation.step {
            lines.push(format!("step {number:<5}{headline}\n"));
        }
        while let Some((_, choice)) = choices.next_if(|(after, _)| *after <= number) {
            lines.push(format!("  then    {choice}\n"));
        }
    }
    lines.split_off(lines.len().saturating_sub(LINES)).concat()
}

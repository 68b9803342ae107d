//! Judging: each scenario of a plan is run in every order of delivery within its bound, with the learner's controller in
//! the place of the cluster's own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Plan;
use super::compare::{Compared, Findings, Parting};
use super::guest::Duty;
use super::partner::{Make, Partner};
use super::threads::{self, Trial, Wrong};
use crate::bugs;
use crate::cluster::scenario::{Plugged, Scenario};
use crate::debugger::explore::{Bound, Breach, Subject, Violation, explore_here, plan as wanted};
use crate::debugger::facts::{Class, Facts};
use crate::debugger::{Session, describe, file};
use crate::lab::{Failure, Replay};

/// No run is longer: a controller that still writes then will write for ever.
const STEPS: u64 = 1_000;
/// So far a solution is compared with known mistakes.
const STEPS_COMPARED: u64 = 300;
/// So long a watch is held at most: a controller that looks again every half second is no endless one.
const HELD: Duration = Duration::from_secs(20);
/// More schedules than any plan needs; a right solution takes fewer than 100.
const SCHEDULES: u64 = 2_000;
/// So many lines of the run are shown.
const LINES: usize = 9;

/// Runs all trials of a plan with this partner. Gives how many different orders there are within their bounds.
///
/// # Errors
/// The first property that is broken, in the shortest run that was found.
pub fn judge(exercise: &str, plan: &'static Plan, make: Make) -> Result<usize, Box<Failure>> {
    let begun: Vec<Trial> = plan.trials.iter().map(|(name, text)| begin(exercise, plan, name, text, make)).collect();
    let orders = threads::run(&begun);
    orders.map(|orders| orders.iter().sum()).map_err(|(n, wrong)| {
        let failure = wrong.failure(exercise, plan, plan.trials[n], make);
        Box::new(failure)
    })
}

/// A trial that is ready to be run.
fn begin(exercise: &str, plan: &'static Plan, name: &str, text: &str, make: Make) -> Trial {
    let scenario = trial(exercise, plan, name, text, make);
    let stated = wanted::properties(&scenario, &[]);
    let stated = stated.unwrap_or_else(|error| panic!("a shipped trial is whole: {name}: {error}"));
    Trial { bound: bound(&scenario), stated, scenario }
}

impl Wrong {
    fn failure(self, exercise: &str, plan: &'static Plan, (name, text): (&str, &str), make: Make) -> Failure {
        let title = || trial(exercise, plan, name, text, make).title;
        match self {
            Wrong::Broken(violation) => failure(exercise, plan, (name, text), make, &violation),
            Wrong::NotAgain => Failure::not_again(&title()),
            Wrong::TooMany => Failure {
                property: "all orders of what it does can be tried".to_owned(),
                case: format!("{}\nafter {SCHEDULES} orders there are more: it makes too many calls", title()),
                mistake: None,
                replay: None,
            },
        }
    }
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
    Bound { steps: STEPS, schedules: SCHEDULES, held: HELD, ..bound }
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
    // Several mistakes may do the same in this one run; what they do in others tells them apart. A panic is none of them.
    let others = if matches!(violation.breach, Breach::Panic(_)) { &[] } else { plan.trials };
    threads::each(others, |(name, text)| {
        let scenario = trial(exercise, plan, name, text, compared);
        let bound = Bound { late: 0, faults: 0, steps: STEPS_COMPARED, ..bound(&scenario) };
        explore_here(&Subject { cluster: &|| bugs::cluster(&scenario), properties: &Vec::new }, &bound);
    });
    let findings = findings.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut case = format!("{}\n", session.scenario().title);
    case += &story(plan, &session, violation);
    case += &format!("then: {}\n", then(violation));
    if let Some(parting) = &parting {
        let at = parting.at.as_ref().map_or(String::new(), |(file, line)| format!(" ({file}:{line})"));
        case += &format!("yours did: {}{at}\nright was: {}\n", parting.did, parting.right);
    }
    let property = property(violation);
    let text = file::save_found(&session, &property, then(violation));
    Failure {
        property,
        case,
        mistake: findings.mistake(plan).filter(|_| !others.is_empty()),
        replay: Some(Replay { text, step: violation.step }),
    }
}

/// Where the right solution parted in the run that is shown.
fn heard_parting(findings: &Mutex<Findings>) -> Option<Parting> {
    findings.lock().unwrap_or_else(PoisonError::into_inner).parting.clone()
}

/// The property, in a learner's words.
fn property(violation: &Violation) -> String {
    match violation.breach {
        Breach::Stated => violation.property.clone(),
        Breach::Panic(_) => "every reconcile comes to its end".to_owned(),
        Breach::Unrest => "when all is as asked for, nothing more is written".to_owned(),
    }
}

/// What broke it. Of a panic, what was said: here only one task matters.
fn then(violation: &Violation) -> &str {
    match &violation.breach {
        Breach::Panic(message) => message,
        Breach::Stated | Breach::Unrest => &violation.what,
    }
}

/// The last lines of the run that concern the controller, and all that was out of the usual.
fn story(plan: &Plan, session: &Session, violation: &Violation) -> String {
    let engine = &session.cluster.engine;
    let mut lines = Vec::new();
    let mut choices = violation.choices.iter().peekable();
    for (number, step) in (1..).zip(session.history()) {
        if concerns(&plan.duty, &Facts::of(engine, step)) || number == violation.step {
            lines.push(format!("step {number:<5}{}\n", describe::headline(engine, &step.event)));
        }
        while let Some((_, choice)) = choices.next_if(|(after, _)| *after <= number) {
            lines.push(format!("  then    {choice}\n"));
        }
    }
    lines.split_off(lines.len().saturating_sub(LINES)).concat()
}

/// Whether a step is the controller's: it asks, it goes on, or one of its caches hears of something.
fn concerns(duty: &Duty, facts: &Facts) -> bool {
    let watches = |kind| kind == duty.kind || duty.others.contains(&kind);
    let is_its = |task: &str| task.split(' ').next() == Some(duty.name);
    let hears = facts.class == Class::Notification && facts.to == "kube-controller-manager";
    facts.from == duty.name
        || facts.tasks().any(is_its)
        || hears && facts.subjects.iter().any(|subject| watches(subject.kind))
}

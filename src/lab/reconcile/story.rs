//! What there is to say of a run that breaks something: its last lines, where the learner's code went wrong in it, what
//! would have been right there, and which known mistake does the same.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::Plan;
use super::compare::{Compared, Findings, Parting};
use super::guest::Duty;
use super::partner::{Heard, Make, Partner};
use super::trial::{bound, trial};
use super::{mended, threads};
use crate::{Failure, Replay};
use cluster::scenario::Scenario;
use debugger::explore::{Bound, Breach, Subject, Violation, explore_here};
use debugger::facts::{Class, Facts};
use debugger::{Session, describe, file};
use engine::{Note, Step, What};
use object::text;
use wire::Request;

/// So far a solution is compared with known mistakes.
const STEPS_COMPARED: u64 = 300;
/// So many lines of the run are shown.
const LINES: usize = 9;
/// They are chosen from so many, the last ones.
const LATEST: usize = 3 * LINES;
/// Of a longer command the beginning is shown.
const COMMAND: usize = 80;

/// What there is to say of a run that breaks something.
pub(super) fn failure(
    exercise: &str,
    plan: &'static Plan,
    (name, text): (&str, &str),
    make: Make,
    violation: &Violation,
) -> Failure {
    let heard = Heard::default();
    let found = Found::default();
    let aloud = compared(plan, make, found.clone(), (0..plan.mistakes.len()).collect(), Some(&heard));
    let (session, steps) = run(plan, trial(exercise, plan, name, text, aloud), violation, &found);
    // Without any choice the run is the usual course, which can be taken again.
    if violation.choices.is_empty() && violation.breach == Breach::Stated {
        let candidates = found.lock().unwrap_or_else(PoisonError::into_inner).candidates();
        let several = Some(candidates).filter(|all| all.len() > 1).unwrap_or_default();
        if let Some(cause) = mended::cause(exercise, plan, (name, text), make, &several) {
            found.lock().unwrap_or_else(PoisonError::into_inner).counts(cause);
        }
    }
    let parted = found.lock().unwrap_or_else(PoisonError::into_inner).chosen().and_then(|(n, parting)| {
        let step = *steps.get(n)?;
        Some((parting.clone(), step))
    });
    // Several mistakes may do the same in this one run; what they do in others tells them apart. A panic is none of them.
    let mut findings = take(&found);
    let suspects = findings.suspects(plan);
    let is_asked = !suspects.is_empty() && !matches!(violation.breach, Breach::Panic(_));
    let others = threads::each(if is_asked { plan.trials } else { &[] }, |(name, text)| {
        let found = Found::default();
        let scenario = trial(exercise, plan, name, text, compared(plan, make, found.clone(), suspects.clone(), None));
        let bound = Bound { late: 0, faults: 0, steps: STEPS_COMPARED, ..bound(&scenario) };
        explore_here(&Subject { cluster: &|| bugs::cluster(&scenario), properties: &Vec::new }, &bound);
        take(&found)
    });
    others.into_iter().for_each(|other| findings.add(other));
    let is_broken = parted.as_ref().is_some_and(|(parting, _)| parting.broken);
    let (property, then) = (property(plan, &session, violation, is_broken), then(violation));
    let mut case = format!("{}: {}\n", session.scenario().title, session.scenario().story);
    case += &story(plan, &session, violation, parted.as_ref().map(|(_, step)| *step));
    let line = findings.line().map_or(String::new(), |line| format!(" ({line})"));
    case += &format!("then: {then}{line}\n");
    case += &refused(plan, &session).map_or(String::new(), |said| format!("the API server said: {said}\n"));
    if let Some((Parting { at, did, right, .. }, step)) = &parted {
        let at = at.as_ref().map_or(String::new(), |at| format!("{at}, "));
        let did = if did == then { "that" } else { did };
        case += &format!("yours did: {did} ({at}step {step})\na right one would: {right}\n");
    }
    let noise = heard.lock().unwrap_or_else(PoisonError::into_inner);
    case += &noise.printed.show();
    Failure {
        case,
        too_slow: noise.too_slow,
        mistake: findings.mistake(plan).filter(|_| is_asked).map(Into::into),
        replay: Some(Replay { text: file::save_found(&session, &property, then), step: violation.step }),
        property,
    }
}

/// What a reconcile that cannot go on breaks.
const ENDS: &str = "every reconcile comes to its end";

/// Where a run's findings are noted.
type Found = Arc<Mutex<Findings>>;

fn take(found: &Found) -> Findings {
    std::mem::take(&mut found.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The learner's code, compared with what the plan knows. What is heard of it is noted in `heard`.
fn compared(plan: &'static Plan, make: Make, found: Found, suspects: BTreeSet<usize>, heard: Option<&Heard>) -> Make {
    let heard = heard.cloned();
    Box::leak(Box::new(move || -> Box<dyn Partner> {
        let mut learner = make();
        if let Some(heard) = &heard {
            learner.listen(heard);
        }
        Box::new(Compared::new(learner, plan, suspects.clone(), found.clone()))
    }))
}

/// The run again, step by step, up to where it breaks. And at which steps the right solution parted; which of them counts is
/// noted in `found`.
fn run(plan: &Plan, scenario: Scenario, violation: &Violation, found: &Found) -> (Session, Vec<u64>) {
    let mut session = file::of_run(scenario, violation.choices.clone(), 0);
    let mut steps = Vec::new();
    for step in 1..=violation.step {
        session.goto(step);
        let partings = found.lock().unwrap_or_else(PoisonError::into_inner).count();
        steps.resize(partings.max(steps.len()), step);
    }
    let mut findings = found.lock().unwrap_or_else(PoisonError::into_inner);
    let breaks = session.history().last().and_then(|last| call_of(plan, last));
    let panics = matches!(violation.breach, Breach::Panic(_));
    findings.choose(breaks, panics);
    drop(findings);
    (session, steps)
}

/// What the controller calls, if that is what happens in this step.
fn call_of<'a>(plan: &Plan, step: &'a Step) -> Option<&'a Request> {
    match &step.event.what {
        What::Request { request, .. } if &*request.user.agent == plan.duty.name => Some(&**request),
        _ => None,
    }
}

/// What the API server said to the controller's last call, if all of its sort were refused, two or more.
fn refused(plan: &Plan, session: &Session) -> Option<String> {
    let engine = &session.cluster.engine;
    let is_its =
        |step: &&Step| Facts::of(engine, step).tasks().any(|task| task.split(' ').next() == Some(plan.duty.name));
    let answers = session.history().iter().rev().filter_map(|step| match &step.event.what {
        What::Response { answer, about, .. } => Some((step, about, answer)),
        _ => None,
    });
    // Of an update of a status the sort is `update replicasets/status`, for any object.
    let sort = |about: &str| about.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let its: Vec<_> =
        answers.filter(|(step, ..)| is_its(step)).map(|(_, about, answer)| (sort(about), answer)).collect();
    let (last, error) = its.iter().find_map(|(sort, answer)| Some((sort, answer.result.as_ref().err()?)))?;
    let mut all = its.iter().filter(|(sort, _)| sort == last);
    let is_always = all.clone().count() > 1 && all.all(|(_, answer)| answer.result.is_err());
    is_always.then(|| error.message().to_owned())
}

/// The property, in a learner's words. Where its code could not go on (`is_broken`) all else follows from that.
fn property(plan: &Plan, session: &Session, violation: &Violation, is_broken: bool) -> String {
    match violation.breach {
        Breach::Stated | Breach::Unrest if is_broken => ENDS.to_owned(),
        Breach::Stated => violation.property.clone(),
        Breach::Panic(_) => ENDS.to_owned(),
        Breach::Unrest => unrest(plan, session).to_owned(),
    }
}

/// What it does in the second half of a run that has no end.
fn unrest(plan: &Plan, session: &Session) -> &'static str {
    let engine = &session.cluster.engine;
    let steps = session.history();
    let requests = steps[steps.len() / 2..].iter().map(|step| Facts::of(engine, step));
    let verbs: Vec<&str> =
        requests.filter(|facts| facts.from == plan.duty.name).filter_map(|facts| facts.verb).collect();
    let writes = verbs.iter().filter(|verb| !matches!(**verb, "get" | "list")).count();
    let creations = verbs.iter().filter(|verb| **verb == "create").count();
    let of_its = |step: &&Step| call_of(plan, step).is_some();
    let is_stored = |step: &Step| step.notes.iter().any(|note| matches!(note, Note::Stored { .. }));
    match writes {
        0 => "when nothing changes, it does not look again without end",
        _ if !steps[steps.len() / 2..].iter().filter(of_its).any(is_stored) => {
            "what is refused is not asked for again and again: each try waits longer than the one before"
        }
        writes if creations > writes / 2 => "it does not make one object after another without end",
        _ => "when all is as asked for, nothing more is written",
    }
}

/// What broke it. Of a panic, what was said: here only one task matters.
fn then(violation: &Violation) -> &str {
    match &violation.breach {
        Breach::Panic(message) => message,
        Breach::Stated | Breach::Unrest => &violation.what,
    }
}

/// How much a line of the run is worth, when there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Work is begun, or a call went well.
    Little,
    /// A cache has heard of something.
    News,
    /// The controller calls the API server, or is refused; the user does something.
    Act,
    /// Something breaks, or goes wrong.
    All,
}

/// The lines of the run that concern the controller, what the user does, and all that is out of the usual; if these are too
/// many, the last of what matters most. The step at which the right solution parted is marked.
fn story(plan: &Plan, session: &Session, violation: &Violation, parted: Option<u64>) -> String {
    let engine = &session.cluster.engine;
    let mut lines = Vec::new();
    let mut choices = violation.choices.iter().peekable();
    let mut typed = session.typed().iter().peekable();
    for (number, step) in (1..).zip(session.history()) {
        let (is_last, is_parting) = (number == violation.step, parted == Some(number));
        let its = worth(&plan.duty, &Facts::of(engine, step), step);
        let what = match is_last && its.is_none() && session.cluster.is_quiet() {
            true => "the end: all is quiet".to_owned(),
            false => describe::headline(engine, &step.event).to_string(),
        };
        if let Some(worth) = if is_last || is_parting { Some(Worth::All) } else { its } {
            let mark = if is_parting { "   ← here" } else { "" };
            lines.push((worth, format!("step {number:<5}{what}{mark}\n")));
        }
        while let Some((_, command)) = typed.next_if(|(after, _)| after.0 <= number) {
            if !command.starts_with("sleep ") {
                lines.push((Worth::Act, format!("          $ {}\n", text::shortened(command, COMMAND))));
            }
        }
        while let Some((_, choice)) = choices.next_if(|(after, _)| *after <= number) {
            lines.push((Worth::All, format!("  then    {choice}\n")));
        }
    }
    let mut latest = lines.split_off(lines.len().saturating_sub(LATEST));
    lines.retain(|(worth, _)| *worth == Worth::All);
    lines.append(&mut latest);
    shortened(lines)
}

fn shortened(mut lines: Vec<(Worth, String)>) -> String {
    while lines.len() > LINES {
        let least = lines.iter().map(|(worth, _)| *worth).min();
        let first = lines.iter().position(|(worth, _)| Some(*worth) == least).unwrap_or(0);
        lines.remove(first);
    }
    lines.into_iter().map(|(_, text)| text).collect()
}

/// What a step is worth that is the controller's: it asks, it goes on, or one of its caches hears of something.
fn worth(duty: &Duty, facts: &Facts, step: &Step) -> Option<Worth> {
    let watches = |kind| kind == duty.kind || duty.others.contains(&kind);
    let is_its = |task: &str| task.split(' ').next() == Some(duty.name);
    let hears = facts.class == Class::Notification && facts.to == "kube-controller-manager";
    if facts.from == duty.name {
        return Some(Worth::Act);
    }
    if hears && facts.subjects.iter().any(|subject| watches(subject.kind)) {
        return Some(Worth::News);
    }
    let refused = matches!(&step.event.what, What::Response { answer, .. } if answer.result.is_err());
    facts.tasks().any(is_its).then_some(if refused { Worth::Act } else { Worth::Little })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_lines_the_last_of_what_matters_most_are_shown() {
        let line = |worth, n: usize| (worth, format!("{n} "));
        let mut lines: Vec<_> = (0..20).map(|n| line(Worth::Little, n)).collect();
        lines[3].0 = Worth::All;
        lines[5].0 = Worth::Act;
        assert_eq!(shortened(lines), "3 5 13 14 15 16 17 18 19 ");
    }
}

//! Forward: step by step, or on until something.

use std::time::Duration;

use cluster::fault::text::duration;
use cluster::scenario::Scenario;
use debugger::breakpoint::Breakpoints;
use debugger::moves::{MOST, Reaction};
use debugger::{Advance, Goal, Session, StopAt, tour};
use engine::Note;

use super::super::wrap::wrapped;
use super::super::{Stepper, Typed, What};
use super::Run::Stops;
use super::{Answer, Command, Group, Line, Reply, Takes};

/// Commands that let time pass.
pub const GROUP: Group = Group {
    name: "move",
    acts: true,
    commands: &[
        Command {
            names: &["step", "s"],
            usage: "Enter, step [N]",
            takes: &[],
            about: "to the next informer notification or packet hop",
            more: "",
            run: Stops(|stepper, line| ask_or_advance(stepper, stepper.stop, line.count()?)),
        },
        Command {
            names: &["stepi", "si"],
            usage: "stepi [N]",
            takes: &[],
            about: "to the next event of any kind",
            more: "",
            run: Stops(|stepper, line| ask_or_advance(stepper, StopAt::Event, line.count()?)),
        },
        Command {
            names: &["next", "n"],
            usage: "next",
            takes: &[],
            about: "until the last receiver has reacted to it",
            more: "Follows what this step set off in the component that got the event: the key it queued, the \
                reconcile\nthat took it, its calls and their answers. Stops when none of it is under way any more. The\n\
                reaction of the API server to a request is its answer: it stops when that arrives.\n",
            run: Stops(|stepper, line| line.nothing().and_then(|()| next(stepper))),
        },
        Command {
            names: &["finish", "f"],
            usage: "finish",
            takes: &[],
            about: "until this reconcile or pod worker ends",
            more: "",
            run: Stops(|stepper, line| line.nothing().and_then(|()| finish(stepper))),
        },
        Command {
            names: &["until", "u"],
            usage: "until TERM… [if EXPR]",
            takes: &[&[Takes::Term, Takes::Again]],
            about: "on until this holds, written as for break",
            more: "  until pod/web condition=Ready:True\n  until deploy if new.status.readyReplicas == 2\n",
            run: Stops(until),
        },
        Command {
            names: &["continue", "c"],
            usage: "continue",
            takes: &[],
            about: "to a breakpoint or the scenario's next command",
            more: "It stops when the scenario has typed its next command and nothing has come of that yet.\n",
            run: Stops(|stepper, line| {
                line.nothing()?;
                let first = stepper.session.typed().is_empty();
                run_on(stepper, Goal::NextLine { first })
            }),
        },
        Command {
            names: &["tour"],
            usage: "tour",
            takes: &[],
            about: "to the next place that the scenario narrates",
            more: "After it, Enter goes to the next place; step steps. Between two places all other commands work as ever; the next tour goes on where the story was left.\n\
                A scenario says it in its `tour:` list.\n",
            run: Stops(|stepper, line| line.nothing().and_then(|()| tour(stepper))),
        },
        Command {
            names: &["run", "r"],
            usage: "run",
            takes: &[],
            about: "on until nothing is left to do",
            more: "Heartbeats, probes and looks round never end: it stops when nothing comes of them within a minute.\nA \
                cluster that never comes to rest, as with a CronJob of every minute, gets ten minutes.\n",
            run: Stops(|stepper, line| match line.arguments().is_empty() {
                true => run_on(stepper, Goal::Quiet),
                // `kubectl run` is a command too.
                false => super::cluster::change(stepper, line).map(Answer::says),
            }),
        },
        Command {
            names: &["wait"],
            usage: "wait SECONDS",
            takes: &[],
            about: "on for that much virtual time",
            more: "It stops at that time, before whatever comes later: wait 30, wait 0.5\n\
                As kubectl has it, it waits for objects: wait --for=delete pod/web\n",
            run: Stops(|stepper, line| match line.arguments().as_slice() {
                [time] if !time.starts_with('-') => {
                    let time =
                        duration(time).map_err(|error| format!("{error}; until waits for all else, see help until"))?;
                    let end = stepper.session.cluster.engine.now() + time;
                    run_on(stepper, Goal::Time(end))
                }
                [] => Err("write for example: wait 30, or as kubectl does: wait --for=delete pod/web".to_owned()),
                _ => super::cluster::change(stepper, line).map(Answer::says),
            }),
        },
    ],
};

/// In a quiz, asks what comes before it goes there. One who steps on without an answer is told.
fn ask_or_advance(stepper: &mut Stepper, stop: StopAt, times: u64) -> Reply {
    let Some(quiz) = &mut stepper.quiz else { return advance(stepper, stop, times) };
    let skipped = quiz.skip();
    if skipped.is_none() && times == 1 {
        let question = quiz.ask(&mut stepper.session, stop).cloned();
        if question.is_some() {
            return Ok(Answer { question, ..Answer::default() });
        }
    }
    told(stepper, stop, times, skipped)
}

/// What comes of a number that answers the open question; none if no question is open.
pub(super) fn predicted(stepper: &mut Stepper, number: usize) -> Option<Reply> {
    let quiz = stepper.quiz.as_mut()?;
    let stop = quiz.open.as_ref()?.1;
    match quiz.take(number) {
        Some(said) => Some(told(stepper, stop, 1, Some(said))),
        None => Some(Err(format!("{number} is not one of the choices; Enter skips the question"))),
    }
}

/// Goes on after a question, and says what was right.
fn told(stepper: &mut Stepper, stop: StopAt, times: u64, said: Option<String>) -> Reply {
    let mut answer = advance(stepper, stop, times)?;
    if let Some(said) = said {
        answer.text = format!("{}\n{}", wrapped(&said, stepper.width()), answer.text);
    }
    Ok(answer)
}

/// Plays the scenario's narration on to its next place.
fn tour(stepper: &mut Stepper) -> Reply {
    let count = stepper.session.scenario().tour.len();
    let there = stepper.tour.next(&stepper.session).is_some();
    let mut back = String::new();
    if there && stepper.tour.left_at() < stepper.session.history().len() as u64 {
        // The next place is looked for from where the story was left, and not from where the user has wandered since.
        let left_at = stepper.tour.left_at();
        stepper.session.goto(left_at);
        stepper.heard();
        back = format!("back to step {left_at}, where the story was left, and on from there\n");
    }
    while let Some((_, place)) = stepper.tour.next(&stepper.session) {
        let place = place.clone();
        if tour::comes(&mut stepper.session, &place)? {
            break;
        }
        stepper.tour.pass(&stepper.session);
    }
    let Some((number, place)) = stepper.tour.next(&stepper.session) else {
        return Err(if count == 0 {
            let with: Vec<String> =
                Scenario::shipped().into_iter().filter(|s| !s.tour.is_empty()).map(|s| s.name).collect();
            format!("this scenario has no tour; these have: {}", with.join(", "))
        } else {
            "the tour is over; back and goto lead into it again".to_owned()
        });
    };
    let (text, what) = (place.text.clone(), place.until.clone());
    let end = match tour::goal(&stepper.session, place)? {
        Some(mut goal) => go(stepper, &mut goal),
        None => Advance::Stopped,
    };
    let answer = ended(stepper, end, &what);
    if end != Advance::Stopped {
        return Ok(answer);
    }
    stepper.tour.pass(&stepper.session);
    stepper.touring = stepper.tour.next(&stepper.session).is_some();
    let narration = format!("{}/{count}  {}", number + 1, text.trim());
    Ok(Answer { narration, text: back + &answer.text, ..answer })
}

/// More choices that were made again are counted, not named.
const NAMED: usize = 3;

impl Stepper {
    /// What a move forward has done again that was chosen here before; going back is no such move.
    pub(in super::super) fn repeated(&mut self, typed: &Typed) -> String {
        let again = self.session.take_again();
        let forward = matches!(&typed.what, What::Command { group, .. } if group.name == GROUP.name);
        if again.is_empty() || !forward {
            return String::new();
        }
        let named: Vec<String> = again.iter().take(NAMED).map(|chosen| chosen.choice.brief()).collect();
        let more = again.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("done again, as you chose here before: {}{more}; goto STEP --fresh leaves that out\n", named.join(", "))
    }
}

/// So many steps are taken between two looks at the clock and at the watcher.
pub(super) const STRIDE: u64 = 256;

/// One command takes so many steps at most: each is kept, and there is an end to memory.
pub(super) const STEPS_MAX: u64 = 1_000_000;
/// How that is said.
pub(super) const THAT_IS_ALL: &str = "that is a million events";

fn advance(stepper: &mut Stepper, stop: StopAt, times: u64) -> Reply {
    let begun = stepper.session.history().len() as u64;
    let mut seen = begun;
    for _ in 0..times {
        match go(stepper, &mut Goal::Stop(stop)) {
            Advance::Quiet => {
                let text =
                    format!("{}. Change something, or quit\n", left(&mut stepper.session, ": the cluster is quiet"));
                return Ok(Answer { printed: stepper.printed(), ..Answer::says(text) });
            }
            Advance::Stopped => {}
            Advance::Limit | Advance::Breakpoint | Advance::Crashed | Advance::Shell => break,
        }
        let steps = stepper.session.history().len() as u64;
        if steps >= seen + STRIDE {
            seen = steps;
            if !stepper.goes_on() {
                break;
            }
            if steps >= begun + STEPS_MAX {
                let stopped = stepper.stopped();
                return Ok(Answer { text: format!("{THAT_IS_ALL}; step goes on\n"), ..stopped });
            }
        }
    }
    Ok(stepper.stopped())
}

/// Runs to a goal, or until the watcher ends it. What does not say how long it takes gets ten minutes of virtual
/// time.
pub(super) fn go(stepper: &mut Stepper, goal: &mut Goal) -> Advance {
    let (start, begun) = (stepper.session.cluster.engine.now(), stepper.session.history().len());
    let most = if matches!(goal, Goal::Time(_)) { Duration::MAX } else { MOST };
    let mut end = stepper.session.go(goal, STRIDE);
    while end == Advance::Limit
        && stepper.session.cluster.engine.now() - start < most
        && stepper.session.history().len() - begun < STEPS_MAX as usize
        && stepper.goes_on()
    {
        end = stepper.session.go_on(goal, STRIDE);
    }
    end
}

/// Steps without showing each stop.
fn run_on(stepper: &mut Stepper, mut goal: Goal) -> Reply {
    let before = stepper.session.history().len();
    let end = go(stepper, &mut goal);
    let printed = stepper.printed();
    let next = if matches!((&goal, end), (Goal::NextLine { .. }, Advance::Stopped)) {
        "; the scenario has typed its next command, continue goes on"
    } else {
        ""
    };
    // A user who had enough is not kept waiting for a look ahead.
    let quiet = end == Advance::Quiet || (!stepper.interrupted && stepper.session.is_quiet(goal.horizon()));
    let quiet = if quiet { format!("; {}", left(&mut stepper.session, "")) } else { String::new() };
    let session = &stepper.session;
    let (steps, now) = (session.history().len() - before, session.time(session.cluster.engine.now()));
    let ended = match (&goal, end) {
        _ if stepper.interrupted => "; stopped on the way",
        (_, Advance::Limit) if steps as u64 >= STEPS_MAX => &format!("; {THAT_IS_ALL}, the same command goes on"),
        (Goal::Quiet, Advance::Limit) => "; that is ten minutes, run goes on",
        _ => "",
    };
    let events = if steps == 1 { "event" } else { "events" };
    let text = format!("{steps} {events}, now at {now}{next}{quiet}{ended}\n");
    let shown = stepper.interrupted || matches!(end, Advance::Breakpoint | Advance::Crashed);
    let stop = shown.then(|| session.stop().map(Box::new)).flatten();
    Ok(Answer { printed, text, stop, ..Answer::default() })
}

/// Goes on from what a command has answered until the commands that run have ended.
pub(super) fn to_its_end(stepper: &mut Stepper, answer: Answer) -> Reply {
    if !stepper.session.cluster.has_commands() {
        return Ok(answer);
    }
    let then = run_on(stepper, Goal::CommandsEnd)?;
    Ok(Answer { printed: answer.printed + &then.printed, ..then })
}

/// Steps to a goal and shows the stop there. `what` says what did not come, if the cluster falls quiet before.
fn show_goal(stepper: &mut Stepper, mut goal: Goal, what: &str) -> Reply {
    let begun = stepper.session.history().len() as u64;
    let end = go(stepper, &mut goal);
    if end == Advance::Limit && stepper.session.history().len() as u64 >= begun + STEPS_MAX {
        return Ok(Answer { text: format!("{THAT_IS_ALL}, and this has not come: {what}\n"), ..stepper.stopped() });
    }
    Ok(ended(stepper, end, what))
}

fn ended(stepper: &mut Stepper, end: Advance, what: &str) -> Answer {
    let text = match end {
        Advance::Quiet => format!("the cluster is quiet, and this has not come: {what}\n"),
        Advance::Limit if stepper.interrupted => {
            return Answer { text: format!("stopped before this came: {what}\n"), ..stepper.stopped() };
        }
        Advance::Limit => format!("ten minutes went by, and this has not come: {what}\n"),
        _ => return stepper.stopped(),
    };
    Answer { printed: stepper.printed(), ..Answer::says(text) }
}

/// What a quiet cluster has left to do; `for_good` is added if nothing comes later either.
fn left(session: &mut Session, for_good: &str) -> String {
    match session.cluster.engine.held().count() {
        0 => {}
        1 => return format!("nothing is left to do but 1 event that is held; release lets it go{for_good}"),
        n => return format!("nothing is left to do but {n} events that are held; release lets them go{for_good}"),
    }
    match session.next_comes() {
        // Right before it, so that nothing of it is passed over.
        Some(at) => {
            let seconds = (at - session.cluster.engine.now()).as_secs();
            format!("nothing is left to do before {}: wait {seconds}, then step", session.time(at))
        }
        None => format!("nothing is left to do{for_good}"),
    }
}

fn next(stepper: &mut Stepper) -> Reply {
    let session = &stepper.session;
    match session.current().and_then(|step| Reaction::to(&session.cluster, step)) {
        Some(reaction) => show_goal(stepper, Goal::Reaction(reaction), "the end of the reaction"),
        // Nothing to wait for: the component that got this is done with it already.
        None => advance(stepper, stepper.stop, 1),
    }
}

fn finish(stepper: &mut Stepper) -> Reply {
    let ran = stepper.session.current().and_then(|step| {
        step.notes.iter().rev().find_map(|note| match note {
            Note::Waits { actor, task, .. } => Some((*actor, task.clone())),
            _ => None,
        })
    });
    let Some((actor, task)) = ran else {
        return Err("no reconcile or pod worker has run in this step, or it has ended; stack shows those under way, \
            next goes on until this event has been reacted to"
            .to_owned());
    };
    let what = format!("the end of {task}");
    show_goal(stepper, Goal::End { actor, task }, &what)
}

fn until(stepper: &mut Stepper, line: &Line) -> Reply {
    let mut condition = Breakpoints::default();
    condition.add(line.rest(), true, &stepper.session.names())?;
    show_goal(stepper, Goal::Until(Box::new(condition)), line.rest())
}

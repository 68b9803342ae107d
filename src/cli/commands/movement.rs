//! Forward: step by step, or on until something.

use std::time::Duration;

use crate::debugger::{Advance, StopAt};

use super::super::step::Stepper;
use super::{Command, Group, Reply};

/// Commands that let time pass.
pub const GROUP: Group = Group {
    name: "move",
    commands: &[
        Command {
            names: &["step", "s"],
            usage: "Enter, step [N]",
            about: "to the next informer notification",
            run: |stepper, line| advance(stepper, stepper.stop, line.count()?),
        },
        Command {
            names: &["stepi", "si"],
            usage: "stepi [N]",
            about: "to the next event of any kind",
            run: |stepper, line| advance(stepper, StopAt::Event, line.count()?),
        },
        Command {
            names: &["continue", "c"],
            usage: "continue",
            about: "on until the scenario's next command",
            run: |stepper, line| line.nothing().and_then(|()| run_on(stepper, RunTo::NextLine)),
        },
        Command {
            names: &["run", "r"],
            usage: "run",
            about: "on until nothing is left to do",
            run: |stepper, line| match line.arguments().is_empty() {
                true => run_on(stepper, RunTo::Quiet),
                // `kubectl run` is a command too.
                false => super::cluster::change(stepper, line),
            },
        },
        Command {
            names: &["wait"],
            usage: "wait SECONDS",
            about: "on for so much virtual time",
            run: |stepper, line| match line.arguments().as_slice() {
                [seconds] if seconds.parse::<u64>().is_ok() => {
                    run_on(stepper, RunTo::Time(Duration::from_secs(line.count()?)))
                }
                [] => Err("write for example: wait 30, or as kubectl does: wait --for=delete pod/web".to_owned()),
                _ => super::cluster::change(stepper, line),
            },
        },
    ],
};

/// How far to run.
#[derive(Clone, Copy)]
enum RunTo {
    NextLine,
    Quiet,
    Time(Duration),
}

/// `run` gives a cluster that never comes to rest, as with a container that keeps crashing, this much virtual time.
const RUN_AT_MOST: Duration = Duration::from_secs(600);

fn advance(stepper: &mut Stepper, stop: StopAt, times: u64) -> Reply {
    for _ in 0..times {
        if stepper.session.advance(stop, 0) == Advance::Quiet {
            let quiet = "nothing is left to do: the cluster is quiet. Change something, or quit\n";
            return Ok(stepper.printed() + quiet);
        }
    }
    Ok(stepper.printed() + &stepper.shown())
}

/// Steps without showing each stop, with a bar where somebody watches.
fn run_on(stepper: &mut Stepper, to: RunTo) -> Reply {
    let bar = stepper.bar();
    let before = stepper.session.history().len();
    let start = stepper.session.cluster.engine.now();
    loop {
        let printed = stepper.session.cluster.kubectl.printed();
        if stepper.session.advance(StopAt::Event, 0) == Advance::Quiet {
            break;
        }
        let steps = stepper.session.history().len();
        let now = stepper.session.cluster.engine.now();
        if steps.is_multiple_of(256) {
            bar.set_message(format!("step {steps}, {}", stepper.session.time(now)));
            bar.tick();
        }
        match to {
            RunTo::NextLine if stepper.session.cluster.kubectl.printed_since(printed).contains("\n$ ") => break,
            RunTo::Time(limit) if now - start >= limit => break,
            RunTo::Quiet if now - start >= RUN_AT_MOST => break,
            _ => {}
        }
    }
    bar.finish_and_clear();
    let said = stepper.printed();
    let session = &stepper.session;
    let end = if session.cluster.is_quiet() { "; nothing is left to do" } else { "" };
    let (steps, now) = (session.history().len() - before, session.time(session.cluster.engine.now()));
    Ok(format!("{said}{steps} events, now at {now}{end}\n"))
}

//! Back in time, and from one course of events to another.

use crate::debugger::{Branch, StopAt};

use super::super::step::Stepper;
use super::{Command, Group, Reply};

/// Commands that leave the present.
pub const GROUP: Group = Group {
    name: "go back",
    commands: &[
        Command {
            names: &["back"],
            usage: "back [N]",
            about: "to the informer notification before",
            more: "",
            run: |stepper, line| back(stepper, stepper.stop, line.count()?),
        },
        Command {
            names: &["backi"],
            usage: "backi [N]",
            about: "to the event before, of any kind",
            more: "",
            run: |stepper, line| back(stepper, StopAt::Event, line.count()?),
        },
        Command {
            names: &["rnext", "rn"],
            usage: "rnext",
            about: "to what the same component got before this",
            more: "",
            run: |stepper, line| {
                line.nothing()?;
                let before = stepper.session.delivery_before();
                go(stepper, before)
            },
        },
        Command {
            names: &["rcontinue", "rc"],
            usage: "rcontinue",
            about: "back to the breakpoint hit before",
            more: "",
            run: |stepper, line| {
                line.nothing()?;
                match stepper.session.hit_before() {
                    Some(step) => go(stepper, step),
                    None => Err("no breakpoint was met before this step; break sets one".to_owned()),
                }
            },
        },
        Command {
            names: &["goto", "g"],
            usage: "goto STEP",
            about: "to any step, back or forward; 0 is the start",
            more: "What was chosen later is kept: going forward does it again. Do something else instead, and the run\n\
                parts there: branches lists the courses that were left.\n",
            run: |stepper, line| match line.step()? {
                Some(step) => go(stepper, step),
                None => Err("write the number of a step: goto 42".to_owned()),
            },
        },
        Command {
            names: &["branches"],
            usage: "branches",
            about: "courses of events that were left for another",
            more: "",
            run: |stepper, line| line.nothing().map(|()| branches(stepper)),
        },
        Command {
            names: &["switch"],
            usage: "switch N",
            about: "to such a course, as far as it was followed",
            more: "",
            run: |stepper, line| switch(stepper, line.one("switch 1")?),
        },
    ],
};

fn back(stepper: &mut Stepper, stop: StopAt, times: u64) -> Reply {
    if stepper.session.current().is_none() {
        return Err("this is the start of the run; nothing has happened yet".to_owned());
    }
    for _ in 0..times {
        let before = stepper.session.stop_before(stop);
        stepper.session.goto(before);
        if before == 0 {
            break;
        }
    }
    Ok(arrived(stepper))
}

fn go(stepper: &mut Stepper, step: u64) -> Reply {
    let came_to = stepper.session.goto(step);
    let shown = arrived(stepper);
    if came_to < step {
        return Ok(format!("{shown}the run ends here, before step {step}\n"));
    }
    Ok(shown)
}

/// What is shown where one has come to. What commands had printed by then counts as said.
fn arrived(stepper: &mut Stepper) -> String {
    stepper.heard();
    match stepper.session.current() {
        Some(_) => stepper.shown(),
        None => "this is the start of the run; press Enter to step\n".to_owned(),
    }
}

fn branches(stepper: &Stepper) -> String {
    let session = &stepper.session;
    let mut out = String::new();
    for (n, branch) in (1..).zip(session.branches()) {
        out += &format!("  {n}  {} steps, {}\n", branch.steps, last_choice(branch));
    }
    let here = Branch { choices: session.choices().to_vec(), steps: session.furthest() };
    out + &format!("  *  {} steps, {} (this one)\n", here.steps, last_choice(&here))
}

/// A course is known by what was chosen last on it.
fn last_choice(branch: &Branch) -> String {
    match branch.choices.last() {
        None => "as the scenario has it".to_owned(),
        Some(chosen) => {
            format!("after step {}: {}", chosen.after, chosen.choice)
        }
    }
}

fn switch(stepper: &mut Stepper, number: &str) -> Reply {
    let place = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    if place.is_some_and(|place| stepper.session.switch(place)) {
        return Ok(arrived(stepper));
    }
    match stepper.session.branches().len() {
        0 => Err("there is one course of events only; go back and do something else to part from it".to_owned()),
        n => Err(format!("{number:?} is not one of the {n} branches; branches lists them")),
    }
}

//! Sessions as files.

use debugger::file::{self, File};

use super::super::Stepper;
use super::Run::{Says, Stops};
use super::{Command, Group, Line, Reply, Takes, Text};

/// Commands that keep a session.
pub const GROUP: Group = Group {
    name: "keep",
    acts: false,
    commands: &[
        Command {
            names: &["save"],
            usage: "save FILE",
            takes: &[&[Takes::File]],
            about: "scenario, choices, files, breakpoints, to share",
            more: "step --replay FILE [--at STEP], behind the program's name, opens it. It says so if the run has become another one.\n",
            run: Says(|stepper, line| save(stepper, line)),
        },
        Command {
            names: &["load"],
            usage: "load FILE",
            takes: &[&[Takes::File]],
            about: "resume a saved session",
            more: "",
            run: Stops(load),
        },
    ],
};

fn save(stepper: &Stepper, line: &Line) -> Text {
    let path = line.one("save web.kubestep")?;
    stepper.outside.save(path, &file::save(&stepper.session))?;
    let (steps, choices) = (stepper.session.history().len(), stepper.session.choices().len());
    let noun = if choices == 1 { "choice" } else { "choices" };
    Ok(format!("{steps} steps and {choices} {noun} are in {path}\n"))
}

/// Whether what is in a file may give way to a session.
pub fn is_session(text: &str) -> bool {
    text.is_empty() || File::read(text).is_ok()
}

fn load(stepper: &mut Stepper, line: &Line) -> Reply {
    let path = line.one("load web.kubestep")?;
    let text = stepper.outside.load(path)?;
    let file = File::read(&text).map_err(|error| format!("{path}: {error}"))?;
    stepper.open(&file).map_err(|error| format!("{path}: {error}"))?;
    Ok(stepper.shown())
}

//! Sessions as files.

use std::io;
use std::path::Path;

use crate::debugger::file::{self, File};
use crate::kubectl::workdir;

use super::super::Stepper;
use super::Run::{Says, Stops};
use super::{Command, Group, Line, Reply, Text};

/// Commands that keep a session.
pub const GROUP: Group = Group {
    name: "keep",
    acts: false,
    commands: &[
        Command {
            names: &["save"],
            usage: "save FILE",
            about: "scenario, choices, files, breakpoints, to share",
            more: "cargo run -- step --replay FILE [--at STEP] opens it. It says so if the run has become another one.\n",
            run: Says(|stepper, line| save(stepper, line)),
        },
        Command { names: &["load"], usage: "load FILE", about: "resume a saved session", more: "", run: Stops(load) },
    ],
};

fn save(stepper: &Stepper, line: &Line) -> Text {
    let path = line.one("save web.kubestep")?;
    let text = file::save(&stepper.session);
    let there = Path::new(path);
    if there.exists() && !(there.is_file() && is_session(there)) {
        return Err(format!("{path} is there, and is no saved session: take another name"));
    }
    write_whole(there, &text).map_err(|error| format!("{path} cannot be written: {error}"))?;
    let (steps, choices) = (stepper.session.history().len(), stepper.session.choices().len());
    let noun = if choices == 1 { "choice" } else { "choices" };
    Ok(format!("{steps} steps and {choices} {noun} are in {path}\n"))
}

/// Whether what is in a file may give way to a session.
fn is_session(path: &Path) -> bool {
    workdir::text_in(path).is_ok_and(|text| text.is_empty() || File::read(&text).is_ok())
}

/// Writes a file, or leaves what is there as it is.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

fn load(stepper: &mut Stepper, line: &Line) -> Reply {
    let path = line.one("load web.kubestep")?;
    let text = workdir::text_in(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let file = File::read(&text).map_err(|error| format!("{path}: {error}"))?;
    stepper.open(&file).map_err(|error| format!("{path}: {error}"))?;
    Ok(stepper.shown())
}

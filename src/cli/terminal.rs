//! What a session has around it in a terminal: a screen, files, and the learner's own parts.

use std::io::{self, IsTerminal};
use std::path::Path;

use console::Term;

use cluster::scenario::Scenario;
use debugger::Session;
use debugger::file::File;
use kubectl::workdir::{self, Disk};
use lab::plug;
use stepper::Stepper;
use stepper::commands::keep::is_session;
use stepper::outside::Outside;
use stepper::wrap;

use super::broken;

/// The terminal, or a pipe in its place.
struct Terminal {
    /// What it can see of files, and where it can write.
    disk: Disk,
}

/// A stepper over a session, with all that a terminal has. With `all` it stops at background traffic too.
pub fn stepper(session: Session, all: bool) -> Stepper {
    let disk = session.scenario().sight.0.clone();
    let mut stepper = Stepper::new(session, all);
    stepper.outside = Box::new(Terminal { disk });
    on_screen(stepper)
}

/// The same over a saved session.
pub(super) fn of_file(file: &File, at: Option<u64>, disk: Disk) -> Result<Stepper, String> {
    Stepper::of_file(file, at, Box::new(Terminal { disk })).map(on_screen)
}

/// How wide what is printed may be: as the terminal, and of a hundred columns where there is none.
pub(super) fn columns() -> usize {
    const ELSEWHERE: usize = 100;
    Term::stdout().size_checked().map_or(ELSEWHERE, |(_, columns)| columns.into())
}

/// A text in lines that the terminal has room for, broken between words; what no terminal shows stays as it is.
pub(super) fn laid_out(text: &str, indent: usize) -> String {
    match Term::stdout().is_term() {
        true => wrap::folded(text, columns(), indent),
        false => text.to_owned(),
    }
}

/// Where a person looks, texts are as wide as the screen.
fn on_screen(mut stepper: Stepper) -> Stepper {
    if is_for_a_person() {
        stepper.columns = None;
    }
    stepper
}

/// Whether a person types, and looks.
fn is_for_a_person() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

impl Outside for Terminal {
    fn screen(&self) -> Option<(usize, usize)> {
        Term::stdout().size_checked().map(|(rows, columns)| (columns.into(), rows.into()))
    }

    fn disk(&self) -> Disk {
        self.disk.clone()
    }

    fn files(&self, start: &str) -> Vec<String> {
        let name = start.rsplit('/').next().unwrap_or_default();
        let prefix = &start[..start.len() - name.len()];
        let leads_out = prefix.starts_with('/') || prefix.split('/').any(|part| part == "..");
        let folder = self.disk.folder();
        if folder.is_some() && leads_out {
            return Vec::new();
        }
        let base = folder.unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(base.join(prefix));
        let entries = entries.into_iter().flatten().flatten().filter_map(|entry| {
            let is_folder = entry.path().is_dir();
            let found = entry.file_name().into_string().ok()?;
            // Hidden ones are meant only by who begins with the dot.
            let fits = found.starts_with(name) && (name.starts_with('.') || !found.starts_with('.'));
            fits.then(|| format!("{prefix}{found}{}", if is_folder { "/" } else { "" }))
        });
        entries.collect()
    }

    fn load(&self, name: &str) -> Result<String, String> {
        self.check(name)?;
        workdir::text_in(name).map_err(|error| format!("{name} cannot be read: {error}"))
    }

    fn save(&self, name: &str, text: &str) -> Result<(), String> {
        self.check(name)?;
        let there = Path::new(name);
        let may_go = || there.is_file() && workdir::text_in(there).is_ok_and(|text| is_session(&text));
        if there.exists() && !may_go() {
            return Err(format!("{name} is there, and is no saved session: take another name"));
        }
        write_whole(there, text).map_err(|error| format!("{name} cannot be written: {error}"))
    }

    fn solved(&self, case: &str, lines: &str) -> Result<String, String> {
        // A program that tries something out is no learner.
        if is_for_a_person() { broken::keep(case, lines) } else { Ok(String::new()) }
    }

    fn plug(&self, scenario: &mut Scenario) -> Result<(), String> {
        plug::plug(scenario)
    }
}

impl Terminal {
    /// Refuses what lies outside of the folder, if there is one that this session is bound to.
    fn check(&self, name: &str) -> Result<(), String> {
        match self.disk.folder() {
            Some(folder) if !workdir::lies_in(Path::new(name), folder) => Err(format!("{name}: {}", workdir::OUTSIDE)),
            _ => Ok(()),
        }
    }
}

/// Writes a file, or leaves what is there as it is.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

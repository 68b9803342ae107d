//! A session at a terminal: commands go in, text comes out, and all of it is written down as it goes.

use std::io::{self, Write};
use std::path::PathBuf;

use console::Term;
use indicatif::ProgressBar;

use crate::debugger::file::File;
use crate::debugger::journal::{self as text, Came};
use crate::debugger::{Session, StopAt};

use super::complete::complete;
use super::input::Lines;
use super::journal::Journal;
use super::view::View;
use super::{commands, palette};

/// The prompt, in the terminal and in transcripts.
const PROMPT: &str = "(kubestep)";

/// A session at a terminal. Commands work on it.
pub struct Stepper {
    /// The session.
    pub session: Session,
    /// Where `step` stops.
    pub stop: StopAt,
    /// Whether the user has had enough.
    pub done: bool,
    lines: Lines,
    /// How much of what commands printed has been shown.
    said: usize,
    /// Where the session is written as it goes.
    journal: Option<Journal>,
    /// Another session was opened, which the journal does not tell of yet.
    opened: bool,
}

impl Stepper {
    /// A stepper over `session`. With `all` it stops at background traffic too.
    pub fn new(session: Session, all: bool) -> Stepper {
        let stop = if all { StopAt::Anything } else { StopAt::Notification };
        Stepper { session, stop, done: false, lines: Lines::from_stdin(), said: 0, journal: None, opened: false }
    }

    /// A stepper over a saved session, with all that was typed in it since.
    pub(super) fn of_file(file: &File, at: Option<u64>) -> Result<Stepper, String> {
        let typed = file.commands.as_ref().is_some_and(|commands| !commands.is_empty());
        let mut stepper = Stepper::new(file.open(at.filter(|_| !typed))?, file.all);
        stepper.retype(file)?;
        if let Some(step) = at.filter(|_| typed) {
            stepper.session.goto(step);
        }
        stepper.heard();
        Ok(stepper)
    }

    /// Goes on with a saved session instead of this one.
    pub fn open(&mut self, file: &File) -> Result<(), String> {
        let before = std::mem::replace(&mut self.session, file.open(None)?);
        if let Err(error) = self.retype(file) {
            self.session = before;
            return Err(error);
        }
        self.heard();
        self.opened = true;
        Ok(())
    }

    /// Types again what a journal has, up to what did not end. It must lead where it led.
    fn retype(&mut self, file: &File) -> Result<(), String> {
        for typed in file.commands.iter().flatten() {
            let Some(came) = &typed.came else { break };
            if commands::acts(&typed.line) {
                // What was refused then is refused again.
                let _ = commands::run(self, &typed.line);
            }
            let now = Came::of(&mut self.session);
            if now != *came {
                let (line, then) = (&typed.line, came.step);
                let place = if now.step == then { "another".to_owned() } else { now.step.to_string() };
                let why = file.versions();
                return Err(format!("{line:?} led to step {then} when it was typed, and leads to {place} now; {why}"));
            }
        }
        Ok(())
    }

    /// Writes the session into a folder as it goes. Says so if that cannot be done.
    pub(super) fn keep_in(&mut self, folder: Option<PathBuf>) -> String {
        let Some(folder) = folder else { return String::new() };
        let head = text::begin(&self.session, self.stop == StopAt::Anything);
        self.keep(Journal::create(&folder, &head))
    }

    /// The same with a journal that is there.
    pub(super) fn keep(&mut self, journal: io::Result<Journal>) -> String {
        match journal {
            Ok(journal) => {
                self.journal = Some(journal);
                String::new()
            }
            Err(error) => not_kept(&error),
        }
    }

    /// Takes a line for one that was typed here before.
    pub(super) fn remember(&mut self, line: &str) {
        self.lines.remember(line);
    }

    /// Takes commands until the end of the input or `quit`.
    pub fn run(mut self, greeting: &str) -> io::Result<()> {
        print(greeting)?;
        while !self.done {
            let session = &self.session;
            let Some(line) = self.lines.next(PROMPT, &|input| complete(session, input))? else { break };
            if line.trim_start().starts_with('#') {
                continue;
            }
            print(&self.answer(&line))?;
        }
        if let Some(journal) = self.journal {
            journal.end();
        }
        Ok(())
    }

    /// Does what a line says, and writes down that it was typed and where it led.
    fn answer(&mut self, line: &str) -> String {
        let mut kept = Ok(());
        if let Some(journal) = &mut self.journal {
            kept = journal.add(&text::typed(line));
        }
        let text = match commands::run(self, line) {
            Ok(text) => text,
            Err(error) => format!("{}\n", palette::error().apply_to(error)),
        };
        let kept = kept.and_then(|()| self.note_where());
        if let Err(error) = kept {
            self.journal = None;
            return text + &not_kept(&error);
        }
        text
    }

    /// Adds to the journal where the last command led. Another session that was opened has one of its own.
    fn note_where(&mut self) -> io::Result<()> {
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        if std::mem::take(&mut self.opened) {
            let head = text::begin(&self.session, self.stop == StopAt::Anything);
            journal = journal.anew(&head)?;
        } else {
            journal.add(&text::done(&Came::of(&mut self.session)))?;
        }
        self.journal = Some(journal);
        Ok(())
    }

    /// What the user's commands and logpoints have printed since this was last asked.
    pub fn printed(&mut self) -> String {
        let text = self.session.cluster.kubectl.printed_since(self.said);
        self.said += text.len();
        let logged: String = self.session.take_printed().iter().map(|line| format!("{line}\n")).collect();
        format!("{}{logged}", palette::here().apply_to(text))
    }

    /// What commands had printed where one has gone back to is not said again.
    pub fn heard(&mut self) {
        self.said = self.session.cluster.kubectl.printed();
    }

    /// The stop where the session stands, and why it is one.
    pub fn shown(&self) -> String {
        let hits = self.session.hits().iter().map(|hit| format!("{}\n", palette::here().apply_to(&hit.text)));
        let crashes = self.session.crashes().iter().map(|crash| format!("{}\n", palette::error().apply_to(crash)));
        crashes.chain(hits).collect::<String>() + &self.stop()
    }

    fn stop(&self) -> String {
        match self.session.current() {
            Some(step) => self.view().stop(&self.session, step),
            None => "nothing has happened yet; press Enter to step\n".to_owned(),
        }
    }

    /// A bar for what takes long, where somebody watches.
    pub fn bar(&self) -> ProgressBar {
        if self.lines.interactive() { ProgressBar::new_spinner() } else { ProgressBar::hidden() }
    }

    /// How many columns there are; what is piped has a hundred.
    pub fn width(&self) -> usize {
        let width = Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns));
        if self.lines.interactive() { width } else { 100 }
    }

    /// A view as wide as the terminal.
    pub fn view(&self) -> View {
        View::new(self.width())
    }
}

fn not_kept(error: &io::Error) -> String {
    format!("this session is not written as it goes: {error}\n")
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

//! `kubestep step`: walk a cluster, one event at a time.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use console::Term;
use indicatif::ProgressBar;

use crate::cluster::scenario::Scenario;
use crate::debugger::{Session, StopAt, file};

use super::complete::complete;
use super::input::Lines;
use super::view::View;
use super::{Source, commands, palette};

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
}

/// `kubestep step`: asks for a scenario if none was named, and walks it.
pub(super) fn command(source: Source, all: bool) -> anyhow::Result<()> {
    let scenario = match source.scenario()? {
        Some(scenario) => scenario,
        None => match choose()? {
            Some(scenario) => scenario,
            None => return Ok(()),
        },
    };
    let session = Session::of(scenario);
    let scenario = session.scenario();
    let title = palette::here().apply_to(&scenario.title);
    let greeting = format!(
        "{title}\n{}\n{} nodes are up, nothing is deployed. Enter steps; help lists the commands.\n",
        scenario.story.trim(),
        session.cluster.config().nodes.len(),
    );
    Stepper::new(session, all).run(&greeting)?;
    Ok(())
}

/// `kubestep step --replay FILE`: goes on with a saved session.
pub(super) fn replay(path: &Path, at: Option<u64>, all: bool) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let session = file::open(&text, at).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let mut stepper = Stepper::new(session, all);
    stepper.heard();
    let greeting = format!("{}\n{}", palette::here().apply_to(&stepper.session.scenario().title), stepper.shown());
    stepper.run(&greeting)?;
    Ok(())
}

/// The menu. Without a terminal the first walk-through of the course is taken.
fn choose() -> anyhow::Result<Option<Scenario>> {
    let shipped = Scenario::shipped();
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Ok(Some(Scenario::find("deployment")?));
    }
    let items: Vec<String> = shipped.iter().map(|s| format!("{:<20} {}", s.name, s.title)).collect();
    let chosen = dialoguer::Select::new().with_prompt("Which walk?").items(&items).default(1).interact_opt()?;
    Ok(chosen.and_then(|i| shipped.into_iter().nth(i)))
}

impl Stepper {
    /// A stepper over `session`. With `all` it stops at background traffic too.
    pub fn new(session: Session, all: bool) -> Stepper {
        let stop = if all { StopAt::Anything } else { StopAt::Notification };
        Stepper { session, stop, done: false, lines: Lines::from_stdin(), said: 0 }
    }

    /// Takes commands until the end of the input or `quit`.
    pub fn run(mut self, greeting: &str) -> io::Result<()> {
        print(greeting)?;
        while !self.done {
            let session = &self.session;
            let Some(line) = self.lines.next(PROMPT, &|input| complete(session, input))? else { return Ok(()) };
            if line.trim_start().starts_with('#') {
                continue;
            }
            match commands::run(&mut self, &line) {
                Ok(text) => print(&text)?,
                Err(error) => print(&format!("{}\n", palette::error().apply_to(error)))?,
            }
        }
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

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

//! The prompt: a session in lines, at a terminal or on a pipe.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use debugger::file;
use debugger::quiz::Quiz;
use lab::started::started_as;
use stepper::edit::SENT;
use stepper::lines::text;
use stepper::paths::quoted;
use stepper::wrap::wrapped;
use stepper::{Stepper, Typed, What, palette, shell};

use super::editor;
use super::input::{Lines, Meanwhile};
use super::journal;
use super::out::print;
use super::pager;
use super::serve::{Bell, Clients};
use super::signals::Signals;
use super::watch::Bar;

/// The prompt for the rest of a line.
const MORE: &str = ">";

/// What has become of a session's commands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worked {
    done: usize,
    refused: usize,
}

impl Worked {
    /// One more, done or refused.
    pub fn note(&mut self, done: bool) {
        *(if done { &mut self.done } else { &mut self.refused }) += 1;
    }

    /// Whether there were some, and all were refused.
    pub fn is_nothing(&self) -> bool {
        self.done == 0 && self.refused > 0
    }
}

/// What goes on while a line is typed.
struct AtPrompt<'a> {
    stepper: &'a mut Stepper,
    clients: &'a mut Option<Box<dyn Clients>>,
}

impl Meanwhile for AtPrompt<'_> {
    fn candidates(&self, input: &str) -> Vec<String> {
        self.stepper.candidates(input)
    }

    fn bell(&self) -> Option<Arc<Bell>> {
        self.clients.as_ref().map(|clients| clients.bell())
    }

    fn tend(&mut self) -> (String, Option<Duration>) {
        let Some(clients) = self.clients else { return (String::new(), None) };
        let said = clients.tend(self.stepper);
        (said, clients.rest(self.stepper))
    }
}

/// Takes commands until the end of the input or `quit`. Ctrl-C ends a long move; at the prompt it ends the command that runs,
/// and where none does, the second ends the program, as SIGTERM does: the session is offered again then.
pub fn run(mut stepper: Stepper, greeting: &str, clients: Option<Box<dyn Clients>>) -> io::Result<Worked> {
    let interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
    let signals = if interactive { Signals::listen()? } else { Signals::default() };
    if interactive {
        stepper.watch = Some(Box::new(Bar::new(signals.clone())));
    }
    let mut lines = Lines::from_stdin(interactive);
    let mut clients = clients;
    stepper.typed.drain(..).for_each(|line| lines.remember(&line));
    print(greeting)?;
    let (mut interrupted, mut worked) = (false, Worked::default());
    while !stepper.done {
        // It may have been told to while a long move was under way.
        if signals.ended() {
            return print("\n").map(|()| worked);
        }
        let greeting = stepper.greeting();
        let is_laid = interactive && !greeting.is_empty();
        print(&if is_laid { wrapped(&greeting, stepper.width()) + "\n" } else { greeting })?;
        let prompt = stepper.prompt();
        let line = match lines.next(&prompt, &mut AtPrompt { stepper: &mut stepper, clients: &mut clients }) {
            Ok(Some(line)) => line,
            Ok(None) => match stepper.ends_input().filter(|_| interactive) {
                Some(key) => {
                    answer(&mut stepper, &key, interactive, &signals)?;
                    continue;
                }
                None => break,
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if interrupted || signals.ended() {
                    return print("\n").map(|()| worked);
                }
                let pressed = signals.interrupted();
                if let Some(key) = stepper.interrupts().filter(|_| pressed) {
                    print("\n")?;
                    answer(&mut stepper, &key, interactive, &signals)?;
                    continue;
                }
                interrupted = pressed;
                print("\nquit ends the session; Ctrl-C once more leaves it for later\n")?;
                continue;
            }
            Err(error) => return Err(error),
        };
        interrupted = false;
        let Some(line) = continued(line, &mut lines, &mut AtPrompt { stepper: &mut stepper, clients: &mut clients })
        else {
            signals.interrupted();
            print("\n")?;
            continue;
        };
        let typed = stepper.read(&line);
        let typed = if interactive { edited(&mut stepper, typed)? } else { typed };
        if !matches!(typed.what, What::Nothing) {
            worked.note(answer(&mut stepper, &typed, interactive, &signals)?);
        }
    }
    if let Some(score) = stepper.quiz.as_ref().and_then(Quiz::score) {
        print(&format!("{score}\n"))?;
    }
    if interactive {
        print(&kept(&stepper))?;
    }
    stepper.end();
    Ok(worked)
}

/// How to come back to a session in which something was done, which is kept for that.
pub(super) fn kept(stepper: &Stepper) -> String {
    if stepper.session.choices().is_empty() {
        return String::new();
    }
    match journal::keep_last(&file::save(&stepper.session)) {
        Some(path) => format!("to come back here: {} step --replay {}\n", started_as(), quoted(&path)),
        None => String::new(),
    }
}

/// The line with the lines in which it goes on; None: it was given up with Ctrl-C.
fn continued(mut line: String, lines: &mut Lines, at: &mut AtPrompt) -> Option<String> {
    while shell::goes_on(&line) {
        let more = match lines.next(MORE, at) {
            Ok(Some(more)) => more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return None,
            Ok(None) | Err(_) => break,
        };
        line = match line.strip_suffix('\\') {
            Some(begun) => format!("{begun}{more}"),
            None => format!("{line}\n{more}"),
        };
    }
    Some(line)
}

/// The line; or, if it asks for an editor, what is sent instead, if anything.
fn edited(stepper: &mut Stepper, typed: Typed) -> io::Result<Typed> {
    let What::Edit(words) = &typed.what else { return Ok(typed) };
    match editor::instead(stepper, words) {
        Ok(instead) => {
            print(&format!("{SENT}{instead}\n"))?;
            Ok(Typed::read(&instead))
        }
        Err(why) => {
            print(&format!("{why}\n"))?;
            Ok(Typed { what: What::Nothing, ..typed })
        }
    }
}

/// Does what a command says, and prints what comes of it. Whether it could be done.
fn answer(stepper: &mut Stepper, typed: &Typed, interactive: bool, signals: &Signals) -> io::Result<bool> {
    let before = stepper.session.history().len();
    match stepper.carry_out(typed) {
        // Keys that are pressed ahead of a move are for the prompt, so a move's answer never waits for one.
        Ok(answer)
            if interactive
                && (answer.paged || (stepper.options.pager && stepper.session.history().len() == before)) =>
        {
            let shown = pager::show(&text(&answer, &stepper.view())).map(|()| true);
            // What ended it has been heard.
            signals.interrupted();
            shown
        }
        Ok(answer) => print(&text(&answer, &stepper.view())).map(|()| true),
        Err(error) => {
            let width = stepper.width();
            let wrap = || error.lines().map(|line| wrapped(line, width)).collect::<Vec<_>>().join("\n");
            print(&format!("{}\n", palette::error().apply_to(if interactive { wrap() } else { error })))?;
            Ok(false)
        }
    }
}

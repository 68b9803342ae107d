//! What is typed into a shell in a container, which `kubectl exec -it`, `run -it` and their like have opened.
//!
//! While that shell waits for a line the prompt is its own. `ls` is `type ls` then, and a line that begins with a colon is the
//! stepper's: see [`Stepper::read`]. So all that is typed is a command of the stepper's, in a journal too.

use debugger::{Advance, Choice, Goal};
use kubectl::left_open::State;
use kubelet::runtime::terminal::{CTRL_C, CTRL_D};

use super::super::typed::ESCAPE;
use super::super::{Stepper, Typed};
use super::{Answer, Reply, movement};

/// The stepper's prompt.
pub const PROMPT: &str = "(kubestep)";

/// What a shell without a prompt has.
const NO_PROMPT: &str = ">";

/// Types a line or a key, and goes on until the shell waits for the next.
pub(super) fn into_shell(stepper: &mut Stepper, text: &str) -> Reply {
    stepper.session.choose(Choice::Typed(text.trim_end().to_owned()))?;
    let end = movement::go(stepper, &mut Goal::Quiet);
    let works = matches!(stepper.session.cluster.shell(), Some(shell) if shell.state == State::Works);
    let answer = match end {
        Advance::Breakpoint | Advance::Crashed => stepper.stopped(),
        _ => Answer { printed: stepper.printed(), ..Answer::default() },
    };
    let text = match works {
        true => format!("the line {text:?} still runs: Enter steps, Ctrl-C ends it, or type {CTRL_C}\n"),
        false => unknown(text, &answer.printed).unwrap_or_default(),
    };
    Ok(Answer { text, ..answer })
}

/// Ends what runs, as Ctrl-C does.
pub(super) fn interrupt(stepper: &mut Stepper) -> Reply {
    if stepper.session.cluster.shell_waits().is_some() {
        return into_shell(stepper, CTRL_C);
    }
    let text = stepper.session.choose(Choice::Interrupt)? + "\n";
    Ok(Answer { printed: stepper.printed(), ..Answer::says(text) })
}

/// What is said of a command of the stepper's that the shell does not know.
fn unknown(text: &str, printed: &str) -> Option<String> {
    let name = text.split_whitespace().next()?;
    let is_ours = super::find(name).is_some() && printed.trim_end().ends_with(&format!("{name}: not found"));
    is_ours.then(|| format!("a line that begins with {ESCAPE} is the stepper's: {ESCAPE}{}\n", text.trim()))
}

/// What is said, beside that there is no such command, while a shell waits: to programs, which have no other prompt.
pub(super) fn instead(stepper: &Stepper, text: &str) -> String {
    let shell = stepper.session.cluster.shell().filter(|shell| shell.prompt().is_some());
    shell
        .map(|shell| format!("; the shell in {} gets it by: {}", shell.place, Typed::into_shell(text.trim()).text))
        .unwrap_or_default()
}

impl Stepper {
    /// What stands before a line: the shell's prompt while one waits for it, else the stepper's.
    pub fn prompt(&self) -> String {
        match self.session.cluster.shell().as_ref().and_then(|shell| shell.prompt()) {
            Some(prompt) if prompt.trim().is_empty() => NO_PROMPT.to_owned(),
            Some(prompt) => prompt.trim_end().to_owned(),
            None => PROMPT.to_owned(),
        }
    }

    /// The command that Ctrl-C is: a key of the shell's, or the end of the command that runs; none if neither is there.
    pub fn interrupts(&self) -> Option<Typed> {
        let cluster = &self.session.cluster;
        let command = || cluster.runs_typed().then(|| Typed::read("interrupt"));
        cluster.shell_waits().map_or_else(command, |_| Some(Typed::into_shell(CTRL_C)))
    }

    /// The command that Ctrl-D is on an empty line; none unless a shell waits.
    pub fn ends_input(&self) -> Option<Typed> {
        self.session.cluster.shell_waits().filter(|waits| *waits).map(|_| Typed::into_shell(CTRL_D))
    }

    /// What is said when the prompt becomes a shell's.
    pub fn greeting(&mut self) -> String {
        let says = |place| {
            format!(
                "a shell in {place}: exit leaves it; a line that begins with {ESCAPE} is the stepper's, as in {ESCAPE}step or \
                 {ESCAPE}back\n"
            )
        };
        self.new_shell().map(says).unwrap_or_default()
    }

    /// Where a shell is that waits for a line since this was last asked.
    pub fn new_shell(&mut self) -> Option<String> {
        let shell = self.session.cluster.shell();
        if shell.as_ref().is_some_and(|shell| shell.prompt().is_none()) {
            // The same, at work.
            return None;
        }
        let place = shell.map(|shell| shell.place);
        let is_new = place != self.shell;
        self.shell.clone_from(&place);
        place.filter(|_| is_new)
    }
}

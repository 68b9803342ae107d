//! What comes to a shell from outside, and what it has beside itself.

use super::run::{Frame, Shell};
use object::time::Instant;

/// What a shell says of a command that was ended by SIGINT.
const INTERRUPTED: i32 = 130;

impl Shell {
    /// It is asked to end. True: it does something about it at once, for else it does so when the command that runs has ended.
    pub fn signal(&mut self) -> bool {
        self.is_signalled = true;
        self.is_interruptible
    }

    /// Ctrl-C: the line that it runs is given up.
    pub fn give_up(&mut self) {
        self.fail(INTERRUPTED);
    }

    /// What it runs cannot go on.
    pub fn fail(&mut self, code: i32) {
        while self.pop().is_some() {}
        self.code = code;
    }

    /// Where it stands.
    pub fn directory(&self) -> &str {
        self.scope.variables.get("PWD").map_or("/", String::as_str)
    }

    /// Whether the user who types has ended it.
    pub fn has_exited(&self) -> bool {
        self.at == usize::MAX
    }

    /// How the last command has ended: `$?`.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Whether it does anything when it is asked to end.
    pub fn minds_signals(&self) -> bool {
        self.on_sigterm.is_some()
    }

    /// A program that it has started beside itself does not end.
    pub fn keeps_job(&mut self) {
        self.jobs_end = Instant(u64::MAX);
    }

    /// Turns to the signal's action. In a subshell it waits for that to end.
    pub(super) fn spring(&mut self) {
        let in_subshell = self.stack.iter().any(|frame| matches!(frame, Frame::Subshell { .. }));
        if let Some(action) = self.on_sigterm.clone().filter(|_| self.is_signalled && !in_subshell) {
            self.is_signalled = false;
            let program = std::mem::replace(&mut self.program, action);
            self.stack.push(Frame::Trap { program, at: self.at, code: self.code });
            self.at = 0;
        }
    }
}

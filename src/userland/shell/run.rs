//! A shell that runs: where it is in its program, what it remembers, and a stack of what it is in the middle of.
//!
//! [`Shell::next`] goes on to the next thing that its caller has to do: run a program, write into a file, let time pass.
//! Between two of them it is plain data.
//!
//! Must hold:
//! - It always comes back. A script that does more than [`BUDGET`] at one moment, whose loop goes round more than
//!   [`ROUNDS_MAX`] times in a row in less than [`ROUND_MIN`] each, or that holds longer texts than [`TEXT_MAX`], is
//!   unsupported. Kept by `no_script_breaks_it` and `a_loop_without_a_pause_comes_to_an_end`.
//!
//! [`BUDGET`]: super::limits::BUDGET
//! [`ROUNDS_MAX`]: super::limits::ROUNDS_MAX
//! [`ROUND_MIN`]: super::limits::ROUND_MIN
//! [`TEXT_MAX`]: super::limits::TEXT_MAX

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use super::expand::Expansion;
use super::functions::{Call, Function};
use super::limits::{BUDGET, TEXT_MAX};
use super::ops::{Kept, Op, Redirect};
use super::script::Program;
use super::words::Unsupported;
use object::time::Instant;

/// A shell in the middle of its program.
#[derive(Clone, Debug, Default)]
pub struct Shell {
    pub(super) program: Rc<Program>,
    /// The next operation.
    pub(super) at: usize,
    /// `$?`
    pub(super) code: i32,
    pub(super) scope: Scope,
    pub(super) stack: Vec<Frame>,
    /// What `$(…)` have come to that no command has taken yet.
    values: Vec<String>,
    /// The output of commands that is kept, one inside the other.
    kept: Vec<String>,
    /// For the next member of a pipe.
    pipe: String,
    /// The command that the caller runs now.
    pub(super) runs: Running,
    /// What was done at this moment.
    spent: (Instant, usize),
    /// When the last of its jobs ends.
    pub(super) jobs_end: Instant,
    /// Jobs whose end is not known.
    pub(super) jobs: usize,
    /// What it does on SIGTERM.
    pub(super) on_sigterm: Option<Rc<Program>>,
    /// It has got one, and has done nothing about it yet.
    pub(super) is_signalled: bool,
    /// It waits in a way that a signal ends.
    pub(super) is_interruptible: bool,
}

/// What a subshell has a copy of.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) variables: Rc<BTreeMap<String, String>>,
    /// How many bytes their values have.
    pub(super) bytes: usize,
    /// Those that commands are told.
    pub(super) exported: Rc<BTreeSet<String>>,
    /// Those that the script has set.
    pub(super) changed: Rc<BTreeSet<String>>,
    pub(super) functions: Rc<BTreeMap<String, Function>>,
    pub(super) output: Sink,
    pub(super) errors: Sink,
    pub(super) input: Rc<str>,
    /// How many bytes of the input were read.
    pub(super) read: usize,
    pub(super) stops_on_error: bool,
}

/// Where what is printed goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// Standard output of the shell.
    #[default]
    Output,
    /// Its standard error.
    Errors,
    /// Nowhere.
    Nowhere,
    /// A file.
    File {
        /// Which.
        path: String,
        /// At its end.
        append: bool,
    },
    /// The innermost subshell whose output is kept when it began: so many are around it.
    Kept(usize),
}

/// What the shell is in the middle of.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Subshell {
        outside: Box<Scope>,
        kept: Kept,
        end: usize,
    },
    /// What it had to read before, and how much of that was read.
    Input {
        input: Rc<str>,
        read: usize,
    },
    Redirect {
        output: Sink,
        errors: Sink,
    },
    Loop(Loop),
    Call(Call),
    /// A signal's action runs; then it goes on here.
    Trap {
        program: Rc<Program>,
        at: usize,
        code: i32,
    },
}

/// A loop that goes round.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) again: usize,
    pub(super) end: usize,
    /// Of a `for` loop: its variable, and the words that are left, the next one last.
    pub(super) items: Option<(String, Vec<String>)>,
    /// How the last round ended.
    pub(super) code: i32,
    pub(super) round_began: Instant,
    pub(super) fast_rounds: usize,
}

/// What is to be done with what a command comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    pub(super) output: Sink,
    pub(super) errors: Sink,
    pub(super) is_asked: bool,
}

/// A program to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name and arguments.
    pub words: Vec<String>,
    /// Its standard input, and how much of it was read.
    pub(super) input: (Rc<str>, usize),
    /// The variables that the shell has set and passes on.
    pub exported: Vec<(String, String)>,
    /// Where its output will go.
    pub output: Sink,
    /// Where its errors will go.
    pub errors: Sink,
    /// Its exit code is tested.
    pub is_asked: bool,
    /// It is in a loop that may have no end.
    pub is_background: bool,
    /// The shell goes on beside it.
    pub is_job: bool,
}

impl Command {
    /// Its standard input.
    pub fn input(&self) -> &str {
        self.input.0.get(self.input.1..).unwrap_or_default()
    }
}

/// Text to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Where to.
    pub to: Sink,
    /// What.
    pub text: String,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Run this, and say with [`Shell::done`] what came of it.
    Run(Command),
    /// Write these.
    Write(Vec<Write>),
    /// Let time pass; None: for ever.
    Sleep {
        /// How long.
        time: Option<Duration>,
        /// Whether it is background traffic, so that no run waits for it.
        is_background: bool,
    },
    /// It has ended with this code.
    End(i32),
    /// It is not understood what comes now.
    Unsupported,
}

impl Shell {
    /// A shell that will run a program with this environment.
    pub fn new(program: Rc<Program>, environment: impl IntoIterator<Item = (String, String)>) -> Shell {
        let variables: BTreeMap<String, String> = environment.into_iter().collect();
        let exported = variables.keys().cloned().collect();
        let scope = Scope {
            bytes: variables.values().map(String::len).sum(),
            variables: Rc::new(variables),
            exported: Rc::new(exported),
            stops_on_error: program.stops_on_error,
            ..Scope::default()
        };
        Shell { program, scope, ..Shell::default() }
    }

    /// The same with something to read. It says apart what it says to standard error.
    pub fn reading(mut self, input: &str) -> Shell {
        self.scope.input = input.into();
        self.scope.errors = Sink::Errors;
        self
    }

    /// Runs another program, with what it remembers from those before: the next line of a user who types.
    pub fn take_up(&mut self, program: Rc<Program>) {
        self.program = program;
        self.at = 0;
        self.stack.clear();
        (self.values, self.kept, self.pipe, self.spent) = Default::default();
    }

    /// Whether nothing more comes.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.program.ops.len() && self.stack.is_empty()
    }

    /// A job that the caller runs has begun. `wait` waits for it, for ever unless the caller reports its end.
    pub fn job_began(&mut self) {
        self.jobs += 1;
    }

    /// The same has ended. Whether [`Shell::next`] is to be called, because `wait` waits for no more.
    pub fn job_ended(&mut self) -> bool {
        let waited = self.waits_for_jobs();
        self.jobs -= 1;
        self.jobs == 0 && waited
    }

    /// Whether it is in a `wait` for such jobs.
    pub fn waits_for_jobs(&self) -> bool {
        self.is_interruptible && self.jobs > 0
    }

    /// Whether it is a shell, or one command without any.
    pub fn is_shell(&self) -> bool {
        self.program.is_shell
    }

    /// What it runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Goes on until the caller has something to do.
    pub fn next(&mut self, now: Instant) -> Turn {
        if self.spent.0 != now {
            self.spent = (now, 0);
        }
        self.is_interruptible = false;
        loop {
            self.spring();
            let program = self.program.clone();
            let Some(op) = program.ops.get(self.at) else {
                match self.stack.pop() {
                    Some(Frame::Trap { program, at, code }) => (self.program, self.at, self.code) = (program, at, code),
                    _ => return Turn::End(self.code),
                }
                continue;
            };
            self.at += 1;
            match self.spend(0).and_then(|()| self.operate(op, now)) {
                Ok(None) => {}
                Ok(Some(turn)) => return turn,
                Err(Unsupported) => {
                    // So it stays.
                    self.at -= 1;
                    self.spent.1 = BUDGET;
                    return Turn::Unsupported;
                }
            }
        }
    }

    /// What came of the command that was to run. Gives what is to be written.
    pub fn done(&mut self, output: String, errors: String, code: i32) -> Vec<Write> {
        let Running { output: to, errors: errors_to, is_asked } = std::mem::take(&mut self.runs);
        self.code = code;
        let truncates = matches!(to, Sink::File { append: false, .. });
        let mut writes = Vec::new();
        if to == errors_to {
            self.print(to, output + &errors, truncates, &mut writes);
        } else {
            self.print(to, output, truncates, &mut writes);
            self.print(errors_to, errors, false, &mut writes);
        }
        self.stop_on_error(is_asked);
        writes
    }

    /// What was to be written could not be.
    pub fn refused(&mut self, path: &str, why: &str) -> String {
        self.code = 1;
        format!("sh: can't create {path}: {why}\n")
    }

    fn print(&mut self, to: Sink, text: String, even_nothing: bool, writes: &mut Vec<Write>) {
        let spent = self.spend(text.len());
        match to {
            _ if text.is_empty() && !even_nothing => {}
            // The next operation says that it is too much.
            _ if text.len() > TEXT_MAX || spent.is_err() => self.spent.1 = BUDGET,
            Sink::Nowhere => {}
            Sink::Kept(at) => match self.kept.get_mut(at) {
                Some(kept) if kept.len() + text.len() <= TEXT_MAX => kept.push_str(&text),
                _ => self.spent.1 = BUDGET,
            },
            to => writes.push(Write { to, text }),
        }
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Unsupported> {
        self.spent.1 = self.spent.1.saturating_add(1 + bytes / 256);
        if self.spent.1 > BUDGET { Err(Unsupported) } else { Ok(()) }
    }

    fn operate(&mut self, op: &Op, now: Instant) -> Result<Option<Turn>, Unsupported> {
        match op {
            Op::Simple(simple) => return self.simple(simple, now),
            Op::Skip(length) => self.at += length,
            Op::SkipIf(well, length) if (self.code == 0) == *well => self.at += length,
            Op::SkipIf(..) => {}
            Op::Not => self.code = i32::from(self.code == 0),
            Op::Enter { length, output, reads } => self.enter(*length, *output, *reads),
            Op::Leave => self.leave(),
            Op::Input => {
                let (input, read) = self.read_pipe();
                self.stack.push(Frame::Input { input, read });
            }
            Op::Redirect { values, redirects } => return self.redirect(*values, redirects).map(Some),
            Op::Restore => drop(self.pop()),
            Op::Loop { length } => self.begin_loop(*length, None, now),
            Op::For { name, values, words, length } => {
                let mut items = self.expansion(*values).fields(words)?;
                items.reverse();
                self.begin_loop(*length, Some((name.clone(), items)), now);
            }
            Op::Each => self.each()?,
            Op::Again => self.again(now)?,
            Op::Done => self.end_loop(),
            Op::Function { name, length } => self.define(name, *length),
            Op::Return => self.end_call(),
            Op::Case { values, word, arms, otherwise } => self.case(*values, word, arms, *otherwise)?,
            Op::Unsupported => return Err(Unsupported),
        }
        Ok(None)
    }

    fn enter(&mut self, length: usize, kept: Kept, reads: bool) {
        let outside = Box::new(self.scope.clone());
        self.stack.push(Frame::Subshell { outside, kept, end: self.at + length });
        if reads {
            self.read_pipe();
        }
        if matches!(kept, Kept::Value | Kept::Pipe) {
            self.scope.output = Sink::Kept(self.kept.len());
            self.kept.push(String::new());
        }
    }

    /// What the last subshell has printed is read from now on. Gives what was read before, and how far.
    fn read_pipe(&mut self) -> (Rc<str>, usize) {
        let input = std::mem::take(&mut self.pipe).into();
        (std::mem::replace(&mut self.scope.input, input), std::mem::take(&mut self.scope.read))
    }

    fn leave(&mut self) {
        let Some(Frame::Subshell { outside, kept, .. }) = self.pop() else { return };
        self.scope = *outside;
        match kept {
            Kept::Not => {}
            Kept::Pipe => self.pipe = self.kept.pop().unwrap_or_default(),
            Kept::Value => {
                let mut value = self.kept.pop().unwrap_or_default();
                value.truncate(value.trim_end_matches('\n').len());
                self.values.push(value);
            }
        }
    }

    /// Takes away the top of the stack.
    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        match &frame {
            Frame::Redirect { output, errors } => {
                (self.scope.output, self.scope.errors) = (output.clone(), errors.clone());
            }
            Frame::Call(call) => self.restore(call),
            Frame::Input { input, read } => (self.scope.input, self.scope.read) = (input.clone(), *read),
            _ => {}
        }
        Some(frame)
    }

    fn redirect(&mut self, values: usize, redirects: &[Redirect]) -> Result<Turn, Unsupported> {
        let (mut output, mut errors) = self.expansion(values).sinks(redirects)?;
        let writes = [&mut output, &mut errors].into_iter().filter_map(Sink::begin).collect();
        self.stack.push(Frame::Redirect {
            output: std::mem::replace(&mut self.scope.output, output),
            errors: std::mem::replace(&mut self.scope.errors, errors),
        });
        Ok(Turn::Write(writes))
    }

    /// The shell, or the subshell that it is in, ends with this code.
    pub(super) fn exit(&mut self, code: i32) {
        self.code = code;
        while let Some(frame) = self.stack.last() {
            match frame {
                Frame::Subshell { end, .. } => {
                    self.at = *end;
                    return;
                }
                _ => drop(self.pop()),
            }
        }
        self.at = usize::MAX;
    }

    fn values_of(&mut self, count: usize) -> std::vec::IntoIter<String> {
        let at = self.values.len().saturating_sub(count);
        self.values.split_off(at).into_iter()
    }

    pub(super) fn expansion(&mut self, values: usize) -> Expansion<'_> {
        let values = self.values_of(values);
        Expansion { shell: self, values, length: 0 }
    }
}

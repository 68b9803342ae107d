//! A script that was read: what a shell goes through.

use std::rc::Rc;

use super::invoked::{BUILTINS, of_shell, program};
use super::ops::{Op, Simple};
use super::parse;
use super::words::Word;
use crate::programs;

/// A script, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(super) ops: Vec<Op>,
    /// A shell runs it: else it is one command.
    pub(super) is_shell: bool,
    /// The shell ends when a command fails: `sh -e`.
    pub(super) stops_on_error: bool,
}

impl Program {
    /// What a command does.
    pub fn of(words: &[String]) -> Rc<Program> {
        let refs: Vec<&str> = words.iter().map(String::as_str).collect();
        Rc::new(match of_shell(&refs) {
            Some((flags, script, arguments)) => {
                let mut program = Program { ops: Vec::new(), is_shell: true, stops_on_error: flags.contains('e') };
                program.ops.extend(arguments.iter().enumerate().map(|(at, value)| Op::argument(at, value)));
                program.ops.extend(parse::parse(script));
                program
            }
            None => {
                let words = words.iter().map(|word| Word::quoted(word)).collect();
                Program { ops: vec![Op::Simple(Simple { words, ..Simple::default() })], ..Program::default() }
            }
        })
    }

    /// What is called as a function is.
    pub(super) fn to_call(body: Vec<Op>) -> Rc<Program> {
        Rc::new(Program { ops: [body, vec![Op::Return]].concat(), is_shell: true, stops_on_error: false })
    }

    /// What a shell does that waits for input.
    pub fn idle() -> Rc<Program> {
        Rc::new(Program { is_shell: true, ..Program::default() })
    }

    /// The names of its commands, as far as they are known in advance.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        self.simple().filter_map(|words| words.first()?.literal())
    }

    /// The words of the commands whose words are all known in advance.
    pub fn literal_commands(&self) -> impl Iterator<Item = Vec<String>> {
        self.simple().filter_map(|words| words.iter().map(Word::literal).collect())
    }

    /// Whether one of its commands reads what the whole is given to read, and no pipe, file or document before it.
    pub fn reads(&self) -> bool {
        let mut given = Vec::new();
        self.ops.iter().any(|op| {
            match op {
                Op::Enter { reads, .. } => given.push(*reads),
                Op::Input => given.push(true),
                Op::Redirect { .. } => given.push(false),
                Op::Leave | Op::Restore => drop(given.pop()),
                Op::Simple(simple) if !simple.is_test && !given.contains(&true) => {
                    let words: Vec<String> =
                        simple.words.iter().map(|word| word.literal().unwrap_or_else(|| "?".to_owned())).collect();
                    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
                    words.iter_mut().take(1).for_each(|name| *name = program(name));
                    return programs::reads(&words);
                }
                _ => {}
            }
            false
        })
    }

    fn simple(&self) -> impl Iterator<Item = &[Word]> {
        self.ops.iter().filter_map(|op| match op {
            Op::Simple(simple) if !simple.is_test => Some(simple.words.as_slice()),
            _ => None,
        })
    }

    /// The names of the functions that it makes.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.ops.iter().filter_map(|op| match op {
            Op::Function { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether all that it runs is known, but for this program; not where it gets programs from elsewhere.
    pub fn knows_all_but(&self, unknown: &str) -> bool {
        let is_own = |name: &str| BUILTINS.contains(&name) || self.functions().any(|own| own == name);
        let mut others = self.commands().filter(|name| name != unknown && !is_own(name));
        !self.installs() && others.all(|name| programs::is_common(program(&name)))
    }

    /// Whether it gets programs from elsewhere, which may have any name.
    pub fn installs(&self) -> bool {
        self.commands().any(|name| programs::installs(program(&name)))
    }

    /// Whether all of it is understood.
    pub fn is_understood(&self) -> bool {
        !self.ops.contains(&Op::Unsupported)
    }

    /// Whether it does nothing at all.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

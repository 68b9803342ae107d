//! The little of a shell that containers here understand.
//!
//! A script is read once ([`words`], [`parse`]) into a [`Program`]: operations one after another, in which a loop is a part
//! that is gone through again. A [`run::Shell`] goes through them as virtual time passes. It is plain data with a small stack,
//! so it is saved with the world, and it never calls itself, however deep a script is nested.
//!
//! Understood are lists (`;`, `&&`, `||`, `!`), pipes, groups and subshells, `if`, `while`, `until`, `for`, `case`, assignments,
//! functions, shells in shells (`sh -c`), redirections, documents (`<<`, `<<<`), `$(…)`, `$((…))`, `${NAME}` and its changes, `[ … ]` and `[[ … ]]`, and of
//! a shell's builtins `break`, `cd`, `continue`, `eval`, `exit`, `exec`, `export`, `local`, `read`, `return`, `set`, `shift`,
//! `trap` for SIGTERM, `unset` and `wait`. Where `cd` goes, a directory is taken to be.
//!
//! Of arrays there are `NAME=(…)`, `${NAME[INDEX]}`, `${NAME[@]}` and `${#NAME[@]}`.
//!
//! Left out: all else of arrays, names of files that stand for others (`*`), `set -x`, jobs in the background but for single
//! commands, of which those that end do so at once. The members of a pipe run one after another. A script is
//! *unsupported* from the first statement on that has any of them: so is one that goes on for too long without letting time
//! pass, see [`run`].

use std::rc::Rc;

pub mod builtins;
pub mod commands;
mod compound;
mod expand;
mod functions;
pub mod limits;
mod loops;
mod ops;
mod parse;
pub mod run;
mod signals;
mod sums;
pub mod test;
mod words;

#[cfg(test)]
mod tests;

use crate::programs;
use ops::{Op, Simple};
use words::Word;

/// A script, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    ops: Vec<Op>,
    /// A shell runs it: else it is one command.
    is_shell: bool,
    /// The shell ends when a command fails: `sh -e`.
    stops_on_error: bool,
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
    fn to_call(body: Vec<Op>) -> Rc<Program> {
        Rc::new(Program { ops: [body, vec![Op::Return]].concat(), is_shell: true, stops_on_error: false })
    }

    /// What a shell does that waits for somebody to type.
    pub fn idle() -> Rc<Program> {
        Rc::new(Program { is_shell: true, ..Program::default() })
    }

    /// The names of its commands, as far as they are known in advance.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        self.simple().filter_map(|words| words.first()?.literal())
    }

    /// The words of those commands of which all are known in advance.
    pub fn literal_commands(&self) -> impl Iterator<Item = Vec<String>> {
        self.simple().filter_map(|words| words.iter().map(Word::literal).collect())
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
        let is_own = |name: &str| builtins::BUILTINS.contains(&name) || self.functions().any(|own| own == name);
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

/// The flags, the script and the arguments of a command that is a shell's: `sh -ec SCRIPT`.
pub fn of_shell<'a>(words: &'a [&'a str]) -> Option<(&'a str, &'a str, &'a [&'a str])> {
    match words {
        [shell, flags, script, arguments @ ..] if is_shell(shell) => {
            let letters = flags.strip_prefix('-').filter(|letters| letters.bytes().all(|c| b"celux".contains(&c)))?;
            letters.contains('c').then_some((letters, *script, arguments))
        }
        _ => None,
    }
}

/// Whether a command is a shell that reads what it does, from whoever types or from a pipe: `sh`, `bash -l`.
pub fn reads_commands(words: &[String]) -> bool {
    let [shell, flags @ ..] = words else { return false };
    let is_flag = |word: &String| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        word == "--login" || (!letters.is_empty() && letters.bytes().all(|c| b"eilsux".contains(&c)))
    };
    is_shell(shell) && flags.iter().all(is_flag)
}

/// Whether a word starts a shell.
pub fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "ash"))
}

/// The name of a program that a word starts: an image has the usual ones in the usual places.
pub fn program(word: &str) -> &str {
    const PLACES: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];
    word.rsplit_once('/').filter(|(place, _)| PLACES.contains(place)).map_or(word, |(_, name)| name)
}

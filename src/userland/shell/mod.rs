//! The little of a shell that containers here understand.
//!
//! A script is read once ([`words`], [`parse`]) into a [`Program`]: operations one after another, in which a loop is a part
//! that is gone through again. A [`run::Shell`] goes through them as virtual time passes. It is plain data with a small stack,
//! so it is saved with the world, and it never calls itself, however deep a script is nested.
//!
//! Understood are lists (`;`, `&&`, `||`, `!`), pipes, groups and subshells, `if`, `while`, `until`, `for`, `case`, assignments,
//! functions, redirections, documents (`<<`, `<<<`), `$(…)`, `$((…))`, `${NAME}` and its changes, `[ … ]` and `[[ … ]]`, and of
//! a shell's builtins `break`, `cd`, `continue`, `exit`, `exec`, `export`, `local`, `read`, `return`, `set`, `shift`,
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
mod loops;
mod parse;
pub mod run;
mod signals;
mod sums;
pub(super) mod test;
mod words;

#[cfg(test)]
mod tests;

use words::{Stream, Word};

/// Scripts are nested no deeper than this.
const DEPTH_MAX: usize = 24;

/// A longer script is unsupported.
const SCRIPT_MAX: usize = 256 * 1024;

/// A script, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    ops: Vec<Op>,
    /// A shell runs it: else it is one command.
    is_shell: bool,
    /// The shell ends when a command fails: `sh -e`.
    stops_on_error: bool,
}

/// What is done next. Lengths count operations from the next one on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Op {
    /// Runs a command.
    Simple(Simple),
    /// Goes on after so many.
    Skip(usize),
    /// The same if the last command has ended well, or, with false, if it has not.
    SkipIf(bool, usize),
    /// `!`
    Not,
    /// A subshell begins, which is so long.
    Enter { length: usize, output: Kept, reads: bool },
    /// It ends.
    Leave,
    /// What comes before the next `Restore` reads what the subshell before it has printed.
    Input,
    /// The same is sent elsewhere.
    Redirect { values: usize, redirects: Vec<Redirect> },
    /// The end of that.
    Restore,
    /// A loop begins, which is so long.
    Loop { length: usize },
    /// The same of `for NAME in WORDS`.
    For { name: String, values: usize, words: Vec<Word>, length: usize },
    /// The next of a `for` loop's words, or its end.
    Each,
    /// The next round.
    Again,
    /// The end of a loop.
    Done,
    /// From now on this is the name of what follows, which is so long.
    Function { name: String, length: usize },
    /// The end of that: it goes on where it was called.
    Return,
    /// Goes on at the first arm that has a fitting pattern, or after so many.
    Case { values: usize, word: Word, arms: Vec<(Vec<Word>, usize)>, otherwise: usize },
    /// Nothing after this is understood.
    Unsupported,
}

/// Where the output of a subshell goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Where it goes anyway.
    Not,
    /// It is a value: `$(…)`.
    Value,
    /// The next command of a pipe reads it.
    Pipe,
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Simple {
    /// `NAME=VALUE` before it.
    assignments: Vec<(String, Word)>,
    /// `NAME=(VALUES)` before it.
    arrays: Vec<(String, Vec<Word>)>,
    words: Vec<Word>,
    redirects: Vec<Redirect>,
    /// How many `$(…)` its words have.
    values: usize,
    /// Somebody asks how it ends, so that `set -e` does not.
    is_asked: bool,
    /// It is in a loop that may have no end: nobody waits for it.
    is_background: bool,
    /// Between `[[` and `]]`.
    is_test: bool,
    /// Nobody waits for it, but `wait` does: `&`.
    is_job: bool,
}

/// Something is sent elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Redirect {
    Into { stream: Stream, append: bool, path: Word },
    Like { stream: Stream, other: Stream },
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

    /// Whether all of it is understood.
    pub fn is_understood(&self) -> bool {
        !self.ops.contains(&Op::Unsupported)
    }

    /// Whether it does nothing at all.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

impl Op {
    fn argument(at: usize, value: &str) -> Op {
        Op::Simple(Simple { assignments: vec![(at.to_string(), Word::quoted(value))], ..Simple::default() })
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

//! The operations that a script is read into.

use super::words::{Stream, Word};

/// What is done next. Lengths count operations from the next one on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
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
pub enum Kept {
    /// Where it goes anyway.
    Not,
    /// It is a value: `$(…)`.
    Value,
    /// The next command of a pipe reads it.
    Pipe,
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// `NAME=VALUE` before it.
    pub(super) assignments: Vec<(String, Word)>,
    /// `NAME=(VALUES)` before it.
    pub(super) arrays: Vec<(String, Vec<Word>)>,
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// How many `$(…)` its words have.
    pub(super) values: usize,
    /// Its exit code is tested, so that `set -e` ignores it.
    pub(super) is_asked: bool,
    /// It is in a loop that may have no end: no run waits for it.
    pub(super) is_background: bool,
    /// Between `[[` and `]]`.
    pub(super) is_test: bool,
    /// The shell does not wait for it until `wait`: `&`.
    pub(super) is_job: bool,
}

/// Something is sent elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    Into { stream: Stream, append: bool, path: Word },
    Like { stream: Stream, other: Stream },
}

impl Op {
    /// `$1` and its like, as an assignment.
    pub(super) fn argument(at: usize, value: &str) -> Op {
        Op::Simple(Simple { assignments: vec![(at.to_string(), Word::quoted(value))], ..Simple::default() })
    }
}

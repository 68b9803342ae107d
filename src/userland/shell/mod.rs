//! The little of a shell that containers here understand.
//!
//! `invoked` tells which commands are a shell's. A script is read once ([`words`], [`parse`]) into a [`Program`]: operations one after another, in which a loop is a part
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
//! Left out: all else of arrays, names of files that stand for others (`*`), `set -x`, jobs in the background except single
//! commands; such a job that ends does so at once. The members of a pipe run one after another. A script is
//! *unsupported* from the first statement on that has any of them: so is one that goes on for too long without letting time
//! pass, see [`run`].

pub mod builtins;
pub mod commands;
mod compound;
mod expand;
mod functions;
mod invoked;
pub mod limits;
mod loops;
mod ops;
mod parse;
pub mod run;
mod script;
mod signals;
mod sums;
pub mod test;
mod words;

#[cfg(test)]
mod tests;

pub use invoked::{BUILTINS, is_shell, of_shell, program, reads_commands};
pub use parse::is_open;
pub use script::Program;

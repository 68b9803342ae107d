//! What people and containers run: the shell and the programs of a small Linux, such as busybox has them.
//!
//! In Kubernetes all of this is inside images and belongs to them alone. Here no program is run: each is a function
//! from words, input and files to what it prints, with the real one's words, so that `kubectl exec web -- sh -c '…'` and the
//! commands of a manifest do what one expects. The modules, from those that need nothing to those that need a network:
//!
//! 1. [`ran`]: how a command has ended.
//! 2. [`text`]: programs that read lines and print lines: `grep`, `sed`, `sort` and what else stands in pipes.
//! 3. [`shell`]: scripts, read into operations, and the shell that goes through them as virtual time passes.
//! 4. [`clients`]: `curl`, `ping`, `nslookup`, `wget`, `nc`. They open sockets of the machine's kernel, and every packet
//!    is an event.
//! 5. [`programs`]: which programs there are, and which of them end; [`applets`]: busybox's.
//! 6. [`admin`]: what an administrator types who is logged in to a node.
//!
//! A program that needs to know more of its container (`ls`, `ps`, `env`) is the container runtime's, which has the files and
//! the processes.
//!
//! Must hold:
//! - For any input, a program or a script comes back or says how long it waits. Kept by `no_script_breaks_it` and
//!   `a_loop_without_a_pause_comes_to_an_end`.
//! - What is not understood is *unsupported* as a whole and never half done. Kept by `words_are_read_as_a_shell_reads_them`.
//!
//! Left out: real programs, options that a module does not list, interpreters such as `python`.

pub mod ran;

pub mod text;

pub mod shell;

pub mod applets;
pub mod clients;
pub mod programs;

pub mod admin;

pub use ran::Ran;

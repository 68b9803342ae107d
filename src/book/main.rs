//! The program with the course in it: all that `kubestep` does, see [`kubestep::cli`].

use std::process::ExitCode;

use kubestep::cli::{self, Additions};

fn main() -> ExitCode {
    cli::main(&Additions { course: Some(&kubestep_book::command::COURSE), ..Additions::default() })
}

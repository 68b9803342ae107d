//! The program's entry: one command line, see [`kubestep::cli`].

use std::process::ExitCode;

use kubestep::cli::{self, Additions};

fn main() -> ExitCode {
    cli::main(&Additions::default())
}

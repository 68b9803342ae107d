//! The program that real clients can reach: all that `kubestep` does, see [`kubestep::cli`].

use std::process::ExitCode;

use kubestep::cli::{self, Additions};

fn main() -> ExitCode {
    cli::main(&Additions { open: Some(kubestep_serve::command::open), ..Additions::default() })
}

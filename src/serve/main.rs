//! The program that real clients can reach: all that `kubestep` does, see [`kubestep::cli`].

use std::process::ExitCode;

use kubestep::cli::{self, Additions};

fn main() -> ExitCode {
    let (open, explore) = (kubestep_serve::command::open, kubestep_serve::explore::explore);
    cli::main(&Additions { open: Some(open), explore: Some(explore), ..Additions::default() })
}

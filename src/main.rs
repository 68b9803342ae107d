//! The program's entry: one command line, see [`kubestep::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    kubestep::cli::main(None)
}

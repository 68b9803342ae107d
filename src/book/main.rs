//! The program with the course in it: all that `kubestep` does, see [`kubestep::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    kubestep::cli::main(Some(&kubestep_book::command::COURSE))
}

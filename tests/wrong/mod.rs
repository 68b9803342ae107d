//! All wrong solutions as one program, see `tests/mutants`.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::project::built;

/// Built when it is first asked for. Where the test is optimised, so are the libraries of that program, and CI has built it
/// before: it answers in half the time.
pub static MUTANTS: LazyLock<PathBuf> = LazyLock::new(|| built("mutants", "mutants"));

//! How the program was started.

use std::path::PathBuf;

/// The program as it was started: by cargo, or by its name.
pub(super) fn started_as() -> String {
    if std::env::var_os("CARGO").is_some() {
        return "cargo run --".to_owned();
    }
    let name = std::env::args_os().next().map(PathBuf::from).unwrap_or_else(|| "kubestep".into());
    stepper::paths::quoted(&name)
}

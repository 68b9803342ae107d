//! What a test says that lacks something it needs.

use std::io::{self, Write as _};

/// Says it past the harness, which keeps to itself what is printed by tests that pass.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says what was missing.
pub fn skipped(needs: &str) {
    say(&format!("skipped: needs {needs}"));
}

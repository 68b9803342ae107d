//! The lines of code at which a component waits.

use std::panic::Location;
use std::path::{Path, PathBuf};

/// A few lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// `src/controllers/replicaset/mod.rs`.
    pub file: String,
    /// The line that waits.
    pub line: u32,
    /// Line numbers and texts; empty where the source is not at hand.
    pub lines: Vec<(u32, String)>,
}

/// The line at `location` with `around` lines before and after it.
pub fn excerpt(location: &Location<'_>, around: u32) -> Excerpt {
    let file = location.file().replace('\\', "/");
    let text = find(&file).and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let (from, to) = (location.line().saturating_sub(around).max(1), location.line() + around);
    let numbered = (1u32..).zip(text.lines());
    let lines = numbered.filter(|(n, _)| (from..=to).contains(n)).map(|(n, line)| (n, line.to_owned())).collect();
    Excerpt { file, line: location.line(), lines }
}

/// The file in the folder where the program was started, or else where it was built.
fn find(file: &str) -> Option<PathBuf> {
    let here = PathBuf::from(file);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    [here, built].into_iter().find(|path| path.is_file())
}

//! What has passed so far: `exercises/progress.yaml`, which is the learner's own and no part of the repository.
//!
//! An exercise is remembered by its name and by a digest of the file that passed. A file that was changed since counts
//! as passed until it is graded again; it is only said that it has changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Exercise, Verdict, shelf};
use crate::object::sha256;

/// What has passed: the name of an exercise, and the digest of the file that did.
pub type Passed = BTreeMap<String, String>;

/// Where it is kept.
pub fn path(root: &Path) -> PathBuf {
    root.join("exercises/progress.yaml")
}

/// What has passed. A file that cannot be read is none: grading makes it anew.
pub fn load(root: &Path) -> Passed {
    shelf::read(&path(root)).ok().and_then(|text| serde_yaml::from_str(&text).ok()).unwrap_or_default()
}

/// Remembers a verdict.
///
/// # Errors
/// That the file cannot be written.
pub fn remember(root: &Path, exercise: &Exercise, verdict: &Verdict) -> Result<(), String> {
    let mut passed = load(root);
    let changed = match verdict.passes() {
        true => passed.insert(exercise.name().to_owned(), digest(root, exercise)) != Some(digest(root, exercise)),
        false => passed.remove(exercise.name()).is_some(),
    };
    if !changed {
        return Ok(());
    }
    let text = serde_yaml::to_string(&passed).map_err(|error| error.to_string())?;
    shelf::write(&path(root), &text)
}

/// The digest of the learner's file; empty if there is none.
pub fn digest(root: &Path, exercise: &Exercise) -> String {
    let text = shelf::read(&shelf::file(root, exercise)).unwrap_or_default();
    sha256::hex(&text)
}

//! Builds the pages again when a file changes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use kubestep::cli::out;
use serde_json::json;

/// So often we look.
const PERIOD: Duration = Duration::from_millis(500);

/// Which build of the pages is there, and what was wrong with the last one.
#[derive(Debug, Default)]
pub struct Built(Mutex<(u64, Option<String>)>);

impl Built {
    /// What a page asks for from time to time.
    pub fn json(&self) -> String {
        let (number, error) = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        json!({"build": number, "error": error}).to_string()
    }

    fn set(&self, error: Option<String>) {
        let mut built = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Pages are loaded anew where there are new ones.
        built.0 += u64::from(error.is_none());
        built.1 = error;
    }
}

/// Folders, and what was in them when they were last looked at.
pub struct Watch {
    folders: Vec<PathBuf>,
    seen: Vec<File>,
}

/// A file with its time and length.
type File = (PathBuf, Option<SystemTime>, u64);

impl Watch {
    /// Looks at the folders for the first time. Every change from here on is noticed, also while the first pages are
    /// being built.
    pub fn over(folders: Vec<PathBuf>) -> Watch {
        let seen = look(&folders);
        Watch { folders, seen }
    }

    /// Looks again for ever, and calls `build` when a file has changed. A build that fails is told, and the pages stay as
    /// they were.
    pub fn start(mut self, built: Arc<Built>, build: impl Fn() -> anyhow::Result<()> + Send + 'static) {
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(PERIOD);
                if !self.has_changed() {
                    continue;
                }
                let error = build().err().map(|error| format!("{error:#}"));
                // A terminal that has gone is no reason to end.
                let _ = match &error {
                    None => writeln!(out::errors(), "built again"),
                    Some(error) => writeln!(out::errors(), "not built: {error}"),
                };
                built.set(error);
            }
        });
    }

    fn has_changed(&mut self) -> bool {
        let now = look(&self.folders);
        let before = std::mem::replace(&mut self.seen, now);
        before != self.seen
    }
}

fn look(folders: &[PathBuf]) -> Vec<File> {
    let mut found = Vec::new();
    for folder in folders {
        collect(folder, &mut found);
    }
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<File>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        match std::fs::metadata(&path) {
            Ok(data) if data.is_dir() => collect(&path, found),
            Ok(data) => found.push((path, data.modified().ok(), data.len())),
            Err(_) => {}
        }
    }
}

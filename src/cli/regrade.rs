//! `kubestep watch`: grades an exercise whenever its file is saved.
//!
//! It looks at the files a few times a second instead of asking the system to tell: some dozen small files cost nothing,
//! and that way it works in containers, on shared folders and with every editor, where such news often does not come.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;

use super::learn;
use crate::lab::{Exercise, TABLE, shelf};

/// How often it looks.
const LOOK: Duration = Duration::from_millis(300);

/// `watch [NAME]`: until somebody ends it.
pub fn command(name: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    shelf::hand_out(&root).map_err(|error| anyhow!(error))?;
    let watched: Vec<&Exercise> = match name {
        Some(name) => vec![Exercise::find(name).map_err(|error| anyhow!(error))?],
        None => TABLE.iter().collect(),
    };
    let mut texts = read(&root, &watched);
    match watched.as_slice() {
        [one] => drop(learn::grade_one(&root, one, out)?),
        all => writeln!(out, "Save one of the {} files exercises/*/src/lib.rs, and it is graded.", all.len())?,
    }
    loop {
        writeln!(out, "\n(looking for changes; Ctrl-C ends it)")?;
        out.flush()?;
        let now = change(&root, &watched, &texts);
        let changed = watched.iter().zip(texts.iter().zip(&now)).filter(|(_, (before, now))| before != now);
        for (exercise, _) in changed {
            writeln!(out)?;
            learn::grade_one(&root, exercise, out)?;
        }
        texts = now;
    }
}

/// Waits until a file has changed. One that is away for a moment, as some editors save, has not.
fn change(root: &Path, watched: &[&Exercise], before: &[String]) -> Vec<String> {
    loop {
        std::thread::sleep(LOOK);
        let now = read(root, watched);
        if now != before && now.iter().all(|text| !text.is_empty()) {
            return now;
        }
    }
}

fn read(root: &Path, watched: &[&Exercise]) -> Vec<String> {
    watched.iter().map(|exercise| shelf::read(&shelf::file(root, exercise)).unwrap_or_default()).collect()
}

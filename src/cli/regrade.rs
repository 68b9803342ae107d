//! `kubestep watch`: grades an exercise whenever its file is saved.
//!
//! It looks at the files a few times a second instead of asking the system to tell: some dozen small files cost nothing,
//! and that way it works in containers, on shared folders and with every editor, where such news often does not come.

use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use anyhow::anyhow;

use super::learn;
use lab::{Exercise, TABLE, progress, shelf, twin};

/// How often it looks.
const LOOK: Duration = Duration::from_millis(300);

/// `watch [NAME]`: until the user ends it. Once a verdict was waited for, the optimised twin is built beside it, if `builds`.
pub fn command(name: Option<&str>, builds: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    shelf::hand_out(&root).map_err(|error| anyhow!(error))?;
    let watched: Vec<&Exercise> = match name {
        Some(name) => vec![Exercise::find(name).map_err(|error| anyhow!(error))?],
        None => TABLE.iter().collect(),
    };
    let mut texts = read(&root, &watched);
    let mut build = Build::new(builds);
    match watched.as_slice() {
        [one] => grade(&root, one, &mut build, out)?,
        all => writeln!(out, "Save one of the {} files exercises/*/src/lib.rs, and it is graded.", all.len())?,
    }
    loop {
        writeln!(out, "\n(looking for changes; Ctrl-C ends it)")?;
        out.flush()?;
        let now = change(&root, &watched, &texts, &mut build, out)?;
        let changed = watched.iter().zip(texts.iter().zip(&now)).filter(|(_, (before, now))| before != now);
        for (exercise, _) in changed {
            writeln!(out)?;
            grade(&root, exercise, &mut build, out)?;
        }
        texts = now;
    }
}

fn grade(root: &Path, exercise: &Exercise, build: &mut Build, out: &mut dyn Write) -> anyhow::Result<()> {
    super::out::clear()?;
    writeln!(out, "{}: it is built and judged …", exercise.folder)?;
    out.flush()?;
    let (_, took) = learn::grade_one(root, exercise, out)?;
    let progress = progress::load(root);
    let passed = TABLE.iter().filter(|one| progress.get(one.name()).is_some_and(|record| record.passes())).count();
    writeln!(out, "{passed} of {} have passed.", TABLE.len())?;
    match learn::is_long(root, exercise, took) {
        true => build.begin(root, took, out),
        false => Ok(()),
    }
}

/// Waits until a file has changed. One that is away for a moment, as some editors save, has not.
fn change(
    root: &Path,
    watched: &[&Exercise],
    before: &[String],
    build: &mut Build,
    out: &mut dyn Write,
) -> anyhow::Result<Vec<String>> {
    loop {
        std::thread::sleep(LOOK);
        build.look(out)?;
        let now = read(root, watched);
        if now != before && now.iter().all(|text| !text.is_empty()) {
            return Ok(now);
        }
    }
}

fn read(root: &Path, watched: &[&Exercise]) -> Vec<String> {
    watched.iter().map(|exercise| shelf::read(&shelf::file(root, exercise)).unwrap_or_default()).collect()
}

/// The optimised twin, which is built once at most.
enum Build {
    /// No verdict has taken long yet.
    Open,
    UnderWay(Child),
    /// It is built, or cannot be, or is not wanted.
    Over,
}

impl Build {
    fn new(is_wanted: bool) -> Build {
        if is_wanted { Build::Open } else { Build::Over }
    }

    fn begin(&mut self, root: &Path, took: Duration, out: &mut dyn Write) -> anyhow::Result<()> {
        if !matches!(self, Build::Open) {
            return Ok(());
        }
        *self = match twin::build(root) {
            Ok(child) => {
                let took = took.as_secs();
                writeln!(
                    out,
                    "\nThat took {took} s. A faster judge is being built beside this, once, in some minutes."
                )?;
                Build::UnderWay(child)
            }
            Err(_) => Build::Over,
        };
        Ok(())
    }

    /// Says what came of it, once.
    fn look(&mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Build::UnderWay(child) = self else { return Ok(()) };
        let Ok(Some(status)) = child.try_wait() else { return Ok(()) };
        *self = Build::Over;
        match status.success() {
            true => writeln!(out, "The faster judge is built: verdicts come in half the time.")?,
            false => writeln!(out, "The faster judge could not be built. This says why: {}", twin::BUILD)?,
        }
        Ok(out.flush()?)
    }
}

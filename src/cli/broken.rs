//! The cases of "Broken: find out why" at a terminal: which there are, how far one has come, hints, and how they are graded.
//!
//! A solution is the lines that were typed, in `exercises/broken/NAME.txt`. A session at a terminal writes it there when
//! `solved` says yes; it can be written by hand as well. To grade it is to type it again, in a cluster that is just as broken.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use cluster::scenario::{Case, Scenario, Sight};
use debugger::Session;
use kubectl::workdir::Disk;
use lab::started::{named, started_as};
use lab::{progress, report, shelf};
use stepper::Stepper;
use stepper::case::explained;

use super::terminal::columns;

/// What came of grading a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There are no lines for it.
    NotStarted,
    /// They leave the cluster as it should be.
    Solved,
    /// They do not: what is still wrong, or which of them cannot be carried out.
    Wrong(String),
}

/// All cases, the easiest first.
pub fn all() -> Vec<Scenario> {
    Scenario::broken()
}

/// The case of this name.
pub(super) fn find(name: &str) -> Option<Scenario> {
    all().into_iter().find(|case| case.name == name)
}

/// What there is to say of a case.
fn case(scenario: &Scenario) -> Case {
    scenario.case.clone().unwrap_or_default()
}

/// The lines that solve it.
fn file(root: &Path, name: &str) -> PathBuf {
    root.join("exercises/broken").join(format!("{name}.txt"))
}

/// Keeps the lines that have solved a case, and that they have. What is to be said of that.
///
/// # Errors
/// A file cannot be written.
pub(super) fn keep(name: &str, lines: &str) -> Result<String, String> {
    // Elsewhere there is no learner whose progress is to be kept.
    let Ok(root) = shelf::root() else { return Ok(String::new()) };
    let file = file(&root, name);
    shelf::write(&file, lines)?;
    progress::remember_case(&root, name, lines, true)?;
    let shown = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
    Ok(format!("\nYour lines are in {shown}; {} learn shows what is next.\n", started_as()))
}

/// Types the lines that are kept for a case, and remembers what came of it.
///
/// # Errors
/// A file cannot be read or written.
pub fn grade(root: &Path, scenario: &Scenario) -> Result<Verdict, String> {
    let file = file(root, &scenario.name);
    if !file.exists() {
        return Ok(Verdict::NotStarted);
    }
    let lines = shelf::read(&file)?;
    let verdict = judge(root, scenario, &lines);
    progress::remember_case(root, &scenario.name, &lines, verdict == Verdict::Solved)?;
    Ok(verdict)
}

/// What lines make of a case. Files that they name are looked for in the project's folder.
pub fn judge(root: &Path, scenario: &Scenario, lines: &str) -> Verdict {
    let (folder, sight) = (Some(root.to_owned()), Sight(Disk::Whole));
    let session = Session::of(Scenario { folder, sight, ..scenario.clone() });
    match Stepper::new(session, false).repair(lines) {
        Ok(None) => Verdict::Solved,
        Ok(Some(wrong)) | Err(wrong) => Verdict::Wrong(wrong),
    }
}

/// A verdict in words, as a test's result; what is wrong stands below.
pub fn shown(verdict: &Verdict) -> String {
    match verdict {
        Verdict::NotStarted => "ignored, not started\n".to_owned(),
        Verdict::Solved => "ok, the cluster is right\n".to_owned(),
        Verdict::Wrong(wrong) => {
            let wrong: String = wrong.lines().map(|line| format!("  {line}\n")).collect();
            format!("FAILED: the cluster is not right\n{wrong}")
        }
    }
}

/// All cases with their marks, as wide as a terminal of 80 columns.
pub(super) fn table(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let (all, program) = (all(), started_as());
    let is_solved = |case: &&Scenario| progress::case(root, &case.name).is_some_and(|record| record.passes());
    let next = all.iter().find(|case| !is_solved(case));
    let how = next.map_or("all are solved".to_owned(), |next| format!("{program} step {}", next.name));
    writeln!(out, "Broken: find out why. No Rust is needed: {how}")?;
    let widest = |text: fn(&Scenario) -> &str| all.iter().map(|one| text(one).chars().count()).max().unwrap_or(0);
    let (name, title) = (widest(|one| &one.name), widest(|one| &one.title));
    for scenario in &all {
        let mark = match () {
            () if is_solved(&scenario) => "✓",
            () if file(root, &scenario.name).exists() => "▸",
            () => " ",
        };
        let minutes = case(scenario).minutes;
        writeln!(out, "{mark} {:<name$} {:<title$} {minutes:>3} min", scenario.name, scenario.title)?;
    }
    Ok(())
}

/// `hint CASE N`.
pub(super) fn hint(scenario: &Scenario, number: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    let (hints, program) = (case(scenario).hints, started_as());
    let hint = hints.get(number.wrapping_sub(1));
    let hint = hint.ok_or_else(|| anyhow!("there are hints 1 to {}", hints.len()))?;
    write!(out, "{}", report::in_terminal(&format!("hint {number} of {}: {}\n", hints.len(), named(hint))))?;
    match number < hints.len() {
        true => writeln!(out, "more: {program} hint {} {}", scenario.name, number + 1)?,
        false => writeln!(out, "the answer: {program} solution {}", scenario.name)?,
    }
    Ok(())
}

/// `solution CASE`.
pub(super) fn solution(scenario: &Scenario, out: &mut dyn Write) -> anyhow::Result<()> {
    Ok(write!(out, "{}", explained(&case(scenario), columns()))?)
}

//! `kubestep learn` and what goes with it: where a learner stands, verdicts, hints, answers.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::lab::twin::{self, Twin};
use crate::lab::{Exercise, TABLE, Verdict, process, progress, report, seal, shelf};

/// A verdict that takes longer is one that somebody waits for.
const LONG: Duration = Duration::from_secs(3);

/// `learn`: where am I, what is next. Builds nothing. `--until NAME`: the answers before that one are handed out.
pub fn learn(until: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    shelf::hand_out(&root).map_err(|error| anyhow!(error))?;
    if let Some(until) = until {
        let exercise = Exercise::find(until).map_err(|error| anyhow!(error))?;
        let count = progress::give(&root, exercise).map_err(|error| anyhow!(error))?;
        writeln!(out, "The answers of {count} exercises before {} are handed out.\n", exercise.folder)?;
    }
    let progress = progress::load(&root);
    let mut next = None;
    for exercise in TABLE {
        let state = match progress.get(exercise.name()).filter(|record| record.passes()) {
            Some(record) if record.digest != progress::digest(&root, exercise) => "passed, and changed since",
            Some(record) if record.is_given() => "handed out",
            Some(_) => "passed",
            None => {
                next = next.or(Some(exercise));
                if shelf::is_started(&root, exercise).map_err(|error| anyhow!(error))? { "started" } else { "" }
            }
        };
        writeln!(out, "{:<14} {:<44} {:>3} min  {state}", exercise.folder, exercise.title, exercise.minutes)?;
    }
    left_behind(&root, out)?;
    let Some(exercise) = next else {
        writeln!(out, "\nAll {} have passed.", TABLE.len())?;
        return Ok(());
    };
    let file = shelf::file(&root, exercise);
    writeln!(out, "\nNext: {}\nAfter it you can {}.", exercise.title, exercise.outcome)?;
    writeln!(out, "  edit    {}", file.strip_prefix(&root).unwrap_or(&file).display())?;
    writeln!(out, "  grade   cargo run -- grade {}", exercise.name())?;
    writeln!(out, "  stuck?  cargo run -- hint {}", exercise.name())?;
    Ok(())
}

/// Says what of a learner's is of no exercise that there is now.
fn left_behind(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    for (folder, _) in shelf::left_over(root) {
        writeln!(out, "exercises/{folder} is no exercise any more. Your file in it stays; delete it when you like.")?;
    }
    for note in progress::notes(root) {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// `grade [NAME]`: one verdict, in full; all that are started without a name. An error if any fails.
pub fn grade(name: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    shelf::hand_out(&root).map_err(|error| anyhow!(error))?;
    let chosen: Vec<&Exercise> = match name {
        Some(name) => vec![Exercise::find(name).map_err(|error| anyhow!(error))?],
        None => TABLE.iter().collect(),
    };
    let mut failed = Vec::new();
    for exercise in chosen {
        let verdict = grade_one(&root, exercise, out)?;
        if !verdict.passes() && (name.is_some() || verdict != Verdict::NotStarted) {
            failed.push(exercise.name());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(anyhow!("not yet: {}", failed.join(", "))) }
}

/// Grades one, says what came of it and remembers it.
#[allow(clippy::disallowed_methods, reason = "whoever waits long is told what would be faster")]
pub(super) fn grade_one(root: &Path, exercise: &Exercise, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let start = Instant::now();
    let verdict = process::grade(root, exercise);
    // Before it is shown: whoever has seen it may end the program.
    progress::remember(root, exercise, &verdict).map_err(|error| anyhow!(error))?;
    write!(out, "{}", report::shown(root, exercise, &verdict))?;
    if verdict.passes()
        && let [first, rest @ ..] = seal::changed(root).as_slice()
    {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        writeln!(out, "  note: what judged this is not what was shipped: {first}{more} changed since the commit")?;
    }
    if start.elapsed() > LONG && std::io::stderr().is_terminal() && !matches!(twin::find(root), Twin::Ready(_)) {
        let took = start.elapsed().as_secs();
        eprintln!("That took {took} s. It takes half of that after some minutes of building, once: {}", twin::BUILD);
    }
    Ok(verdict)
}

/// `judge NAME PROGRAM`: the verdict as JSON.
pub fn judge(name: &str, program: &[String], out: &mut dyn Write) -> anyhow::Result<()> {
    let exercise = Exercise::find(name).map_err(|error| anyhow!(error))?;
    let words: Vec<&str> = program.iter().map(String::as_str).collect();
    let (program, arguments) = words.split_first().context("say which program")?;
    let verdict = process::grade_program(Path::new(program), arguments, exercise);
    writeln!(out, "{}", serde_json::to_string(&verdict)?)?;
    Ok(())
}

/// `hint NAME [N]`: one hint of the ladder.
pub fn hint(name: &str, number: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    let exercise = Exercise::find(name).map_err(|error| anyhow!(error))?;
    let hint = exercise.hints.get(number.wrapping_sub(1));
    let hint = hint.ok_or_else(|| anyhow!("there are hints 1 to {}", exercise.hints.len()))?;
    write!(out, "{}", report::in_terminal(&format!("hint {number} of {}: {hint}\n", exercise.hints.len())))?;
    match number < exercise.hints.len() {
        true => writeln!(out, "more: cargo run -- hint {} {}", exercise.name(), number + 1)?,
        false => writeln!(out, "the answer: cargo run -- solution {}", exercise.name())?,
    }
    Ok(())
}

/// `solution NAME`: the answer.
pub fn solution(name: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let exercise = Exercise::find(name).map_err(|error| anyhow!(error))?;
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    let text = shelf::read(&shelf::solution(&root, exercise)).map_err(|error| anyhow!(error))?;
    let (_, answer) = text.split_once(shelf::MARK).unwrap_or(("", &text));
    writeln!(out, "{}", answer.trim())?;
    Ok(())
}

/// `reset NAME`: the file as it was handed out; what was there is kept.
pub fn reset(name: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let exercise = Exercise::find(name).map_err(|error| anyhow!(error))?;
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    shelf::hand_out(&root).map_err(|error| anyhow!(error))?;
    let kept = shelf::reset(&root, exercise).map_err(|error| anyhow!(error))?;
    let kept = kept.strip_prefix(&root).unwrap_or(&kept).display();
    writeln!(out, "{} is as it was handed out. What was there is kept in {kept}.", exercise.folder)?;
    Ok(())
}

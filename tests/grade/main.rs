//! Grades the exercises, and the cases of "Broken: find out why": `cargo test`, or `cargo test --test grade [NAME]` and nothing
//! else. One that is not started is ignored.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use kubestep::cli::{broken, out};
use lab::{Exercise, TABLE, Verdict, process, progress, report, shelf};

fn main() -> ExitCode {
    // A reader that leaves has seen enough.
    grade(&mut out::text()).unwrap_or(ExitCode::FAILURE)
}

/// Grades, and says what came of it: what a learner's code prints is in that, and no command to the terminal.
fn grade(out: &mut dyn Write) -> io::Result<ExitCode> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let words: Vec<_> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        for exercise in TABLE {
            writeln!(out, "{}: test", exercise.folder)?;
        }
        for case in broken::all() {
            writeln!(out, "{}: test", case.name)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Err(error) = shelf::hand_out(root) {
        writeln!(out, "{error}")?;
        return Ok(ExitCode::FAILURE);
    }
    let wanted: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |one: &&Exercise| wanted.is_empty() || wanted.iter().any(|word| one.folder.contains(*word));
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    let is_wanted_case = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(*word));
    for case in broken::all().iter().filter(|case| is_wanted_case(&case.name)) {
        let verdict = broken::grade(root, case).unwrap_or_else(broken::Verdict::Wrong);
        match verdict {
            broken::Verdict::NotStarted => ignored += 1,
            broken::Verdict::Solved => passed += 1,
            broken::Verdict::Wrong(_) => failed += 1,
        }
        write!(out, "case {} ... {}", case.name, broken::shown(&verdict))?;
        out.flush()?;
    }
    for exercise in TABLE.iter().filter(is_wanted) {
        match progress::begin(root, exercise) {
            Ok(None) => {}
            Ok(Some(note)) | Err(note) => writeln!(out, "note: {note}")?,
        }
        let verdict = process::grade(root, exercise);
        match &verdict {
            Verdict::NotStarted => ignored += 1,
            verdict if verdict.passes() => passed += 1,
            _ => failed += 1,
        }
        match verdict == Verdict::NotStarted || verdict.passes() {
            true => writeln!(out, "exercise {} ... {}", exercise.folder, report::line(exercise, &verdict))?,
            false => write!(out, "exercise {}", report::shown(root, exercise, &verdict))?,
        }
        if let Err(error) = progress::remember(root, exercise, &verdict) {
            writeln!(out, "{error}")?;
        }
        for remark in progress::remarks(root, exercise) {
            writeln!(out, "  note: {remark}")?;
        }
        out.flush()?;
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    writeln!(out, "\ncases and exercises: {result}. {passed} passed; {failed} failed; {ignored} not started")?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

//! Grades the exercises: `cargo test`, or `cargo test --test grade [NAME]` and nothing else. One that is not started is
//! ignored.

use std::path::Path;
use std::process::ExitCode;

use lab::{Exercise, TABLE, Verdict, process, progress, report, shelf};

fn main() -> ExitCode {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let words: Vec<_> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        TABLE.iter().for_each(|exercise| println!("{}: test", exercise.folder));
        return ExitCode::SUCCESS;
    }
    if let Err(error) = shelf::hand_out(root) {
        println!("{error}");
        return ExitCode::FAILURE;
    }
    let wanted: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |one: &&Exercise| wanted.is_empty() || wanted.iter().any(|word| one.folder.contains(*word));
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for exercise in TABLE.iter().filter(is_wanted) {
        match progress::begin(root, exercise) {
            Ok(None) => {}
            Ok(Some(note)) | Err(note) => println!("note: {note}"),
        }
        let verdict = process::grade(root, exercise);
        match &verdict {
            Verdict::NotStarted => ignored += 1,
            verdict if verdict.passes() => passed += 1,
            _ => failed += 1,
        }
        match verdict == Verdict::NotStarted || verdict.passes() {
            true => println!("exercise {} ... {}", exercise.folder, report::line(exercise, &verdict)),
            false => print!("exercise {}", report::shown(root, exercise, &verdict)),
        }
        if let Err(error) = progress::remember(root, exercise, &verdict) {
            println!("{error}");
        }
        progress::remarks(root, exercise).iter().for_each(|remark| println!("  note: {remark}"));
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\nexercises: {result}. {passed} passed; {failed} failed; {ignored} not started");
    ExitCode::from(u8::from(failed > 0))
}

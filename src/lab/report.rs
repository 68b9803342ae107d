//! A verdict in words: what the tests and the terminal both say.

use std::fmt::Write;
use std::path::Path;

use console::Term;

use super::started::{named, started_as};
use super::{Exercise, Failure, Verdict, shelf, words};

/// No line has more columns, however wide the terminal.
const WIDEST: usize = 100;
/// A blank at which no line is broken.
const BOUND: &str = "\u{a0}";

/// A verdict in one line, as a test's result.
pub fn line(exercise: &Exercise, verdict: &Verdict) -> String {
    match verdict {
        Verdict::NotStarted => "ignored, not started".to_owned(),
        Verdict::NotBuilt(_) => "FAILED: cargo fails before it comes to this file".to_owned(),
        Verdict::DoesNotCompile(_) => "FAILED: it does not compile".to_owned(),
        Verdict::Stopped(how) | Verdict::TooSlow(how) => format!("FAILED: {}", how.lines().next().unwrap_or_default()),
        Verdict::Fails(failure) => format!("FAILED: {}", failure.property),
        Verdict::Passes(checks) => format!("ok, 0 of all {checks} {} break it", exercise.judging.unit()),
    }
}

/// All there is to say: the property, the smallest case, the probable mistake, a hint and what to do next.
pub fn full(root: &Path, exercise: &Exercise, verdict: &Verdict) -> String {
    let file = shelf::file(root, exercise);
    let file = file.strip_prefix(root).unwrap_or(&file).display().to_string();
    let mut text = format!("{} {}: {}\n", exercise.folder, exercise.title, line(exercise, verdict));
    match verdict {
        Verdict::NotStarted => {
            next(&mut text, &format!("{} in {file}", to_write(root, exercise)));
            types(&mut text, exercise);
        }
        Verdict::NotBuilt(words) => {
            text += &indented(words.trim_end());
            next(&mut text, &format!("mend that; {} doctor checks the toolchain", started_as()));
        }
        Verdict::DoesNotCompile(words) => {
            text += &indented(words.trim_end());
            if words.contains("src/main.rs") {
                text += "  main.rs is not yours: it calls what stub.rs has, under that name and with that signature.\n";
            }
            next(&mut text, &format!("mend {file}"));
            types(&mut text, exercise);
        }
        Verdict::Stopped(how) | Verdict::TooSlow(how) => {
            // The first line is said already.
            text += &indented(how.split_once('\n').map_or("", |(_, rest)| rest));
            next(&mut text, &format!("mend {file}"));
        }
        Verdict::Fails(failure) => {
            text += &fails(failure);
            if let Some(replay) = &failure.replay {
                let run = shelf::run(root, exercise);
                let run = run.strip_prefix(root).unwrap_or(&run).display();
                text += &format!("  see it: {} step --replay {run} --at {}\n", started_as(), replay.step);
            }
            text += &format!("  hint 1 of 3: {}\n", named(exercise.hints[0]));
            text += &format!("  hint 2 of 3: {} hint {} 2\n", started_as(), exercise.name());
            next(&mut text, &format!("mend {file}"));
        }
        Verdict::Passes(_) => {}
    }
    text
}

/// The same, as wide as the terminal is. What rustc draws stays as it is.
pub fn shown(root: &Path, exercise: &Exercise, verdict: &Verdict) -> String {
    let text = full(root, exercise, verdict);
    if matches!(verdict, Verdict::NotBuilt(_) | Verdict::DoesNotCompile(_)) { text } else { in_terminal(&text) }
}

/// A text as wide as the terminal is, and not wider than one can read.
pub fn in_terminal(text: &str) -> String {
    let columns = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns).min(WIDEST));
    columns.map_or_else(|| text.to_owned(), |columns| laid_out(text, columns))
}

/// A line that ends with something to copy stays as it is. What stands between backticks stays together.
fn laid_out(text: &str, columns: usize) -> String {
    let program = started_as();
    let line = |line: &str| {
        let parts: Vec<&str> = line.split('`').collect();
        if parts.iter().step_by(2).any(|plain| plain.contains(&program)) {
            return format!("{line}\n");
        }
        let bound = parts.iter().enumerate().map(|(n, part)| match n % 2 {
            1 => part.replace(' ', BOUND),
            _ => (*part).to_owned(),
        });
        words::fitting(&bound.collect::<Vec<_>>().join("`"), columns).replace(BOUND, " ")
    };
    text.lines().map(line).collect()
}

/// What is to be done with a file that is not started.
fn to_write(root: &Path, exercise: &Exercise) -> String {
    let open = |text: Result<String, String>| text.map_or(1, |text| shelf::left_open(&text));
    match open(shelf::stub(root, exercise)) {
        0 | 1 => "write the function".to_owned(),
        all => {
            let left = open(shelf::read(&shelf::file(root, exercise)));
            format!("put something in the place of each not_started() ({left} of {all} are left)")
        }
    }
}

fn fails(failure: &Failure) -> String {
    let mut text = indented(&failure.case);
    if let Some(mistake) = &failure.mistake {
        let _ = writeln!(text, "  perhaps: {mistake}");
    }
    text
}

fn next(text: &mut String, what: &str) {
    let _ = writeln!(text, "  next: {what}");
}

/// A learner who has not compiled anything yet may not know which types there are to write with.
fn types(text: &mut String, exercise: &Exercise) {
    let _ = writeln!(text, "  types: {}", exercise.types());
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_in_no_command() {
        let hint = "  hint 1: `cargo run -- step pod`, then `tour`, again and again: it stops where it matters\n";
        let shown = "  hint 1:\n    `cargo run -- step pod`,\n    then `tour`, again and\n    again: it stops where it\n    matters\n";
        assert_eq!(laid_out(hint, 32), shown);
        let command = "  see it: cargo run -- step --replay exercises/06_replicaset/failing.kubestep --at 227\n";
        assert_eq!(laid_out(command, 40), command);
    }
}

//! `kubestep learn` and what goes with it: where a learner stands, verdicts, hints, answers.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use cluster::scenario::Scenario;
use lab::started::{named, started_as};
use lab::twin::{self, Twin};
use lab::{Exercise, Judging, TABLE, Verdict, process, progress, report, shelf};

use super::broken;

/// A verdict that takes longer keeps a learner waiting.
const LONG: Duration = Duration::from_secs(3);
/// Where the book's chapters are.
const CHAPTERS: &str = "book/src";

/// `learn`: where am I, what is next. Builds nothing. `--until NAME`: the answers before that one are handed out.
pub fn learn(until: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    shelf::hand_out(&root).map_err(|error| anyhow!(error))?;
    if let Some(until) = until {
        let exercise = Exercise::find(until).map_err(|error| anyhow!(error))?;
        let count = progress::give(&root, exercise).map_err(|error| anyhow!(error))?;
        writeln!(out, "The answers of {count} exercises before {} are handed out.\n", exercise.folder)?;
    }
    broken::table(&root, out)?;
    writeln!(out, "\nExercises in Rust, in the order of the book:")?;
    table(&root, out)?;
    left_behind(&root, out)?;
    let Some(exercise) = next(&root) else {
        writeln!(out, "\nAll {} have passed.", TABLE.len())?;
        return Ok(());
    };
    let (file, program) = (shelf::file(&root, exercise), started_as());
    let outcome = report::in_terminal(&format!("After it you can {}.\n", exercise.outcome));
    write!(out, "\nNext: {}\n{outcome}", exercise.title)?;
    if let Some(chapter) = chapter(&root, exercise) {
        writeln!(out, "  read    {CHAPTERS}/{chapter}, or in a browser: {program} book")?;
    }
    writeln!(out, "  edit    {}", file.strip_prefix(&root).unwrap_or(&file).display())?;
    writeln!(out, "  types   {}", exercise.types())?;
    writeln!(out, "  grade   {program} grade {}, or all that you have started: cargo test", exercise.name())?;
    writeln!(out, "  stuck?  {program} hint {}", exercise.name())?;
    Ok(())
}

/// How far one has come with an exercise: a mark, and what it means.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State(&'static str, &'static str);

const OPEN: State = State(" ", "");
const STARTED: State = State("▸", "started");
const PASSED: State = State("✓", "passed");
const CHANGED: State = State("~", "passed, and changed since");
const GIVEN: State = State("=", "handed out");

/// All exercises with their marks, as wide as a terminal of 80 columns, and what the marks mean that are there.
fn table(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let progress = progress::load(root);
    let mut states = Vec::new();
    for exercise in TABLE {
        states.push(match progress.get(exercise.name()).filter(|record| record.passes()) {
            Some(record) if record.digest != progress::digest(root, exercise) => CHANGED,
            Some(record) if record.is_given() => GIVEN,
            Some(_) => PASSED,
            None if shelf::is_started(root, exercise).map_err(|error| anyhow!(error))? => STARTED,
            None => OPEN,
        });
    }
    let widest = |text: fn(&Exercise) -> &'static str| TABLE.iter().map(|one| text(one).chars().count()).max();
    let (folder, title) = (widest(|one| one.folder).unwrap_or(0), widest(|one| one.title).unwrap_or(0));
    for (exercise, State(mark, _)) in TABLE.iter().zip(&states) {
        let minutes = exercise.minutes;
        writeln!(out, "{mark} {:<folder$} {:<title$} {minutes:>3} min", exercise.folder, exercise.title)?;
    }
    let there = [STARTED, PASSED, CHANGED, GIVEN].into_iter().filter(|state| states.contains(state));
    let legend: Vec<String> = there.map(|State(mark, words)| format!("{mark} {words}")).collect();
    if !legend.is_empty() {
        writeln!(out, "{}", legend.join("   "))?;
    }
    Ok(())
}

/// The first exercise that has not passed.
fn next(root: &Path) -> Option<&'static Exercise> {
    let progress = progress::load(root);
    TABLE.iter().find(|exercise| !progress.get(exercise.name()).is_some_and(progress::Record::passes))
}

/// The file of the chapter that ends with an exercise. The book says which that is; none if it is not there.
fn chapter(root: &Path, exercise: &Exercise) -> Option<String> {
    let block = format!("```exercise {}\n", exercise.name());
    let files = std::fs::read_dir(root.join(CHAPTERS)).ok()?.flatten();
    let mut holding = files.filter(|file| std::fs::read_to_string(file.path()).is_ok_and(|text| text.contains(&block)));
    Some(holding.next()?.file_name().to_string_lossy().into_owned())
}

/// Says what of a learner's is of no exercise that there is now.
fn left_behind(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    for (folder, _) in shelf::left_over(root) {
        writeln!(out, "exercises/{folder} is no longer an exercise. Your file in it stays; delete it when you like.")?;
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
    let cases = broken::all();
    if let Some(case) = cases.iter().find(|case| name == Some(&case.name)) {
        let solved = grade_case(&root, case, out)? == broken::Verdict::Solved;
        return if solved { Ok(()) } else { Err(anyhow!("not solved yet: {}", case.name)) };
    }
    let chosen: Vec<&Exercise> = match name {
        Some(name) => vec![Exercise::find(name).map_err(|error| anyhow!(error))?],
        None => TABLE.iter().collect(),
    };
    let mut failed = Vec::new();
    for exercise in chosen {
        let (verdict, took) = grade_one(&root, exercise, out)?;
        if is_long(&root, exercise, took) && std::io::stderr().is_terminal() {
            let took = took.as_secs();
            let once = format!("It takes half of that after some minutes of building, once: {}", twin::BUILD);
            writeln!(super::out::errors(), "That took {took} s. {once}")?;
        }
        if !verdict.passes() && (name.is_some() || verdict != Verdict::NotStarted) {
            failed.push(exercise.name().to_owned());
        }
    }
    for case in cases.iter().filter(|_| name.is_none()) {
        if matches!(grade_case(&root, case, out)?, broken::Verdict::Wrong(_)) {
            failed.push(case.name.clone());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(anyhow!("not passed yet: {}", failed.join(", "))) }
}

/// Grades a case, and says what came of it.
fn grade_case(root: &Path, case: &Scenario, out: &mut dyn Write) -> anyhow::Result<broken::Verdict> {
    let verdict = broken::grade(root, case).map_err(|error| anyhow!(error))?;
    let (name, title) = (&case.name, &case.title);
    write!(out, "{}", report::in_terminal(&format!("{name} {title}: {}", broken::shown(&verdict))))?;
    if verdict == broken::Verdict::NotStarted {
        writeln!(out, "  next: {} step {name}", started_as())?;
    }
    Ok(verdict)
}

/// Grades one, says what came of it and remembers it. Also how long that took.
#[allow(clippy::disallowed_methods, reason = "a learner who waits long is told what would be faster")]
pub(super) fn grade_one(root: &Path, exercise: &Exercise, out: &mut dyn Write) -> anyhow::Result<(Verdict, Duration)> {
    let start = Instant::now();
    if let Some(ended) = progress::begin(root, exercise).map_err(|error| anyhow!(error))? {
        writeln!(out, "note: {ended}")?;
        out.flush()?;
    }
    let verdict = process::grade(root, exercise);
    // Before it is shown: a learner who has seen it may end the program.
    progress::remember(root, exercise, &verdict).map_err(|error| anyhow!(error))?;
    write!(out, "{}", report::shown(root, exercise, &verdict))?;
    for remark in progress::remarks(root, exercise) {
        writeln!(out, "  note: {remark}")?;
    }
    if verdict.passes() {
        let program = started_as();
        match next(root) {
            Some(next) => writeln!(out, "  next: {} {}: {program} learn", next.folder, next.title)?,
            None => writeln!(out, "  All {} have passed.", TABLE.len())?,
        }
    }
    Ok((verdict, start.elapsed()))
}

/// Whether a verdict that took so long would come sooner from the optimised twin, which is not there.
pub(super) fn is_long(root: &Path, exercise: &Exercise, took: Duration) -> bool {
    let is_judged_long = took > LONG && matches!(exercise.judging, Judging::Controller(_));
    is_judged_long && !matches!(twin::find(root), Twin::Ready(_))
}

/// `judge NAME PROGRAM`: the verdict as JSON, behind a word that stands on standard input.
pub fn judge(name: &str, program: &[String], out: &mut dyn Write) -> anyhow::Result<()> {
    let exercise = Exercise::find(name).map_err(|error| anyhow!(error))?;
    let words: Vec<&str> = program.iter().map(String::as_str).collect();
    let (program, arguments) = words.split_first().context("say which program")?;
    let mut word = String::new();
    std::io::stdin().read_line(&mut word)?;
    let verdict = process::grade_program(Path::new(program), arguments, exercise);
    twin::say(out, word.trim_end(), &verdict)?;
    Ok(())
}

/// `hint [NAME] [N]`: one hint of the ladder. Without a name it is for the exercise that is next.
pub fn hint(name: Option<&str>, number: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    if let Some(case) = name.and_then(broken::find) {
        return broken::hint(&case, number, out);
    }
    let exercise = match name {
        Some(name) => Exercise::find(name).map_err(|error| anyhow!(error))?,
        None => {
            let root = shelf::root().map_err(|error| anyhow!(error))?;
            let say = || format!("all exercises have passed; say for which: {} hint replicaset", started_as());
            let next = next(&root).with_context(say)?;
            writeln!(out, "{} {}", next.folder, next.title)?;
            next
        }
    };
    let hint = exercise.hints.get(number.wrapping_sub(1));
    let hint = hint.ok_or_else(|| anyhow!("there are hints 1 to {}", exercise.hints.len()))?;
    write!(out, "{}", report::in_terminal(&format!("hint {number} of {}: {}\n", exercise.hints.len(), named(hint))))?;
    let program = started_as();
    match number < exercise.hints.len() {
        true => writeln!(out, "more: {program} hint {} {}", exercise.name(), number + 1)?,
        false => writeln!(out, "the answer: {program} solution {}", exercise.name())?,
    }
    Ok(())
}

/// `solution NAME`: the answer.
pub fn solution(name: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    if let Some(case) = broken::find(name) {
        return broken::solution(&case, out);
    }
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
    writeln!(out, "{} is as it was handed out. Your file is kept in {kept}.", exercise.folder)?;
    Ok(())
}

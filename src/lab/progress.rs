//! What has passed so far: `exercises/progress.yaml`, which is the learner's own and no part of the repository.
//!
//! An exercise is remembered by its name and by a digest of the file that passed. A file that was changed since counts
//! as passed until it is graded again; it is only said that it has changed.
//!
//! An [`Export`] is the same with a learner's name, so that the teacher of a class can put many into one table: files that
//! are handed over somehow, and no server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{Exercise, TABLE, Verdict, family, seal, shelf, shipped};
use object::{nesting, sha256};

/// What is remembered, by the names of exercises.
pub type Progress = BTreeMap<String, Record>;

/// What is remembered of one exercise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The digest of the file that passed; empty: none has.
    pub digest: String,
    /// How often it was graded until it passed for the first time; 0 of one that passed: its answer was handed out.
    pub attempts: u32,
    /// When it was graded first, in seconds since 1970.
    pub begun: u64,
    /// When it passed first, in seconds since 1970; 0: not yet.
    pub passed: u64,
    /// What judged it was not what was shipped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_changed_grader: bool,
    /// What passed is an answer that was shipped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_shipped: bool,
    /// How often the grader was ended before it had a verdict.
    #[serde(skip_serializing_if = "is_none")]
    pub broken_off: u32,
    /// The process that grades it now; 0: none.
    #[serde(skip_serializing_if = "is_none")]
    pub grader: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Record {
    /// Whether the file passed when it was graded last.
    pub fn passes(&self) -> bool {
        !self.digest.is_empty()
    }

    /// Whether its answer was handed out.
    pub fn is_given(&self) -> bool {
        self.passes() && self.attempts == 0
    }

    /// How long it took from the first grading to the first that passed, in whole minutes.
    pub fn minutes(&self) -> Option<u64> {
        (self.passed > 0).then(|| self.passed.saturating_sub(self.begun).div_ceil(60))
    }

    fn judged(&mut self, verdict: &Verdict, digest: String, now: u64) {
        if self.attempts == 0 {
            self.begun = now;
        }
        if self.passed == 0 {
            self.attempts += 1;
        }
        self.digest = if verdict.passes() { digest } else { String::new() };
        if verdict.passes() && self.passed == 0 {
            self.passed = now;
        }
    }
}

/// One learner's progress, to be handed to a teacher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Whose it is.
    pub name: String,
    /// What is remembered.
    pub exercises: Progress,
}

/// Where it is kept.
pub fn path(root: &Path) -> PathBuf {
    root.join("exercises/progress.yaml")
}

/// What is remembered, as far as it can be read. [`notes`] says what cannot.
pub fn load(root: &Path) -> Progress {
    shelf::read(&path(root)).map_or_else(|_| Progress::new(), |text| understood(&text).0)
}

/// What the text of a progress file says, and what is wrong with the rest of it.
fn understood(text: &str) -> (Progress, Vec<String>) {
    if text.trim().is_empty() {
        return Default::default();
    }
    let (mut progress, mut wrong) = (Progress::new(), Vec::new());
    let records = nesting::check(text).and_then(|()| serde_yaml::from_str(text).map_err(|error| error.to_string()));
    match records {
        Err(error) => wrong.push(error),
        Ok(records) => {
            let records: BTreeMap<String, serde_yaml::Value> = records;
            for (name, record) in records {
                match serde_yaml::from_value(record) {
                    Ok(record) => drop(progress.insert(name, record)),
                    Err(error) => wrong.push(format!("{name}: {error}")),
                }
            }
        }
    }
    (progress, wrong)
}

/// What a learner should know of what is remembered: what cannot be read, and what is of no exercise any more.
pub fn notes(root: &Path) -> Vec<String> {
    let Ok(text) = shelf::read(&path(root)) else { return Vec::new() };
    let (progress, wrong) = understood(&text);
    let wrong = wrong.into_iter().map(|wrong| {
        format!("exercises/progress.yaml: {wrong}. That is not counted; a copy is kept when the file is written next.")
    });
    let is_gone = |name: &&String| !name.starts_with(CASES) && TABLE.iter().all(|exercise| exercise.name() != *name);
    let gone = progress.keys().filter(is_gone);
    let gone =
        gone.map(|name| format!("exercises/progress.yaml remembers {name}, which is no longer an exercise. It stays."));
    wrong.chain(gone).collect()
}

/// Remembers that an exercise is graded now. Says so if the grader was ended before its last verdict.
///
/// # Errors
/// That the file cannot be written.
pub fn begin(root: &Path, exercise: &Exercise) -> Result<Option<String>, String> {
    if !shelf::is_started(root, exercise)? {
        return Ok(None);
    }
    let mut progress = load(root);
    let record = progress.entry(exercise.name().to_owned()).or_default();
    let was_ended = record.grader != 0 && !family::is_there(record.grader);
    record.broken_off += u32::from(was_ended);
    record.grader = std::process::id();
    let times = if record.broken_off > 1 { format!(", {} times by now", record.broken_off) } else { String::new() };
    save(root, &progress)?;
    let said = format!("the grader was ended before it had its last verdict on {}{times}", exercise.folder);
    Ok(was_ended.then_some(said))
}

/// Remembers a verdict. That an exercise is not started is none.
///
/// # Errors
/// That the file cannot be written.
pub fn remember(root: &Path, exercise: &Exercise, verdict: &Verdict) -> Result<(), String> {
    let mut progress = load(root);
    if *verdict == Verdict::NotStarted && !progress.contains_key(exercise.name()) {
        return Ok(());
    }
    let record = progress.entry(exercise.name().to_owned()).or_default();
    match verdict {
        Verdict::NotStarted => record.digest.clear(),
        verdict => {
            record.judged(verdict, digest(root, exercise), now());
            record.by_changed_grader = verdict.passes() && !seal::changed(root).is_empty();
            record.is_shipped = verdict.passes() && shipped::is_shipped(root, exercise);
        }
    }
    record.grader = 0;
    save(root, &progress)
}

/// What is remembered of a case of "Broken: find out why".
pub fn case(root: &Path, name: &str) -> Option<Record> {
    load(root).remove(&case_key(name))
}

/// Remembers whether these lines solve a case.
///
/// # Errors
/// That the file cannot be written.
pub fn remember_case(root: &Path, name: &str, lines: &str, solved: bool) -> Result<(), String> {
    let mut progress = load(root);
    let verdict = if solved { Verdict::Passes(1) } else { Verdict::Stopped(String::new()) };
    progress.entry(case_key(name)).or_default().judged(&verdict, sha256::hex(lines), now());
    save(root, &progress)
}

/// Before the names of cases, which no exercise has.
const CASES: &str = "broken/";

fn case_key(name: &str) -> String {
    format!("{CASES}{name}")
}

/// What is to be known of a verdict that was remembered: that what judged is not what was shipped, or that what passed is.
pub fn remarks(root: &Path, exercise: &Exercise) -> Vec<String> {
    let record = load(root).remove(exercise.name()).unwrap_or_default();
    let changed = if record.by_changed_grader { seal::changed(root) } else { Vec::new() };
    let changed = changed.split_first().map(|(first, rest)| {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        format!("what judged this is not what was shipped: {first}{more} changed since the commit")
    });
    let shipped = record.is_shipped.then(|| "this is the solution that is shipped".to_owned());
    changed.into_iter().chain(shipped).collect()
}

/// Hands out the answers of all exercises before this one that the learner has not begun. Gives how many.
///
/// # Errors
/// Which file could not be read or written.
pub fn give(root: &Path, until: &Exercise) -> Result<usize, String> {
    shelf::hand_out(root)?;
    let mut progress = load(root);
    let mut given = 0;
    for exercise in TABLE.iter().take_while(|exercise| exercise.folder != until.folder) {
        if shelf::is_started(root, exercise)? {
            continue;
        }
        shelf::write(&shelf::file(root, exercise), &shelf::read(&shelf::solution(root, exercise))?)?;
        let record = Record { digest: digest(root, exercise), ..Record::default() };
        progress.insert(exercise.name().to_owned(), record);
        given += 1;
    }
    save(root, &progress)?;
    Ok(given)
}

/// Takes over what the same learner has passed on another machine, and not on this one. Gives how many.
///
/// # Errors
/// That the file cannot be written.
pub fn import(root: &Path, export: &Export) -> Result<usize, String> {
    let mut progress = load(root);
    let is_new = |(name, record): &(&String, &Record)| {
        record.passes() && !progress.get(*name).is_some_and(|here| here.passes() && !here.is_given())
    };
    let new: Progress =
        export.exercises.iter().filter(is_new).map(|(name, record)| (name.clone(), record.clone())).collect();
    let count = new.len();
    progress.extend(new);
    save(root, &progress)?;
    Ok(count)
}

/// Many learners in one table: the minutes that each took for each exercise, how many have passed it, and the median.
pub fn table(exports: &[Export]) -> String {
    let number = |exercise: &Exercise| exercise.folder.split('_').next().unwrap_or_default().to_owned();
    let row = |head: &str, cell: &dyn Fn(&Exercise) -> String| {
        let cells: String = TABLE.iter().map(|exercise| format!("{:>4}", cell(exercise))).collect();
        format!("{head:<16}{cells}\n")
    };
    let mut text = row("", &number);
    for export in exports {
        text += &row(&export.name, &|exercise| match export.exercises.get(exercise.name()) {
            Some(record) if record.is_given() => "-".to_owned(),
            Some(record) if record.passes() => {
                let mark = if record.by_changed_grader { "*" } else { "" };
                let same = if record.is_shipped { "=" } else { "" };
                format!("{}{mark}{same}", record.minutes().unwrap_or_default())
            }
            Some(_) => "...".to_owned(),
            None => String::new(),
        });
    }
    let all = |exercise: &Exercise| -> Vec<u64> {
        let records = exports.iter().filter_map(|export| export.exercises.get(exercise.name()));
        let mut minutes: Vec<u64> = records.filter(|one| one.passes()).filter_map(Record::minutes).collect();
        minutes.sort_unstable();
        minutes
    };
    text += &row("have passed", &|exercise| all(exercise).len().to_string());
    text += &row("median minutes", &|exercise| {
        let minutes = all(exercise);
        minutes.get(minutes.len() / 2).map_or(String::new(), u64::to_string)
    });
    let any = |is: fn(&Record) -> bool| exports.iter().flat_map(|export| export.exercises.values()).any(is);
    if any(|record| record.by_changed_grader) {
        text += "* what judged this was not what was shipped\n";
    }
    if any(|record| record.is_shipped) {
        text += "= what passed is the solution that is shipped\n";
    }
    text
}

/// Where everyone of a class is: how many exercises each has passed, and at which each is, since how many minutes.
pub fn board(exports: &[Export]) -> String {
    board_at(exports, now())
}

fn board_at(exports: &[Export], now: u64) -> String {
    let width = exports.iter().map(|export| export.name.chars().count()).max().unwrap_or_default().clamp(4, 24);
    let mut text = format!("{:<width$}  passed  at\n", "name");
    for export in exports {
        let of = |exercise: &Exercise| export.exercises.get(exercise.name());
        let passed = TABLE.iter().filter(|one| of(one).is_some_and(Record::passes)).count();
        let begun = TABLE.iter().filter_map(|one| Some((one, of(one).filter(|record| !record.passes())?)));
        // Who has begun several is at the one that was begun last.
        let at = begun.max_by_key(|(_, record)| record.begun).map(|(exercise, record)| {
            let (minutes, times) = (now.saturating_sub(record.begun) / 60, record.attempts);
            format!("{}, graded {times} time{}, for {minutes} min", exercise.folder, if times == 1 { "" } else { "s" })
        });
        let next = || TABLE.iter().find(|one| !of(one).is_some_and(Record::passes));
        let at = at.or_else(|| next().map(|one| format!("before {}", one.folder)));
        let name: String = export.name.chars().take(width).collect();
        let of_all = format!("{passed}/{}", TABLE.len());
        text += &format!("{name:<width$}  {of_all:>6}  {}\n", at.unwrap_or_else(|| "the end".to_owned()));
    }
    text
}

/// The digest of the learner's file; empty if there is none.
pub fn digest(root: &Path, exercise: &Exercise) -> String {
    let text = shelf::read(&shelf::file(root, exercise)).unwrap_or_default();
    sha256::hex(&text)
}

fn save(root: &Path, progress: &Progress) -> Result<(), String> {
    if *progress == load(root) {
        return Ok(());
    }
    let path = path(root);
    if shelf::read(&path).is_ok_and(|text| !understood(&text).1.is_empty()) {
        shelf::keep(&path, "progress.yaml")?;
    }
    shelf::write(&path, &serde_yaml::to_string(progress).map_err(|error| error.to_string())?)
}

/// Seconds since 1970.
#[allow(clippy::disallowed_methods, reason = "learners live in real time")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_says_who_is_where() {
        let mut exports = ["anna", "a-name-that-is-longer-than-a-column", "zoe"]
            .map(|name| Export { name: name.to_owned(), ..Export::default() });
        exports[0].exercises.insert(TABLE[0].name().to_owned(), passed(0, 60));
        let begun = Record { attempts: 1, begun: 100, ..Record::default() };
        exports[0].exercises.insert(TABLE[2].name().to_owned(), Record { begun: 90, ..begun.clone() });
        exports[0].exercises.insert(TABLE[1].name().to_owned(), begun);
        exports[2].exercises = TABLE.iter().map(|one| (one.name().to_owned(), passed(0, 60))).collect();
        let (all, board) = (TABLE.len(), board_at(&exports, 100 + 125));
        let (first, second) = (TABLE[0].folder, TABLE[1].folder);
        for part in [
            &format!("anna                      {:>6}  {second}, graded 1 time, for 2 min\n", format!("1/{all}")),
            &format!("a-name-that-is-longer-th  {:>6}  before {first}\n", format!("0/{all}")),
            &format!("{:>6}  the end\n", format!("{all}/{all}")),
        ] {
            assert!(board.contains(part.as_str()), "{part}is not in\n{board}");
        }
    }

    fn passed(begun: u64, passed: u64) -> Record {
        Record { digest: "d".to_owned(), attempts: 1, begun, passed, ..Record::default() }
    }

    #[test]
    fn attempts_and_time_count_until_it_passes_first() {
        let mut record = Record::default();
        let verdicts = [(Verdict::Stopped(String::new()), 100), (Verdict::Passes(5), 220), (Verdict::Passes(5), 900)];
        for (verdict, now) in verdicts {
            record.judged(&verdict, "d".to_owned(), now);
        }
        assert_eq!((record.attempts, record.minutes(), record.passes()), (2, Some(2), true));
        record.judged(&Verdict::Stopped(String::new()), "e".to_owned(), 1_000);
        assert_eq!((record.attempts, record.minutes(), record.passes()), (2, Some(2), false));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_grader_that_was_ended_is_told() {
        let root = std::env::temp_dir().join(format!("kubestep-broken-off-{}", std::process::id()));
        let exercise = &TABLE[0];
        shelf::write(&shelf::file(&root, exercise), "fn f() {}").expect("there is room");
        let begin = || begin(&root, exercise).expect("there is room");
        assert_eq!(begin(), None);
        assert_eq!(begin(), None, "it is still there");
        let was_ended = || {
            let mut progress = load(&root);
            // No process has this number.
            progress.entry(exercise.name().to_owned()).or_default().grader = u32::MAX;
            save(&root, &progress).expect("there is room");
            begin()
        };
        assert_eq!(was_ended().as_deref(), Some("the grader was ended before it had its last verdict on 00_trace"));
        assert!(was_ended().is_some_and(|said| said.ends_with(", 2 times by now")));
        remember(&root, exercise, &Verdict::Stopped(String::new())).expect("there is room");
        let record = load(&root).remove(exercise.name()).expect("it is remembered");
        assert_eq!((record.grader, record.broken_off, record.attempts), (0, 2, 1));
        std::fs::remove_dir_all(&root).expect("it is there");
    }

    #[test]
    fn a_table_of_many() {
        let of = |name: &str, records: &[(&str, Record)]| Export {
            name: name.to_owned(),
            exercises: records.iter().map(|(name, record)| ((*name).to_owned(), record.clone())).collect(),
        };
        let tried = Record { attempts: 3, begun: 1, ..Record::default() };
        let given = Record { digest: "d".to_owned(), ..Record::default() };
        let text = table(&[
            of("ann", &[("ownership", passed(60, 660)), ("update", tried)]),
            of("ben", &[("ownership", given), ("update", passed(0, 61))]),
            of("cem", &[("ownership", Record { by_changed_grader: true, ..passed(0, 1_200) })]),
            of("dan", &[("ownership", Record { is_shipped: true, ..passed(0, 1_200) })]),
        ]);
        let cells = |line: &str| -> Vec<String> {
            let cell = |n: usize| line.get(16 + 4 * n..20 + 4 * n).unwrap_or_default().trim().to_owned();
            vec![line[..16].trim().to_owned(), cell(1), cell(2)]
        };
        let seen: Vec<Vec<String>> = text.lines().filter(|line| !line.starts_with(['*', '='])).map(cells).collect();
        assert!(
            text.ends_with(
                "* what judged this was not what was shipped\n= what passed is the solution that is shipped\n"
            ),
            "{text}"
        );
        let wanted = [
            ["", "01", "02"],
            ["ann", "10", "..."],
            ["ben", "-", "2"],
            ["cem", "20*", ""],
            ["dan", "20=", ""],
            ["have passed", "3", "1"],
            ["median minutes", "20", "2"],
        ];
        assert_eq!(seen, wanted, "{text}");
    }
}

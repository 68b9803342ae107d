//! This program built once more, with optimisation: it judges in a quarter of the time.
//!
//! Building it with [`BUILD`] takes some minutes once; `watch` does it beside its work, as soon as a learner waits for
//! a verdict. From then on the learner's programs are handed to it, and its verdict comes back as JSON, behind a word
//! that was made up for this one verdict. Both give the same verdict: nothing in a judgement depends on how fast it is.
//!
//! It is known by what is in it and in the files that it was made from: a note beside it has both digests. One that is
//! not the one of the note, or was made from other files, is left alone, and this program judges itself. The first note
//! is written about a program that cargo has just made: one that is as new as its sources, and the same as where cargo
//! keeps it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::nonce::nonce;
use super::{Exercise, Verdict, building, family, shelf};
use object::sha256;

/// How it is built.
pub const BUILD: &str = "cargo build --profile judge --bin kubestep";

/// What it is, or is not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Twin {
    /// It was never built.
    None,
    /// It is there, and it or something that it was made from has changed since.
    Old,
    /// The program.
    Ready(PathBuf),
}

/// What is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Note {
    /// The digest of the program.
    program: String,
    /// The digest of its sources.
    sources: String,
    /// When the files were looked at last, and whether they were as the digests say: they are read anew only where something
    /// may have changed since.
    seen: Vec<String>,
    alike: bool,
}

/// Where everything of it is.
struct Place {
    program: PathBuf,
    note: PathBuf,
    /// The program and its sources.
    files: Vec<PathBuf>,
    /// Where cargo keeps what it has built; the program is a copy of that.
    kept: PathBuf,
}

/// Looks for it.
pub fn find(root: &Path) -> Twin {
    let folder = building::target(root).join("judge");
    let program = folder.join(format!("kubestep{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        return Twin::None;
    }
    let sources = std::fs::read_to_string(folder.join("kubestep.d")).unwrap_or_default();
    let files = [program.clone(), root.join("Cargo.toml"), root.join("Cargo.lock")];
    let files = files.into_iter().chain(building::sources_of(&sources)).collect();
    let place = Place { note: folder.join("kubestep.made"), files, kept: folder.join("deps"), program };
    if place.is_known() { Twin::Ready(place.program) } else { Twin::Old }
}

impl Place {
    /// Whether the program is the one that was made from its sources as they are.
    fn is_known(&self) -> bool {
        let note = std::fs::read(&self.note).ok().and_then(|text| serde_json::from_slice::<Note>(&text).ok());
        let note = note.unwrap_or_default();
        let Some(seen) = self.files.iter().map(|file| stamp(file)).collect::<Option<Vec<String>>>() else {
            return false;
        };
        if note.seen == seen {
            return note.alike;
        }
        let alike = self.digests(|sources| sources == note.sources).is_some_and(|(program, _)| program == note.program);
        let made = if alike || !self.is_just_made() { None } else { self.digests(|_| true) };
        let (program, sources) = made.clone().unwrap_or((note.program, note.sources));
        let note = Note { program, sources, seen, alike: alike || made.is_some() };
        drop(serde_json::to_string(&note).map(|text| shelf::write(&self.note, &text)));
        note.alike
    }

    /// The digests of the program and of its sources, if those of its sources are wanted.
    fn digests(&self, wanted: impl Fn(&str) -> bool) -> Option<(String, String)> {
        let (program, sources) = self.files.split_first()?;
        let digest = |file: &PathBuf| std::fs::read(file).ok().map(|text| hex(&text));
        let sources = sha256::hex(&sources.iter().map(digest).collect::<Option<String>>()?);
        wanted(&sources).then_some((digest(program)?, sources))
    }

    /// Whether no source is newer, and cargo has the same program.
    fn is_just_made(&self) -> bool {
        let Some(made) = written(&self.program) else { return false };
        let is_newest = self.files.iter().all(|file| written(file).is_some_and(|time| time <= made));
        let kept = std::fs::read_dir(&self.kept).into_iter().flatten().filter_map(Result::ok);
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let mut alike = kept.map(|entry| entry.path()).filter(|path| length(path) == length(&self.program));
        let is_its = |path: PathBuf| std::fs::read(path).ok() == std::fs::read(&self.program).ok();
        is_newest && alike.any(is_its)
    }
}

fn hex(bytes: &[u8]) -> String {
    sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// When a file was changed last, as the system counts, which no program can set. Elsewhere, when it was
/// written.
#[cfg(unix)]
fn stamp(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(path).ok()?;
    Some(format!("{} {} {}.{}", file.ino(), file.len(), file.ctime(), file.ctime_nsec()))
}

#[cfg(not(unix))]
fn stamp(path: &Path) -> Option<String> {
    written(path).map(|time| format!("{time:?}"))
}

/// Begins to build it, after everything else that the machine has to do. It ends with the terminal's Ctrl-C.
///
/// # Errors
/// cargo cannot be started.
pub fn build(root: &Path) -> std::io::Result<Child> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = match cfg!(unix) {
        true => Command::new("nice"),
        false => Command::new(&cargo),
    };
    if cfg!(unix) {
        command.args(["-n", "19"]).arg(cargo);
    }
    command.args(BUILD.split(' ').skip(1)).arg("--quiet").current_dir(root);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// How often is looked whether it was stopped.
const LOOK: Duration = Duration::from_millis(200);

/// Lets it judge a program that is built. None if it is no program that judges.
pub fn judge(twin: &Path, exercise: &Exercise, program: &Path, arguments: &[&str]) -> Option<Verdict> {
    let word = nonce();
    let mut command = Command::new(twin);
    command.args(["judge", exercise.folder]).arg(program).args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut input = child.stdin.take()?;
    drop(writeln!(input, "{word}"));
    drop(input);
    let number = child.id();
    let (send, ended) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    let output = loop {
        match ended.recv_timeout(LOOK) {
            Ok(output) => break output.ok()?,
            Err(RecvTimeoutError::Timeout) if family::is_stopped(number) => {
                family::signal(number);
                return Some(Verdict::Stopped(format!("the judge was stopped{ENDED}")));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    };
    let verdict = said(&String::from_utf8_lossy(&output.stdout), &word);
    match verdict {
        Some(verdict) if output.status.success() => Some(verdict),
        _ if output.status.code().is_none() => {
            Some(Verdict::Stopped(format!("the judge was ended ({}){ENDED}", output.status)))
        }
        _ => None,
    }
}

/// What there is to say of a judge that another process has ended.
const ENDED: &str = " before it had a verdict\nIt does not end by itself: was it short of memory, or does your code end or stop \
                     processes that are not its own?";

/// The verdict behind the word. What stands elsewhere is none.
fn said(text: &str, word: &str) -> Option<Verdict> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix(word))?;
    serde_json::from_str(line).ok()
}

/// A verdict as the judge says it, who was told a word for it.
///
/// # Errors
/// It cannot be written.
pub fn say(out: &mut dyn Write, word: &str, verdict: &Verdict) -> std::io::Result<()> {
    writeln!(out, "\n{word}{}", serde_json::to_string(verdict)?)
}

fn written(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|file| file.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a learner's code writes to the judge's standard output has no such word before it.
    #[test]
    fn a_verdict_without_the_word_is_none() {
        let passes = serde_json::to_string(&Verdict::Passes(5)).expect("it is data");
        assert_eq!(said(&format!("{passes}\nother:{passes}\n"), "word:"), None);
        let mut out = Vec::new();
        say(&mut out, "word:", &Verdict::NotStarted).expect("there is room");
        let text = String::from_utf8(out).expect("it is text") + &passes;
        assert_eq!(said(&text, "word:"), Some(Verdict::NotStarted));
    }

    /// One that judges nothing and is ended, with what looks like a verdict on its standard output.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_judge_that_is_ended_or_stopped_has_no_verdict() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("kubestep-judges-{}", std::process::id()));
        let passes = serde_json::to_string(&Verdict::Passes(5)).expect("it is data");
        let verdict = |name: &str, script: &str| {
            let program = folder.join(name);
            shelf::write(&program, &format!("#!/bin/sh\nread -r word\n{script}\n")).expect("there is room");
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is there");
            judge(&program, &super::super::TABLE[0], Path::new("none"), &[])
        };
        let is_stopped = |verdict: Option<Verdict>, how: &str| {
            assert!(matches!(&verdict, Some(Verdict::Stopped(said)) if said.contains(how)), "{verdict:?}");
        };
        is_stopped(verdict("killed", &format!("echo \"$word\"'{passes}'; kill -9 $$")), "was ended (signal: 9");
        is_stopped(verdict("stopped", "kill -STOP $$"), "was stopped");
        assert_eq!(verdict("fails", &format!("echo \"$word\"'{passes}'; exit 1")), None);
        assert_eq!(verdict("forged", &format!("echo '{passes}'")), None);
        assert_eq!(verdict("judges", &format!("echo \"$word\"'{passes}'")), Some(Verdict::Passes(5)));
        std::fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn one_that_is_not_as_it_was_made_is_left_alone() {
        let root = std::env::temp_dir().join(format!("kubestep-twin-{}", std::process::id()));
        let target = building::target(&root);
        if target != root.join("target") {
            // Past the harness, which keeps what is printed to itself.
            let _ = writeln!(std::io::stderr(), "skipped: needs a target folder of the project's own");
            return;
        }
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("there is room");
            std::fs::write(path, text).expect("there is room");
        };
        assert_eq!(find(&root), Twin::None);
        let source = root.join("lib.rs");
        ["Cargo.toml", "Cargo.lock", "lib.rs"].iter().for_each(|name| write(name, ""));
        let program = format!("target/judge/kubestep{}", std::env::consts::EXE_SUFFIX);
        write("target/judge/kubestep.d", &format!("kubestep: {}", source.display()));
        write(&program, "judges");
        assert_eq!(find(&root), Twin::Old, "cargo has not made it");
        write("target/judge/deps/kubestep-0123", "judges");
        write(&program, "judges");
        let ready = Twin::Ready(root.join(&program));
        assert_eq!(find(&root), ready);
        write("lib.rs", "// more");
        assert_eq!(find(&root), Twin::Old);
        write("lib.rs", "");
        assert_eq!(find(&root), ready, "it is as it was");
        // One that is put in its place has another time, or is given the same; it is another all the same.
        let time = written(&root.join(&program)).expect("it is there");
        write(&program, "passes");
        assert_eq!(find(&root), Twin::Old);
        let file = std::fs::File::options().write(true).open(root.join(&program)).expect("it is there");
        file.set_modified(time).expect("a file's time can be set");
        assert_eq!(find(&root), Twin::Old);
        write(&program, "judges");
        assert_eq!(find(&root), ready);
        std::fs::remove_file(&source).expect("it is there");
        assert_eq!(find(&root), Twin::Old);
        let _ = std::fs::remove_dir_all(&root);
    }
}

//! A learner's program, built alone by cargo: a bin of one package, so one that does not compile fails alone.
//!
//! - cargo goes by the times of files, and a file that is put back in its place has an old one. So a program whose files are
//!   not those that it was made from gets new ones before it is built.
//! - What rustc works out while it compiles, consts and macros, may have no end. Once the library is there, a learner's
//!   file has seconds of processor time, and a minute on a busy machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::asked::ended_within;
use super::family::{Family, Limits};
use super::pipe;
use super::{Exercise, Verdict};
use object::sha256;

/// So long may rustc work on a learner's file. It needs a second.
const FOR_ONE: Duration = Duration::from_secs(60);
/// So long may all take, the library and what it is made of as well.
const FOR_ALL: Duration = Duration::from_secs(3600);
/// The library that a learner's program is built on.
const LIBRARY: &str = "kubestep_exercise";
/// What cargo says of each thing that it has built, or that is as it was.
const ARTIFACT: &str = "{\"reason\":\"compiler-artifact\",";

/// What is built.
#[derive(Clone, Copy)]
pub enum Program<'a> {
    /// What a learner has written.
    Exercise(&'a Exercise),
    /// The answer of an exercise.
    Solution(&'a Exercise),
    /// All wrong solutions in one, see `tests/mutants`.
    Mutants,
}

impl Program<'_> {
    /// The package that it is in.
    fn package(self) -> &'static str {
        match self {
            Program::Exercise(_) => "exercises",
            Program::Solution(_) => "solutions",
            Program::Mutants => "mutants",
        }
    }

    /// Its name in the package.
    pub fn name(self) -> String {
        match self {
            Program::Exercise(exercise) => format!("exercise-{}", exercise.folder.replace('_', "-")),
            Program::Solution(exercise) => format!("solution-{}", exercise.folder.replace('_', "-")),
            Program::Mutants => "mutants".to_owned(),
        }
    }

    /// How long rustc may work on it.
    fn time(self) -> Duration {
        if matches!(self, Program::Exercise(_)) { FOR_ONE } else { FOR_ALL }
    }

    /// The files that it is made of. Only those of an exercise or a solution are ever put back.
    fn sources(self, root: &Path) -> Vec<PathBuf> {
        let (Program::Exercise(exercise) | Program::Solution(exercise)) = self else { return Vec::new() };
        let folder = root.join(self.package()).join(exercise.folder).join("src");
        let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
        files.sort();
        files
    }
}

/// Where cargo puts what it builds.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Builds one program alone. Gives where it is.
///
/// # Errors
/// The verdict: rustc's own words, that it does not come to an end, that cargo fails, or that it cannot be started.
pub fn build(root: &Path, program: Program) -> Result<PathBuf, Verdict> {
    let (target, name) = (target(root), program.name());
    let path = target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let made = Made { sources: program.sources(root), note: path.with_extension("made"), program: path };
    made.renew_unless_known();
    let mut cargo = cargo();
    cargo
        .current_dir(root)
        .args(["build", "--quiet", "--message-format=json-render-diagnostics"])
        // With the packages beside it that `cargo run` and `cargo test` know, none of them built here: so all have the
        // same features of what they are made of, and nothing is built twice.
        .args(["--package", "kubestep", "--package", "kubestep-book"])
        .args(["--package", program.package(), "--bin", &name, "--target-dir"])
        .arg(&target);
    run(cargo, program.time())?;
    made.keep_note();
    Ok(made.program)
}

/// The files that a learner's program was made from last, as rustc has named them. Empty where there is none.
pub fn made_from(root: &Path, exercise: &Exercise) -> Vec<PathBuf> {
    let name = Program::Exercise(exercise).name();
    let named = std::fs::read_to_string(target(root).join("debug").join(format!("{name}.d")));
    named.map_or_else(|_| Vec::new(), |text| sources_of(&text))
}

/// The files that cargo names as the sources of a program: `program: one two`, a blank in a name behind a `\`.
pub(super) fn sources_of(text: &str) -> Vec<PathBuf> {
    let (_, names) = text.lines().next().and_then(|line| line.split_once(": ")).unwrap_or_default();
    let names = names.replace("\\ ", "\0");
    names.split_whitespace().map(|name| PathBuf::from(name.replace('\0', " "))).collect()
}

fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Limits::CARGO.command(&cargo)
}

/// Runs cargo, which may take so long once the library is there.
#[allow(clippy::disallowed_methods, reason = "a const that is worked out without end knows no virtual time")]
fn run(mut cargo: Command, for_one: Duration) -> Result<(), Verdict> {
    cargo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Family::start(&mut cargo, Limits::CARGO);
    let (mut child, family) = started.map_err(|error| Verdict::Stopped(format!("cargo cannot be started: {error}")))?;
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Verdict::Stopped("cargo has no pipes".to_owned()));
    };
    let (mut output, errors) = (pipe::follow(output), pipe::read(errors));
    let mut until = Instant::now() + FOR_ALL;
    // Whether the library that the learner's file needs is there, and so whether rustc's errors are about that file.
    let mut reached = false;
    while let Some(artifact) = output.line_with(ARTIFACT, until) {
        if artifact.contains(&format!("\"name\":\"{LIBRARY}\"")) {
            (until, reached) = (Instant::now() + for_one, true);
            if for_one < FOR_ALL {
                family.limit(Limits::RUSTC);
            }
        }
    }
    let late = Instant::now() >= until;
    let status = ended_within(&mut child, if late { Duration::ZERO } else { FOR_ONE });
    family.end();
    let said = errors.last_words();
    match (status, family.beyond()) {
        (_, Some(beyond)) => Err(Verdict::Stopped(format!(
            "rustc does not come to an end: {beyond}\n\
             It evaluates each const, runs each macro, and reads each file that is included: does one of them go \
             on for ever?"
        ))),
        (Some(status), None) if status.success() => Ok(()),
        (Some(_), None) if reached => Err(Verdict::DoesNotCompile(said)),
        (Some(_), None) => Err(Verdict::NotBuilt(said)),
        (None, None) => Err(Verdict::Stopped(format!(
            "rustc does not come to an end: it has worked on this file for {} s\n\
             It evaluates each const, and runs each macro: does one of them go on for ever?",
            FOR_ONE.as_secs()
        ))),
    }
}

/// What a program was made from.
struct Made {
    sources: Vec<PathBuf>,
    program: PathBuf,
    /// Beside the program: a digest of the files, and the time of the program that was made from them.
    note: PathBuf,
}

impl Made {
    fn renew_unless_known(&self) {
        if std::fs::read_to_string(&self.note).ok() != self.said() {
            for source in &self.sources {
                let file = std::fs::File::options().append(true).open(source);
                // What cannot be written keeps its time: it cannot have been changed, either.
                let _ = file.and_then(|file| file.set_modified(now()));
            }
        }
    }

    fn keep_note(&self) {
        if let Some(said) = self.said() {
            let _ = std::fs::write(&self.note, said);
        }
    }

    /// None: there is no program.
    fn said(&self) -> Option<String> {
        let made = std::fs::metadata(&self.program).and_then(|file| file.modified()).ok()?;
        let texts: Vec<String> = self.sources.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        Some(format!("{} {made:?}\n", sha256::hex(&texts.join("\n"))))
    }
}

#[allow(clippy::disallowed_methods, reason = "cargo goes by real time")]
fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_as_cargo_writes_them() {
        let names = sources_of("/a\\ b/target/judge/kubestep: /a\\ b/src/lib.rs /c/machinery.rs\n");
        assert_eq!(names, [PathBuf::from("/a b/src/lib.rs"), PathBuf::from("/c/machinery.rs")]);
        assert_eq!(sources_of(""), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_file_that_is_put_back_gets_a_new_time() {
        let folder = std::env::temp_dir().join(format!("kubestep-made-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("there is room");
        let source = folder.join("lib.rs");
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let age = || std::fs::File::options().append(true).open(&source).and_then(|file| file.set_modified(old));
        let is_old = || std::fs::metadata(&source).and_then(|file| file.modified()).expect("it is there") == old;
        let made =
            Made { sources: vec![source.clone()], program: folder.join("program"), note: folder.join("program.made") };
        write("lib.rs", "one");
        write("program", "");
        age().expect("a file's time can be set");
        made.renew_unless_known();
        assert!(!is_old(), "no note says what the program was made from");
        made.keep_note();
        age().expect("a file's time can be set");
        made.renew_unless_known();
        assert!(is_old(), "the program was made from it");
        write("lib.rs", "two");
        age().expect("a file's time can be set");
        made.renew_unless_known();
        assert!(!is_old(), "the text is another");
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}

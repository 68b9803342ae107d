//! This program built once more, with optimisation: it judges in a quarter of the time.
//!
//! Whoever builds it with [`BUILD`] waits some minutes once; `watch` does it beside its work, as soon as somebody waits for
//! a verdict. From then on the learner's programs are handed to it, and its verdict comes back as JSON. Both give the same
//! verdict: nothing in a judgement depends on how fast it is.
//!
//! One that is older than a file it was made from is left alone, and this program judges itself.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

use super::{Exercise, Verdict, building};

/// How it is built.
pub const BUILD: &str = "cargo build --profile judge --bin kubestep";

/// What it is, or is not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Twin {
    /// It was never built.
    None,
    /// It is there, and something that it was made from has changed since.
    Old,
    /// The program.
    Ready(PathBuf),
}

/// Looks for it.
pub fn find(root: &Path) -> Twin {
    let folder = building::target(root).join("judge");
    let program = folder.join(format!("kubestep{}", std::env::consts::EXE_SUFFIX));
    let Some(built) = written(&program) else { return Twin::None };
    let sources = std::fs::read_to_string(folder.join("kubestep.d")).unwrap_or_default();
    let sources = sources_of(&sources).into_iter().chain([root.join("Cargo.toml"), root.join("Cargo.lock")]);
    match sources.map(|source| written(&source)).all(|time| time.is_some_and(|time| time <= built)) {
        true => Twin::Ready(program),
        false => Twin::Old,
    }
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

/// Lets it judge a program that is built. None if it does not answer.
pub fn judge(twin: &Path, exercise: &Exercise, program: &Path, arguments: &[&str]) -> Option<Verdict> {
    let output = Command::new(twin).args(["judge", exercise.folder]).arg(program).args(arguments).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn written(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// The files that cargo names as the sources of a program: `program: one two`, a blank in a name behind a `\`.
fn sources_of(text: &str) -> Vec<PathBuf> {
    let (_, names) = text.lines().next().and_then(|line| line.split_once(": ")).unwrap_or_default();
    let names = names.replace("\\ ", "\0");
    names.split_whitespace().map(|name| PathBuf::from(name.replace('\0', " "))).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn sources_are_read_as_cargo_writes_them() {
        let names = sources_of("/a\\ b/target/judge/kubestep: /a\\ b/src/lib.rs /c/machinery.rs\n");
        assert_eq!(names, [PathBuf::from("/a b/src/lib.rs"), PathBuf::from("/c/machinery.rs")]);
        assert_eq!(sources_of(""), Vec::<PathBuf>::new());
    }

    #[test]
    fn one_that_is_older_than_its_sources_is_left_alone() {
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
        write(&program, "");
        assert_eq!(find(&root), Twin::Ready(root.join(&program)));
        let age = |path: &Path, by: u64| {
            let file = std::fs::File::options().write(true).open(path).expect("it is there");
            let time = written(path).expect("it is there") + std::time::Duration::from_secs(by);
            file.set_modified(time).expect("a file's time can be set");
        };
        age(&source, 10);
        assert_eq!(find(&root), Twin::Old);
        age(&root.join(&program), 20);
        assert_eq!(find(&root), Twin::Ready(root.join(&program)));
        std::fs::remove_file(&source).expect("it is there");
        assert_eq!(find(&root), Twin::Old);
        let _ = std::fs::remove_dir_all(&root);
    }
}

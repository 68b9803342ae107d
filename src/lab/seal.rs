//! Whether what judges is what was shipped.
//!
//! People cannot be kept from changing a program on their own machine. But a change is detected, and reported:
//!
//! - The learners' programs have a `Cargo.toml`, and each a `main.rs` that calls the learner's function. Their digests are in
//!   `sealed.txt`; where one is another, or where more is built than was, there is no verdict.
//! - The program itself is compared with its commit, where there is one. A solution that passes before a changed program is
//!   marked, here and in the table of a class.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Exercise, shelf};
use object::sha256;

/// Digests and paths, a file a line.
const SEALED: &str = include_str!("sealed.txt");
/// What says how they are built.
const PACKAGE: &str = "exercises/Cargo.toml";
/// What cargo would run or heed, were it there.
const FOREIGN: [&str; 2] = ["exercises/build.rs", "exercises/.cargo"];
/// What judging depends on.
const PROGRAM: [&str; 6] = ["src", "scenarios", "solutions", "exercises", "Cargo.toml", "Cargo.lock"];

/// What is wrong with what is around a learner's file, and the way back. None: nothing.
pub fn broken(root: &Path, exercise: &Exercise) -> Option<String> {
    let sealed = [PACKAGE.to_owned(), main(exercise)];
    let changed = sealed.into_iter().find(|path| !is_sealed(path, digest(root, path).as_deref()));
    if let Some(path) = changed {
        return Some(format!(
            "{path} is not as it was handed out\nIt is a part of what judges, so there is no verdict.\n\
             put it back: git checkout -- {path}"
        ));
    }
    let foreign = FOREIGN.iter().find(|path| root.join(path).exists())?;
    Some(format!(
        "{foreign} is no part of an exercise\nIt would be built or run with it, so there is no verdict: remove it."
    ))
}

/// What calls the learner's function.
fn main(exercise: &Exercise) -> String {
    format!("exercises/{}/src/main.rs", exercise.folder)
}

/// One that is not there is cargo's to miss.
fn is_sealed(path: &str, digest: Option<&str>) -> bool {
    digest.is_none_or(|digest| SEALED.lines().any(|line| line.split_once("  ") == Some((digest, path))))
}

/// The digest of a file, however its lines end. None: it is not there.
fn digest(root: &Path, path: &str) -> Option<String> {
    let path = root.join(path);
    path.exists()
        .then(|| shelf::read(&path).map_or_else(|_| String::new(), |text| sha256::hex(&text.replace("\r\n", "\n"))))
}

/// The files that judging depends on and that are not as in the commit; none where git cannot tell.
pub fn changed(root: &Path) -> Vec<String> {
    let git = Command::new("git")
        .current_dir(root)
        .args(["status", "--porcelain", "--untracked-files=no", "--"])
        .args(PROGRAM)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let said = git.ok().filter(|git| git.status.success()).map(|git| git.stdout).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().filter_map(|line| Some(line.get(3..)?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::TABLE;
    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    /// `KUBESTEP_BLESS=1` writes the file anew.
    #[test]
    fn all_that_calls_a_learners_code_is_sealed() {
        let paths = [PACKAGE.to_owned()].into_iter().chain(TABLE.iter().map(main));
        let now: String =
            paths.map(|path| format!("{}  {path}\n", digest(root(), &path).unwrap_or_default())).collect();
        if std::env::var_os("KUBESTEP_BLESS").is_some() {
            return shelf::write(&root().join("src/lab/sealed.txt"), &now).expect("there is room");
        }
        assert!(now == SEALED, "something has changed; KUBESTEP_BLESS=1 cargo test -p kubestep-lab --lib seal");
    }

    #[test]
    fn what_was_changed_is_told() {
        let away = std::env::temp_dir().join(format!("kubestep-seal-{}", std::process::id()));
        let exercise = &TABLE[0];
        for file in [PACKAGE, &main(exercise)] {
            let text = shelf::read(&root().join(file)).expect("it is shipped");
            shelf::write(&away.join(file), &text.replace('\n', "\r\n")).expect("there is room");
        }
        assert_eq!(broken(&away, exercise), None);
        shelf::write(&away.join("exercises/build.rs"), "fn main() {}").expect("there is room");
        assert!(broken(&away, exercise).expect("it is told").contains("build.rs is no part"));
        shelf::write(&away.join(main(exercise)), "fn main() {}").expect("there is room");
        assert!(broken(&away, exercise).expect("it is told").contains("src/main.rs is not as it was"));
        std::fs::remove_dir_all(&away).expect("it is there");
    }
}

//! A folder with a book of a test's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder of the project.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A path in the project.
pub fn from_root(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

/// A folder, gone at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("kubestep-book-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder can be made");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// This program, with the course in it.
pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_kubestep-book"))
}

/// A project whose book has one chapter, `a.md`, and the real assets.
pub fn project(chapter: &str) -> Scratch {
    let scratch = Scratch::new();
    let book = scratch.0.join("book");
    fs::create_dir_all(book.join("src")).expect("a folder can be made");
    fs::copy(from_root("book/book.toml"), book.join("book.toml")).expect("the book has it");
    for folder in ["assets", "site"] {
        fs::create_dir_all(book.join(folder)).expect("a folder can be made");
        for file in fs::read_dir(from_root("book").join(folder)).expect("the book has it").flatten() {
            fs::copy(file.path(), book.join(folder).join(file.file_name())).expect("a file can be copied");
        }
    }
    fs::write(book.join("src/SUMMARY.md"), "# Summary\n\n- [A](a.md)\n").expect("a file can be written");
    fs::write(book.join("src/a.md"), chapter).expect("a file can be written");
    fs::create_dir_all(scratch.0.join("src")).expect("a folder can be made");
    let (wide, long) = ("a".repeat(100), "    once();\n".repeat(30));
    let source = format!(
        "fn once() {{}}\n\nstruct A;\nimpl A {{\n    fn twice() {{}}\n}}\n\nfn twice() {{}}\n\n\
         const WIDE: &str = \"{wide}\";\nfn long() {{\n{long}    1 + 1;\n}}\n"
    );
    fs::write(scratch.0.join("src/lib.rs"), source).expect("a file can be written");
    scratch
}

/// A cargo that compiles nothing: it says whether the file is Rust, and gives the answer's program for it.
#[cfg(unix)]
const CARGO: &str = "#!/bin/sh
if grep -q 'no Rust' exercises/06_replicaset/src/lib.rs; then
  echo '{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"kubestep_exercise\"}}'
  echo 'error: expected item' >&2
  exit 101
fi
mkdir -p target/debug && cp 'PROGRAM' target/debug/exercise-06-replicaset
";

/// Gives a project the exercise `replicaset`, with this in its file.
#[cfg(unix)]
pub fn with_exercise(project: &Scratch, text: &str) {
    use lab::building::{self, Program};
    use lab::{Exercise, TABLE, shelf};
    use std::os::unix::fs::PermissionsExt;

    let root = Path::new(ROOT);
    for exercise in TABLE {
        let stub = root.join("exercises").join(exercise.folder).join("stub.rs");
        let place = project.0.join("exercises").join(exercise.folder).join("stub.rs");
        shelf::write(&place, &shelf::read(&stub).expect("it has a stub")).expect("a file can be written");
        let solution = shelf::read(&shelf::solution(root, exercise)).expect("it has an answer");
        shelf::write(&shelf::solution(&project.0, exercise), &solution).expect("a file can be written");
    }
    shelf::write(&project.0.join("exercises/06_replicaset/src/lib.rs"), text).expect("a file can be written");
    let answer = Exercise::find("replicaset").expect("it is one");
    let answer = building::build(root, Program::Solution(answer)).expect("the answer compiles");
    let cargo = project.0.join("cargo");
    shelf::write(&cargo, &CARGO.replace("PROGRAM", &answer.display().to_string())).expect("a file can be written");
    fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).expect("it can be made a program");
}

/// The folder of the real book, built once for all tests that look at it. What it shows is what is, or this fails.
pub fn course() -> &'static Path {
    static COURSE: OnceLock<PathBuf> = OnceLock::new();
    COURSE.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("course");
        let _ = fs::remove_dir_all(&out);
        let built =
            kubestep_book::build::build(&from_root("book"), &out, &program(), &indicatif::ProgressBar::hidden());
        built.unwrap_or_else(|error| panic!("{error:#}"));
        out
    })
}

/// Builds such a project's book into its `out`.
pub fn built(project: &Scratch) -> anyhow::Result<PathBuf> {
    let out = project.0.join("out");
    kubestep_book::build::build(&project.0.join("book"), &out, &program(), &indicatif::ProgressBar::hidden())?;
    Ok(out)
}

/// The pages of a built book, in order.
pub fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the book is there")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "html"))
        .collect();
    found.sort();
    found
}

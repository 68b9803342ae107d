//! How long a learner waits for a verdict: `cargo bench --bench exercises`, or with a word for the exercises with that in
//! their names. It measures and prints; it asserts nothing.
//!
//! Measured is what a learner runs, which is not optimised: the program as `cargo build` makes it grades the solution right
//! after it was edited. A second time nothing is to be compiled: so long the judging takes.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use lab::{Exercise, TABLE, shelf};

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = build(root);
    let desk = std::env::temp_dir().join(format!("kubestep-bench-{}", std::process::id()));
    for exercise in TABLE.iter().filter(|one| wanted.is_empty() || wanted.iter().any(|w| one.folder.contains(w))) {
        let grade = || grade(&desk, &program, exercise);
        sit_down(&desk, root, exercise);
        grade();
        let (verdict, judged) = grade();
        std::fs::write(desk.join("edited"), "").expect("there is room");
        let (_, edited) = grade();
        let checks: f64 =
            verdict.split_whitespace().find_map(|word| word.parse().ok().filter(|n| *n > 0.0)).unwrap_or(0.0);
        println!(
            "{:<18} edit to verdict {:>5.2} s, judged in {:>5.2} s, {:>5.0} a second: {verdict}",
            exercise.folder,
            edited.as_secs_f64(),
            judged.as_secs_f64(),
            checks / judged.as_secs_f64(),
        );
    }
    let _ = std::fs::remove_dir_all(&desk);
}

/// Builds the program that learners run.
fn build(root: &Path) -> PathBuf {
    let built = Command::new(env!("CARGO")).current_dir(root).args(["build", "--quiet"]).status();
    assert!(built.is_ok_and(|status| status.success()), "it builds");
    root.join("target/debug/kubestep")
}

/// A desk of its own for a learner who has written the solution. `cargo` there compiles the solution in its place, and once more
/// if the file `edited` says that it was.
fn sit_down(desk: &Path, root: &Path, exercise: &Exercise) {
    for one in TABLE {
        let solution = shelf::read(&shelf::solution(root, one)).expect("it is shipped");
        shelf::write(&shelf::file(desk, one), &solution).expect("there is room");
        let stub = shelf::stub(root, one).expect("it is shipped");
        shelf::write(&desk.join("exercises").join(one.folder).join("stub.rs"), &stub).expect("there is room");
    }
    std::fs::create_dir_all(desk.join("solutions")).expect("there is room");
    let name = exercise.folder.replace('_', "-");
    let (cargo, root, target) = (env!("CARGO"), root.display(), desk.join("target/debug").display().to_string());
    let script = format!(
        "#!/bin/sh\nset -e\nif [ -e '{desk}/edited' ]; then rm '{desk}/edited'; touch '{root}/solutions/{folder}/src/lib.rs'; fi\n\
         cd '{root}'\n'{cargo}' build --quiet --package solutions --package kubestep --lib --bin solution-{name}\n\
         mkdir -p '{target}'\ncp target/debug/solution-{name} '{target}/exercise-{name}'\n",
        desk = desk.display(),
        folder = exercise.folder,
    );
    shelf::write(&desk.join("cargo"), &script).expect("there is room");
    let executable = Command::new("chmod").arg("+x").arg(desk.join("cargo")).status();
    assert!(executable.is_ok_and(|status| status.success()), "it can be made executable");
}

/// What `kubestep grade` says in its first line, and how long it took.
fn grade(desk: &Path, program: &Path, exercise: &Exercise) -> (String, Duration) {
    let start = Instant::now();
    let output = Command::new(program)
        .args(["grade", exercise.name()])
        .current_dir(desk)
        .env("CARGO", desk.join("cargo"))
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("it was built");
    let took = start.elapsed();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = said.lines().next().unwrap_or_default();
    (first.split_once("?: ").map_or(first, |(_, verdict)| verdict).to_owned(), took)
}

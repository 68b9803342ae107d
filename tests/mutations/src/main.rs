//! `cargo run -p mutations [EXERCISE ...]`: changes the marked region of each solution in the usual ways, one place at a time,
//! grades what compiles, and prints what passes. `docs/mutations.md` says of each of those why it does.
//!
//! All mutations of a solution are one program: `tests/mutants` makes a module of each. What does not compile is left out,
//! and the rest built again, until all of it does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lab::{Exercise, TABLE, process, shelf};
use serde_json::Value;

mod operators;

use operators::Mutation;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let found: Result<Vec<&Exercise>, String> = wanted.iter().map(|name| Exercise::find(name)).collect();
    let exercises = match found {
        Ok(found) if found.is_empty() => TABLE.iter().collect(),
        Ok(found) => found,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("| exercise | mutations | do not compile | killed | survived |\n|---|---|---|---|---|");
    let mut survivors = String::new();
    for exercise in exercises {
        let report = judge(exercise);
        println!(
            "| {} | {} | {} | {} | {} |",
            exercise.name(),
            report.all,
            report.all - report.graded,
            report.graded - report.survivors.len(),
            report.survivors.len()
        );
        report.survivors.iter().for_each(|one| survivors += &format!("{}: {one}\n", exercise.name()));
    }
    println!("\n{survivors}");
    ExitCode::SUCCESS
}

struct Report {
    all: usize,
    graded: usize,
    /// Where, and what it is instead.
    survivors: Vec<String>,
}

fn judge(exercise: &Exercise) -> Report {
    let solution = shelf::read(&shelf::solution(root(), exercise)).expect("it is shipped");
    let mut mutations = operators::mutations(&solution);
    let all = mutations.len();
    let program = build(exercise, &solution, &mut mutations);
    let passes = |n: &usize| process::grade_program(&program, &[exercise.folder, &n.to_string()], exercise).passes();
    let survivors = (0..mutations.len()).filter(passes).map(|n| mutations[n].show(&solution)).collect();
    Report { all, graded: mutations.len(), survivors }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The program of all mutations that compile; only those are left in the list.
fn build(exercise: &Exercise, solution: &str, mutations: &mut Vec<Mutation>) -> PathBuf {
    let folder = root().join("target/mutations");
    loop {
        let _ = fs::remove_dir_all(&folder);
        for (n, mutation) in mutations.iter().enumerate() {
            let file = folder.join(exercise.folder).join(format!("{n:04}.rs"));
            shelf::write(&file, &mutation.apply(solution)).expect("there is room");
        }
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .current_dir(root())
            .args(["build", "--quiet", "--package", "mutants", "--message-format", "json"])
            .env("KUBESTEP_MUTATIONS", &folder)
            .output()
            .expect("cargo can be started");
        if output.status.success() {
            return root().join("target/debug/mutants");
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let wrong: BTreeSet<usize> = said.lines().flat_map(wrong_modules).collect();
        assert!(!wrong.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut n = 0..;
        mutations.retain(|_| !n.next().is_some_and(|n| wrong.contains(&n)));
    }
}

/// The numbers of the modules that an error of the compiler is about: `m06_replicaset_12.rs`.
fn wrong_modules(line: &str) -> Vec<usize> {
    let Ok(line) = serde_json::from_str::<Value>(line) else { return Vec::new() };
    if line["message"]["level"] != "error" {
        return Vec::new();
    }
    let files = line["message"]["spans"].as_array().into_iter().flatten().filter_map(|span| span["file_name"].as_str());
    files.filter_map(|file| file.strip_suffix(".rs")?.rsplit('_').next()?.parse().ok()).collect()
}

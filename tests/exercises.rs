//! The grader cannot be fooled: stubs are pending, solutions pass, wrong solutions fail with the right diagnosis, and code
//! that misbehaves is named as what it is.

use std::fs;
use std::path::{Path, PathBuf};

use kubestep::lab::{Exercise, Failure, TABLE, Verdict, process, shelf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[derive(serde::Deserialize)]
struct Mutant {
    says: String,
}

fn mutants(exercise: &Exercise) -> Vec<Mutant> {
    let path = root().join("solutions").join(exercise.folder).join("mutants.yaml");
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn program(package: &str) -> PathBuf {
    process::build(root(), package).unwrap_or_else(|verdict| panic!("{package}: {verdict:?}"))
}

#[test]
fn solutions_pass_and_differ_from_stubs_below_the_mark_only() {
    for exercise in TABLE {
        let verdict = process::grade_solution(root(), exercise);
        assert!(verdict.passes(), "{}: {verdict:?}", exercise.folder);
        let above = |text: String| {
            let (above, _) = text.split_once(shelf::MARK).expect("there is a mark");
            above.to_owned()
        };
        let stub = shelf::stub(root(), exercise).unwrap();
        assert!(stub.contains("lab::not_started()"), "{}", exercise.folder);
        let solution = shelf::read(&shelf::solution(root(), exercise)).unwrap();
        assert_eq!(above(stub), above(solution), "{}", exercise.folder);
    }
}

#[test]
fn every_wrong_solution_fails_with_the_right_diagnosis_and_other_right_ones_pass() {
    let program = program("mutants");
    for exercise in TABLE {
        let mutants = mutants(exercise);
        assert!(mutants.len() >= 8, "{} has {} mutants", exercise.folder, mutants.len());
        for (n, mutant) in mutants.iter().enumerate() {
            let verdict = process::grade_program(&program, &[exercise.folder, &n.to_string()], exercise);
            let Verdict::Fails(Failure { mistake, property, .. }) = &verdict else {
                panic!("{}: {}: {verdict:?}", exercise.folder, mutant.says);
            };
            assert_eq!(*mistake, Some(&*mutant.says), "{}: {property}", exercise.folder);
        }
        let also = fs::read_dir(root().join("solutions").join(exercise.folder).join("also")).unwrap().count();
        assert!(also >= 3, "{} has {also} other solutions", exercise.folder);
        for n in 0..also {
            let n = (mutants.len() + n).to_string();
            let verdict = process::grade_program(&program, &[exercise.folder, &n], exercise);
            assert!(verdict.passes(), "{} {n}: {verdict:?}", exercise.folder);
        }
    }
}

#[test]
fn one_file_gets_one_verdict() {
    let program = program("mutants");
    let exercise = Exercise::find("ownership").unwrap();
    let grade = || process::grade_program(&program, &[exercise.folder, "0"], exercise);
    let first = grade();
    assert!((0..10).all(|_| grade() == first));
}

/// Programs that do to the grader what a learner's code may do; each is a script, so that nothing has to be built.
#[cfg(unix)]
mod containment {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    /// What the grader says of a program with this text.
    fn verdict_on(name: &str, script: &str) -> String {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let exercise = Exercise::find("ownership").unwrap();
        match process::grade_program(&path, &[], exercise) {
            Verdict::Stopped(how) => how,
            Verdict::Fails(failure) => failure.property.to_owned(),
            other => panic!("{name} passes as {other:?}"),
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "how long the grader takes is the question")]
    fn whatever_it_does_it_is_named_and_ends() {
        let cases = [
            ("exits", "exit 0", "it ends the process (exit status: 0) at question 1"),
            ("fails", "exit 3", "it ends the process (exit status: 3) at question 1"),
            ("killed", "kill -9 $$", "it ends the process (signal: 9 (SIGKILL)) at question 1"),
            ("panics", "echo \"thread 'main' panicked at src/lib.rs:7:5:\" >&2; exit 101", "it panics at question 1"),
            ("loops", "while :; do :; done", "it does not come to an end: no answer at question 1"),
            ("sleeps", "sleep 1000", "it does not come to an end"),
            ("floods", "yes", "it prints without end"),
            ("floods-errors", "yes >&2", "it prints without end"),
            ("deaf", "exec <&-; sleep 1000", "it does not come to an end"),
            ("child", "sleep 1000 & exit 0", "it ends the process"),
            ("escapes", "setsid sleep 20 & exit 0", "it ends the process"),
            ("forges", "while read -r line; do echo 'answer: \"Keep\"'; done", "that nobody controls is adopted"),
            ("garbage", "while read -r line; do echo 'answer: {'; done", "every Pod gets an answer"),
            ("too-much", "while read -r line; do echo 'answer: 1'; echo 'answer: 1'; done", "it gives"),
            ("memory", "echo 'memory allocation of 99999999999 bytes failed' >&2; exit 134", "of memory at question 1"),
        ];
        for (name, script, says) in cases {
            let start = std::time::Instant::now();
            let how = verdict_on(name, script);
            assert!(how.contains(says), "{name}: {how}");
            assert!(start.elapsed() < Duration::from_secs(30), "{name} held up the grader");
        }
    }
}

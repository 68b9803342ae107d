//! The grader cannot be fooled: stubs are pending, solutions pass, wrong solutions fail with the right diagnosis, and code
//! that misbehaves is named as what it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cluster::scenario::{Plugged, Scenario};
use debugger::record::Record;
use kubestep_tests::project::{command, root};
use kubestep_tests::skip;
use kubestep_tests::wrong::MUTANTS;
use lab::building::Program;
use lab::mistake::Known;
use lab::{Exercise, Failure, Judging, TABLE, Verdict, building, process, report, shelf, twin};

/// A wrong solution, and the name of the mistake that it makes.
#[derive(serde::Deserialize)]
struct Mutant {
    mistake: String,
}

fn mutants(exercise: &Exercise) -> Vec<Mutant> {
    let path = root().join("solutions").join(exercise.folder).join("mutants.yaml");
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn program(program: Program) -> PathBuf {
    building::build(root(), program).unwrap_or_else(|verdict| panic!("{}: {verdict:?}", program.name()))
}

/// What is tested of each exercise: `cargo test -p kubestep-tests --test exercises ownership` for one.
macro_rules! each {
    ($($name:ident)*) => {
        mod solutions {
            $(#[test] fn $name() { super::its_solution_passes(stringify!($name)); })*
        }
        mod mutants {
            $(#[test] fn $name() { super::every_wrong_solution_fails(stringify!($name)); })*
        }
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

each! {
    trace ownership update admission cache queue replicaset expectations deployment rollout fit score sync restart cni
    endpointslice proxy heartbeat collect finalizer lease job operator conditions
}

#[test]
fn all_exercises_are_tested() {
    let table: Vec<&str> = TABLE.iter().map(Exercise::name).collect();
    assert_eq!(NAMES, table);
}

/// A name is that of one sentence, and a sentence has one name.
#[test]
fn each_mistake_has_a_name_of_its_own() {
    for exercise in TABLE {
        let known = exercise.mistakes();
        let alike = |one: &Known, other: &Known| (one.name == other.name) == (one.says == other.says);
        assert!(known.iter().all(|one| known.iter().all(|other| alike(one, other))), "{}", exercise.folder);
    }
}

/// A learner is told where the types are, before there is anything that compiles.
#[test]
fn all_exercises_say_what_they_are_written_with() {
    for exercise in TABLE {
        assert!(root().join(exercise.types()).is_file(), "{}", exercise.types());
        for verdict in [Verdict::NotStarted, Verdict::DoesNotCompile("error".to_owned())] {
            let said = report::full(root(), exercise, &verdict);
            assert!(said.contains(&format!("  types: {}\n", exercise.types())), "{said}");
        }
    }
}

/// It passes, and differs from the stub below the mark only.
fn its_solution_passes(name: &str) {
    let exercise = Exercise::find(name).unwrap();
    let verdict = process::grade_solution(root(), exercise);
    assert!(verdict.passes(), "{verdict:?}");
    let above = |text: String| {
        let (above, _) = text.split_once(shelf::MARK).expect("there is a mark");
        above.to_owned()
    };
    let stub = shelf::stub(root(), exercise).unwrap();
    assert!(stub.contains("exercise::not_started()"));
    let solution = shelf::read(&shelf::solution(root(), exercise)).unwrap();
    assert_eq!(above(stub), above(solution));
}

/// A wrong controller takes a second or two to judge, and there are hundreds of them. So many are passed over for each that is
/// judged; CI judges all, with `KUBESTEP_MUTANTS=all`.
const PASSED_OVER: usize = 5;

/// The step between the wrong solutions that are judged.
fn step(exercise: &Exercise) -> usize {
    let all = std::env::var("KUBESTEP_MUTANTS").is_ok_and(|which| which == "all");
    if all || matches!(exercise.judging, Judging::Function { .. }) { 1 } else { PASSED_OVER + 1 }
}

/// They fail with the right diagnosis, and other right ones pass.
fn every_wrong_solution_fails(name: &str) {
    let exercise = Exercise::find(name).unwrap();
    let mutants = mutants(exercise);
    assert!(mutants.len() >= 8, "it has {} mutants", mutants.len());
    let step = step(exercise);
    if step > 1 {
        println!("one of {step} is judged; all of them with KUBESTEP_MUTANTS=all, as in CI");
    }
    let known = exercise.mistakes();
    for (n, mutant) in mutants.iter().enumerate() {
        let known = known.iter().find(|known| known.name == mutant.mistake);
        let Known { name, says } = known.unwrap_or_else(|| panic!("nobody knows {}", mutant.mistake));
        if n % step > 0 {
            continue;
        }
        let verdict = process::grade_program(&MUTANTS, &[exercise.folder, &n.to_string()], exercise);
        let Verdict::Fails(Failure { mistake, property, .. }) = &verdict else {
            panic!("{name}: {verdict:?}");
        };
        assert_eq!(mistake.as_deref(), Some(*says), "{name}: {property}");
    }
    let also = fs::read_dir(root().join("solutions").join(exercise.folder).join("also")).unwrap().count();
    assert!(also >= 3, "it has {also} other solutions");
    for n in 0..also {
        let n = (mutants.len() + n).to_string();
        let verdict = process::grade_program(&MUTANTS, &[exercise.folder, &n], exercise);
        assert!(verdict.passes(), "{n}: {verdict:?}");
    }
}

#[test]
fn one_file_gets_one_verdict() {
    let exercise = Exercise::find("ownership").unwrap();
    let grade = || process::grade_program(&MUTANTS, &[exercise.folder, "0"], exercise);
    let first = grade();
    assert!((0..10).all(|_| grade() == first));
}

/// Another build of the grader says the same, word for word. CI makes one and says where it is.
#[test]
fn the_twin_judges_alike() {
    let Some(twin) = std::env::var_os("KUBESTEP_OTHER") else {
        skip::skipped("KUBESTEP_OTHER=target/judge/kubestep, after cargo build --profile judge");
        return;
    };
    for name in ["trace", "replicaset", "expectations", "fit", "deployment"] {
        let exercise = Exercise::find(name).unwrap();
        let arguments = [exercise.folder, "1"];
        let verdict = process::grade_program(&MUTANTS, &arguments, exercise);
        assert!(matches!(verdict, Verdict::Fails(_)), "{verdict:?}");
        assert_eq!(twin::judge(Path::new(&twin), exercise, &MUTANTS, &arguments), Some(verdict));
    }
    assert_eq!(twin::judge(Path::new("/no/such/program"), &TABLE[0], &MUTANTS, &[]), None);
}

/// What a process prints is no verdict, even if it talks of a panic.
#[test]
fn one_that_only_talks_of_panics_passes() {
    let exercise = Exercise::find("ownership").unwrap();
    let verdict = process::grade_program(&MUTANTS, &["misbehaving", "function-talks-of-panics"], exercise);
    assert!(verdict.passes(), "{verdict:?}");
}

/// A program that prints each question prints megabytes, and is right all the same.
#[test]
fn one_that_prints_a_little_each_time_passes() {
    let exercise = Exercise::find("ownership").unwrap();
    let verdict = process::grade_program(&MUTANTS, &["misbehaving", "function-prints-much"], exercise);
    assert!(verdict.passes(), "{verdict:?}");
}

/// A controller is asked again and again, and by several threads; yet what it does is found out once, and said as what it is.
#[test]
#[allow(clippy::disallowed_methods, reason = "how long the grader takes is the question")]
fn a_controller_that_misbehaves_is_named_and_ends() {
    let cases = [
        ("replicaset", "panics", "then: it panics at tests/mutants/src/misbehaving.rs:"),
        ("expectations", "panics-in-observe", ": nobody asked me"),
        ("replicaset", "exits", "it ends the process (exit status: 0)"),
        ("replicaset", "loops", "it does not come to an end: no answer within 2 s"),
        ("expectations", "loops-in-observe", "it does not come to an end: no answer within 2 s"),
        ("replicaset", "reads-without-end", "it does not come to an end: no answer within 2 s"),
        ("replicaset", "calls-itself", "it calls itself without end"),
        ("replicaset", "waits", "it waits for something that never comes"),
        ("replicaset", "sleeps", "it takes too long"),
        ("replicaset", "two-at-once", "two calls at once"),
        ("replicaset", "restless", "when all is as asked for, nothing more is written"),
        ("replicaset", "floods", "when all is as asked for, nothing more is written"),
        ("replicaset", "allocates", "it asks for more than 4 GiB of memory"),
        ("replicaset", "prints-without-end", "it prints without end"),
        ("replicaset", "remembers", "the same question gets the same answer, in any order"),
        ("replicaset", "knows-the-numbers", " Pods, and then for "),
        ("endpointslice", "asks-again", "what is refused is not asked for again and again"),
        ("operator", "panics-early", "FAILED: every reconcile comes to its end"),
        ("ownership", "function-remembers", "the same question gets the same answer, in any order"),
    ];
    let mut wrong = String::new();
    for (exercise, name, says) in cases {
        let start = std::time::Instant::now();
        let exercise = Exercise::find(exercise).unwrap();
        let verdict = process::grade_program(&MUTANTS, &["misbehaving", name], exercise);
        let said = report::full(root(), exercise, &verdict);
        println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
        if verdict.passes() || !said.contains(says) || start.elapsed() > Duration::from_secs(60) {
            wrong += &format!("{name}: {said}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let exercise = Exercise::find("replicaset").unwrap();
    let verdict = process::grade_program(&MUTANTS, &["misbehaving", "prints"], exercise);
    assert!(verdict.passes(), "what is printed is of no consequence: {verdict:?}");
}

/// Of both streams, the last lines of the run that is told; the same ones each time.
#[test]
fn what_a_program_prints_is_shown_with_what_it_breaks() {
    let cases = [
        ("replicaset", "prints-and-fails", ["your program printed", "| out: Some(\"web\")", "] replicas = Some("]),
        ("replicaset", "prints-much-and-fails", ["00 lines, the last ones:", "| 92 much much", "| 99 much much"]),
        ("ownership", "function-prints", ["your program printed:", "| asked of Some(", "| and said so"]),
    ];
    for (exercise, name, says) in cases {
        let exercise = Exercise::find(exercise).unwrap();
        let grade = || process::grade_program(&MUTANTS, &["misbehaving", name], exercise);
        let verdict = grade();
        let said = report::full(root(), exercise, &verdict);
        says.iter().for_each(|says| assert!(said.contains(says), "{name}: {said}"));
        assert!(said.lines().count() < 40 && said.lines().all(|line| line.len() < 1_000), "{said}");
        assert_eq!(grade(), verdict, "{name}");
    }
}

/// A learner's file that is something else for a while.
struct Replaced(PathBuf, String);

impl Replaced {
    fn with(exercise: &Exercise, text: &str) -> Replaced {
        shelf::hand_out(root()).unwrap();
        let file = shelf::file(root(), exercise);
        let before = shelf::read(&file).unwrap();
        shelf::write(&file, text).unwrap();
        Replaced(file, before)
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        shelf::write(&self.0, &self.1).unwrap();
    }
}

#[test]
fn a_file_that_does_not_compile_stops_nothing_but_its_own_verdict() {
    let exercise = Exercise::find("ownership").unwrap();
    let _kept = Replaced::with(exercise, "pub fn claim() -> u32 { \"no number\" }\n");
    let Verdict::DoesNotCompile(words) = process::grade(root(), exercise) else { panic!("it does not compile") };
    assert!(words.contains("error[E0308]: mismatched types"), "{words}");
    assert!(words.contains("exercises/01_ownership/src/lib.rs:1:"), "{words}");
    assert!(process::grade_solution(root(), Exercise::find("fit").unwrap()).passes());
    let run =
        Command::new(env!("CARGO")).current_dir(root()).args(["run", "--quiet", "--", "scenarios"]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));

    // Not the file is at fault if cargo fails before rustc comes to it.
    let broken = command().current_dir(root()).env("CARGO", "false").args(["grade", "ownership"]).output().unwrap();
    let said = String::from_utf8_lossy(&broken.stdout);
    assert!(said.contains("FAILED: cargo fails before it comes to this file"), "{said}");
}

/// Its learner's file with one text in the place of another.
fn solution_with(exercise: &Exercise, before: &str, after: &str) -> String {
    let solution = shelf::read(&shelf::solution(root(), exercise)).unwrap();
    assert!(solution.contains(before), "{solution}");
    solution.replacen(before, after, 1)
}

#[test]
fn a_call_that_is_not_awaited_is_told_by_the_compiler() {
    let exercise = Exercise::find("operator").unwrap();
    let (awaited, not_awaited) = ("&patch).await?;\n    }\n    Ok(", "&patch);\n    }\n    Ok(");
    let _kept = Replaced::with(exercise, &solution_with(exercise, awaited, not_awaited));
    let Verdict::DoesNotCompile(words) = process::grade(root(), exercise) else { panic!("it does not compile") };
    assert!(words.contains("a call is made when it is awaited"), "{words}");
}

#[test]
fn one_that_sleeps_is_told_that_nobody_asks_for_it() {
    let exercise = Exercise::find("update").unwrap();
    let sleeps = "std::thread::sleep(std::time::Duration::from_secs(1));\n    for _ in 0..5";
    let _kept = Replaced::with(exercise, &solution_with(exercise, "for _ in 0..5", sleeps));
    let verdict = process::grade(root(), exercise);
    let Verdict::TooSlow(how) = &verdict else { panic!("{verdict:?}") };
    assert!(how.starts_with("it takes too long: ") && how.contains("\nperhaps: it sleeps; "), "{how}");
}

/// A static that rustc works out for hours.
const ENDLESS: &str = "
pub static ENDLESS: u64 = {
    let mut n = 0;
    while n < u64::MAX {
        n += 1;
    }
    n
};
";

/// A file that takes long is named soon, be it by slow answers, by its output or by a constant.
#[test]
#[allow(clippy::disallowed_methods, reason = "how long the grader takes is the question")]
fn what_takes_long_is_named_soon() {
    let exercise = Exercise::find("ownership").unwrap();
    let misbehaving = |name: &str| process::grade_program(&MUTANTS, &["misbehaving", name], exercise);
    let endless = || {
        let (lints, more) = ("#![allow(unused_imports)]", "#![allow(unused_imports, long_running_const_eval)]");
        let _kept = Replaced::with(exercise, &(solution_with(exercise, lints, more) + ENDLESS));
        process::grade(root(), exercise)
    };
    // The library is built before: that takes as long as it takes.
    assert!(process::grade_solution(root(), exercise).passes());
    let cases: [(&dyn Fn() -> Verdict, &str); 3] = [
        (&|| misbehaving("function-slow"), "it takes too long: more than 4 ms for each of "),
        (&|| misbehaving("function-prints-long"), "it does not come to an end: no answer at question 1 of "),
        // Eight seconds of work; a machine that has no time for it gives up after a minute.
        (&endless, "rustc does not come to an end: it "),
    ];
    for (grade, says) in cases {
        let start = std::time::Instant::now();
        let verdict = grade();
        let (Verdict::Stopped(how) | Verdict::TooSlow(how)) = &verdict else { panic!("{says}: {verdict:?}") };
        assert!(how.starts_with(says), "{how}");
        assert!(start.elapsed() < Duration::from_secs(120), "{how}: {:?}", start.elapsed());
    }
}

/// No run of [`run_with`] has more lines.
const LONGEST: usize = 20_000;

/// The scenario with this program in the place of a part of the cluster: its run to the end, and what crashed in it.
fn run_with(program: &Path, exercise: &str, scenario: &str) -> (Vec<String>, Vec<String>) {
    let mut scenario = match scenario {
        "crashes" => Scenario::parse(scenario, CRASHES).unwrap(),
        "node-lost" => Scenario::parse(scenario, NODE_LOST).unwrap(),
        shipped => Scenario::find(shipped).unwrap(),
    };
    let Judging::Function { parts: Some(parts), .. } = Exercise::find(exercise).unwrap().judging else {
        panic!("{exercise} has no place in the cluster");
    };
    scenario.plugged = Plugged((program != Path::new("")).then(|| parts(program)));
    let mut cluster = bugs::cluster(&scenario);
    let mut record = Record::new(cluster.engine.now(), &scenario.namespace);
    let mut crashes = Vec::new();
    // What fails again and again is never quiet.
    while !cluster.is_quiet() && crashes.is_empty() && record.trace.len() < LONGEST {
        let Some(step) = cluster.step() else { break };
        record.add(&cluster.engine, &step);
        crashes.extend(cluster.engine.take_crashes().into_iter().map(|(_, _, how)| how));
    }
    (record.trace.iter().map(ToString::to_string).collect(), crashes)
}

/// A container that crashes again and again, so that each restart waits longer.
const CRASHES: &str = "
title: t
timeline:
  - kubectl run web --image=nginx:1.27
  - sleep 5
  - kill web
  - sleep 5
  - kill web
  - sleep 15
  - kill web
  - sleep 30
  - kill web
  - sleep 60
";

/// A node that is silent for so long that its Pods go.
const NODE_LOST: &str = "
title: t
nodes: 2
timeline:
  - kubectl create deployment web --image=nginx:1.27 --replicas=2
  - sleep 5
  - node stop 1
  - sleep 400
";

/// A right function in the place of the cluster's own part changes no step of a run, and a wrong one does.
#[test]
fn functions_take_their_place_in_the_cluster() {
    let places = [
        ("ownership", "self-heal"),
        ("rollout", "rolling-update"),
        ("rollout", "bad-rollout-undo"),
        ("fit", "unschedulable"),
        ("fit", "placement"),
        ("score", "placement"),
        ("sync", "probes"),
        ("sync", "image-pull-backoff"),
        ("cni", "cross-node"),
        ("job", "job"),
        ("admission", "limit-range"),
        ("restart", "crashes"),
        ("proxy", "service"),
        ("proxy", "nodeport"),
        ("collect", "delete-cascade"),
        ("heartbeat", "node-lost"),
    ];
    for (name, scenario) in places {
        let exercise = Exercise::find(name).unwrap();
        let solution = program(Program::Solution(exercise));
        let (own, learners) = (run_with(Path::new(""), name, scenario), run_with(&solution, name, scenario));
        assert!(own.0.len() > 100 && own.1.is_empty());
        let parts = own.0.iter().zip(&learners.0).find(|(own, learners)| own != learners);
        assert!(own == learners, "{name} in {scenario}: {parts:?}, {:?}", learners.1);
        // It was asked: without it the run is another.
        assert!(run_with(Path::new("nobody"), name, scenario) != own, "{name} in {scenario} is not asked");
    }
}

/// Programs that do to the grader what a learner's code may do; each is a script, so that nothing has to be built.
#[cfg(unix)]
mod containment {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program with this text, which answers by `answer`.
    fn script(name: &str, text: &str) -> PathBuf {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let answer = "read -r word; answer() { echo \"$word$1\" >&0; }";
        fs::write(&path, format!("#!/bin/sh\n{answer}\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// What it does in the cluster is said there, and ends nothing but its own component.
    #[test]
    fn a_function_in_the_cluster_is_contained() {
        let cases = [
            ("scheduler-exits", "exit 3", "it ends the process (exit status: 3)"),
            ("scheduler-loops", "while :; do :; done", "no answer within 2 s"),
            ("scheduler-talks", "while read -r line; do answer '{'; done", "{ is no answer"),
        ];
        for (name, text, says) in cases {
            let (_, crashes) = run_with(&script(name, text), "fit", "pod");
            assert!(crashes.len() == 1 && crashes[0].contains(says), "{name}: {crashes:?}");
        }
        let no = "while read -r line; do answer '[\"Insufficient patience\"]'; done";
        let is_bound = |(run, crashes): (Vec<String>, Vec<String>)| {
            assert!(crashes.is_empty(), "{crashes:?}");
            run.iter().any(|line| line.contains("pods/binding"))
        };
        assert!(!is_bound(run_with(&script("scheduler-refuses", no), "fit", "pod")));
        assert!(is_bound(run_with(Path::new(""), "fit", "pod")));
    }

    /// What the grader says of a program with this text.
    fn verdict_on(name: &str, text: &str) -> String {
        let path = script(name, text);
        let exercise = Exercise::find("ownership").unwrap();
        match process::grade_program(&path, &[], exercise) {
            Verdict::Stopped(how) => how,
            Verdict::Fails(failure) => failure.property.to_owned(),
            other => panic!("{name} passes as {other:?}"),
        }
    }

    /// The simple questions come first: a wrong answer to one of them is told before a panic at another.
    #[test]
    fn what_it_answered_before_a_panic_is_judged() {
        let text = "n=0; while [ $n -lt 100 ]; do read -r line; answer '\"Keep\"'; n=$((n + 1)); done
            echo \"thread 'main' panicked at src/lib.rs:7:5:\" >&2; exit 101";
        let exercise = Exercise::find("ownership").unwrap();
        let verdict = process::grade_program(&script("panics-later", text), &[], exercise);
        let Verdict::Fails(Failure { property, case, .. }) = verdict else { panic!("{verdict:?}") };
        assert!(property.contains("without a controller is adopted"), "{property}");
        assert!(case.contains("yours gave: Keep") && case.contains("\nlater: it panics at question 101 of "), "{case}");
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
            ("deaf", "exec <&-; sleep 1000", "it has closed its standard input"),
            ("child", "sleep 1000 & exit 0", "it ends the process"),
            ("escapes", "setsid sleep 20 & exit 0", "it ends the process"),
            ("multiplies", "while :; do sleep 1000 & done", "it starts more than 32 processes"),
            (
                "writes",
                "cat /dev/zero > \"$0.out\"; rm \"$0.out\"; kill -XFSZ $$",
                "it writes a file of more than 256 MiB",
            ),
            (
                "prints-an-answer",
                "while read -r line; do echo \"$word\\\"Keep\\\"\"; done",
                "it ends the process (exit status: 0) at question 1",
            ),
            ("forges", "while read -r line; do answer '\"Keep\"'; done", "without a controller is adopted"),
            (
                "dawdles",
                "for n in 1 2 3 4; do read -r line; sleep 1.5; answer '\"Keep\"'; done
                while read -r line; do answer '\"Keep\"'; done",
                "without a controller is adopted",
            ),
            ("runs-on", "while read -r line; do answer '1'; done; sleep 1000", "it runs on after the last question"),
            ("garbage", "while read -r line; do answer '{'; done", "every Pod gets an answer"),
            ("too-much", "while read -r line; do answer '1'; answer '1'; done", "it gives"),
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

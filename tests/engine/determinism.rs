//! The same scenario and seed give the same steps, byte for byte; and what must hold holds for every seed.
//!
//! `KUBESTEP_SEEDS` sets how many seeds each scenario runs with. A failing seed names the command that opens it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::{Command, Stdio};

use apiserver::host::Engine;
use cluster::scenario::Scenario;
use debugger::properties;
use debugger::properties::own::{self, Stated};
use debugger::record::Record;
use engine::Step;
use kubestep_tests::project::program;
use kubestep_tests::skip;
use kubestep_tests::threads;

/// How many seeds are tried unless the environment says otherwise. CI tries 200.
const SEEDS: u64 = 8;

/// So many of them run twice.
const SEEDS_REPEATED: u64 = 20;

/// And so many of them in another build too.
const SEEDS_COMPARED: u64 = 5;

/// More steps than any shipped scenario takes.
const STEPS_MAX: u64 = 200_000;

fn seeds() -> u64 {
    std::env::var("KUBESTEP_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(SEEDS)
}

/// Runs a scenario to its end, checking properties. Returns a digest of its trace, and its last words.
fn run(scenario: &Scenario, seed: u64) -> (u64, String) {
    let mut record: Option<Record> = None;
    let said = run_with(scenario, seed, |engine, step| {
        record.get_or_insert_with(|| Record::new(engine.now(), &scenario.namespace)).add(engine, step);
    });
    let Record { trace, calls, .. } = record.expect("there are steps");
    let mut hasher = DefaultHasher::new();
    (trace, calls).hash(&mut hasher);
    (hasher.finish(), said)
}

/// Runs a scenario to its end, checking properties. Returns its last words. Writing steps down takes most of the time:
/// where steps are not compared, `add` does nothing.
fn run_with(scenario: &Scenario, seed: u64, mut add: impl FnMut(&Engine, &Step)) -> String {
    let opens = format!("cargo run -- step {} --seed {seed}", scenario.name);
    let mut cluster = bugs::cluster(&Scenario { seed, ..scenario.clone() });
    let stated = own::read(&scenario.properties).expect("a shipped scenario is whole");
    let mut properties: Vec<_> = properties::all().into_iter().chain(stated.iter().map(Stated::begin)).collect();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            if let Err(what) = property.check(&cluster.engine, &step) {
                panic!("{}: {what}, at step {}; see it with: {opens}", property.name(), step.id.0);
            }
        }
        add(&cluster.engine, &step);
        assert!(step.id.0 < STEPS_MAX, "the cluster never comes to rest; see it with: {opens}");
    }
    for property in &mut properties {
        if let Err(what) = property.finish(&cluster.engine) {
            panic!("{}: {what}, in the end; see it with: {opens}", property.name());
        }
    }
    let crashes = cluster.engine.take_crashes();
    assert!(crashes.is_empty(), "{crashes:?}; see it with: {opens}");
    cluster.kubectl.printed_since(0)
}

#[test]
fn runs_repeat_and_properties_hold() {
    threads::share(&Scenario::shipped(), repeats_and_holds);
}

fn repeats_and_holds(scenario: &Scenario) {
    let (first, said) = run(scenario, 0);
    assert_eq!(run(scenario, 0), (first, said), "{} does not repeat", scenario.name);
    for seed in 1..=seeds() {
        match seed {
            ..=SEEDS_REPEATED => {
                let same = run(scenario, seed) == run(scenario, seed);
                assert!(same, "{} with seed {seed} does not repeat", scenario.name);
            }
            _ => drop(run_with(scenario, seed, |_, _| ())),
        }
    }
}

/// A world that is brought back goes on as it went on the first time, however far it had gone since.
#[test]
fn saved_worlds_go_on_alike() {
    let mut brought_back = 0;
    for scenario in Scenario::shipped() {
        let mut cluster = bugs::cluster(&scenario);
        let origin = cluster.engine.now();
        let mut record = Record::new(origin, &scenario.namespace);
        let mut saved = Vec::new();
        while !cluster.is_quiet() {
            saved.extend(cluster.save().map(|world| (record.trace.len(), world)));
            let Some(step) = cluster.step() else { break };
            record.add(&cluster.engine, &step);
        }
        let sparse = saved.len().div_ceil(8);
        for (n, (first, world)) in saved.iter().rev().step_by(sparse).enumerate() {
            cluster.restore(world);
            let mut again = Record::new(origin, &scenario.namespace);
            for expected in record.trace[*first..].iter().take(500) {
                let step = cluster.step().expect("there was a step the first time");
                again.add(&cluster.engine, &step);
                assert_eq!(again.trace.last(), Some(expected), "{}, back to step {first}", scenario.name);
            }
            brought_back += usize::from(n > 0 && *first > 0);
        }
    }
    assert!(brought_back > 20, "only {brought_back} worlds were quiet enough to be saved");
}

#[test]
fn seeds_make_a_difference() {
    let scenario = Scenario::find("deployment").expect("it is shipped");
    assert_ne!(run(&scenario, 1).0, run(&scenario, 2).0);
}

/// Another process must give the same bytes as this one.
#[test]
fn processes_agree() {
    let program = Path::new(program());
    for noise in ["0", "1"] {
        assert_eq!(trace_of(program, "rolling-update", 7, noise), trace_here("rolling-update", 7));
    }
}

/// So must another build: optimising changes nothing. CI makes one and says where it is.
#[test]
fn builds_agree() {
    let Some(program) = std::env::var_os("KUBESTEP_OTHER") else {
        skip::skipped("KUBESTEP_OTHER=target/judge/kubestep, after cargo build --profile judge");
        return;
    };
    for scenario in Scenario::shipped() {
        for seed in 0..SEEDS_COMPARED {
            let theirs = trace_of(Path::new(&program), &scenario.name, seed, "0");
            assert!(theirs == trace_here(&scenario.name, seed), "{} with seed {seed} differs", scenario.name);
        }
    }
}

/// The trace that a run of another process writes.
fn trace_of(program: &Path, scenario: &str, seed: u64, noise: &str) -> String {
    let folder = std::env::temp_dir().join(format!("kubestep-determinism-{}-{seed}-{noise}", std::process::id()));
    let status = Command::new(program)
        .args(["run", scenario, "--seed", &seed.to_string(), "--out"])
        .arg(&folder)
        .env("KUBESTEP_NOISE", noise)
        .stdout(Stdio::null())
        .status()
        .expect("the program has been built");
    assert!(status.success());
    let trace = std::fs::read_to_string(folder.join("trace.jsonl")).expect("run has written a trace");
    std::fs::remove_dir_all(&folder).expect("a folder of ours can be removed");
    trace
}

/// The trace of the same run in this process.
fn trace_here(scenario: &str, seed: u64) -> String {
    let mut scenario = Scenario::find(scenario).expect("it is shipped");
    scenario.seed = seed;
    let mut cluster = bugs::cluster(&scenario);
    let mut record = Record::new(cluster.engine.now(), &scenario.namespace);
    while !cluster.has_ended() {
        let Some(step) = cluster.step() else { break };
        record.add(&cluster.engine, &step);
    }
    record.trace.iter().map(|line| format!("{line}\n")).collect()
}

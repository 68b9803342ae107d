//! The same scenario and seed give the same steps, byte for byte; and what must hold holds, whatever the seed.
//!
//! `KUBESTEP_SEEDS` sets how many seeds each scenario runs with. A failing seed names the command that opens it.

use std::hash::{DefaultHasher, Hash, Hasher};

use kubestep::cluster::Cluster;
use kubestep::cluster::scenario::Scenario;
use kubestep::debugger::properties;
use kubestep::debugger::record::Record;

/// How many seeds are tried unless the environment says otherwise. CI tries 200.
const SEEDS: u64 = 8;

/// More steps than any shipped scenario takes.
const STEPS_MAX: u64 = 200_000;

fn seeds() -> u64 {
    std::env::var("KUBESTEP_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(SEEDS)
}

/// Runs a scenario to its end, checking properties. Returns a digest of its trace, and its last words.
fn run(scenario: &Scenario, seed: u64) -> (u64, String) {
    let opens = format!("cargo run -- step {} --seed {seed}", scenario.name);
    let mut cluster = Cluster::for_scenario(scenario, seed);
    let mut record = Record::new(cluster.engine.now(), &scenario.namespace);
    let mut properties = properties::all();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            if let Err(what) = property.check(&cluster.engine, &step) {
                panic!("{}: {what}, at step {}; see it with: {opens}", property.name(), step.id.0);
            }
        }
        record.add(&cluster.engine, &step);
        assert!(step.id.0 < STEPS_MAX, "the cluster never comes to rest; see it with: {opens}");
    }
    for (_, entry) in cluster.engine.api.store.prefix("/registry/deployments/") {
        let object = entry.value.to_json();
        let (wanted, there) = (&object["spec"]["replicas"], &object["status"]["availableReplicas"]);
        assert_eq!(wanted, there, "Deployment {} has not converged; see it with: {opens}", entry.value.name());
    }
    let crashes = cluster.engine.take_crashes();
    assert!(crashes.is_empty(), "{crashes:?}; see it with: {opens}");
    let mut hasher = DefaultHasher::new();
    record.trace.hash(&mut hasher);
    record.calls.hash(&mut hasher);
    (hasher.finish(), cluster.kubectl.printed_since(0))
}

#[test]
fn runs_repeat_and_properties_hold() {
    for scenario in Scenario::shipped() {
        let (first, said) = run(&scenario, 0);
        assert_eq!(run(&scenario, 0), (first, said), "{} does not repeat", scenario.name);
        for seed in 1..=seeds() {
            let (digest, _) = run(&scenario, seed);
            if seed <= 20 {
                assert_eq!(run(&scenario, seed).0, digest, "{} with seed {seed} does not repeat", scenario.name);
            }
        }
    }
}

#[test]
fn seeds_make_a_difference() {
    let scenario = Scenario::find("deployment").expect("it is shipped");
    assert_ne!(run(&scenario, 1).0, run(&scenario, 2).0);
}

/// Another process, and another build, must give the same bytes as this one.
#[test]
fn processes_agree() {
    let digest = |folder: &std::path::Path| {
        let trace = std::fs::read(folder.join("trace.jsonl")).expect("run has written a trace");
        let mut hasher = DefaultHasher::new();
        trace.hash(&mut hasher);
        hasher.finish()
    };
    let mut digests = Vec::new();
    for n in 0..2 {
        let folder = std::env::temp_dir().join(format!("kubestep-determinism-{}-{n}", std::process::id()));
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_kubestep"))
            .args(["run", "rolling-update", "--seed", "7", "--out"])
            .arg(&folder)
            .env("KUBESTEP_NOISE", n.to_string())
            .stdout(std::process::Stdio::null())
            .status()
            .expect("the program was built for this test");
        assert!(status.success());
        digests.push(digest(&folder));
        std::fs::remove_dir_all(&folder).expect("a folder of ours can be removed");
    }
    assert_eq!(digests[0], digests[1]);
}

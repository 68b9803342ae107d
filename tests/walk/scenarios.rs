//! Every scenario once, to its end, with all properties watching.

use cluster::scenario::Scenario;
use debugger::properties;
use debugger::properties::own::{self, Stated};

use crate::threads;

/// More steps than any shipped scenario takes.
const STEPS_MAX: u64 = 200_000;

#[test]
fn every_scenario_is_walked() {
    threads::share(&Scenario::shipped(), |scenario| {
        let walked = walk(scenario);
        walked.unwrap_or_else(|what| panic!("{what}; see it with: cargo run -- step {}", scenario.name));
    });
}

fn walk(scenario: &Scenario) -> Result<(), String> {
    let mut cluster = bugs::cluster(scenario);
    let stated = own::read(&scenario.properties).expect("a shipped scenario is whole");
    let mut properties: Vec<_> = properties::all().into_iter().chain(stated.iter().map(Stated::begin)).collect();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            property.check(&cluster.engine, &step).map_err(|what| format!("{}: {what}", property.name()))?;
        }
        if step.id.0 >= STEPS_MAX {
            return Err("the cluster never comes to rest".to_owned());
        }
    }
    for property in &mut properties {
        property.finish(&cluster.engine).map_err(|what| format!("{}: {what}, in the end", property.name()))?;
    }
    let crashes = cluster.engine.take_crashes();
    if crashes.is_empty() { Ok(()) } else { Err(format!("{crashes:?}")) }
}

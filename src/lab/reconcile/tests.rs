//! What the tests of all exercises of this sort have in common.

use super::partner::{self, Make};
use super::{Plan, trial};
use crate::Exercise;

/// What every exercise of this sort must be able to do; called by the tests of each. That each mistake is found and told
/// from the others is shown with programs that make it, by `tests/exercises`: here, that there is one for each.
pub(crate) fn check(exercise: &str, plan: &'static Plan) {
    let here: Make =
        Box::leak(Box::new(|| -> Box<dyn partner::Partner> { Box::new(partner::Here::new(plan.reference)) }));
    let right = trial::judge(exercise, plan, here, "");
    let schedules = right.unwrap_or_else(|failure| panic!("{}\n{}", failure.property, failure.case));
    assert!(schedules > 50, "{schedules}");
    for (name, text) in plan.trials {
        // One trial of every controller takes a number that no solution can have written down; the others take none.
        assert_eq!(trial::drawn(text, exercise).len() == 2, *name == "any-number", "{name}");
    }
    assert!(plan.trials.iter().any(|(name, _)| *name == "any-number"));
    let folder = Exercise::find(exercise).expect("it is in the table").folder;
    let mutants = format!("{}/../../solutions/{folder}/mutants.yaml", env!("CARGO_MANIFEST_DIR"));
    let mutants = std::fs::read_to_string(mutants).expect("it has mutants");
    let mutants: Vec<std::collections::BTreeMap<String, serde_yaml::Value>> = serde_yaml::from_str(&mutants).unwrap();
    let shown = |name: &str| mutants.iter().any(|mutant| mutant["mistake"].as_str() == Some(name));
    let missing: Vec<&str> = plan.mistakes.iter().map(|one| one.name).filter(|name| !shown(name)).collect();
    assert!(missing.is_empty(), "no program makes the mistakes {missing:?}");
}

//! A learner's part in a cluster of one's own: `kubestep step --exercise NAME`, and sessions that were saved with one.

use super::reconcile::Plan;
use super::reconcile::partner::Process;
use super::{Exercise, Judging, TABLE, Verdict, process, shelf};
use crate::cluster::scenario::{Plugged, Scenario};

/// Puts the learner's solution of the exercise that the scenario names, if it names one, into the scenario's cluster.
///
/// # Errors
/// Says why there is nothing to put there: no such exercise, not started, does not compile.
pub fn plug(scenario: &mut Scenario) -> Result<(), String> {
    let Some(name) = &scenario.exercise else { return Ok(()) };
    let (exercise, plan) = controller(name)?;
    let root = shelf::root()?;
    shelf::hand_out(&root)?;
    if !shelf::is_started(&root, exercise)? {
        let file = shelf::file(&root, exercise);
        return Err(format!(
            "{name} is not started; write it in {}",
            file.strip_prefix(&root).unwrap_or(&file).display()
        ));
    }
    let program = process::build(&root, &process::package("exercise", exercise)).map_err(|verdict| match verdict {
        Verdict::DoesNotCompile(words) => format!("{name} does not compile:\n{words}"),
        Verdict::Stopped(how) => how,
        other => format!("{name} cannot be built: {other:?}"),
    })?;
    scenario.plugged = Plugged(Some(plan.parts(Process::maker(&program, &[]))));
    Ok(())
}

/// The exercise of this name, which runs in a cluster.
///
/// # Errors
/// Says so if there is none, or if it is judged otherwise.
pub fn controller(name: &str) -> Result<(&'static Exercise, &'static Plan), String> {
    let exercise = Exercise::find(name)?;
    match exercise.judging {
        Judging::Controller(plan) => Ok((exercise, plan)),
        Judging::Function { .. } => Err(format!(
            "{name} is a function, not a controller, so it does not run in the cluster; those that do are {}",
            controllers().join(", ")
        )),
    }
}

/// A scenario in which an exercise is judged, by name.
pub fn trial(exercise: &str, name: &str) -> Option<Scenario> {
    let Judging::Controller(plan) = Exercise::find(exercise).ok()?.judging else { return None };
    let (name, text) = plan.trials.iter().find(|(trial, _)| *trial == name)?;
    Scenario::parse(name, text).ok()
}

/// All scenarios in which an exercise is judged.
///
/// # Errors
/// Says so if there is no such exercise, or if it is judged otherwise.
pub fn trials(exercise: &str) -> Result<Vec<Scenario>, String> {
    let Judging::Controller(plan) = Exercise::find(exercise)?.judging else {
        return Err(format!(
            "{exercise} is a function, which has no schedules; those that have are {}",
            controllers().join(", ")
        ));
    };
    plan.trials.iter().map(|(name, text)| Scenario::parse(name, text).map_err(|error| error.to_string())).collect()
}

/// The exercises that run in a cluster, by name.
pub fn controllers() -> Vec<&'static str> {
    let is = |exercise: &&Exercise| matches!(exercise.judging, Judging::Controller(_));
    TABLE.iter().filter(is).map(Exercise::name).collect()
}

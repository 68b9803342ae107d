//! A learner's part in a cluster of one's own: `kubestep step --exercise NAME`, and sessions that were saved with one.

use std::path::Path;

use super::building::Program;
use super::reconcile::partner::Process;
use super::started::started_as;
use super::{Exercise, Judging, TABLE, Verdict, building, shelf};
use cluster::Parts;
use cluster::scenario::{Plugged, Scenario};

/// Puts the learner's solution of the exercise that the scenario names, if it names one, into the scenario's cluster.
///
/// # Errors
/// Says why there is nothing to put there: no such exercise, not started, does not compile.
pub fn plug(scenario: &mut Scenario) -> Result<(), String> {
    let Some(name) = &scenario.exercise else { return Ok(()) };
    let (exercise, parts) = part(name)?;
    let root = shelf::root()?;
    shelf::hand_out(&root)?;
    if !shelf::is_started(&root, exercise)? {
        let file = shelf::file(&root, exercise);
        return Err(format!(
            "{name} is not started; write it in {}",
            file.strip_prefix(&root).unwrap_or(&file).display()
        ));
    }
    let program = building::build(&root, Program::Exercise(exercise)).map_err(|verdict| match verdict {
        Verdict::NotBuilt(words) => format!("cargo fails before it comes to {name}:\n{words}"),
        Verdict::DoesNotCompile(words) => format!("{name} does not compile:\n{words}"),
        Verdict::Stopped(how) => how,
        other => format!("{name} cannot be built: {other:?}"),
    })?;
    scenario.plugged = Plugged(Some(parts(&program)));
    Ok(())
}

/// A cluster in which a program has the place of one of its own parts.
pub type With = Box<dyn Fn(&Path) -> Parts>;

/// The exercise of this name, and the cluster in which its program has a place.
///
/// # Errors
/// If there is no such exercise, or it has no place in a cluster: then also where its like is seen.
pub fn part(name: &str) -> Result<(&'static Exercise, With), String> {
    let exercise = Exercise::find(name)?;
    match exercise.judging {
        Judging::Controller(plan) => Ok((exercise, Box::new(|program| plan.parts(Process::maker(program, &[]))))),
        Judging::Function { parts: Some(parts), .. } => Ok((exercise, Box::new(parts))),
        Judging::Function { parts: None, .. } => Err(instead(exercise)),
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
        let controllers = names(|exercise| matches!(exercise.judging, Judging::Controller(_))).join(", ");
        return Err(format!("{exercise} is a function, which has no schedules; those that have are {controllers}"));
    };
    plan.trials.iter().map(|(name, text)| Scenario::parse(name, text).map_err(|error| error.to_string())).collect()
}

/// The exercises that have a place in a cluster, by name.
pub fn parts() -> Vec<&'static str> {
    names(has_a_place)
}

fn names(is: fn(&Exercise) -> bool) -> Vec<&'static str> {
    TABLE.iter().filter(|exercise| is(exercise)).map(Exercise::name).collect()
}

/// Whether a solution can take the place of the cluster's own part.
pub fn has_a_place(exercise: &Exercise) -> bool {
    matches!(exercise.judging, Judging::Controller(_) | Judging::Function { parts: Some(_), .. })
}

/// Where the part of the cluster that a function stands for is at work: a scenario, and what to type there.
const AT_WORK: &[(&str, &str, &str)] = &[
    ("trace", "deployment", "tour"),
    ("ownership", "self-heal", "until create pods request"),
    ("update", "deployment", "until deployment-controller 409"),
    ("admission", "limit-range", "until create pods request"),
    ("cache", "deployment", "until notification pod to=kube-scheduler"),
    ("queue", "deployment", "until replicaset-controller timer"),
    ("rollout", "rolling-update", "until update replicasets request"),
    ("fit", "placement", "until pods/binding request"),
    ("score", "placement", "until pods/binding request"),
    ("sync", "pod", "until notification pod to=kubelet/*"),
    ("restart", "probes", "until pods/status request if new.status.containerStatuses[0].restartCount == 1"),
    ("cni", "cross-node", "until pods/status request if new.status.podIP"),
    ("proxy", "service", "until notification endpointslice to=kube-proxy/*"),
    ("heartbeat", "node-lost", "until condition=Ready:Unknown"),
    ("collect", "delete-cascade", "until delete replicasets request"),
    ("lease", "leader-change", "until kube-controller-manager/* update leases request"),
    ("job", "job", "until create pods request"),
    ("conditions", "deployment", "until deployment-controller deployments/status request"),
];

/// The scenario in which an exercise is looked at, unless another is asked for.
pub fn usual_scenario(exercise: &str) -> &'static str {
    let name = Exercise::find(exercise).map_or("", Exercise::name);
    AT_WORK.iter().find(|(of, ..)| *of == name).map_or("deployment", |(_, scenario, _)| scenario)
}

/// What to do with a function that has no place in the cluster.
fn instead(exercise: &Exercise) -> String {
    let (name, program) = (exercise.name(), started_as());
    let at_work = AT_WORK.iter().find(|(of, ..)| *of == name);
    let look = at_work.map_or(String::new(), |(_, scenario, moves)| {
        format!("; the cluster's own part is at work in `{program} step {scenario}`, then `{moves}`")
    });
    format!(
        "{name} is a function that has no place in the cluster: `{program} grade {name}` asks it all there is to ask{look}. \
         Those that take a place there are {}",
        parts().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use debugger::breakpoint::Breakpoints;
    use debugger::{Advance, Goal, Session};

    /// Of each function it is said where its like is seen; and a run comes to that place.
    #[test]
    fn each_function_is_at_work_somewhere() {
        let functions: Vec<&str> = names(|one| matches!(one.judging, Judging::Function { .. }));
        assert_eq!(functions, AT_WORK.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
        for (name, scenario, moves) in AT_WORK {
            let mut session = Session::of(Scenario::find(scenario).unwrap());
            let Some(until) = moves.strip_prefix("until ") else { continue };
            let mut condition = Breakpoints::default();
            condition.add(until, true, &session.names()).unwrap();
            assert_eq!(session.go(&mut Goal::Until(Box::new(condition)), 0), Advance::Stopped, "{name}: {until}");
        }
    }
}

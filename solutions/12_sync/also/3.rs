//! Exercise 12: what does the kubelet do to a Pod now?
//!
//! Again and again the kubelet compares a Pod with what the runtime has of it, and does what is missing. It remembers nothing.
//!
//! Without a sandbox, or with one that is lost, all starts over: a lost one is killed first (`kill_pod`), a sandbox is made,
//! and the first init container is started in it; without init containers all that is to run. But nothing is made, only
//! `kill_pod`, if the sandbox is lost and either the policy is Never and any container, init or not, has run or runs; or none
//! of the containers is to run again. One that runs in a lost sandbox is.
//!
//! In a sandbox that stands init containers run one after another until each has ended with 0. One that failed is started
//! again, but under Never the Pod is over (`kill_pod`). Once any container runs or has run in this sandbox (here none
//! has run in an earlier one) they do not matter any more.
//! Then each container is started that should run and does not: one that has never run, or has ended and is to be started
//! again, under Always or, if it failed, under OnFailure. If none runs and none is started the Pod is over. No init container
//! here is a sidecar (`restartPolicy: Always`).

#![allow(unused_imports)]

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use kubestep_exercise::sync::{Actions, Sandbox, Seen, State};

// Yours from here.

#[derive(Clone, Copy, PartialEq)]
enum Need {
    Runs,
    Start,
    Over,
}

/// What each container needs first; then what follows for the Pod.
pub fn sync(pod: &Pod, seen: &Seen) -> Actions {
    let spec = pod.spec.as_ref().unwrap();
    let policy = spec.restart_policy.as_deref().unwrap_or("Always");
    let need = |container: &Container| match (seen.containers.get(&container.name), policy) {
        (None, _) => Need::Start,
        (Some(State::Running), _) => Need::Runs,
        (Some(State::Exited(0)), "OnFailure") => Need::Over,
        (Some(State::Exited(_)), "Never") => Need::Over,
        (Some(State::Exited(_)), _) => Need::Start,
    };
    let needs: Vec<(Need, &str)> = spec.containers.iter().map(|one| (need(one), one.name.as_str())).collect();
    let with = |wanted: &[Need]| -> Vec<String> {
        needs.iter().filter(|(need, _)| wanted.contains(need)).map(|(_, name)| name.to_string()).collect()
    };
    let no_inits = Vec::new();
    let inits = spec.init_containers.as_ref().unwrap_or(&no_inits);
    if seen.sandbox == Sandbox::None || seen.sandbox == Sandbox::Lost {
        let lost = seen.sandbox == Sandbox::Lost;
        let start = with(&[Need::Runs, Need::Start]);
        let finished = start.is_empty() || (policy == "Never" && seen.containers.values().count() != 0);
        return match (lost && finished, inits.first()) {
            (true, _) => Actions { kill_pod: true, create_sandbox: false, start_init: vec![], start: vec![] },
            (false, None) => Actions { kill_pod: lost, create_sandbox: true, start_init: vec![], start },
            (false, Some(init)) => {
                Actions { kill_pod: lost, create_sandbox: true, start_init: vec![init.name.clone()], start: vec![] }
            }
        };
    }
    let fresh = spec.containers.iter().all(|one| !seen.containers.contains_key(&one.name));
    if fresh {
        for init in inits {
            let mut actions = Actions::default();
            match seen.containers.get(&init.name) {
                Some(State::Exited(0)) => continue,
                Some(State::Running) => return actions,
                Some(State::Exited(_)) if policy == "Never" => actions.kill_pod = true,
                _ => actions.start_init.push(init.name.clone()),
            }
            return actions;
        }
    }
    let all_over = needs.iter().all(|(need, _)| *need == Need::Over);
    Actions { kill_pod: all_over, start: with(&[Need::Start]), ..Actions::default() }
}

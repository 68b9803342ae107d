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

/// What one sync does to a Pod.
pub fn sync(pod: &Pod, seen: &Seen) -> Actions {
    let Some(spec) = &pod.spec else { return Actions::default() };
    match seen.sandbox {
        Sandbox::Ready => in_sandbox(spec, seen),
        Sandbox::None | Sandbox::Lost => with_new_sandbox(spec, seen),
    }
}

fn over() -> Actions {
    Actions { kill_pod: true, ..Actions::default() }
}

fn with_new_sandbox(spec: &PodSpec, seen: &Seen) -> Actions {
    let lost = seen.sandbox == Sandbox::Lost;
    let names = spec.containers.iter().map(|one| one.name.clone());
    let start: Vec<String> = names.filter(|name| runs(seen, name) || is_to_start(spec, seen, name)).collect();
    let never = policy(spec) == "Never" && !seen.containers.is_empty();
    if lost && (never || start.is_empty()) {
        return over();
    }
    let mut inits = spec.init_containers.iter().flatten().map(|one| one.name.clone());
    match inits.next() {
        Some(init) => Actions { kill_pod: lost, create_sandbox: true, start_init: vec![init], ..Actions::default() },
        None => Actions { kill_pod: lost, create_sandbox: true, start, ..Actions::default() },
    }
}

fn in_sandbox(spec: &PodSpec, seen: &Seen) -> Actions {
    let mut actions = Actions::default();
    let has_run = spec.containers.iter().any(|one| seen.containers.contains_key(&one.name));
    for init in spec.init_containers.iter().flatten().filter(|_| !has_run) {
        match seen.containers.get(&init.name) {
            Some(State::Exited(0)) => continue,
            Some(State::Exited(_)) if policy(spec) == "Never" => return over(),
            Some(State::Running) => {}
            Some(State::Exited(_)) | None => actions.start_init.push(init.name.clone()),
        }
        return actions;
    }
    for container in &spec.containers {
        if is_to_start(spec, seen, &container.name) {
            actions.start.push(container.name.clone());
        }
    }
    let any_runs = spec.containers.iter().any(|one| runs(seen, &one.name));
    if any_runs || !actions.start.is_empty() { actions } else { over() }
}

fn runs(seen: &Seen, name: &str) -> bool {
    seen.containers.get(name) == Some(&State::Running)
}

/// Whether a container that does not run should.
fn is_to_start(spec: &PodSpec, seen: &Seen, name: &str) -> bool {
    match seen.containers.get(name) {
        None => true,
        Some(State::Running) => false,
        Some(State::Exited(code)) => match policy(spec) {
            "Always" => true,
            "OnFailure" => *code != 0,
            _ => false,
        },
    }
}

fn policy(spec: &PodSpec) -> &str {
    spec.restart_policy.as_deref().unwrap_or("Always")
}

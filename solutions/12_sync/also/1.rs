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

/// In one function.
pub fn sync(pod: &Pod, seen: &Seen) -> Actions {
    let spec = pod.spec.clone().unwrap();
    let policy = spec.restart_policy.unwrap();
    let inits: Vec<String> = spec.init_containers.unwrap_or_default().into_iter().map(|c| c.name).collect();
    let apps: Vec<String> = spec.containers.into_iter().map(|c| c.name).collect();
    let mut running = 0;
    let mut missing = vec![];
    let mut todo = vec![];
    let mut has_run = false;
    for name in &apps {
        match seen.containers.get(name) {
            Some(State::Running) => {
                running += 1;
                has_run = true;
                todo.push(name.clone());
            }
            Some(State::Exited(code)) => {
                has_run = true;
                if policy == "Always" || policy == "OnFailure" && *code != 0 {
                    missing.push(name.clone());
                    todo.push(name.clone());
                }
            }
            None => {
                missing.push(name.clone());
                todo.push(name.clone());
            }
        }
    }
    let mut actions = Actions::default();
    if seen.sandbox != Sandbox::Ready {
        actions.kill_pod = seen.sandbox == Sandbox::Lost;
        if actions.kill_pod && (todo.is_empty() || policy == "Never" && seen.containers.len() > 0) {
            return actions;
        }
        actions.create_sandbox = true;
        if inits.is_empty() {
            actions.start = todo;
        } else {
            actions.start_init.push(inits[0].clone());
        }
        return actions;
    }
    if !has_run {
        let next = inits.iter().find(|name| seen.containers.get(*name) != Some(&State::Exited(0)));
        if let Some(next) = next {
            match seen.containers.get(next) {
                Some(State::Running) => {}
                Some(_) if policy == "Never" => actions.kill_pod = true,
                _ => actions.start_init = vec![next.clone()],
            }
            return actions;
        }
    }
    actions.kill_pod = running == 0 && missing.is_empty();
    actions.start = missing;
    actions
}

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

/// Each step gives the actions, if it is the one that decides.
pub fn sync(pod: &Pod, seen: &Seen) -> Actions {
    let view = View { spec: pod.spec.as_ref().expect("a Pod has a spec"), seen };
    view.renew().or_else(|| view.initialise()).unwrap_or_else(|| view.keep_up())
}

struct View<'a> {
    spec: &'a PodSpec,
    seen: &'a Seen,
}

impl View<'_> {
    fn state(&self, container: &Container) -> Option<State> {
        self.seen.containers.get(&container.name).copied()
    }

    fn restarts(&self, code: i32) -> bool {
        match self.spec.restart_policy.as_deref() {
            Some("Never") => false,
            Some("OnFailure") => code != 0,
            _ => true,
        }
    }

    fn names(&self, wanted: impl Fn(Option<State>) -> bool) -> Vec<String> {
        let all = self.spec.containers.iter().filter(|container| wanted(self.state(container)));
        all.map(|container| container.name.clone()).collect()
    }

    fn renew(&self) -> Option<Actions> {
        let kill_pod = match self.seen.sandbox {
            Sandbox::Ready => return None,
            Sandbox::None => false,
            Sandbox::Lost => true,
        };
        let all = self.names(|state| match state {
            Some(State::Exited(code)) => self.restarts(code),
            Some(State::Running) | None => true,
        });
        let never = self.spec.restart_policy.as_deref() == Some("Never");
        if kill_pod && ((never && !self.seen.containers.is_empty()) || all.is_empty()) {
            return Some(Actions { kill_pod, ..Default::default() });
        }
        let first = self.spec.init_containers.as_ref().and_then(|inits| inits.first());
        let (start_init, start) = match first {
            Some(first) => (vec![first.name.clone()], vec![]),
            None => (vec![], all),
        };
        Some(Actions { kill_pod, create_sandbox: true, start_init, start })
    }

    fn initialise(&self) -> Option<Actions> {
        if self.spec.containers.iter().any(|container| self.state(container).is_some()) {
            return None;
        }
        let mut inits = self.spec.init_containers.iter().flatten();
        let init = inits.find(|init| self.state(init) != Some(State::Exited(0)))?;
        let mut actions = Actions::default();
        match self.state(init) {
            Some(State::Running) => {}
            Some(State::Exited(code)) if !self.restarts(code) => actions.kill_pod = true,
            Some(State::Exited(_)) | None => actions.start_init = vec![init.name.clone()],
        }
        Some(actions)
    }

    fn keep_up(&self) -> Actions {
        let start = self.names(|state| match state {
            None => true,
            Some(State::Running) => false,
            Some(State::Exited(code)) => self.restarts(code),
        });
        let idle = self.names(|state| state == Some(State::Running)).is_empty();
        Actions { kill_pod: idle && start.is_empty(), start, ..Default::default() }
    }
}

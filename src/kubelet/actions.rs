//! What one sync has to do to a pod: make a sandbox, kill this, start that.
//!
//! Mirrors `computePodActions` (`pkg/kubelet/kuberuntime/kuberuntime_manager.go`): a comparison of the spec with
//! what the runtime has, made afresh in every sync. Init containers run one after another, each sync starting at
//! most the next one; sidecars among them keep running; the pod's own containers start when initialization is over.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use crate::restart::{restarts_after, should_start};
use crate::restart_all::Reset;
use crate::runtime_pod::{RunState, RuntimeContainer, RuntimePod};
use object::Pod;
use object::pod::is_sidecar;
use object::text::Text;

/// The work of one sync, in the order in which it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Stop everything the pod has, sandbox included.
    pub kill_pod: bool,
    /// Make a sandbox, as this attempt.
    pub create_sandbox: Option<u32>,
    /// Containers to stop.
    pub kill: Vec<Kill>,
    /// Containers to remove, so that all are started anew.
    pub reset: Vec<Reset>,
    /// Indexes into `spec.ephemeralContainers`.
    pub start_ephemeral: Vec<usize>,
    /// Indexes into `spec.initContainers`.
    pub start_init: Vec<usize>,
    /// Running containers that get another size.
    pub resize: Vec<Resized>,
    /// Indexes into `spec.containers`.
    pub start: Vec<usize>,
}

/// A container to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// The runtime's id.
    pub id: Text,
    /// Its name in the Pod's spec.
    pub name: String,
    /// The text of the Killing event.
    pub why: String,
    /// Seconds that it has, if not the Pod's: those of the probe that gave up on it.
    pub grace: Option<i64>,
}

/// A running container whose size the runtime is to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resized {
    /// The runtime's id.
    pub id: Text,
    /// Its name in the Pod's spec.
    pub name: String,
    /// Whether its CPU changes.
    pub cpu: bool,
    /// Whether its memory changes.
    pub memory: bool,
}

/// A liveness or startup probe that gave up on a container.
pub struct Failed<'a> {
    /// Whether the running container with that id failed its startup or liveness probe; the probe's name.
    pub probe: &'a dyn Fn(&str) -> Option<&'static str>,
    /// Whether the running container with that id has passed its startup probe, or has none.
    pub started: &'a dyn Fn(&str, &str) -> bool,
}

/// Says what one sync has to do: [`compute`], or what stands in for it.
pub type Compute = dyn Fn(&Pod, &RuntimePod, &Failed) -> Actions;

impl Actions {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Actions::default()
    }
}

/// Compares the pod with what the runtime has.
pub fn compute(pod: &Pod, runtime: &RuntimePod, failed: &Failed) -> Actions {
    let empty = PodSpec::default();
    let spec = pod.spec.as_deref().unwrap_or(&empty);
    match runtime.sandbox_needed(spec.host_network == Some(true)) {
        Some(attempt) => with_new_sandbox(spec, runtime, attempt),
        None => in_sandbox(pod, spec, runtime, failed),
    }
}

/// A new sandbox means that everything starts over, unless nothing is to run again at all.
fn with_new_sandbox(spec: &PodSpec, runtime: &RuntimePod, attempt: u32) -> Actions {
    let never = spec.restart_policy.as_deref() == Some("Never") && attempt > 0 && !runtime.containers.is_empty();
    let start = wanted(spec, runtime);
    let all_done = attempt > 0 && start.is_empty();
    if never || all_done {
        return Actions { kill_pod: true, ..Actions::default() };
    }
    let replaced = !runtime.sandboxes.is_empty();
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    if inits.is_empty() {
        return Actions { kill_pod: replaced, create_sandbox: Some(attempt), start, ..Actions::default() };
    }
    Actions { kill_pod: replaced, create_sandbox: Some(attempt), start_init: vec![0], ..Actions::default() }
}

/// In a sandbox that stands: next init container, or the containers that should run and do not.
fn in_sandbox(pod: &Pod, spec: &PodSpec, runtime: &RuntimePod, failed: &Failed) -> Actions {
    // They may be started before initialization is over, and never again.
    let start_ephemeral = never_run(spec, runtime);
    let mut actions = Actions { start_ephemeral, ..Actions::default() };
    if !initialize(pod, spec, runtime, failed, &mut actions) {
        return actions;
    }
    let mut keep = 0;
    for (index, container) in spec.containers.iter().enumerate() {
        match runtime.container(&container.name) {
            Some(last) if last.state == RunState::Running => match reason_to_kill(pod, container, last, failed) {
                None => keep += 1,
                Some((mut kill, restart)) => {
                    if restart {
                        kill.why += ", will be restarted";
                        actions.start.push(index);
                    }
                    actions.kill.push(kill);
                }
            },
            Some(last) if last.state == RunState::Unknown => {
                let why = "Container is in \"unknown\" state, try killing it before restart".to_owned();
                actions.kill.push(Kill { id: last.id.clone(), name: container.name.clone(), why, grace: None });
                actions.start.push(index);
            }
            _ if should_start(pod, container, runtime) => actions.start.push(index),
            _ => {}
        }
    }
    if keep == 0 && actions.start.is_empty() {
        return Actions { kill_pod: true, ..Actions::default() };
    }
    actions
}

/// The ephemeral containers that the runtime knows nothing of.
fn never_run(spec: &PodSpec, runtime: &RuntimePod) -> Vec<usize> {
    let all = spec.ephemeral_containers.iter().flatten().enumerate();
    all.filter(|(_, one)| runtime.container(&one.name).is_none()).map(|(index, _)| index).collect()
}

/// Advances the init containers (`computeInitContainerActions`); true once the pod's containers may start. The last of them
/// that the runtime knows of says how far initialization has come, for the runtime may have forgotten those before it; of
/// these only sidecars matter any more, and nothing waits for one that is started again.
fn initialize(pod: &Pod, spec: &PodSpec, runtime: &RuntimePod, failed: &Failed, actions: &mut Actions) -> bool {
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    let mut initialized = inits.is_empty() || runtime.has_initialized(spec);
    let mut is_past = initialized;
    for (index, container) in inits.iter().enumerate().rev() {
        let sidecar = is_sidecar(container);
        let Some(last) = runtime.container(&container.name) else {
            actions.start_init.extend((is_past && sidecar).then_some(index));
            continue;
        };
        if is_past && !sidecar {
            continue;
        }
        let is_done = match last.state {
            RunState::Running if sidecar => keep_sidecar(container, index, last, failed, actions),
            RunState::Running => false,
            RunState::Exited if !sidecar && last.exit_code == 0 => true,
            RunState::Exited if !sidecar && !restarts_after(pod, container, last.exit_code) => {
                *actions = Actions { kill_pod: true, ..Actions::default() };
                return false;
            }
            RunState::Exited | RunState::Created | RunState::Unknown => {
                actions.start_init.push(index);
                false
            }
        };
        if is_done && index + 1 == inits.len() {
            initialized = true;
        } else if is_done && !is_past {
            actions.start_init.push(index + 1);
        }
        is_past = true;
    }
    if !is_past {
        actions.start_init.push(0);
    }
    // They are started in the order of the spec.
    actions.start_init.sort_unstable();
    initialized
}

/// What becomes of a sidecar that runs. Says whether it has started, so that what comes behind it may, which is not for its
/// liveness probe to say.
fn keep_sidecar(
    container: &Container,
    index: usize,
    last: &RuntimeContainer,
    failed: &Failed,
    actions: &mut Actions,
) -> bool {
    let changed = || {
        let why = format!("Init container {} definition changed", container.name);
        Kill { id: last.id.clone(), name: container.name.clone(), why, grace: None }
    };
    let started = (failed.started)(&container.name, &last.id);
    let probe = (failed.probe)(&last.id).map(|probe| kill_for_probe("Init container", container, &last.id, probe));
    let kill = (started && has_another_image(container, last)).then(changed).or(probe);
    actions.start_init.extend(kill.is_some().then_some(index));
    actions.kill.extend(kill);
    started
}

/// Why a running container must be killed, and whether it is started again then. If its spec names another image by now,
/// it is, under any restart policy.
fn reason_to_kill(pod: &Pod, container: &Container, last: &RuntimeContainer, failed: &Failed) -> Option<(Kill, bool)> {
    if has_another_image(container, last) {
        let why = format!("Container {} definition changed", container.name);
        return Some((Kill { id: last.id.clone(), name: container.name.clone(), why, grace: None }, true));
    }
    let probe = (failed.probe)(&last.id)?;
    Some((kill_for_probe("Container", container, &last.id, probe), restarts_for_probe(pod, container)))
}

/// Whether a container was made from another image than its spec names by now (`containerChanged`).
fn has_another_image(container: &Container, last: &RuntimeContainer) -> bool {
    container.image.as_ref().is_some_and(|image| *image != last.image)
}

/// Whether a container that a probe gave up on is started again. It has not ended yet, so its rules for exit codes say nothing.
fn restarts_for_probe(pod: &Pod, container: &Container) -> bool {
    let of_pod = || pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    container.restart_policy.as_deref().or_else(of_pod) != Some("Never")
}

fn kill_for_probe(what: &str, container: &Container, id: &str, probe: &str) -> Kill {
    let why = format!("{what} {} failed {probe} probe", container.name);
    let spec = if probe == "startup" { &container.startup_probe } else { &container.liveness_probe };
    let grace = spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    Kill { id: id.into(), name: container.name.clone(), why, grace }
}

/// The containers that are started in a new sandbox: all but those that are to run until they have done well, and have. How
/// others ended in the one before says nothing.
fn wanted(spec: &PodSpec, runtime: &RuntimePod) -> Vec<usize> {
    let until_done = |container: &Container| {
        container.restart_policy.as_deref().or(spec.restart_policy.as_deref()) == Some("OnFailure")
    };
    let has_done = |container: &Container| {
        runtime.container(&container.name).is_some_and(|last| last.state != RunState::Running && last.exit_code == 0)
    };
    let all = spec.containers.iter().enumerate();
    all.filter(|(_, container)| !(until_done(container) && has_done(container))).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime_pod::RuntimeContainer;
    use crate::testing::{container, exited, pod, running, sandboxed};

    fn actions(pod: &Pod, runtime: &RuntimePod) -> Actions {
        compute(pod, runtime, &Failed { probe: &|_| None, started: &|_, _| true })
    }

    #[test]
    fn a_new_pod_gets_a_sandbox_and_its_containers() {
        let made = actions(&pod(&["a", "b"]), &RuntimePod::default());
        assert_eq!(made, Actions { create_sandbox: Some(0), start: vec![0, 1], ..Actions::default() });
    }

    #[test]
    fn what_has_ended_starts_again_or_ends_the_pod() {
        let table: [(&str, Vec<RuntimeContainer>, Actions); 4] = [
            ("Always", vec![running("a"), running("b")], Actions::default()),
            ("Always", vec![running("a"), exited("b", 1)], Actions { start: vec![1], ..Actions::default() }),
            ("Never", vec![running("a"), exited("b", 1)], Actions::default()),
            ("Never", vec![exited("a", 0), exited("b", 1)], Actions { kill_pod: true, ..Actions::default() }),
        ];
        for (policy, containers, expected) in table {
            let mut pod = pod(&["a", "b"]);
            pod.spec.as_mut().unwrap().restart_policy = Some(policy.into());
            assert_eq!(actions(&pod, &sandboxed(containers)), expected, "{policy}");
        }
    }

    #[test]
    fn init_containers_run_one_after_another() {
        let mut pod = pod(&["web"]);
        pod.spec.as_mut().unwrap().init_containers = Some(vec![container("one"), container("two")]);
        let table = [
            (vec![], vec![0], vec![]),
            (vec![running("one")], vec![], vec![]),
            (vec![exited("one", 0)], vec![1], vec![]),
            (vec![exited("one", 1)], vec![0], vec![]),
            (vec![exited("one", 0), exited("two", 0)], vec![], vec![0]),
        ];
        for (containers, start_init, start) in table {
            let made = actions(&pod, &sandboxed(containers.clone()));
            assert_eq!((made.start_init, made.start), (start_init, start), "{containers:?}");
        }
    }

    #[test]
    fn the_last_init_container_that_is_known_says_how_far_it_has_come() {
        let mut pod = pod(&["web"]);
        let sidecar = Container { restart_policy: Some("Always".into()), ..container("proxy") };
        let inits = vec![container("one"), sidecar, container("two")];
        pod.spec.as_mut().unwrap().init_containers = Some(inits);
        let table = [
            (vec![exited("one", 0), running("proxy")], vec![2], vec![]),
            (vec![exited("one", 0), exited("proxy", 1)], vec![1], vec![]),
            // A sidecar that is started again holds up no other container.
            (vec![exited("one", 0), exited("proxy", 1), running("two")], vec![1], vec![]),
            (vec![exited("one", 0), exited("proxy", 1), exited("two", 1)], vec![1, 2], vec![]),
            (vec![exited("one", 0), exited("proxy", 1), exited("two", 0)], vec![1], vec![0]),
            // Those before it may have been forgotten.
            (vec![running("proxy")], vec![2], vec![]),
            (vec![exited("two", 0)], vec![1], vec![0]),
            (vec![running("web")], vec![1], vec![]),
        ];
        for (containers, start_init, start) in table {
            let made = actions(&pod, &sandboxed(containers.clone()));
            assert_eq!((made.start_init, made.start), (start_init, start), "{containers:?}");
        }
    }

    #[test]
    fn in_a_new_sandbox_initialization_begins_anew() {
        let mut pod = pod(&["web"]);
        pod.spec.as_mut().unwrap().init_containers = Some(vec![container("setup")]);
        let before = || RuntimeContainer { sandbox_id: "gone".into(), ..exited("web", 137) };
        let table = [
            (vec![before()], vec![0], vec![]),
            (vec![before(), running("setup")], vec![], vec![]),
            (vec![before(), exited("setup", 0)], vec![], vec![0]),
            // It has ended in this one, and is started again without waiting for anything.
            (vec![exited("web", 1)], vec![], vec![0]),
        ];
        for (containers, start_init, start) in table {
            let made = actions(&pod, &sandboxed(containers.clone()));
            assert_eq!((made.start_init, made.start), (start_init, start), "{containers:?}");
        }
    }

    #[test]
    fn what_is_killed_is_told_why() {
        let kills = |pod: &Pod, containers: Vec<RuntimeContainer>, probe: Option<&'static str>| {
            let failed = Failed { probe: &|id| probe.filter(|_| id != "other-id"), started: &|_, _| true };
            let made = compute(pod, &sandboxed(containers), &failed);
            (made.kill.into_iter().map(|kill| kill.why).collect::<Vec<_>>(), made.start, made.start_init)
        };
        let one = |why: &str| vec![why.to_owned()];
        let mut pod = pod(&["web", "other"]);
        let both = || vec![running("web"), running("other")];
        let restarted = one("Container web failed liveness probe, will be restarted");
        assert_eq!(kills(&pod, both(), Some("liveness")), (restarted, vec![0], vec![]));
        pod.spec.as_mut().unwrap().restart_policy = Some("Never".into());
        let ended = || one("Container web failed liveness probe");
        assert_eq!(kills(&pod, both(), Some("liveness")), (ended(), vec![], vec![]));
        let rules = r#"[{"action": "Restart", "exitCodes": {"operator": "In", "values": [137]}}]"#;
        pod.spec.as_mut().unwrap().containers[0].restart_policy_rules = serde_json::from_str(rules).unwrap();
        assert_eq!(kills(&pod, both(), Some("liveness")), (ended(), vec![], vec![]), "it has no exit code yet");
        pod.spec.as_mut().unwrap().containers[0].restart_policy = Some("OnFailure".into());
        let restarted = one("Container web failed liveness probe, will be restarted");
        assert_eq!(kills(&pod, both(), Some("liveness")), (restarted, vec![0], vec![]), "the container's own policy");
        pod.spec.as_mut().unwrap().containers[0].image = Some("nginx:1.28".into());
        let changed = one("Container web definition changed, will be restarted");
        assert_eq!(kills(&pod, both(), None), (changed, vec![0], vec![]), "under every restart policy");
        let mut pod = crate::testing::pod(&["other"]);
        let sidecar = Container { restart_policy: Some("Always".into()), ..container("proxy") };
        pod.spec.as_mut().unwrap().init_containers = Some(vec![sidecar]);
        let init = one("Init container proxy failed startup probe");
        let both = || vec![running("other"), running("proxy")];
        assert_eq!(kills(&pod, both(), Some("startup")), (init, vec![], vec![0]));
        pod.spec.as_mut().unwrap().init_containers.as_mut().unwrap()[0].image = Some("envoy:2".into());
        let changed = one("Init container proxy definition changed");
        assert_eq!(kills(&pod, both(), None), (changed, vec![], vec![0]));
    }

    #[test]
    fn a_lost_sandbox_is_made_again_with_everything_in_it() {
        let mut runtime = sandboxed(vec![exited("web", 137)]);
        runtime.sandboxes[0].ready = false;
        let made = actions(&pod(&["web"]), &runtime);
        assert_eq!(made, Actions { kill_pod: true, create_sandbox: Some(1), start: vec![0], ..Actions::default() });
    }

    #[test]
    fn in_a_new_sandbox_all_starts_over_but_what_has_done_its_work() {
        for (of_pod, own, code, starts) in [
            ("Always", None, 0, true),
            // It is started once, and this is a new start.
            ("Always", Some("Never"), 1, true),
            ("Always", Some("OnFailure"), 0, false),
            ("Always", Some("OnFailure"), 1, true),
            ("OnFailure", None, 0, false),
            ("OnFailure", Some("Always"), 0, true),
            ("OnFailure", Some("Never"), 0, true),
        ] {
            let mut pod = pod(&["web", "other"]);
            let spec = pod.spec.as_mut().unwrap();
            spec.restart_policy = Some(of_pod.into());
            spec.containers[0].restart_policy = own.map(str::to_owned);
            let mut runtime = sandboxed(vec![exited("web", code), running("other")]);
            runtime.sandboxes[0].ready = false;
            assert_eq!(actions(&pod, &runtime).start.contains(&0), starts, "{of_pod} {own:?} {code}");
        }
    }
}

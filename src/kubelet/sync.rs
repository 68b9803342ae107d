//! One sync of a pod that should run.
//!
//! Mirrors `SyncPod` of `pkg/kubelet/kubelet.go` and of `kuberuntime_manager.go`: status, volumes, probes, then
//! the work that [`crate::actions`] finds. Nothing is carried over from one sync to the next except what the runtime and
//! the API server hold, so a sync that fails in the middle is simply made again.
//!
//! A pod that is deleted in the middle of a sync is stopped after it: of what its containers wait for, only the wait for
//! volumes is cut short. What the runtime is to do is done to its end, pulls and all.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Container;

use crate::actions::{self, Actions, Failed, Kill};
use crate::params::TRANSIENT_BACK_OFF;
use crate::probes::{Kind, is_adopted};
use crate::restart_all::Reset;
use crate::runtime_pod::{RuntimePod, RuntimeSandbox};
use crate::shared::Shared;
use crate::start::NotStarted;
use crate::status::containers::runtime_id;
use crate::status::inputs::{Inputs, Probed};
use crate::status::sizes::Sizes;
use crate::status::{self, conditions, deadline};
use crate::worker::{End, Stage, Worker};
use crate::{resize, restart_all};
use client::recorder::EventType;
use object::pod::status::{ContainerStatus, PodCondition, PodStatus};
use object::pod::{container, could_restart_all, is_final, is_ready};
use object::time::Instant;
use object::{Accessor, Pod, ephemeral};

/// One thing of a sync that has failed: when it may be tried again, if the error says so.
#[derive(Clone, Copy, Debug)]
struct Failure(Option<Instant>);

impl Shared {
    /// `SyncPod`.
    pub(super) async fn sync_pod(self: &Rc<Self>, uid: &str) -> End {
        self.follow_resize(uid);
        let Some((pod, status)) = self.generate(uid, false) else { return End::Done };
        let ended = status.phase.as_deref().is_some_and(is_final);
        self.set_status(&pod, status);
        self.arm_deadline(uid);
        if ended {
            return End::Terminal;
        }
        if let Some(end) = self.network_broken(&pod) {
            return end;
        }
        self.keep_mirror(&pod).await;
        if let Err(end) = self.mount_volumes(uid, &pod).await {
            return end;
        }
        if self.cancelled(uid) {
            return End::Done;
        }
        self.tell_missing_pull_secrets(&pod);
        self.add_probes(uid, &pod);
        let Some((runtime, actions)) = self.compute_actions(uid, &pod) else { return End::Done };
        if actions.is_empty() {
            return End::Done;
        }
        self.act(uid, &pod, &runtime, &actions).await
    }

    /// While the network is not ready, only pods on the node's own network go on.
    fn network_broken(&self, pod: &Arc<Pod>) -> Option<End> {
        let error = self.state.borrow().agent.health.network.clone()?;
        if pod.spec.as_ref().and_then(|spec| spec.host_network) == Some(true) {
            return None;
        }
        let message = format!("network is not ready: {error}");
        self.recorder.event(&**pod, EventType::Warning, "NetworkNotReady", message);
        Some(End::Failed(Some(self.hub.now() + TRANSIENT_BACK_OFF)))
    }

    /// Computes the pod's status from everything the kubelet knows. A container that is not known to be ready has
    /// its readiness probe run at once.
    pub(super) fn generate(self: &Rc<Self>, uid: &str, terminal: bool) -> Option<(Arc<Pod>, PodStatus)> {
        let unproven = RefCell::new(Vec::new());
        let made = {
            let state = self.state.borrow();
            let worker = state.workers.get(uid)?;
            let none = PodStatus::default();
            let old = state.status.get(uid).or(worker.pod.status.as_deref()).unwrap_or(&none);
            let probed = |status: &ContainerStatus, old: Option<&ContainerStatus>| {
                let started = worker.has_started(status, old);
                if started && worker.is_unproven(status) {
                    unproven.borrow_mut().push(status.name.clone());
                }
                Probed { started, ready: started && worker.is_container_ready(status, self.started.get()) }
            };
            let restarting =
                worker.pod.spec.as_deref().is_some_and(|spec| {
                    could_restart_all(spec) && restart_all::is_due(spec, Some(&worker.runtime), old)
                });
            let mut status = status::generate(&Inputs {
                pod: &worker.pod,
                runtime: &worker.runtime,
                old,
                restarting,
                reasons: &worker.reasons,
                terminal,
                resize: worker.resize.as_deref(),
                sizes: &Sizes::told(&self.sizes, &worker.pod, worker.resize.as_deref()),
                overdue: deadline::is_over(&worker.pod, old, self.hub.now()),
                host_ip: &self.config.ip,
                probed: &probed,
            });
            if let Some(ending) = &worker.ending {
                ending.tell(&mut status, &worker.pod);
            }
            (worker.pod.clone(), status)
        };
        self.tell_deadline(&made.0, &made.1);
        for name in unproven.into_inner() {
            self.probe_out_of_turn(uid, &name);
        }
        Some(made)
    }

    fn compute_actions(&self, uid: &str, pod: &Pod) -> Option<(Rc<RuntimePod>, Actions)> {
        let state = self.state.borrow();
        let worker = state.workers.get(uid)?;
        if let Some(spec) = pod.spec.as_deref().filter(|_| state.status.get(uid).is_some_and(restart_all::has_begun)) {
            let reset = restart_all::resets(spec, &worker.runtime);
            return Some((worker.runtime.clone(), Actions { reset, ..Actions::default() }));
        }
        let probe = |id: &str| worker.failed_probe(id);
        let started = |name: &str, id: &str| worker.result(name, Kind::Startup, id) != Some(false);
        let failed = Failed { probe: &probe, started: &started };
        let mut actions = match &self.rules.compute {
            Some(compute) => compute(pod, &worker.runtime, &failed),
            None => actions::compute(pod, &worker.runtime, &failed),
        };
        if let Some(resize) = &worker.resize {
            resize::add_to(&mut actions, pod, &worker.runtime, resize);
        }
        Some((worker.runtime.clone(), actions))
    }

    /// Does what is to be done, in the order of `SyncPod` of the runtime manager.
    async fn act(self: &Rc<Self>, uid: &str, pod: &Arc<Pod>, runtime: &RuntimePod, actions: &Actions) -> End {
        if actions.kill_pod {
            if actions.create_sandbox.is_some() {
                const CHANGED: &str = "Pod sandbox changed, it will be killed and re-created.";
                self.recorder.event(&**pod, EventType::Normal, "SandboxChanged", CHANGED);
            }
            if self.kill_pod(pod, runtime, None).await.is_err() {
                return End::Failed(None);
            }
            if actions.create_sandbox.is_some() {
                self.purge_init_containers(uid, pod, runtime).await;
            }
        }
        for Kill { id, name, why, grace } in &actions.kill {
            self.kill_container(pod, name, id, why, grace.unwrap_or_else(|| self.grace(uid, pod))).await;
        }
        for Reset { id, name, kill } in &actions.reset {
            if *kill {
                self.kill_container(pod, name, id, "killing", 0).await;
            }
            self.remove_container(id).await;
            self.state.borrow_mut().pleg.forget_container(uid, id);
        }
        let sandbox = match actions.create_sandbox {
            Some(attempt) => match self.make_sandbox(pod, attempt).await {
                Some(sandbox) => sandbox,
                None => return End::Failed(None),
            },
            None => runtime.sandboxes.first().cloned().unwrap_or_default(),
        };
        let fresh;
        let runtime = if actions.create_sandbox.is_some() {
            // What ran in the old sandbox does not count as running any more.
            fresh = ended(runtime);
            &fresh
        } else {
            runtime
        };
        self.start_all(uid, pod, &sandbox, runtime, actions).await
    }

    /// In a new sandbox all init containers run again, and how they ended in the old one is nothing to go by
    /// (`purgeInitContainers`).
    async fn purge_init_containers(&self, uid: &str, pod: &Pod, runtime: &RuntimePod) {
        let inits = || pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
        for old in runtime.containers.iter().filter(|old| inits().any(|init| init.name == old.name)) {
            self.remove_container(&old.id).await;
            self.state.borrow_mut().pleg.forget_container(uid, &old.id);
        }
    }

    /// Ephemeral containers first, then init containers, then (when those that run have their new sizes) the pod's own, one
    /// after another; a failure of one does not stop the others.
    async fn start_all(
        self: &Rc<Self>,
        uid: &str,
        pod: &Arc<Pod>,
        sandbox: &RuntimeSandbox,
        runtime: &RuntimePod,
        actions: &Actions,
    ) -> End {
        let Some(spec) = &pod.spec else { return End::Done };
        let inits = spec.init_containers.as_deref().unwrap_or_default();
        let ephemeral = actions.start_ephemeral.iter().filter_map(|i| ephemeral::containers(spec).nth(*i));
        let ephemeral: Vec<Container> = ephemeral.collect();
        let init = actions.start_init.iter().filter_map(|i| inits.get(*i));
        let own = actions.start.iter().filter_map(|i| spec.containers.get(*i));
        let mut failures = Vec::new();
        for container in ephemeral.iter().chain(init) {
            failures.extend(self.start_one(uid, pod, container, sandbox, runtime).await);
        }
        if self.resize_containers(uid, pod, actions).await.is_err() {
            failures.push(Failure(None));
            return end_of(&failures);
        }
        for container in own {
            failures.extend(self.start_one(uid, pod, container, sandbox, runtime).await);
        }
        end_of(&failures)
    }

    /// Starts a container, and remembers how that went.
    async fn start_one(
        self: &Rc<Self>,
        uid: &str,
        pod: &Arc<Pod>,
        container: &Container,
        sandbox: &RuntimeSandbox,
        runtime: &RuntimePod,
    ) -> Option<Failure> {
        let result = self.start_container(pod, container, sandbox, runtime).await;
        self.remember(uid, container, result)
    }

    /// Puts the outcome of a start into the reason cache: it is the waiting reason of the next status.
    fn remember(&self, uid: &str, container: &Container, result: Result<(), NotStarted>) -> Option<Failure> {
        let mut state = self.state.borrow_mut();
        let worker = state.workers.get_mut(uid)?;
        match result {
            Ok(()) => {
                worker.reasons.remove(&container.name);
                worker.has_size(&container.name, container.resources.as_ref());
                None
            }
            Err(error) => {
                worker.reasons.insert(container.name.clone(), error.reason);
                Some(Failure(error.until))
            }
        }
    }

    /// Makes the sandbox, and with it the pod's network; once it stands, PodReadyToStartContainers is set at once.
    async fn make_sandbox(self: &Rc<Self>, pod: &Arc<Pod>, attempt: u32) -> Option<RuntimeSandbox> {
        let id = match self.run_sandbox(pod, attempt).await {
            Ok(id) => id,
            // Of a pod that is to end meanwhile it is no error.
            Err(_) if self.cancelled(pod.metadata.uid()) => return None,
            Err(error) => {
                let message = format!("Failed to create pod sandbox: {error}");
                self.recorder.event(&**pod, EventType::Warning, "FailedCreatePodSandBox", message);
                return None;
            }
        };
        match self.sandbox_status(&id).await {
            Ok(sandbox) => {
                self.sandbox_stands(pod);
                Some(sandbox)
            }
            Err(error) => {
                let message = format!("Unable to get pod sandbox status: {error}");
                self.recorder.event(&**pod, EventType::Warning, "FailedStatusPodSandBox", message);
                None
            }
        }
    }

    /// Changes one condition of the status last set, and nothing else: the address follows with the next status.
    fn sandbox_stands(self: &Rc<Self>, pod: &Arc<Pod>) {
        let uid = pod.metadata.uid();
        let status = self.state.borrow().status.get(uid).or(pod.status.as_deref()).cloned();
        let Some(mut status) = status else { return };
        let ready = PodCondition {
            type_: conditions::READY_TO_START.into(),
            status: "True".into(),
            observed_generation: pod.metadata.generation,
            ..PodCondition::default()
        };
        let list = status.conditions.get_or_insert_default();
        match list.iter_mut().find(|c| c.type_ == ready.type_) {
            Some(found) => *found = ready,
            None => list.push(ready),
        }
        self.set_status(pod, status);
    }

    /// Whether the pod has begun to terminate since the sync began.
    pub(super) fn cancelled(&self, uid: &str) -> bool {
        self.state.borrow().workers.get(uid).is_none_or(|worker| worker.stage != Stage::Sync)
    }
}

impl Worker {
    /// Whether a running container has passed its startup probe, or has none. One of an earlier kubelet has if its status says
    /// so (`isContainerStarted`).
    fn has_started(&self, status: &ContainerStatus, old: Option<&ContainerStatus>) -> bool {
        let slot = self.probes.get(&(status.name.to_string(), Kind::Startup));
        let known = slot.and_then(|slot| slot.probe.result(runtime_id(status)));
        known.unwrap_or_else(|| old.is_some_and(|old| old.started == Some(true)) || slot.is_none())
    }

    /// Whether a container that has started has passed its readiness probe, or has none. One of an earlier kubelet stays ready
    /// if its pod is, until the probe says something (`setReadyStateOnKubeletRestart`).
    fn is_container_ready(&self, status: &ContainerStatus, kubelet_began: Instant) -> bool {
        let slot = self.probes.get(&(status.name.to_string(), Kind::Readiness));
        let known = slot.and_then(|slot| slot.probe.result(runtime_id(status)));
        let has_probe = || container(&self.pod, &status.name).is_some_and(|c| c.readiness_probe.is_some());
        let nobody_asks = slot.is_none();
        match known {
            Some(result) => result,
            None if !is_adopted(status, kubelet_began) => nobody_asks,
            None => !has_probe() || is_ready(&self.pod),
        }
    }

    /// Whether its readiness probe has anything to find out about a container.
    fn is_unproven(&self, status: &ContainerStatus) -> bool {
        let slot = self.probes.get(&(status.name.to_string(), Kind::Readiness));
        slot.is_some_and(|slot| slot.probe.result(runtime_id(status)) != Some(true))
    }

    /// What a probe says of a container; nothing, if there is none.
    fn result(&self, name: &str, kind: Kind, id: &str) -> Option<bool> {
        let slot = self.probes.get(&(name.to_owned(), kind))?;
        Some(slot.probe.result(id) == Some(true))
    }

    /// The startup or liveness probe that has given up on this container.
    fn failed_probe(&self, id: &str) -> Option<&'static str> {
        let fatal = self.probes.iter().filter(|((_, kind), _)| *kind != Kind::Readiness);
        fatal.filter(|(_, slot)| slot.probe.has_failed(id)).map(|((_, kind), _)| kind.word()).next()
    }
}

/// How a sync ends in which that has failed. Of all the times that errors give the earliest counts, and errors that give none
/// only among themselves (`MinBackoffExpiration`).
fn end_of(failures: &[Failure]) -> End {
    if failures.is_empty() {
        return End::Acted;
    }
    End::Failed(failures.iter().filter_map(|Failure(until)| *until).min())
}

/// The same containers, none of them running.
fn ended(runtime: &RuntimePod) -> RuntimePod {
    let mut runtime = runtime.clone();
    for container in runtime.containers.iter_mut() {
        if container.state == super::runtime_pod::RunState::Running {
            container.state = super::runtime_pod::RunState::Unknown;
        }
    }
    runtime
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_sync_is_made_again_when_the_first_of_its_containers_may_start() {
        for (failures, end) in [
            (&[][..], End::Acted),
            (&[None], End::Failed(None)),
            (&[Some(9)], End::Failed(Some(Instant(9)))),
            (&[Some(9), Some(4), Some(6)], End::Failed(Some(Instant(4)))),
            (&[None, Some(9), None], End::Failed(Some(Instant(9)))),
            (&[None, None], End::Failed(None)),
        ] {
            let failures: Vec<Failure> = failures.iter().map(|until| Failure(until.map(Instant))).collect();
            assert_eq!(end_of(&failures), end, "{failures:?}");
        }
    }
}

//! The life of a container: it is created, started, and ends by itself or is stopped.
//!
//! Mirrors `internal/cri/server/container_{create,start,stop}.go` of containerd.

use std::rc::Rc;
use std::time::Duration;

use super::containerd::{Containerd, no_container};
use super::state::{Container, State};
use super::timers::Timer;
use super::{image, logs, process};
use crate::cri::{
    self, ContainerConfig, ContainerState, ContainerStatus, CriResponse, PodSandboxConfig, RelistWouldFind,
};
use engine::RpcError;
use network::disk::Tree;
use object::Shared;
use object::loads::Process;
use object::selector::Labels;
use object::time::Instant;

/// Exit code of a container whose process could not be started. containerd's `errorStartExitCode`.
const START_FAILED: i32 = 128;
/// How the words begin in which containerd and runc say so.
const NOT_STARTED: &str = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc \
                           create failed: unable to start container process: error during container init";

impl Containerd {
    /// A container of an image that is there, in a sandbox that is there. Nothing runs yet. Mirrors containerd's
    /// `CreateContainer`.
    pub(super) fn create_container(
        &self,
        sandbox_id: &str,
        config: &Shared<ContainerConfig>,
    ) -> Result<CriResponse, RpcError> {
        let id = self.new_id();
        let mut state = self.state.borrow_mut();
        let Some(sandbox) = state.sandboxes.get(sandbox_id) else {
            return Err(cri::error("NotFound", format!("failed to find sandbox id \"{sandbox_id}\": not found")));
        };
        let pod_uid = sandbox.config.uid.clone();
        let Some(image) = state.images.get(&config.image) else {
            return Err(cri::error("NotFound", format!("failed to resolve image \"{}\": not found", config.image)));
        };
        let status = ContainerStatus {
            id: id.clone(),
            sandbox_id: sandbox.id.clone(),
            pod_uid: pod_uid.clone(),
            name: config.name.as_str().into(),
            attempt: config.attempt,
            state: ContainerState::ContainerCreated,
            image: config.image.as_str().into(),
            image_ref: image.id.clone(),
            created_at: self.hub.now(),
            started_at: Instant::default(),
            finished_at: Instant::default(),
            exit_code: 0,
            reason: String::new().into(),
            message: String::new().into(),
        };
        let mut plan = process::plan(config);
        let script = state.script(&config.image);
        if script.is_none() {
            let lines = logs::of_start(config, self.hub.now()).into_iter();
            plan.prints.extend(lines.map(|line| (Duration::ZERO, line)));
            if logs::lacks_password(config) {
                (plan.ends, plan.serves) = (Some((process::ENTRYPOINT, 1)), false);
            }
        }
        if let Some(script) = script {
            plan.ends = script.exits.or(plan.ends);
            plan.prints.extend(script.logs.iter().map(|line| (Duration::ZERO, line.clone())));
        }
        let container = Container {
            status: status.into(),
            config: config.clone(),
            plan,
            shell: None,
            waits: 0,
            timers: Vec::new(),
            stopped_by: Vec::new(),
            layer: Tree::new(&self.hub),
        };
        state.containers.insert(id.clone(), Box::new(container));
        state.containers_of.entry(pod_uid).or_default().push(id.clone());
        Ok(CriResponse::Id(id))
    }

    /// Its process begins, unless the sandbox is not ready or the image lacks the program.
    pub(super) fn start_container(self: &Rc<Self>, id: &str) -> Result<CriResponse, RpcError> {
        let mut state = self.state.borrow_mut();
        let State { containers, sandboxes, .. } = &mut *state;
        let container = containers.get_mut(id).ok_or_else(|| no_container(id))?;
        let now = self.hub.now();
        let sandbox = &container.status.sandbox_id;
        let is_ready = sandboxes.get(sandbox).is_some_and(|sandbox| sandbox.ready);
        // Where a scenario says when it ends, it starts.
        let cannot = image::cannot_start(&container.config).filter(|_| container.plan.ends.is_none());
        let why = match is_ready {
            true => cannot.map(|why| format!("{NOT_STARTED}: {why}: unknown")),
            false => Some(format!("sandbox container {sandbox:?} is not running")),
        };
        if let Some(why) = why {
            let status = &mut *container.status;
            (status.state, status.finished_at) = (ContainerState::ContainerExited, now);
            (status.exit_code, status.reason) = (START_FAILED, "StartError".into());
            status.message = why.as_str().into();
            return Err(cri::error("Unknown", why));
        }
        if self.is_too_greedy(&container.config, sandboxes.get(sandbox).map(|sandbox| &*sandbox.config)) {
            container.plan.fill_memory();
        }
        container.status.state = ContainerState::ContainerRunning;
        container.status.started_at = now;
        let ends = container.plan.ends;
        let printed = container.plan.prints.iter().map(|(after, line)| (now + *after, line.clone())).collect();
        let serves = container.plan.serves;
        let task = container.config.task.filter(|_| container.plan == process::does_its_work());
        let image = container.config.image.clone();
        state.begin_log(id, printed);
        drop(state);
        self.tell_follower(id, true);
        if serves {
            self.listen(id);
        }
        if let Some(task) = task {
            self.assume_end(&image, task);
        }
        self.begin(id);
        // Last, so that what a process does at its end comes before its end.
        if let Some((after, _)) = ends {
            self.arm(id, Timer::Exit { id }, after, false);
        }
        Ok(CriResponse::Done)
    }

    /// Whether a process takes more memory than it may.
    fn is_too_greedy(&self, config: &ContainerConfig, sandbox: Option<&PodSandboxConfig>) -> bool {
        let limit = config.linux.memory_limit_in_bytes;
        let Some(sandbox) = sandbox.filter(|_| limit > 0) else { return false };
        let labels: Labels = sandbox.labels.iter().cloned().collect();
        let process = Process {
            namespace: &sandbox.namespace,
            labels: Some(&labels),
            container: &config.name,
            is_first: config.is_first,
            words: &process::words_of(config),
            memory_limit: limit,
        };
        self.networks.host().loads.borrow().is_too_greedy(&process, self.hub.now())
    }

    /// Looks at all processes that run whether they take too much, as they may from now on.
    pub(super) fn look_at_memory(&self) {
        let mut state = self.state.borrow_mut();
        let State { containers, sandboxes, .. } = &mut *state;
        let mut greedy = Vec::new();
        for (id, container) in containers {
            let runs = container.status.state == ContainerState::ContainerRunning && !container.plan.out_of_memory;
            let sandbox = sandboxes.get(&container.status.sandbox_id).map(|sandbox| &*sandbox.config);
            if runs && self.is_too_greedy(&container.config, sandbox) {
                container.plan.fill_memory();
                greedy.push(id.clone());
            }
        }
        drop(state);
        for id in greedy {
            self.arm(&id, Timer::Exit { id: &id }, process::FILLING, false);
        }
    }

    /// A process ends by itself, if it is still there.
    pub(super) fn exits(&self, id: &str) {
        let plan = self.state.borrow().containers.get(id).map(|c| c.plan.clone()).unwrap_or_default();
        let code = plan.ends.map_or(0, |(_, code)| code);
        let reason = match code {
            0 => "Completed",
            _ if plan.out_of_memory => "OOMKilled",
            _ => "Error",
        };
        self.ended(id, code, reason);
    }

    /// Notes the end of a process, for the kubelet's next relist to find. False if it was not running.
    pub(super) fn ended(&self, id: &str, code: i32, reason: &str) -> bool {
        if !self.state.borrow_mut().exit(id, code, reason, self.hub.now()) {
            return false;
        }
        self.hang_up(id);
        self.tell_follower(id, false);
        self.close_streams(id, code);
        let (timers, stopped_by) = match self.state.borrow_mut().containers.get_mut(id) {
            Some(container) => (std::mem::take(&mut container.timers), std::mem::take(&mut container.stopped_by)),
            None => Default::default(),
        };
        timers.into_iter().for_each(|(_, timer)| self.hub.disarm(timer));
        stopped_by.into_iter().for_each(|call| self.hub.unpark(self.actor, call));
        self.text(|| format!("process of container {} ended with code {code}", &id[..13]));
        if let Some(kubelet) = self.kubelet.get() {
            let ended = RelistWouldFind { id: id.into() };
            self.hub.tell_background(self.actor, kubelet, Rc::new(ended));
        }
        true
    }

    /// SIGTERM, then SIGKILL when the timeout is over.
    pub(super) async fn stop_container(self: &Rc<Self>, id: &str, timeout: i64) -> Result<CriResponse, RpcError> {
        let found = self.state.borrow().containers.get(id).map(|c| (c.status.state, c.plan.clone()));
        let Some((ContainerState::ContainerRunning, plan)) = found else { return Ok(CriResponse::Done) };
        let timeout = Duration::from_secs(u64::try_from(timeout).unwrap_or(0));
        match plan.on_sigterm.filter(|(after, _)| *after <= timeout) {
            Some((after, code)) => {
                self.hub.sleep(after).await;
                self.ended(id, code, if code == 0 { "Completed" } else { "Error" });
            }
            None => self.terminate(id, timeout).await,
        }
        Ok(CriResponse::Done)
    }
}

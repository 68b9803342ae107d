//! Starting one container: back-off, image, create, start.
//!
//! Mirrors `startContainer` (`pkg/kubelet/kuberuntime/kuberuntime_container.go`) and `EnsureImageExists`. Each step
//! that fails leaves a reason, which the next status shows, and an Event.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Container;
use serde_json::{Value, json};

use crate::expansion;
use crate::images::{self, Plan};
use crate::pod_types::pod_text;
use crate::restart::{Run, exit_code};
use crate::runtime_pod::{RunState, RuntimeContainer, RuntimePod, RuntimeSandbox};
use crate::security::verify_not_root;
use crate::shared::Shared;
use crate::status::inputs::WaitingReason;
use client::recorder::EventType;
use engine::{CallId, Message};
use object::time::Instant;
use object::time::go_duration;
use object::{Accessor, Pod, ephemeral, image};

/// Why a container was not started.
#[derive(Clone, Debug)]
pub struct NotStarted {
    /// For the status.
    pub reason: WaitingReason,
    /// When it may be tried again, if the error says so.
    pub until: Option<Instant>,
}

impl NotStarted {
    fn because(reason: &str, message: impl Into<String>) -> NotStarted {
        NotStarted { reason: WaitingReason { reason: reason.into(), message: message.into() }, until: None }
    }
}

/// A sync asks for its turn to pull an image. Pulls of one node are made one after another (`serializeImagePulls`).
#[derive(Clone, Copy, Debug)]
pub struct Turn;

impl Message for Turn {
    fn method(&self) -> &'static str {
        "ImagePullTurn"
    }

    fn json(&self) -> Value {
        json!({})
    }
}

impl Shared {
    /// Starts one container in the pod's sandbox.
    pub(super) async fn start_container(
        self: &Rc<Self>,
        pod: &Arc<Pod>,
        container: &Container,
        sandbox: &RuntimeSandbox,
        runtime: &RuntimePod,
    ) -> Result<(), NotStarted> {
        let field = field_path(pod, &container.name);
        let tell = |type_: EventType, reason: &str, message: String| {
            self.recorder.event_at(&**pod, &field, type_, reason, message);
        };
        let failed = |reason: &str, message: String| {
            tell(EventType::Warning, "Failed", format!("Error: {message}"));
            NotStarted::because(reason, message)
        };
        self.back_off(pod, container, &field, runtime)?;
        self.ensure_image(pod, container, &field).await?;
        let target = pod.spec.as_ref().and_then(|spec| ephemeral::target_of(spec, &container.name));
        if let Some(target) = target.filter(|target| runtime.container(target).is_none()) {
            return Err(failed("CreateContainerConfigError", format!("unable to find target container {target}")));
        }
        let envs = match self.environment(pod, container, &sandbox.ip) {
            Ok(envs) => envs,
            Err(message) => return Err(failed("CreateContainerConfigError", message)),
        };
        expansion::for_mounts(container, &envs).map_err(|why| failed("CreateContainerConfigError", why))?;
        let user = self.image_user(container.image.as_deref().unwrap_or_default()).await;
        verify_not_root(pod, container, &user).map_err(|why| failed("CreateContainerConfigError", why))?;
        let attempt = self.next_attempt(pod, &container.name, runtime);
        let id = match self.create_container(pod, container, envs, &sandbox.id, attempt).await {
            Ok(id) => id,
            Err(error) => return Err(failed("CreateContainerError", error.message)),
        };
        tell(EventType::Normal, "Created", "Container created".into());
        if let Err(error) = self.start_created(&id).await {
            return Err(failed("RunContainerError", error.message));
        }
        tell(EventType::Normal, "Started", "Container started".into());
        let hook = container.lifecycle.as_ref().and_then(|l| l.post_start.as_ref());
        if let Some(hook) = hook
            && let Err(why) = self.run_hook(pod, &container.name, &id, hook, 0).await
        {
            tell(EventType::Warning, "FailedPostStartHook", "PostStartHook failed".into());
            let grace = self.grace(pod.metadata.uid(), pod);
            self.kill_container(pod, &container.name, &id, "FailedPostStartHook", grace).await;
            return Err(NotStarted::because("PostStartHookError", why));
        }
        Ok(())
    }

    /// One more than the last. A runtime that has forgotten everything does not reset the count: the kubelet finds the
    /// old log files (`calcRestartCountByLogDir`). Here it is the status it has just computed that tells how many there are:
    /// it counts in what has been lost, but not yet what follows after an end.
    fn next_attempt(&self, pod: &Pod, name: &str, runtime: &RuntimePod) -> u32 {
        if let Some(last) = runtime.container(name) {
            return last.restart_count.saturating_add(1).unsigned_abs();
        }
        let state = self.state.borrow();
        let status = state.status.get(pod.metadata.uid());
        let all = status.iter().flat_map(|s| s.container_statuses.iter().chain(&s.init_container_statuses).flatten());
        let Some(known) = { all }.find(|s| s.name == name) else { return 0 };
        known.restart_count.unsigned_abs() + u32::from(exit_code(known).is_some())
    }

    /// `doBackOff`: a container that has ended waits, counted from its end. The first restart is immediate.
    fn back_off(
        &self,
        pod: &Arc<Pod>,
        container: &Container,
        field: &str,
        runtime: &RuntimePod,
    ) -> Result<(), NotStarted> {
        let mut dead = runtime.containers.iter().filter(|c| c.name == container.name && c.state == RunState::Exited);
        let Some(last) = dead.next() else { return Ok(()) };
        let uid = pod.metadata.uid();
        let key = format!("{uid}_{}_{}", container.name, container.image.as_deref().unwrap_or_default());
        let (name, pod_text) = (&container.name, pod_text(pod));
        let Some((until, delay)) = self.crash_wait(pod, container, &key, last) else { return Ok(()) };
        let delay = go_duration(delay);
        let told = format!("Back-off restarting failed container {name} in pod {pod_text}");
        self.recorder.event_at(&**pod, field, EventType::Warning, "BackOff", told);
        let message = format!("back-off {delay} restarting failed container={name} pod={pod_text}");
        Err(NotStarted { until, ..NotStarted::because("CrashLoopBackOff", message) })
    }

    /// How long a container waits that has ended, and until when: no time, if it is never started again. None if its wait is
    /// over, which is written down.
    fn crash_wait(
        &self,
        pod: &Pod,
        container: &Container,
        key: &str,
        last: &RuntimeContainer,
    ) -> Option<(Option<Instant>, Duration)> {
        let (now, mut state) = (self.hub.now(), self.state.borrow_mut());
        let Some(restarts) = &self.rules.restarts else {
            let Some(until) = state.crashes.wait_since(key, last.finished_at, now) else {
                state.crashes.next(key, last.finished_at, now);
                return None;
            };
            return Some((Some(until), state.crashes.get(key)));
        };
        let runs = state.runs.entry(key.to_owned()).or_default();
        if runs.last().is_none_or(|run| run.id != last.id) {
            let time = last.finished_at - last.started_at;
            runs.push(Run { id: last.id.clone(), exit_code: last.exit_code, time });
        }
        match restarts(pod, container, runs) {
            None => Some((None, Duration::ZERO)),
            Some(wait) => Some((Some(last.finished_at + wait), wait)).filter(|_| now < last.finished_at + wait),
        }
    }

    /// `EnsureImageExists`.
    async fn ensure_image(&self, pod: &Arc<Pod>, container: &Container, field: &str) -> Result<(), NotStarted> {
        let image = container.image.as_deref().unwrap_or_default();
        let tell = |type_: EventType, reason: &str, message: String| {
            self.recorder.event_at(&**pod, field, type_, reason, message);
        };
        if let Some(why) = image::wrong_name(image) {
            let message =
                format!("Failed to apply default image tag {image:?}: couldn't parse image name {image:?}: {why}");
            tell(EventType::Warning, "InspectFailed", message.clone());
            tell(EventType::Warning, "Failed", "Error: InvalidImageName".into());
            return Err(NotStarted::because("InvalidImageName", message));
        }
        let always = images::policy(container) == "Always";
        let present = !always && self.image_size(image).await.is_some();
        match images::plan(container, present) {
            Plan::Use => {
                tell(EventType::Normal, "Pulled", images::present_message(image));
                Ok(())
            }
            Plan::Refuse => {
                let message = format!("Container image \"{image}\" is not present with pull policy of Never");
                tell(EventType::Warning, "ErrImageNeverPull", message.clone());
                tell(EventType::Warning, "Failed", "Error: ErrImageNeverPull".into());
                Err(NotStarted::because("ErrImageNeverPull", message))
            }
            Plan::Pull => self.pull(pod, image, field).await,
        }
    }

    /// One pull, unless the last failure is too recent.
    async fn pull(&self, pod: &Arc<Pod>, image: &str, field: &str) -> Result<(), NotStarted> {
        let uid = pod.metadata.uid();
        let key = images::backoff_key(uid, image);
        let tell = |type_: EventType, reason: &str, message: String| {
            self.recorder.event_at(&**pod, field, type_, reason, message);
        };
        let waits = self.state.borrow().pulls.wait_since_update(&key, self.hub.now());
        if waits.is_some() {
            tell(EventType::Normal, "BackOff", images::back_off_message(image));
            tell(EventType::Warning, "Failed", "Error: ImagePullBackOff".into());
            let reason = images::pull_back_off(image, self.state.borrow().pull_errors.get(&key).map(String::as_str));
            // It does not say until when, so that its pod is looked at again as after any failure.
            return Err(NotStarted { reason, until: None });
        }
        tell(EventType::Normal, "Pulling", format!("Pulling image \"{image}\""));
        let asked = self.hub.now();
        self.pull_turn().await;
        let began = self.hub.now();
        let pulled = self.pull_image(image).await;
        let (took, with_wait) = (self.hub.now() - began, self.hub.now() - asked);
        self.pull_done();
        match pulled {
            Ok(()) => {
                let size = self.image_size(image).await.unwrap_or(0);
                tell(EventType::Normal, "Pulled", images::pulled_message(image, took, with_wait, size));
                self.state.borrow_mut().pull_errors.remove(&key);
                self.status_changed();
                Ok(())
            }
            Err(error) => {
                let error = error.to_string();
                tell(EventType::Warning, "Failed", format!("Failed to pull image \"{image}\": {error}"));
                tell(EventType::Warning, "Failed", "Error: ErrImagePull".into());
                let now = self.hub.now();
                let mut state = self.state.borrow_mut();
                state.pulls.next(&key, now, now);
                state.pull_errors.insert(key, error.clone());
                Err(NotStarted { reason: images::pull_failed(&error), until: None })
            }
        }
    }

    /// Waits until no other pull is under way on this node.
    async fn pull_turn(&self) {
        if std::mem::replace(&mut self.state.borrow_mut().pulling, true) {
            // Only this kubelet answers, and it always does.
            let _ = self.hub.rpc(self.actor, Rc::new(Turn)).await;
        }
    }

    /// A sync asks for its turn.
    pub(super) fn queue_for_pull(&self, call: CallId) {
        let mut state = self.state.borrow_mut();
        if std::mem::replace(&mut state.pulling, true) {
            state.pull_turns.push_back(call);
            return;
        }
        drop(state);
        self.grant_turn(call);
    }

    fn pull_done(&self) {
        let next = self.state.borrow_mut().pull_turns.pop_front();
        match next {
            Some(call) => self.grant_turn(call),
            None => self.state.borrow_mut().pulling = false,
        }
    }

    fn grant_turn(&self, call: CallId) {
        self.hub.reply(self.actor, self.actor, call, Turn.method(), Ok(Rc::new(Turn)));
    }
}

/// Where in the pod the container of that name is: `spec.containers{nginx}`.
pub fn field_path(pod: &Pod, name: &str) -> String {
    let spec = pod.spec.as_ref();
    let list = match spec {
        Some(spec) if spec.init_containers.iter().flatten().any(|c| c.name == name) => "initContainers",
        Some(spec) if ephemeral::is_one(spec, name) => "ephemeralContainers",
        _ => "containers",
    };
    format!("spec.{list}{{{name}}}")
}

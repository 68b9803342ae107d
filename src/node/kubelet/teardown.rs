//! The end of a pod: stop its containers, report how they ended, let go of what it held.
//!
//! Mirrors `SyncTerminatingPod` and `SyncTerminatedPod` (`pkg/kubelet/kubelet.go`) and `killPodWithSyncResult`
//! (`pkg/kubelet/kuberuntime`). The object itself is removed by the status loop, once all this is done: the DELETE with
//! grace 0 is the kubelet's word that nothing of the pod runs any more.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{LifecycleHandler, Probe};

use super::Shared;
use super::params::{GRACE_SECONDS, GRACE_SECONDS_MIN};
use super::probes::Kind;
use super::restart::is_sidecar;
use super::runtime_pod::{RunState, RuntimeContainer, RuntimePod};
use super::start::field_path;
use super::workers::End;
use crate::client::join_all;
use crate::client::recorder::EventType;
use crate::engine::RpcError;
use crate::object::Pod;

impl Shared {
    /// `SyncTerminatingPod`: everything that runs is stopped.
    pub(super) async fn sync_terminating_pod(self: &Rc<Self>, uid: &str) -> End {
        let Some((pod, status)) = self.generate(uid, false) else { return End::Done };
        self.set_status(&pod, status);
        self.drop_probes(uid, |kind| kind != Kind::Readiness);
        let Some(runtime) = self.runtime_of(uid) else { return End::Done };
        let grace = self.grace(uid, &pod);
        if self.kill_pod(&pod, &runtime, Some(grace)).await.is_err() {
            return End::Failed(None);
        }
        self.drop_probes(uid, |_| true);
        self.relist_pod(uid).await;
        let Some(after) = self.runtime_of(uid) else { return End::Done };
        if after.any_running() {
            return End::Failed(None);
        }
        if let Some((pod, status)) = self.generate(uid, true) {
            self.set_status(&pod, status);
        }
        End::Done
    }

    /// `SyncTerminatedPod`: volumes and directories go, which here takes no time, and the status becomes final.
    pub(super) async fn sync_terminated_pod(self: &Rc<Self>, uid: &str) -> End {
        let Some((pod, status)) = self.generate(uid, true) else { return End::Done };
        self.drop_probes(uid, |_| true);
        self.unmount_volumes(uid).await;
        {
            let mut state = self.state.borrow_mut();
            state.status.set(&pod, status, self.hub.now());
            state.status.finish(&pod, self.hub.now());
        }
        self.write_statuses();
        End::Done
    }

    /// Stops all containers side by side, sidecars after the others and in reverse order, then the sandboxes. A sandbox
    /// that cannot be stopped, as when its network cannot be taken away, is told in an Event.
    pub(super) async fn kill_pod(
        self: &Rc<Self>,
        pod: &Arc<Pod>,
        runtime: &RuntimePod,
        grace: Option<i64>,
    ) -> Result<(), RpcError> {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let grace = grace.unwrap_or_else(|| self.grace(uid, pod));
        let began = self.hub.now();
        let running = |c: &&RuntimeContainer| c.state == RunState::Running;
        let sidecar = |c: &RuntimeContainer| sidecars(pod).any(|name| name == c.name);
        let first = runtime.containers.iter().filter(running).filter(|c| !sidecar(c));
        let stop = |c: &RuntimeContainer, grace: i64| {
            let (me, pod, name, id) = (self.clone(), pod.clone(), c.name.clone(), c.id.clone());
            async move {
                let why = format!("Stopping container {name}");
                me.kill_container(&pod, &name, &id, &why, grace).await;
            }
        };
        join_all(first.map(|c| stop(c, grace)).collect()).await;
        let names: Vec<String> = sidecars(pod).map(str::to_owned).collect();
        for name in names.iter().rev() {
            let spent = (self.hub.now() - began).as_secs() as i64;
            for container in runtime.containers.iter().filter(running).filter(|c| c.name == *name) {
                stop(container, (grace - spent).max(GRACE_SECONDS_MIN)).await;
            }
        }
        let mut failed = Ok(());
        for sandbox in &runtime.sandboxes {
            failed = failed.and(self.stop_sandbox(&sandbox.id).await);
        }
        if let Err(error) = &failed {
            let text = error.to_string();
            let why = format!("failed to \"KillPodSandbox\" for {uid:?} with KillPodSandboxError: {text:?}");
            self.recorder.event(&**pod, EventType::Warning, "FailedKillPod", format!("error killing pod: {why}"));
        }
        failed
    }

    /// One container: the Event, its preStop hook, SIGTERM, and SIGKILL when the grace is over.
    pub(super) async fn kill_container(self: &Rc<Self>, pod: &Arc<Pod>, name: &str, id: &str, why: &str, grace: i64) {
        let init = pod.spec.iter().flat_map(|s| s.init_containers.iter().flatten()).any(|c| c.name == name);
        let field = field_path(name, init);
        self.recorder.event_at(&**pod, &field, EventType::Normal, "Killing", why);
        let began = self.hub.now();
        let containers = pod.spec.iter().flat_map(|s| s.containers.iter().chain(s.init_containers.iter().flatten()));
        let hook = { containers }.find(|c| c.name == name).and_then(|c| c.lifecycle.as_ref()?.pre_stop.clone());
        if let Some(hook) = hook
            && grace > 0
            && !self.run_hook(pod, name, id, &hook, grace).await
        {
            self.recorder.event_at(&**pod, &field, EventType::Warning, "FailedPreStopHook", "PreStopHook failed");
        }
        let spent = (self.hub.now() - began).as_secs() as i64;
        self.stop_container(id, (grace - spent).max(GRACE_SECONDS_MIN)).await;
    }

    /// Runs a lifecycle hook, for `limit` seconds at most (0: as long as it takes). A hook that is cut short has not
    /// failed. Mirrors `pkg/kubelet/lifecycle/handlers.go`, which has forgotten how to open a TCP connection.
    pub(super) async fn run_hook(&self, pod: &Pod, name: &str, id: &str, hook: &LifecycleHandler, limit: i64) -> bool {
        if let Some(exec) = &hook.exec {
            let command = exec.command.clone().unwrap_or_default();
            return match self.exec(id, &command, limit).await {
                Ok((code, _)) => code == 0,
                Err(error) => error.code == "DeadlineExceeded",
            };
        }
        if hook.http_get.is_some() {
            let request = Probe { http_get: hook.http_get.clone(), ..Probe::default() };
            // Any answer is one; a probe would ask for a good one.
            return match self.call_probe(pod, name, id, &request).await {
                Ok((success, output)) => success || output.starts_with("HTTP probe failed"),
                Err(_) => false,
            };
        }
        let Some(sleep) = &hook.sleep else { return false };
        let seconds = if limit > 0 { sleep.seconds.min(limit) } else { sleep.seconds };
        self.hub.sleep(Duration::from_secs(seconds.max(0) as u64)).await;
        true
    }

    /// The grace period of a pod that is stopped now.
    pub(super) fn grace(&self, uid: &str, pod: &Pod) -> i64 {
        let own = pod.spec.as_ref().and_then(|s| s.termination_grace_period_seconds).unwrap_or(GRACE_SECONDS);
        self.state.borrow().workers.get(uid).and_then(|w| w.grace).unwrap_or(own).max(GRACE_SECONDS_MIN)
    }

    /// The grace period has shrunk. A stop under way is asked for once more, with less patience.
    pub(super) fn stop_sooner(self: &Rc<Self>, uid: &str) {
        let (busy, pod) = {
            let state = self.state.borrow();
            let Some(worker) = state.workers.get(uid) else { return };
            (worker.busy, worker.pod.clone())
        };
        if !busy {
            self.mark(uid);
            return;
        }
        let Some(runtime) = self.runtime_of(uid) else { return };
        let (me, grace) = (self.clone(), self.grace(uid, &pod));
        self.hub.spawn(self.actor, format!("kubelet {} stop", self.config.name), async move {
            for container in runtime.containers.iter().filter(|c| c.state == RunState::Running) {
                me.stop_container(&container.id, grace).await;
            }
        });
    }

    /// What the runtime last said of the pod.
    pub(super) fn runtime_of(&self, uid: &str) -> Option<Rc<RuntimePod>> {
        self.state.borrow().workers.get(uid).map(|worker| worker.runtime.clone())
    }

    /// Removes what the runtime still keeps of a pod that is gone. A real kubelet does so within a minute
    /// (`pkg/kubelet/kuberuntime/kuberuntime_gc.go`).
    pub(super) async fn collect_garbage(&self, runtime: &RuntimePod) {
        for container in &runtime.containers {
            self.remove_container(&container.id).await;
        }
        for sandbox in &runtime.sandboxes {
            self.remove_sandbox(&sandbox.id).await;
        }
    }

    /// Containers in the runtime of pods that the API server does not know any more: what was deleted while no kubelet
    /// ran (`HandlePodCleanups`). Looked for once, when the first list of pods is there.
    pub(super) fn clean_up_orphans(self: &Rc<Self>) {
        let orphans: Vec<String> = {
            let mut state = self.state.borrow_mut();
            if std::mem::replace(&mut state.agent.orphans_looked_for, true) {
                return;
            }
            let workers = &state.workers;
            state.pleg.known().into_iter().filter(|uid| !workers.contains_key(uid)).collect()
        };
        for uid in orphans {
            let me = self.clone();
            self.hub.spawn(self.actor, format!("kubelet {} orphans", self.config.name), async move {
                let record = me.state.borrow().pleg.record(&uid);
                let runtime = me.read_runtime_pod(&record).await;
                for container in runtime.containers.iter().filter(|c| c.state == RunState::Running) {
                    me.stop_container(&container.id, GRACE_SECONDS_MIN).await;
                }
                for sandbox in &runtime.sandboxes {
                    if me.stop_sandbox(&sandbox.id).await.is_err() {
                        return;
                    }
                }
                me.collect_garbage(&runtime).await;
                me.state.borrow_mut().pleg.forget(&uid);
            });
        }
    }
}

/// Names of the pod's sidecars, in the order of the spec.
fn sidecars(pod: &Pod) -> impl Iterator<Item = &str> {
    let inits = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    inits.filter(|c| is_sidecar(c)).map(|c| c.name.as_str())
}

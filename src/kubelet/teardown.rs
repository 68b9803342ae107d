//! The end of a pod: stop its containers, report how they ended, let go of what it held.
//!
//! Mirrors `SyncTerminatingPod` and `SyncTerminatedPod` (`pkg/kubelet/kubelet.go`) and `killPodWithSyncResult`
//! (`pkg/kubelet/kuberuntime`). The object itself is removed by the status loop, once all this is done: the DELETE with
//! grace 0 is the kubelet's word that nothing of the pod runs any more.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use crate::hooks::Hook;
use crate::params::{GRACE_SECONDS, HOUSEKEEPING_PERIOD, STOP_SECONDS_MIN};
use crate::probes::Kind;
use crate::runtime_pod::{RunState, RuntimeContainer, RuntimePod};
use crate::shared::Shared;
use crate::start::field_path;
use crate::timers::Timer;
use crate::worker::End;
use client::join_all;
use client::recorder::EventType;
use engine::RpcError;
use object::pod::{container, is_sidecar};
use object::text::Text;
use object::time::Instant;
use object::{Accessor, Pod};

impl Shared {
    /// `SyncTerminatingPod`: everything that runs is stopped. What cannot be is told in an Event, which no other sync does.
    pub(super) async fn sync_terminating_pod(self: &Rc<Self>, uid: &str) -> End {
        let Some((pod, status)) = self.generate(uid, false) else { return End::Done };
        self.set_status(&pod, status);
        self.drop_probes(uid, |kind| kind != Kind::Readiness);
        let Some(runtime) = self.runtime_of(uid) else { return End::Done };
        let grace = self.grace(uid, &pod);
        if let Err(error) = self.kill_pod(&pod, &runtime, Some(grace)).await {
            let text = error.to_string();
            let why = format!("failed to \"KillPodSandbox\" for {uid:?} with KillPodSandboxError: {text:?}");
            self.recorder.event(&*pod, EventType::Warning, "FailedKillPod", format!("error killing pod: {why}"));
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

    /// Stops all containers side by side, sidecars after the others and in reverse order, then the sandboxes. The error is that
    /// of a sandbox that cannot be stopped, as when its network cannot be taken away.
    pub(super) async fn kill_pod(
        self: &Rc<Self>,
        pod: &Arc<Pod>,
        runtime: &RuntimePod,
        grace: Option<i64>,
    ) -> Result<(), RpcError> {
        let uid = pod.metadata.uid();
        let grace = grace.unwrap_or_else(|| self.grace(uid, pod));
        self.stop_in_order(pod, runtime, grace).await;
        let mut failed = Ok(());
        for sandbox in &runtime.sandboxes {
            failed = failed.and(self.stop_sandbox(&sandbox.id).await);
        }
        failed
    }

    /// Stops what runs side by side. Sidecars hear of it at the same time as the others, preStop hook included, but each is
    /// stopped only when the others and the sidecars behind it have ended, or their time is over. Mirrors
    /// `newTerminationOrdering`.
    async fn stop_in_order(self: &Rc<Self>, pod: &Arc<Pod>, runtime: &RuntimePod, grace: i64) {
        let running = || runtime.containers.iter().filter(|c| c.state == RunState::Running);
        let own = running().filter(|c| !sidecars(pod).any(|name| name == c.name));
        let own = own.map(|container| self.stop_after(None, pod, container, grace));
        let mut ended = Box::pin(all(own.collect())) as Stop<'static>;
        for name in sidecars(pod).collect::<Vec<_>>().into_iter().rev() {
            for container in running().filter(|c| c.name == name) {
                ended = self.stop_after(Some(ended), pod, container, grace);
            }
        }
        ended.await;
    }

    /// Stops one container as soon as others have been stopped.
    fn stop_after(
        self: &Rc<Self>,
        before: Option<Stop<'static>>,
        pod: &Arc<Pod>,
        container: &RuntimeContainer,
        grace: i64,
    ) -> Stop<'static> {
        let (me, pod, name, id) = (self.clone(), pod.clone(), container.name.clone(), container.id.clone());
        Box::pin(async move {
            let why = format!("Stopping container {name}");
            let Some(before) = before else { return me.kill_container(&pod, &name, &id, &why, grace).await };
            let wait: Told<'_> = Box::pin(async {
                before.await;
                None
            });
            let tell = Box::pin(async {
                let prepared = me.tell_and_prepare(&pod, &name, &id, &why, grace).await;
                Some((prepared, me.hub.now()))
            });
            let told = join_all(vec![wait, tell]).await.into_iter().flatten().next();
            let (mut prepared, since) = told.unwrap_or((Prepared { left: grace, hook_runs: false }, me.hub.now()));
            prepared.left -= (me.hub.now() - since).as_secs() as i64;
            me.stop_prepared(&pod, &name, &id, prepared).await;
        })
    }

    /// One container: the Event, its preStop hook, SIGTERM, and SIGKILL when the grace is over.
    pub(super) async fn kill_container(self: &Rc<Self>, pod: &Arc<Pod>, name: &str, id: &str, why: &str, grace: i64) {
        let prepared = self.tell_and_prepare(pod, name, id, why, grace).await;
        self.stop_prepared(pod, name, id, prepared).await;
    }

    /// The Event and the preStop hook.
    async fn tell_and_prepare(
        self: &Rc<Self>,
        pod: &Arc<Pod>,
        name: &str,
        id: &str,
        why: &str,
        grace: i64,
    ) -> Prepared {
        self.recorder.event_at(&**pod, &field_path(pod, name), EventType::Normal, "Killing", why);
        let began = self.hub.now();
        let hook = container(pod, name).and_then(|c| c.lifecycle.as_ref()?.pre_stop.clone());
        let ran = match hook.filter(|_| grace > 0) {
            Some(hook) => self.run_hook(pod, name, id, &hook, grace).await,
            None => Ok(Hook::Done),
        };
        if ran.is_err() {
            self.tell_failed_hook(pod, name);
        }
        let left = grace - (self.hub.now() - began).as_secs() as i64;
        Prepared { left, hook_runs: ran == Ok(Hook::RunsOn) }
    }

    /// SIGTERM, and SIGKILL when the grace is over. A hook that still runs ends with its container, and so has failed.
    async fn stop_prepared(self: &Rc<Self>, pod: &Arc<Pod>, name: &str, id: &str, prepared: Prepared) {
        self.stop_container(id, prepared.left.max(STOP_SECONDS_MIN)).await;
        if prepared.hook_runs {
            self.tell_failed_hook(pod, name);
        }
    }

    fn tell_failed_hook(&self, pod: &Pod, name: &str) {
        let field = field_path(pod, name);
        self.recorder.event_at(pod, &field, EventType::Warning, "FailedPreStopHook", "PreStopHook failed");
    }

    /// The grace period of a pod, or of one of its containers, that is stopped now. Of a pod that runs on it is its own, and if
    /// that is zero, there is no time for a hook (`setTerminationGracePeriod`).
    pub(super) fn grace(&self, uid: &str, pod: &Pod) -> i64 {
        let own = pod.spec.as_ref().and_then(|s| s.termination_grace_period_seconds).unwrap_or(GRACE_SECONDS);
        self.state.borrow().workers.get(uid).and_then(|w| w.grace).unwrap_or(own)
    }

    /// What the runtime last said of the pod.
    pub(super) fn runtime_of(&self, uid: &str) -> Option<Rc<RuntimePod>> {
        self.state.borrow().workers.get(uid).map(|worker| worker.runtime.clone())
    }

    /// Containers in the runtime of pods that the API server does not know any more: what was deleted while no kubelet
    /// ran (`HandlePodCleanups`). Looked for once, when the first list of pods is there.
    pub(super) fn clean_up_orphans(self: &Rc<Self>) {
        let orphans: Vec<Text> = {
            let mut state = self.state.borrow_mut();
            if state.waiting.is_some() || std::mem::replace(&mut state.agent.orphans_looked_for, true) {
                return;
            }
            let workers = &state.workers;
            state.pleg.known().into_iter().filter(|uid| !workers.contains_key(&**uid)).collect()
        };
        orphans.iter().for_each(|uid| self.clean_up_orphan(uid));
    }

    /// One of them. What fails is tried again in the next round.
    pub(super) fn clean_up_orphan(self: &Rc<Self>, uid: &str) {
        let is_orphan = {
            let state = self.state.borrow();
            state.pleg.knows(uid) && !state.workers.contains_key(uid)
        };
        if !is_orphan {
            return;
        }
        let (me, uid) = (self.clone(), uid.to_owned());
        self.hub.spawn(self.actor, format!("kubelet {} orphans", self.config.name), async move {
            let record = me.state.borrow().pleg.record(&uid);
            let runtime = me.read_runtime_pod(&record).await;
            for container in runtime.containers.iter().filter(|c| c.state == RunState::Running) {
                me.stop_container(&container.id, STOP_SECONDS_MIN).await;
            }
            for sandbox in &runtime.sandboxes {
                if me.stop_sandbox(&sandbox.id).await.is_err() {
                    return me.wake_background(Timer::Orphan { uid: &uid }, HOUSEKEEPING_PERIOD);
                }
            }
            me.collect_garbage(&runtime).await;
            me.state.borrow_mut().pleg.forget(&uid);
        });
    }
}

/// A container that has been told of its end.
#[derive(Clone, Copy, Debug)]
struct Prepared {
    /// Seconds that it has.
    left: i64,
    /// Its preStop hook is not done.
    hook_runs: bool,
}

/// Something is being stopped.
type Stop<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// The same for a container that may report how it was prepared, and when.
type Told<'a> = Pin<Box<dyn Future<Output = Option<(Prepared, Instant)>> + 'a>>;

async fn all(stops: Vec<Stop<'_>>) {
    join_all(stops).await;
}

/// Names of the pod's sidecars, in the order of the spec.
fn sidecars(pod: &Pod) -> impl Iterator<Item = &str> {
    let inits = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    inits.filter(|c| is_sidecar(c)).map(|c| c.name.as_str())
}

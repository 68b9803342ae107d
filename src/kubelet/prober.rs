//! The prober: timers, calls and consequences of probes.
//!
//! Mirrors `pkg/kubelet/prober`. Each probe of each container has a timer of its own; what a result means is decided in
//! [`crate::probes`]. A readiness result goes into the status at once, ahead of the next sync; a container that fails
//! its liveness or startup probe is restarted by the next sync.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Probe as Spec;

use crate::params::PROBE_TRIES;
use crate::probes::{Kind, Probe, Published, Step};
use crate::restart::{exit_code, restarts_after};
use crate::restart_all;
use crate::shared::{Shared, State};
use crate::start::field_path;
use crate::timers::Timer;
use crate::worker::ProbeSlot;
use client::recorder::EventType;
use object::Pod;
use object::pod::status::ContainerStatus;
use object::pod::{container, could_restart_all, is_final};

impl Shared {
    /// `AddPod`: a worker for each probe that has none yet. Its first run finds no container; then its period begins.
    pub(super) fn add_probes(&self, uid: &str, pod: &Pod) {
        let Some(spec) = &pod.spec else { return };
        for container in spec.containers.iter().chain(spec.init_containers.iter().flatten()) {
            for kind in Kind::ALL {
                let Some(probe) = kind.of(container) else { continue };
                let id = (container.name.clone(), kind);
                let mut state = self.state.borrow_mut();
                let Some(worker) = state.workers.get_mut(uid) else { return };
                if worker.probes.contains_key(&id) {
                    continue;
                }
                let slot = ProbeSlot { probe: Probe::new(kind, probe, self.started.get()), timer: 0, busy: false };
                worker.probes.insert(id, slot);
                drop(state);
                self.arm_probe(uid, &container.name, kind);
            }
        }
    }

    /// Stops the pod's probes of some kinds. Their timers find nothing any more.
    pub(super) fn drop_probes(&self, uid: &str, which: impl Fn(Kind) -> bool) {
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid) {
            worker.probes.retain(|(_, kind), _| !which(*kind));
        }
    }

    /// The period of a probe begins (again).
    fn arm_probe(&self, uid: &str, name: &str, kind: Kind) {
        let mut state = self.state.borrow_mut();
        let Some(slot) = state.probe(uid, name, kind) else { return };
        slot.timer += 1;
        self.wake_background(Timer::Probe { uid, container: name, kind, number: slot.timer }, slot.probe.period);
    }

    /// A period is over.
    pub(super) fn probe_tick(self: &Rc<Self>, uid: &str, name: &str, kind: Kind, timer: u64) {
        let current = self.state.borrow_mut().probe(uid, name, kind).map(|slot| slot.timer);
        if current == Some(timer) {
            self.arm_probe(uid, name, kind);
            self.probe_now(uid, name, kind);
        }
    }

    /// A status has just been computed and the container is not ready: the readiness probe runs now, and its period
    /// begins anew.
    pub(super) fn probe_out_of_turn(self: &Rc<Self>, uid: &str, name: &str) {
        self.arm_probe(uid, name, Kind::Readiness);
        let (me, uid, name) = (self.clone(), uid.to_owned(), name.to_owned());
        // In a task of its own, so that the status that is being computed is set first.
        self.hub.spawn(self.actor, format!("kubelet {} prober", self.config.name), async move {
            me.probe_now(&uid, &name, Kind::Readiness);
        });
    }

    /// `doProbe`, up to the call.
    fn probe_now(self: &Rc<Self>, uid: &str, name: &str, kind: Kind) {
        if self.has_ended(uid) {
            return self.drop_probe(uid, name, kind);
        }
        let Some((pod, status)) = self.probed_container(uid, name) else { return };
        let Some(container) = container(&pod, name) else { return };
        let Some(spec) = kind.of(container).cloned() else { return };
        let restarts =
            restarts_after(&pod, container, exit_code(&status).unwrap_or_default()) || self.restarts_all(uid, &pod);
        let deleting = pod.metadata.deletion_timestamp.is_some();
        let (step, news, id) = {
            let mut state = self.state.borrow_mut();
            let Some(slot) = state.probe(uid, name, kind).filter(|slot| !slot.busy) else { return };
            let (step, news) = slot.probe.before(&status, restarts, deleting, self.hub.now());
            slot.busy = step == Step::Run;
            (step, news, slot.probe.container_id.clone())
        };
        if news.is_some_and(|news| leads_to_sync(kind, news)) {
            self.mark(uid);
        }
        match step {
            Step::Wait => {}
            Step::Stop => self.drop_probe(uid, name, kind),
            Step::Run => {
                let (me, uid, name, field) = (self.clone(), uid.to_owned(), name.to_owned(), field_path(&pod, name));
                self.hub.spawn(self.actor, format!("kubelet {} prober", self.config.name), async move {
                    me.run_probe(&uid, &name, kind, &spec, &pod, &id, &field).await;
                });
            }
        }
    }

    /// Whether all containers of a pod are started again, no matter how one of them ended.
    fn restarts_all(&self, uid: &str, pod: &Pod) -> bool {
        let state = self.state.borrow();
        let (Some(spec), Some(status)) = (pod.spec.as_deref(), state.status.get(uid)) else { return false };
        could_restart_all(spec) && restart_all::is_due(spec, None, status)
    }

    /// The call, and what follows from its result. A probe that cannot be run counts for nothing.
    #[expect(clippy::too_many_arguments, reason = "what one run of a probe is about")]
    async fn run_probe(
        self: &Rc<Self>,
        uid: &str,
        name: &str,
        kind: Kind,
        spec: &Spec,
        pod: &Arc<Pod>,
        id: &str,
        field: &str,
    ) {
        let mut result = self.call_probe(pod, name, id, spec).await;
        for _ in 1..PROBE_TRIES {
            if result.is_err() {
                result = self.call_probe(pod, name, id, spec).await;
            }
        }
        let published = {
            let mut state = self.state.borrow_mut();
            let Some(slot) = state.probe(uid, name, kind) else { return };
            slot.busy = false;
            match &result {
                Ok((success, _)) if slot.probe.container_id == id => slot.probe.after(*success),
                _ => None,
            }
        };
        match result {
            Ok((true, _)) => {}
            Ok((false, output)) => {
                let message = format!("{} probe failed: {output}", kind.title());
                self.recorder.event_at(&**pod, field, EventType::Warning, "Unhealthy", message);
            }
            Err(error) => {
                let message = format!("{} probe errored and resulted in unknown state: {error}", kind.title());
                self.recorder.event_at(&**pod, field, EventType::Warning, "Unhealthy", message);
            }
        }
        if let Some(news) = published {
            self.published(uid, kind, id, news);
        }
    }

    /// The result changed: readiness and startup go into the status at once, and the pod is synced.
    fn published(self: &Rc<Self>, uid: &str, kind: Kind, id: &str, news: Published) {
        let (now, success) = (self.hub.now(), news.success);
        let changed = {
            let mut state = self.state.borrow_mut();
            let Some(pod) = state.workers.get(uid).map(|worker| worker.pod.clone()) else { return };
            match kind {
                Kind::Readiness => state.status.set_probed(&pod, id, None, Some(success), now),
                Kind::Startup => state.status.set_probed(&pod, id, Some(success), None, now),
                Kind::Liveness => false,
            }
        };
        if changed {
            self.write_statuses();
        }
        if leads_to_sync(kind, news) {
            self.mark(uid);
        }
    }

    fn drop_probe(&self, uid: &str, name: &str, kind: Kind) {
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid) {
            worker.probes.remove(&(name.to_owned(), kind));
        }
    }

    /// Whether the status last set says that the pod has ended, even if containers still run.
    fn has_ended(&self, uid: &str) -> bool {
        let state = self.state.borrow();
        state.status.get(uid).and_then(|status| status.phase.as_deref()).is_some_and(is_final)
    }

    /// The container's status as last set.
    fn probed_container(&self, uid: &str, name: &str) -> Option<(Arc<Pod>, ContainerStatus)> {
        let state = self.state.borrow();
        let pod = state.workers.get(uid)?.pod.clone();
        let status = state.status.get(uid)?;
        let mut all = status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
        let status = all.find(|s| s.name == name)?.clone();
        Some((pod, status))
    }
}

impl State {
    fn probe(&mut self, uid: &str, name: &str, kind: Kind) -> Option<&mut ProbeSlot> {
        self.workers.get_mut(uid)?.probes.get_mut(&(name.to_owned(), kind))
    }
}

/// A container that is alive needs no sync: nothing has changed.
fn leads_to_sync(kind: Kind, news: Published) -> bool {
    kind != Kind::Liveness || !news.success
}

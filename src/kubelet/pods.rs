//! Pods come and go: what the pod informer says, turned into work for the workers.
//!
//! Mirrors `pkg/kubelet/config` and the `HandlePod…` functions of `pkg/kubelet/kubelet.go`. A change of the spec, the
//! labels or the deletion time is an UPDATE or DELETE and leads to a sync; a change of the status alone (the kubelet's
//! own patch coming back) is a RECONCILE: only a readiness gate that has turned is looked at. A status that another client wrote
//! into is put right by the status manager, which finds it by itself ([`crate::status_loop`]).

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;

use crate::eviction::threshold;
use crate::rejection::Rejection;
use crate::shared::{Shared, State};
use crate::status::{conditions, phase};
use crate::worker::{Stage, Worker};
use crate::{admission, resize, shutdown, sysctl};
use client::informer::Change;
use client::recorder::EventType;
use object::pod::has_ended;
use object::pod::status::PodStatus;
use object::{Accessor, Key, Pod, Resource};

impl Shared {
    /// Handles what one watch event, or the first list, has brought: removals first, new pods by age.
    pub(super) fn pods_changed(self: &Rc<Self>, changes: Vec<Change>) {
        if let Some(waiting) = &mut self.state.borrow_mut().waiting {
            waiting.extend(changes);
            return;
        }
        let changes = self.without_mirrors(changes);
        let mut added: Vec<Arc<Pod>> = Vec::new();
        for change in &changes {
            match change {
                Change::Deleted(object) => {
                    if let Some(pod) = Pod::from_object(object) {
                        self.pod_removed(pod);
                    }
                }
                Change::Added(object) => added.extend(Pod::from_object(object).cloned()),
                Change::Updated { old, new } => {
                    let (Some(old), Some(new)) = (Pod::from_object(old), Pod::from_object(new)) else { continue };
                    if old.metadata.uid == new.metadata.uid {
                        self.pod_updated(old, new);
                    } else {
                        self.pod_removed(old);
                        added.push(new.clone());
                    }
                }
            }
        }
        added.sort_by(|a, b| a.metadata.creation_timestamp.cmp(&b.metadata.creation_timestamp));
        if !added.is_empty() {
            self.pods_added(added.into());
        }
    }

    /// `HandlePodAdditions`.
    pub(super) fn pods_added(self: &Rc<Self>, mut pods: VecDeque<Arc<Pod>>) {
        while let Some(pod) = pods.pop_front() {
            let node = self.nodes.get(&Key::new("", &self.config.name));
            match self.verdict(&pod, node.as_deref()) {
                Err(rejection) if rejection.reason == admission::NODE_AFFINITY => return self.ask_for_node(pod, pods),
                Ok(victims) if !victims.is_empty() => return self.make_room(pod, victims, pods),
                verdict => self.pod_added(pod, verdict.map(drop)),
            }
        }
        self.try_resizes();
    }

    /// The node may have changed since the informer has heard of it, and the scheduler knew: so the API server is asked, and
    /// until it answers no other change is handled. Mirrors `Admit` of `predicateAdmitHandler`.
    fn ask_for_node(self: &Rc<Self>, pod: Arc<Pod>, others: VecDeque<Arc<Pod>>) {
        self.state.borrow_mut().waiting = Some(Vec::new());
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {} admission", self.config.name), async move {
            let cached = || me.nodes.get(&Key::new("", &me.config.name));
            let node = me.client.get::<Node>("", &me.config.name).await.ok().or_else(cached);
            let verdict = match me.verdict(&pod, node.as_deref()) {
                Ok(victims) => {
                    me.preempt(victims).await;
                    Ok(())
                }
                Err(rejection) => Err(rejection),
            };
            me.handle_what_waited(pod, verdict, others);
        });
    }

    /// A critical pod fits when these have ended; until then no other change is handled either.
    fn make_room(self: &Rc<Self>, pod: Arc<Pod>, victims: Vec<Arc<Pod>>, others: VecDeque<Arc<Pod>>) {
        self.state.borrow_mut().waiting = Some(Vec::new());
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {} preemption", self.config.name), async move {
            me.preempt(victims).await;
            me.handle_what_waited(pod, Ok(()), others);
        });
    }

    fn handle_what_waited(self: &Rc<Self>, pod: Arc<Pod>, verdict: Result<(), Rejection>, others: VecDeque<Arc<Pod>>) {
        let waiting = self.state.borrow_mut().waiting.take();
        self.pod_added(pod, verdict);
        self.pods_added(others);
        self.pods_changed(waiting.unwrap_or_default());
        if self.state.borrow().agent.manifests_read {
            self.read_manifests();
        }
        self.clean_up_orphans();
    }

    /// Whether a pod that is new here may run, and which have to end first. One that is to end anyway may.
    fn verdict(&self, pod: &Arc<Pod>, node: Option<&Node>) -> Result<Vec<Arc<Pod>>, Rejection> {
        let uid = pod.metadata.uid();
        let ending = pod.metadata.deletion_timestamp.is_some() || has_ended(pod);
        match node {
            Some(node) if !ending && !self.state.borrow().workers.contains_key(uid) => {
                self.admit(&resize::as_its_status_says(pod), node)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn pod_added(self: &Rc<Self>, pod: Arc<Pod>, verdict: Result<(), Rejection>) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if self.state.borrow().workers.contains_key(&uid) {
            return;
        }
        let allocated = resize::as_its_status_says(&pod);
        let known = self.state.borrow().pleg.knows(&uid);
        let mut worker = Worker::new(allocated, Rc::default());
        worker.update(pod.clone(), false);
        if has_ended(&pod) && !known {
            // It ended under an earlier kubelet, and nothing of it runs.
            worker.stage = Stage::Terminated;
        }
        if verdict.is_err() {
            worker.stage = Stage::Finished;
        }
        self.state.borrow_mut().workers.insert(&uid, worker);
        if let Err(rejection) = verdict {
            self.reject(&pod, rejection);
            return;
        }
        if !known {
            self.note_size(&uid);
            self.mark(&uid);
            return;
        }
        // A kubelet that has restarted finds the pod's containers still there, and adopts them.
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {} pleg", self.config.name), async move {
            me.look_at(&uid).await;
            me.note_size(&uid);
            me.try_resizes();
            me.mark(&uid);
        });
    }

    /// `canAdmitPod`, against the pods that run here or will. If it may run, which have to end first.
    fn admit(&self, pod: &Pod, node: &Node) -> Result<Vec<Arc<Pod>>, Rejection> {
        let state = self.state.borrow();
        state.takes(pod)?;
        let victims = admission::admit(node, state.others(pod), pod)?;
        Ok(victims.into_iter().cloned().collect())
    }

    /// The same for one that runs and is to be larger: no other pod makes room for it.
    pub(super) fn may_grow(&self, pod: &Pod, node: &Node) -> Result<(), Rejection> {
        let state = self.state.borrow();
        state.takes(pod)?;
        admission::fits(node, state.others(pod), pod)
    }

    /// `rejectPod`: the pod fails without ever having started, and no condition says anything of it.
    fn reject(self: &Rc<Self>, pod: &Pod, rejection: Rejection) {
        self.recorder.event(pod, EventType::Warning, &rejection.reason, rejection.message.clone());
        let status = PodStatus {
            phase: Some(phase::FAILED.into()),
            reason: Some(rejection.reason.into()),
            message: Some(format!("Pod was rejected: {}", rejection.message).into()),
            qos_class: pod.status.as_ref().and_then(|held| held.qos_class.clone()),
            observed_generation: pod.metadata.generation,
            ..PodStatus::default()
        };
        self.set_status(pod, status);
    }

    /// UPDATE, DELETE or RECONCILE.
    fn pod_updated(self: &Rc<Self>, old: &Pod, new: &Arc<Pod>) {
        let uid = new.metadata.uid.clone().unwrap_or_default();
        let reconcile = same_for_a_sync(old, new);
        let stage = {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(&uid) else { return };
            if reconcile {
                worker.take(new.clone());
                drop(state);
                if resize::has_shrunk(old, new) {
                    self.try_resizes();
                }
                if conditions::gates_have_turned(new) {
                    self.mark(&uid);
                }
                if is_evicted(new) {
                    self.forget_containers(&uid);
                }
                return;
            }
            worker.update(new.clone(), false);
            worker.stage
        };
        self.refresh_volumes(&uid, old);
        self.note_size(&uid);
        self.try_resizes();
        match stage {
            Stage::Finished => self.finished_pod_touched(&uid, new),
            _ => self.mark(&uid),
        }
    }

    /// REMOVE: the object is gone. Containers that still run are stopped.
    pub(super) fn pod_removed(self: &Rc<Self>, pod: &Arc<Pod>) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let stage = {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(&uid) else { return };
            worker.update(pod.clone(), true);
            worker.stage
        };
        match stage {
            Stage::Finished => self.forget_pod(&uid),
            Stage::Sync | Stage::Terminating => self.mark(&uid),
            Stage::Terminated => {}
        }
    }

    /// A pod with nothing left here has changed, which does not concern its worker (`UpdatePod`, `IsFinished`). One that was
    /// rejected never had a worker: it gets one now, which finds that the pod has failed, and brings it to its end.
    fn finished_pod_touched(self: &Rc<Self>, uid: &str, pod: &Arc<Pod>) {
        let was_rejected = self.state.borrow().status.is_finished(uid) == Some(false);
        if was_rejected {
            self.state.borrow_mut().workers.remove(uid);
            self.pod_added(pod.clone(), Ok(()));
        }
    }

    /// The last trace of a pod goes: its containers and sandboxes are removed, and nothing is remembered.
    pub(super) fn forget_pod(self: &Rc<Self>, uid: &str) {
        let worker = {
            let mut state = self.state.borrow_mut();
            state.status.forget(uid);
            state.crashes.forget(uid);
            state.runs.retain(|key, _| !key.starts_with(uid));
            state.pulls.forget(uid);
            state.pull_errors.retain(|key, _| !key.starts_with(uid));
            state.pleg.forget(uid);
            state.workers.remove(uid)
        };
        let Some(worker) = worker else { return };
        self.static_pod_ended(&worker.pod);
        if worker.runtime.containers.is_empty() && worker.runtime.sandboxes.is_empty() {
            return;
        }
        let me = self.clone();
        let label = format!("kubelet {} garbage collection", self.config.name);
        self.hub.spawn_background(self.actor, label, async move { me.collect_garbage(&worker.runtime).await });
    }
}

impl State {
    /// Whether the machine takes such a pod at all now.
    fn takes(&self, pod: &Pod) -> Result<(), Rejection> {
        admission::under_pressure(&self.agent.health, pod)?;
        sysctl::refuse(pod)?;
        shutdown::refuse(self.agent.health.is_shutting_down)
    }

    /// The others that run here or will.
    fn others<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = &'a Arc<Pod>> + Clone {
        let active = self.workers.values().filter(|worker| worker.stage < Stage::Terminated).map(|worker| &worker.pod);
        active.filter(|other| other.metadata.uid != pod.metadata.uid)
    }
}

/// Mirrors `PodIsEvicted`.
fn is_evicted(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    status.is_some_and(|status| {
        status.phase.as_deref() == Some(phase::FAILED) && status.reason.as_deref() == Some(threshold::REASON)
    })
}

/// Whether two versions of a pod ask the same of a kubelet (`podsDifferSemantically`).
fn same_for_a_sync(old: &Pod, new: &Pod) -> bool {
    let (a, b) = (&old.metadata, &new.metadata);
    a.generation == b.generation
        && a.deletion_timestamp == b.deletion_timestamp
        && a.deletion_grace_period_seconds == b.deletion_grace_period_seconds
        && a.labels == b.labels
        && a.annotations == b.annotations
}

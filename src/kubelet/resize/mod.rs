//! Pods that become larger or smaller while they run.
//!
//! A running container has three sizes. What is *asked for* is in the pod's spec, where `pods/resize` writes it. What is
//! *allocated* is what the kubelet has set aside for it, and all that it does goes by that: a larger size is allocated when
//! the node has room, and until then the resize is pending. What is *actual* is what the runtime was told last. The
//! kubelet tells it of another size while the container runs, or starts the container anew if its `resizePolicy` says so.
//! Conditions, `allocatedResources` and `resources` of the status show where each of them is.
//!
//! Mirrors `pkg/kubelet/allocation` and, for what the runtime is told, `computePodResizeAction` and `doPodResizeAction` of
//! `kuberuntime_manager.go`.
//!
//! Left out: what can never be done here and is said at once elsewhere (`Infeasible`): swap, static policies for CPU and
//! memory; a memory limit below what is in use, which fails there; the files in which a real kubelet keeps what it has
//! allocated, so that one which is started again goes by the pods' statuses.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, ResourceRequirements};
use serde_json::{Value, json};

use crate::actions::{Actions, Kill, Resized};
use crate::params::RESIZE_RETRY_PERIOD;
use crate::rejection::Rejection;
use crate::runtime_pod::{RunState, RuntimePod};
use crate::shared::{Shared, State};
use crate::status::conditions::{RESIZE_IN_PROGRESS, RESIZE_PENDING};
use crate::timers::Timer;
use crate::worker::{Stage, Worker};
use client::recorder::EventType;
use object::pod::status::PodCondition;
use object::pod::{container, qos_class};
use object::resources::{amounts, pod_requests};
use object::time::Instant;
use object::{Key, Pod};

pub mod pending;
mod size;

use pending::Resize;
use size::{as_large_as, containers, each_container, same_amount, same_amounts, same_size, with_memory_of};

/// The reason of a resize that has to wait for room.
const DEFERRED: &str = "Deferred";
const RESTARTS: &str = "RestartContainer";

impl Worker {
    /// Takes in the newest object. Its containers stay as large as they are: whether they can have another size is another
    /// question.
    pub fn take(&mut self, pod: Arc<Pod>) {
        if !same_size(&pod, &self.pod) {
            self.pod = Arc::new(as_large_as(&pod, &self.pod));
            self.resize.get_or_insert_default().wanted = Some(pod);
            return;
        }
        self.pod = pod;
        if let Some(resize) = &mut self.resize {
            (resize.wanted, resize.pending) = (None, None);
        }
    }

    /// Whether its containers are to have another size than is allocated.
    fn is_to_be_resized(&self) -> bool {
        self.resize.as_ref().is_some_and(|resize| resize.wanted.is_some())
    }

    /// The size that is asked for is allocated.
    fn allocate(&mut self, wanted: Arc<Pod>, now: Instant) {
        let resize = self.resize.get_or_insert_default();
        for (container, new) in containers(&self.pod).zip(containers(&wanted)) {
            let runs = self.runtime.container(&container.name).is_some_and(|c| c.state == RunState::Running);
            if runs && !same_amounts(container.resources.as_ref(), new.resources.as_ref()) {
                let actual = container.resources.clone().unwrap_or_default();
                resize.actual.entry(container.name.clone()).or_insert(actual);
            }
        }
        let generation = wanted.metadata.generation;
        resize.in_progress = Some(condition(RESIZE_IN_PROGRESS, generation, now));
        (resize.wanted, resize.pending) = (None, None);
        self.pod = wanted;
    }

    /// What was started since is as large as is allocated. The generation of a resize that has come to its end.
    fn follow_resize(&mut self) -> Option<i64> {
        let resize = self.resize.as_mut()?;
        let runs = |name: &str| self.runtime.container(name).is_some_and(|c| c.state == RunState::Running);
        let of = |name: &str| container(&self.pod, name).and_then(|c| c.resources.as_ref());
        resize.actual.retain(|name, actual| runs(name) && !same_amounts(Some(actual), of(name)));
        let ended = if resize.actual.is_empty() { resize.in_progress.take() } else { None };
        if resize.is_over() {
            self.resize = None;
        }
        ended.map(|condition| condition.observed_generation.unwrap_or_default())
    }

    /// A running container has this size now, which need not be the one that is allocated by now.
    pub fn has_size(&mut self, name: &str, size: Option<&ResourceRequirements>) {
        let Some(resize) = &mut self.resize else { return };
        let allocated = container(&self.pod, name).and_then(|c| c.resources.as_ref());
        if same_amounts(size, allocated) {
            resize.actual.remove(name);
        } else {
            resize.actual.insert(name.to_owned(), size.cloned().unwrap_or_default());
        }
    }

    /// The runtime could not be told of a size. The generation of the resize, if that has not been said yet.
    fn note_failure(&mut self, message: &str) -> Option<i64> {
        let condition = self.resize.as_mut()?.in_progress.as_mut()?;
        if condition.message.as_deref() == Some(message) {
            return None;
        }
        (condition.reason, condition.message) = (Some("Error".into()), Some(message.into()));
        condition.observed_generation
    }
}

impl Shared {
    /// Remembers a pod that is to have another size.
    pub(super) fn note_size(&self, uid: &str) {
        let mut state = self.state.borrow_mut();
        if state.workers.get(uid).is_some_and(|worker| worker.is_to_be_resized()) {
            state.resizing.insert(uid.to_owned());
        }
    }

    /// Tries everything that waits: first what asks for no more than it has, then by priority, class of service and age
    /// (`RetryPendingResizes`).
    pub(super) fn try_resizes(self: &Rc<Self>) {
        if self.state.borrow().waiting.is_some() {
            // A new pod comes first.
            return;
        }
        let waiting = {
            let mut state = self.state.borrow_mut();
            let State { workers, resizing, .. } = &mut *state;
            let active = |uid: &String| workers.get(uid).filter(|worker| worker.stage == Stage::Sync);
            let mut waiting: Vec<_> = resizing.iter().filter_map(|uid| rank(active(uid)?)).collect();
            waiting.sort();
            *resizing = waiting.iter().map(|(_, uid)| uid.clone()).collect();
            waiting
        };
        let mut deferred = false;
        for (_, uid) in waiting {
            deferred |= self.try_resize(&uid);
        }
        if deferred {
            let at = self.hub.now() + RESIZE_RETRY_PERIOD;
            if self.state.borrow_mut().resize_retry.replace(at).is_none() {
                self.wake_background(Timer::Resize, RESIZE_RETRY_PERIOD);
            }
        }
    }

    /// It may be time to try again: three minutes after the last try, for any reason.
    pub(super) fn resizes_due(self: &Rc<Self>) {
        let (now, at) = (self.hub.now(), self.state.borrow_mut().resize_retry.take());
        match at.filter(|at| *at > now) {
            None => self.try_resizes(),
            Some(at) => {
                self.state.borrow_mut().resize_retry = Some(at);
                self.wake_background(Timer::Resize, at - now);
            }
        }
    }

    /// Allocates the size that a pod asks for, or says why that cannot be; true if it has to wait
    /// (`handlePodResourcesResize`).
    fn try_resize(self: &Rc<Self>, uid: &str) -> bool {
        let (before, wanted) = {
            let state = self.state.borrow();
            let Some(worker) = state.workers.get(uid) else { return false };
            let Some(wanted) = worker.resize.as_ref().and_then(|resize| resize.wanted.clone()) else { return false };
            (worker.pod.clone(), wanted)
        };
        let node = self.nodes.get(&Key::new("", &self.config.name));
        let refused = node.and_then(|node| self.may_grow(&wanted, &node).err());
        let deferred = refused.is_some();
        let now = self.hub.now();
        let (type_, reason, title, error) = {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(uid) else { return false };
            match refused {
                None => {
                    worker.allocate(wanted.clone(), now);
                    (EventType::Normal, "ResizeStarted", "Pod resize started", None)
                }
                Some(Rejection { message, .. }) => {
                    let generation = wanted.metadata.generation;
                    let pending = &mut worker.resize.get_or_insert_default().pending;
                    let same = |there: &PodCondition| {
                        there.message.as_deref() == Some(&message) && there.observed_generation == generation
                    };
                    if pending.as_ref().is_some_and(same) {
                        return true;
                    }
                    let since = pending.as_ref().and_then(|before| before.last_transition_time.clone());
                    let why = condition(RESIZE_PENDING, generation, now);
                    *pending = Some(PodCondition {
                        reason: Some(DEFERRED.into()),
                        message: Some(message.as_str().into()),
                        last_transition_time: since.or(why.last_transition_time),
                        ..why
                    });
                    (EventType::Warning, "ResizeDeferred", "Pod resize Deferred", Some(message))
                }
            }
        };
        let generation = wanted.metadata.generation.unwrap_or_default();
        let summary = summary(&wanted, generation, error);
        self.recorder.event(&*wanted, type_, reason, format!("{title}: {summary}"));
        self.refresh_volumes(uid, &before);
        self.mark(uid);
        deferred
    }

    /// Whether a resize of the pod is over by now, and if so, says it.
    pub(super) fn follow_resize(&self, uid: &str) {
        let ended = {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(uid) else { return };
            worker.follow_resize().map(|generation| (worker.pod.clone(), generation))
        };
        let Some((pod, generation)) = ended else { return };
        let message = format!("Pod resize completed: {}", summary(&pod, generation, None));
        self.recorder.event(&*pod, EventType::Normal, "ResizeCompleted", message);
    }

    /// Tells the runtime how large running containers are now: their memory first, then their CPU
    /// (`doPodResizeAction`). An error ends it, and the next sync tries again.
    pub(super) async fn resize_containers(&self, uid: &str, pod: &Pod, actions: &Actions) -> Result<(), ()> {
        for memory in [true, false] {
            for resized in actions.resize.iter().filter(|resized| if memory { resized.memory } else { resized.cpu }) {
                let Some(container) = container(pod, &resized.name) else { continue };
                let size = self.next_size(uid, container, resized, memory);
                if let Err(error) = self.update_container_resources(pod, container, &resized.id, size.as_ref()).await {
                    self.tell_failure(uid, pod, &error.to_string());
                    return Err(());
                }
                if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid) {
                    worker.has_size(&resized.name, size.as_ref());
                }
            }
        }
        Ok(())
    }

    /// The size that the runtime is told of: as long as only the memory is being changed, the CPU is what it was.
    fn next_size(
        &self,
        uid: &str,
        container: &Container,
        resized: &Resized,
        memory: bool,
    ) -> Option<ResourceRequirements> {
        let allocated = container.resources.as_ref();
        if !memory || !resized.cpu {
            return allocated.cloned();
        }
        let state = self.state.borrow();
        let actual = state.workers.get(uid).and_then(|worker| worker.resize.as_ref()?.actual(&resized.name));
        with_memory_of(actual, allocated)
    }

    fn tell_failure(&self, uid: &str, pod: &Pod, error: &str) {
        let failed = self.state.borrow_mut().workers.get_mut(uid).and_then(|worker| worker.note_failure(error));
        let Some(generation) = failed else { return };
        let message = format!("Pod resize error: {}", summary(pod, generation, Some(error.to_owned())));
        self.recorder.event(pod, EventType::Warning, "ResizeError", message);
    }
}

/// Adds to a sync's work what is to be done about the sizes of running containers (`computePodResizeAction`).
pub fn add_to(actions: &mut Actions, pod: &Pod, runtime: &RuntimePod, resize: &Resize) {
    if actions.kill_pod || actions.create_sandbox.is_some() {
        return;
    }
    for (index, container) in containers(pod).enumerate() {
        let running = runtime.container(&container.name).filter(|c| c.state == RunState::Running);
        let (Some(running), Some(actual)) = (running, resize.actual(&container.name)) else { continue };
        if actions.kill.iter().any(|kill| kill.id == running.id) {
            continue;
        }
        let (old, new) = (Some(actual), container.resources.as_ref());
        let [cpu, memory] = ["cpu", "memory"].map(|name| !same_amount(old, new, name));
        let restarts = |resource: &str| {
            let mut policies = container.resize_policy.iter().flatten();
            policies.any(|policy| policy.resource_name == resource && policy.restart_policy == RESTARTS)
        };
        if cpu && restarts("cpu") || memory && restarts("memory") {
            let why = format!("Container {} resize requires restart", container.name);
            let (id, name) = (running.id.clone(), container.name.clone());
            actions.kill.push(Kill { id, name, why, grace: None });
            let inits = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten()).count();
            match index.checked_sub(inits) {
                Some(index) => actions.start.push(index),
                None => actions.start_init.push(index),
            }
        } else if cpu || memory {
            actions.resize.push(Resized { id: running.id.clone(), name: container.name.clone(), cpu, memory });
        }
    }
}

/// Whether a pod uses less of the node than it did, so that others may have it.
pub fn has_shrunk(old: &Pod, new: &Pod) -> bool {
    let used = |pod: &Pod| {
        let resources = pod.status.as_ref().and_then(|status| status.resources.as_ref());
        amounts(resources.and_then(|resources| resources.requests.as_ref()))
    };
    let (old, new) = (used(old), used(new));
    ["cpu", "memory"].iter().any(|name| new.get(*name) < old.get(*name))
}

/// A pod of an earlier kubelet as large as its status says that it is. Mirrors the checkpoint of what is allocated.
pub fn as_its_status_says(pod: &Arc<Pod>) -> Arc<Pod> {
    let known: BTreeMap<&str, ResourceRequirements> =
        containers(pod).filter_map(|container| Some((container.name.as_str(), other_size(pod, container)?))).collect();
    // Most pods are new and have none, or are as large as they ask.
    if known.is_empty() {
        return pod.clone();
    }
    let mut sized = (**pod).clone();
    each_container(&mut sized, |container| {
        if let Some(size) = known.get(container.name.as_str()) {
            container.resources = Some(size.clone());
        }
    });
    Arc::new(sized)
}

/// The size that the status gives for a container, if it is not the one that is asked for.
fn other_size(pod: &Pod, container: &Container) -> Option<ResourceRequirements> {
    let status = pod.status.as_deref()?;
    let mut all = status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
    let known = all.find(|s| s.name == container.name && s.resources.is_some())?;
    let size = ResourceRequirements {
        requests: known.allocated_resources.as_deref().cloned(),
        limits: known.resources.as_ref().and_then(|resources| resources.limits.clone()),
        claims: container.resources.as_ref().and_then(|resources| resources.claims.clone()),
    };
    (!same_amounts(Some(&size), container.resources.as_ref())).then_some(size)
}

/// When its turn comes among those that wait, and its uid; none if it does not wait (`sortPendingResizes`).
fn rank(worker: &Worker) -> Option<(Turn, String)> {
    let resize = worker.resize.as_ref()?;
    let wanted = resize.wanted.as_ref()?;
    let (has, asks) = (pod_requests(&worker.pod), pod_requests(wanted));
    let since = resize.pending.as_ref().and_then(|pending| pending.last_transition_time.as_ref());
    let turn = Turn {
        asks_for_more: ["cpu", "memory"].iter().any(|name| asks.get(*name) > has.get(*name)),
        priority: Reverse(wanted.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0)),
        is_burstable: qos_class(wanted) != "Guaranteed",
        // One that has not waited yet comes after all that have.
        since: since.map_or(Instant(u64::MAX), Instant::from_time),
    };
    Some((turn, worker.uid().to_owned()))
}

/// What decides which of the waiting resizes is tried first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    asks_for_more: bool,
    priority: Reverse<i32>,
    is_burstable: bool,
    since: Instant,
}

/// Unlike the kubelet's other conditions, these say when they were looked at.
fn condition(type_: &str, generation: Option<i64>, now: Instant) -> PodCondition {
    PodCondition {
        type_: type_.into(),
        status: "True".into(),
        observed_generation: generation,
        last_probe_time: Some(now.time()),
        last_transition_time: Some(now.time()),
        ..PodCondition::default()
    }
}

/// The sizes, as Events show them. Mirrors `makeResourceSummaryFromSpec`.
fn summary(pod: &Pod, generation: i64, error: Option<String>) -> String {
    let size = |container: &Container| {
        let resources = container.resources.as_ref().and_then(|resources| serde_json::to_value(resources).ok());
        json!({"name": container.name, "resources": resources.unwrap_or(json!({}))})
    };
    let spec = pod.spec.as_deref();
    let own: Vec<Value> = spec.iter().flat_map(|spec| &spec.containers).map(size).collect();
    let init: Vec<Value> = spec.iter().flat_map(|spec| spec.init_containers.iter().flatten()).map(size).collect();
    let parts = [
        (!init.is_empty()).then(|| format!("\"initContainers\":{}", Value::Array(init))),
        Some(format!("\"containers\":{}", Value::Array(own))),
        Some(format!("\"generation\":{generation}")),
        error.map(|error| format!("\"error\":{}", Value::String(error))),
    ];
    format!("{{{}}}", parts.into_iter().flatten().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pod, running, sandboxed};

    fn sized(cpu: &str, memory: &str, restarts: &str) -> Arc<Pod> {
        let mut pod = pod(&["web"]);
        let manifest = json!({"name": "web", "resources": {"requests": {"cpu": cpu}, "limits": {"memory": memory}},
            "resizePolicy": [{"resourceName": restarts, "restartPolicy": RESTARTS}]});
        pod.spec.as_mut().unwrap().containers = vec![serde_json::from_value(manifest).unwrap()];
        Arc::new(pod)
    }

    fn worker(containers: Vec<crate::runtime_pod::RuntimeContainer>) -> Worker {
        Worker::new(sized("1", "1Gi", "memory"), Rc::new(sandboxed(containers)))
    }

    #[test]
    fn what_runs_is_told_or_started_anew() {
        for (cpu, memory, resize, kill) in [
            ("1000m", "1024Mi", None, ""),
            ("2", "1Gi", Some((true, false)), ""),
            ("2", "2Gi", None, "Container web resize requires restart"),
        ] {
            let mut worker = worker(vec![running("web")]);
            worker.take(sized(cpu, memory, "memory"));
            let Some(wanted) = worker.resize.as_ref().and_then(|resize| resize.wanted.clone()) else {
                assert_eq!((resize, kill), (None, ""), "an amount is the same however it is written");
                continue;
            };
            worker.allocate(wanted, Instant(1));
            let mut actions = Actions::default();
            add_to(&mut actions, &worker.pod, &worker.runtime, worker.resize.as_ref().unwrap());
            let resized = actions.resize.first().map(|resized| (resized.cpu, resized.memory));
            let killed = actions.kill.first().map_or("", |kill| kill.why.as_str());
            assert_eq!((resized, killed, actions.start), (resize, kill, vec![0; usize::from(!kill.is_empty())]));
        }
    }

    #[test]
    fn a_size_that_is_not_allocated_changes_nothing() {
        let mut worker = worker(vec![running("web")]);
        worker.take(sized("3", "1Gi", "memory"));
        assert!(worker.is_to_be_resized() && same_size(&worker.pod, &sized("1", "1Gi", "memory")));
        worker.take(sized("1", "1Gi", "memory"));
        assert!(!worker.is_to_be_resized(), "it is not asked for any more");
        assert_eq!(worker.follow_resize(), None);
        assert!(worker.resize.is_none());
    }

    #[test]
    fn a_resize_is_over_when_all_that_runs_has_its_size() {
        let mut worker = worker(vec![running("web")]);
        let mut wanted = (*sized("2", "1Gi", "memory")).clone();
        wanted.metadata.generation = Some(2);
        worker.allocate(Arc::new(wanted), Instant(1));
        assert_eq!(worker.follow_resize(), None);
        worker.has_size("web", sized("2", "1Gi", "memory").spec.as_ref().unwrap().containers[0].resources.as_ref());
        assert_eq!(worker.follow_resize(), Some(2));
        assert!(worker.resize.is_none());
    }
}

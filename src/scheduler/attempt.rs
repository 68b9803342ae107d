//! One attempt to schedule a pod: take it from the queue, decide, and see the decision through.
//!
//! Mirrors `scheduleOne`, `bindingCycle` and `handleSchedulingFailure` of `pkg/scheduler/schedule_one.go`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::cache::Cache;
use super::condition;
use super::cycle::{Context, Decision, Outcome, schedule};
use super::events::ClusterEvent;
use super::node_info::NodeId;
use super::nominator::Nominator;
use super::preemption::{Candidate, Disruptions, Preemption};
use super::profile::{Profile, Profiles};
use super::queue::{QueuedPod, SchedulingQueue};
use super::storage::Plan;
use super::table;
use super::timers::Timers;
use super::volume_writes::Waiting;
use client::{Client, EventType, Lister, Recorder};
use engine::{Memory, Note};
use object::pod::assigned_node;
use object::pod::status::PodCondition;
use object::{Key, Pod};
use wire::Binding;

use super::evict::{DEFAULT_PREEMPTION, DefaultPreemption, Preempting};

/// Events carry no more than this of a message. `maxEventMessageLength` less the dots.
const EVENT_MESSAGE_BYTES_MAX: usize = 1024;

/// What the scheduler's handlers, cycles and bindings share.
pub(super) struct Scheduler {
    pub(super) client: Client,
    /// One for each profile, which signs with its name.
    pub(super) recorders: Vec<Recorder>,
    pub(super) pods: Lister<Pod>,
    pub(super) state: Memory<State>,
    pub(super) preempting: Preempting,
    pub(super) profiles: Profiles,
    pub(super) timers: Timers,
    /// Pods that wait for their claims.
    pub(super) waiting: Waiting,
    /// How many hold the one goroutine that schedules: a cycle, and after it the writing down of its failure.
    busy: Memory<u32>,
}

/// What the scheduler knows: plain data, to be looked at and copied. Never borrowed across an `.await`.
#[derive(Clone)]
pub(super) struct State {
    pub(super) cache: Cache,
    pub(super) queue: SchedulingQueue,
    pub(super) nominator: Nominator,
    pub(super) disruptions: Disruptions,
    /// Where the next search for nodes begins.
    next_start: usize,
}

/// How an attempt failed.
struct Failure {
    /// What is told to the user.
    message: String,
    /// The condition's reason: `Unschedulable` or `SchedulerError`.
    reason: &'static str,
    /// Where room is being made for the pod; empty to take back what was said before.
    nominated: Option<String>,
}

impl Scheduler {
    /// `events` is the client for Events.
    pub(super) fn new(client: Client, events: &Client, pods: Lister<Pod>, mut profiles: Vec<Profile>) -> Scheduler {
        let preempting = client.hub().memory(BTreeMap::new());
        for entry in profiles.iter_mut().flat_map(|profile| &mut profile.plugins) {
            if entry.plugin.name() == DEFAULT_PREEMPTION {
                entry.plugin = Rc::new(DefaultPreemption(Some((preempting.clone(), pods.clone()))));
            }
        }
        let sign = |profile: &Profile| Recorder::new(events.clone(), &profile.scheduler_name, "");
        let recorders = profiles.iter().map(sign).collect();
        let profiles = Profiles::from(profiles);
        let state = State {
            cache: Cache::default(),
            queue: SchedulingQueue::new(profiles.clone()),
            nominator: Nominator::default(),
            disruptions: Disruptions::new(),
            next_start: 0,
        };
        let hub = client.hub();
        Scheduler {
            state: hub.memory(state),
            timers: Timers::new(hub),
            busy: hub.memory(0),
            waiting: hub.memory(BTreeMap::new()),
            client,
            recorders,
            pods,
            preempting,
            profiles,
        }
    }

    /// Arms the wakes that the queue needs, unless an attempt is under way: then the last of those will.
    pub(super) fn arm(&self) {
        if self.busy.get() == 0 {
            self.timers.arm(self.client.hub(), self.client.actor(), &self.state.borrow().queue);
        }
    }

    /// Starts a scheduling cycle. It is a task, though it waits for nothing: if a plugin panics, the engine catches it
    /// and says where, and the next pod has its turn.
    pub(super) fn start_cycle(self: &Rc<Self>) {
        let (scheduler, busy) = (self.clone(), Busy::new(self));
        self.client.hub().spawn(self.client.actor(), "scheduling cycle", async move {
            let _until_done = busy;
            scheduler.schedule_one();
        });
    }

    /// One scheduling cycle. The pod is assumed on its node at once, and the binding goes its own way, so that the
    /// next cycle need not wait for the API server.
    fn schedule_one(self: &Rc<Self>) {
        let now = self.client.now();
        let Some(queued) = self.state.borrow_mut().queue.pop(now) else { return };
        if self.skip(&queued) {
            return;
        }
        let decision = self.decide(&queued);
        self.client.hub().note(|| {
            let state = self.state.borrow();
            Note::Table(Rc::new(table::of(&decision, &queued, &self.profiles[queued.profile], &state.cache.snapshot)))
        });
        match decision.outcome {
            Outcome::Chosen(node) => self.assume_and_bind(queued, node),
            Outcome::Unschedulable { error, rejected_by, preemption } => {
                let nominated = match preemption {
                    Preemption::Candidate(candidate) => Some(self.preempt(&queued, candidate)),
                    Preemption::Hopeless => Some(String::new()),
                    Preemption::NotEligible => None,
                };
                let failure = Failure { message: error.message(), reason: "Unschedulable", nominated };
                self.fail(QueuedPod { rejected_by, ..queued }, failure);
            }
            Outcome::Error(message) => {
                self.fail(queued, Failure { message, reason: "Unschedulable", nominated: Some(String::new()) });
            }
        }
    }

    /// Pods that are being deleted, or whose binding is under way already, are not scheduled.
    fn skip(&self, queued: &QueuedPod) -> bool {
        let mut state = self.state.borrow_mut();
        let info = &queued.info;
        let leaving = info.terminating();
        if leaving {
            let message = format!("skip schedule deleting pod: {}", info.key);
            self.recorders[queued.profile].event(&*info.pod, EventType::Warning, "FailedScheduling", message);
        }
        let skip = leaving || state.cache.is_assumed(&info.key);
        if skip {
            state.queue.done(&info.key);
        }
        skip
    }

    fn decide(&self, queued: &QueuedPod) -> Decision {
        let state = &mut *self.state.borrow_mut();
        state.cache.snapshot.refresh();
        let context = Context {
            profile: &self.profiles[queued.profile],
            snapshot: &state.cache.snapshot,
            nominator: &state.nominator,
            disruptions: &state.disruptions,
        };
        let next_start = &mut state.next_start;
        self.client.hub().random(|random| schedule(&context, &queued.info, next_start, random))
    }

    fn assume_and_bind(self: &Rc<Self>, queued: QueuedPod, node: NodeId) {
        let plan = self.reserve_volumes(&queued.info, node);
        let state = &mut *self.state.borrow_mut();
        let key = queued.info.key.clone();
        let node = state.cache.snapshot.node(node).name.to_string();
        state.cache.assume(queued.info.clone(), &node);
        state.nominator.remove(&key);
        state.queue.done(&key);
        let scheduler = self.clone();
        let hub = self.client.hub();
        hub.spawn(self.client.actor(), format!("bind {key}"), async move {
            scheduler.bind(queued, node, plan).await;
        });
    }

    /// The binding cycle: claims first, if any wait for the pod; then DefaultBinder's one request, and word of it.
    async fn bind(self: Rc<Self>, queued: QueuedPod, node: String, plan: Plan) {
        let info = &queued.info;
        if !plan.is_empty() {
            let bound = self.bind_volumes(info, &node, &plan).await;
            self.state.borrow_mut().cache.snapshot.storage.forget(&plan);
            if let Err(why) = bound {
                self.binding_failed(queued, format!("running PreBind plugin \"VolumeBinding\": {why}"));
                return self.arm();
            }
        }
        let (namespace, name) = (info.key.namespace(), info.key.name());
        let binding = Binding { uid: Some(info.uid.clone()), node: node.clone(), ..Binding::default() };
        match self.client.bind(namespace, name, binding).await {
            Ok(()) => {
                let message = format!("Successfully assigned {} to {node}", info.key);
                self.recorders[queued.profile].event(&*info.pod, EventType::Normal, "Scheduled", message);
            }
            Err(status) => {
                let why = format!("running Bind plugin \"DefaultBinder\": {status}");
                self.binding_failed(queued, why);
            }
        }
        self.arm();
    }

    /// The room on the node is free again, which may help others; and the pod is tried again, after a while.
    fn binding_failed(self: &Rc<Self>, queued: QueuedPod, message: String) {
        let now = self.client.now();
        {
            let state = &mut *self.state.borrow_mut();
            if let Some(assumed) = state.cache.forget(&queued.info.key) {
                state.queue.move_all(&ClusterEvent::pod_deleted(&assumed), now, &state.cache.snapshot);
            }
        }
        self.fail(queued, Failure { message, reason: "SchedulerError", nominated: Some(String::new()) });
    }

    /// Back into the queue, an Event, and the condition. A pod that is gone or bound meanwhile is not queued again, but
    /// told of all the same; another pod of its name has nothing to do with it.
    fn fail(self: &Rc<Self>, queued: QueuedPod, failure: Failure) {
        let key = queued.info.key.clone();
        let current = self.pods.get(&key);
        if current.as_ref().is_some_and(|pod| pod.metadata.uid != queued.info.pod.metadata.uid) {
            self.state.borrow_mut().queue.done(&key);
            return;
        }
        let recorder = &self.recorders[queued.profile];
        let pod = match current.filter(|pod| is_unassigned(pod)) {
            Some(pod) => {
                self.requeue(queued.with_pod(pod.clone()), failure.nominated.as_deref());
                pod
            }
            None => {
                let state = &mut *self.state.borrow_mut();
                state.queue.done(&key);
                state.nominator.remove(&key);
                queued.info.pod.clone()
            }
        };
        recorder.event(&*pod, EventType::Warning, "FailedScheduling", truncated(&failure.message));
        self.write_down(&key, &pod, failure);
    }

    fn requeue(&self, queued: QueuedPod, nominated: Option<&str>) {
        let (now, state) = (self.client.now(), &mut *self.state.borrow_mut());
        match nominated {
            None => {}
            Some("") => state.nominator.remove(&queued.info.key),
            Some(node) => state.nominator.nominate(queued.info.clone(), node),
        }
        state.queue.requeue(queued, now, &state.cache.snapshot);
    }

    /// PATCHes the condition into the pod's status, if it says anything new. The cycle waits for the answer.
    fn write_down(self: &Rc<Self>, key: &Key, pod: &Arc<Pod>, failure: Failure) {
        let new = PodCondition {
            type_: "PodScheduled".into(),
            status: "False".into(),
            reason: Some(failure.reason.into()),
            message: Some(failure.message.into()),
            observed_generation: pod.metadata.generation,
            ..PodCondition::default()
        };
        let now = self.client.now();
        let Some(patch) = condition::patch(pod, new, failure.nominated.as_deref(), now) else { return };
        let (scheduler, key, busy) = (self.clone(), key.clone(), Busy::new(self));
        self.client.hub().spawn(self.client.actor(), format!("fail {key}"), async move {
            // An error is logged and dropped: the next attempt will write the condition again.
            let _ = condition::write(&scheduler.client, &key, patch).await;
            drop(busy);
        });
    }

    /// Begins to make room on the candidate's node, and says its name.
    fn preempt(self: &Rc<Self>, queued: &QueuedPod, candidate: Candidate) -> String {
        let (node, lower) = {
            let state = self.state.borrow();
            let node = state.cache.snapshot.node(candidate.node).name.to_string();
            let others = state.nominator.on(&node).iter();
            (node, others.filter(|other| other.priority < queued.info.priority).cloned().collect())
        };
        self.evict(queued.info.clone(), node.clone(), candidate.victims, lower);
        node
    }
}

/// Holds back the next cycle as long as it lives, however it ends.
struct Busy(Rc<Scheduler>);

impl Busy {
    fn new(scheduler: &Rc<Scheduler>) -> Busy {
        scheduler.busy.set(scheduler.busy.get() + 1);
        Busy(scheduler.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.set(self.0.busy.get() - 1);
        self.0.arm();
    }
}

/// Whether the pod has no node yet.
pub(super) fn is_unassigned(pod: &Pod) -> bool {
    assigned_node(pod).is_none()
}

fn truncated(message: &str) -> String {
    const DOTS: &str = " ...";
    if message.len() <= EVENT_MESSAGE_BYTES_MAX {
        return message.to_owned();
    }
    let mut end = EVENT_MESSAGE_BYTES_MAX - DOTS.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{DOTS}", &message[..end])
}

//! The scheduling queue: pods ready to be tried, pods that must wait a little, and pods that wait for something to
//! change.
//!
//! - *active*: the next attempt takes the first, by priority and then by time (the PrioritySort plugin).
//! - *backoff*: failed before, worth a try, but not before 1, 2, 4, 8, then 10 seconds have passed; unless nothing
//!   else is to be done. Pods whose attempt broke off with an error wait apart and must wait it out.
//! - *unschedulable*: no node would take them. A change of the cluster moves those whose rejecting plugins say, by
//!   a queueing hint, that it may help them; after five minutes they are tried anyway.
//!
//! Changes that arrive while a pod is being tried are kept, for its attempt may not have seen them. Mirrors
//! `pkg/scheduler/backend/queue`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::cycle::PluginSet;
use super::events::{ClusterEvent, pod_changes};
use super::pod_info::PodInfo;
use super::profile::Profiles;
use super::snapshot::Snapshot;
use object::time::Instant;
use object::{Key, Pod};

mod queued_pod;

pub use queued_pod::QueuedPod;
use queued_pod::{HOPELESS, SECOND, whole_second};

/// After this long without a helpful change a pod is tried anyway. `podMaxInUnschedulablePodsDuration`.
const UNSCHEDULABLE_DURATION_MAX: Duration = Duration::from_secs(5 * 60);
/// How often that is looked at.
const UNSCHEDULABLE_FLUSH_SECONDS: u64 = 30;

/// Where a pod is.
#[derive(Clone, Debug)]
enum SubQueue {
    Active(Turn),
    Backoff(Instant, Turn),
    ErrorBackoff(Instant, Turn),
    Unschedulable,
}

/// The order of attempts: higher priority, then earlier, then who came first, which the real scheduler leaves open.
type Turn = (Reverse<i32>, Instant, u64);

/// All pods without a node.
#[derive(Clone)]
pub struct SchedulingQueue {
    profiles: Profiles,
    pods: BTreeMap<Key, (QueuedPod, SubQueue)>,
    active: BTreeMap<Turn, Key>,
    /// By the second at which the backoff is over.
    backoff: BTreeMap<(Instant, Turn), Key>,
    error_backoff: BTreeMap<(Instant, Turn), Key>,
    /// By profile and the plugins that rejected them, so that a change is only put to those it may concern.
    unschedulable: BTreeMap<(usize, PluginSet), BTreeSet<Key>>,
    /// Those of them that no gate holds, by how long they have waited.
    waiting: BTreeSet<(Instant, Key)>,
    /// Pods being tried, with the number of the last change before their attempt.
    in_flight: BTreeMap<Key, u64>,
    /// Changes since the oldest of those attempts began.
    changes: VecDeque<(u64, ClusterEvent)>,
    change_count: u64,
    added: u64,
}

impl SchedulingQueue {
    /// An empty queue. The plugins of a pod's profile say whether it may be queued, and which changes help it.
    pub fn new(profiles: Profiles) -> SchedulingQueue {
        SchedulingQueue {
            profiles,
            pods: BTreeMap::new(),
            active: BTreeMap::new(),
            backoff: BTreeMap::new(),
            error_backoff: BTreeMap::new(),
            unschedulable: BTreeMap::new(),
            waiting: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            changes: VecDeque::new(),
            change_count: 0,
            added: 0,
        }
    }

    /// Whose pods are queued.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// A pod without a node appeared. One that names no profile is nothing to us.
    pub fn add(&mut self, info: Arc<PodInfo>, now: Instant) {
        let Some(profile) = self.profiles.of(&info.pod) else { return };
        self.take(&info.key.clone());
        let pod = QueuedPod {
            info,
            profile,
            timestamp: now,
            initial_attempt: None,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors: 0,
            rejected_by: PluginSet::default(),
            gated_by: None,
        };
        self.activate_or_gate(pod);
    }

    /// A pod without a node changed. Only if it was unschedulable can that help it.
    pub fn update(&mut self, old: &Arc<Pod>, new: Arc<Pod>, now: Instant, snapshot: &Snapshot) {
        let info = Arc::new(PodInfo::new(new.clone()));
        let events = pod_changes(old, &new);
        if self.in_flight.contains_key(&info.key) {
            events.into_iter().for_each(|event| self.keep(event));
            return;
        }
        let Some((queued, sub_queue)) = self.pods.get_mut(&info.key) else { return self.add(info, now) };
        queued.info = info.clone();
        if !matches!(sub_queue, SubQueue::Unschedulable) {
            return;
        }
        if events.iter().any(|event| self.worth_requeueing(&info.key, event, snapshot))
            && let Some(pod) = self.take(&info.key)
        {
            self.after_backoff(pod, now);
        }
    }

    /// The pod is gone, or has a node.
    pub fn delete(&mut self, key: &Key) {
        self.take(key);
    }

    /// The next pod to try. Counts as an attempt, and as one being tried until [`SchedulingQueue::done`].
    pub fn pop(&mut self, now: Instant) -> Option<QueuedPod> {
        let next = self.active.values().next().or_else(|| self.backoff.values().next())?.clone();
        let mut pod = self.take(&next)?;
        pod.attempts += 1;
        pod.initial_attempt.get_or_insert(now);
        pod.rejected_by = PluginSet::default();
        self.in_flight.insert(next, self.change_count);
        Some(pod)
    }

    /// The pod's attempt is over, as far as the queue is concerned.
    pub fn done(&mut self, key: &Key) {
        self.in_flight.remove(key);
        let oldest = self.in_flight.values().min().copied().unwrap_or(self.change_count);
        while self.changes.front().is_some_and(|(number, _)| *number <= oldest) {
            self.changes.pop_front();
        }
    }

    /// The attempt failed. Rejected pods wait for a change, unless a helpful one came meanwhile; pods whose
    /// attempt broke off wait out their backoff. Mirrors `AddUnschedulableIfNotPresent`.
    pub fn requeue(&mut self, mut pod: QueuedPod, now: Instant, snapshot: &Snapshot) {
        let key = pod.info.key.clone();
        let since = self.in_flight.get(&key).copied().unwrap_or(self.change_count);
        pod.timestamp = now;
        if pod.rejected_by.is_empty() {
            pod.consecutive_errors += 1;
            self.after_backoff(pod, now);
        } else {
            pod.unschedulable_count += 1;
            pod.consecutive_errors = 0;
            let missed = self.changes.iter().filter(|(number, _)| *number > since).map(|(_, event)| event.clone());
            let missed: Vec<ClusterEvent> = missed.collect();
            self.park(pod);
            if missed.iter().any(|event| self.worth_requeueing(&key, event, snapshot))
                && let Some(pod) = self.take(&key)
            {
                self.after_backoff(pod, now);
            }
        }
        self.done(&key);
    }

    /// Something changed: moves the unschedulable pods that it may help, and says how many those were.
    /// Mirrors `MoveAllToActiveOrBackoffQueue`.
    pub fn move_all(&mut self, event: &ClusterEvent, now: Instant, snapshot: &Snapshot) -> usize {
        self.move_up_to(i32::MAX, event, now, snapshot)
    }

    /// The same for pods of no higher priority than that.
    pub fn move_up_to(&mut self, priority: i32, event: &ClusterEvent, now: Instant, snapshot: &Snapshot) -> usize {
        let interested: Vec<PluginSet> = self.profiles.iter().map(|profile| profile.interested(event)).collect();
        if interested.iter().all(|plugins| plugins.is_empty()) {
            return 0;
        }
        if !self.in_flight.is_empty() {
            self.keep(event.clone());
        }
        let concerned = |(profile, group): &(usize, PluginSet)| group.0 & interested[*profile].0 != 0;
        let groups = self.unschedulable.iter().filter(|(group, _)| concerned(group));
        let mut moved: Vec<(Turn, Key)> = Vec::new();
        for key in groups.flat_map(|(_, keys)| keys) {
            let turn = self.turn_of(key);
            let listens = self.pods.get(key).is_some_and(|(pod, _)| gate_listens(pod, &interested));
            if listens && turn.0.0 <= priority && self.worth_requeueing(key, event, snapshot) {
                moved.push((turn, key.clone()));
            }
        }
        moved.sort();
        for (_, key) in &moved {
            if let Some(pod) = self.take(key) {
                self.after_backoff(pod, now);
            }
        }
        moved.len()
    }

    /// Moves one pod to the active queue from any other place, unless a gate holds it. Mirrors `Activate`.
    pub fn activate(&mut self, key: &Key) {
        if let Some(pod) = self.take(key) {
            self.activate_or_gate(pod);
        }
    }

    /// Moves the pods whose backoff is over.
    pub fn flush_backoff(&mut self, now: Instant) {
        let over = |queue: &BTreeMap<(Instant, Turn), Key>| -> Vec<Key> {
            queue
                .iter()
                .take_while(|((expiry, _), _)| *expiry < whole_second(now))
                .map(|(_, key)| key.clone())
                .collect()
        };
        for key in over(&self.backoff).into_iter().chain(over(&self.error_backoff)) {
            if let Some(pod) = self.take(&key) {
                self.activate_ungated(pod);
            }
        }
    }

    /// Moves the pods that have waited for five minutes.
    pub fn flush_unschedulable(&mut self, now: Instant) {
        let waited = |(since, _): &&(Instant, Key)| now - *since > UNSCHEDULABLE_DURATION_MAX;
        let late = self.waiting.iter().take_while(waited);
        let mut late: Vec<(Turn, Key)> = late.map(|(_, key)| (self.turn_of(key), key.clone())).collect();
        late.sort();
        for (_, key) in late {
            if let Some(pod) = self.take(&key) {
                self.after_backoff(pod, now);
            }
        }
    }

    /// When [`SchedulingQueue::flush_backoff`] will next have something to do (the real one looks every second), and
    /// whether that is for a pod that has failed so often that no run should wait for it.
    pub fn next_backoff_flush(&self) -> Option<(Instant, bool)> {
        let first = |queue: &BTreeMap<(Instant, Turn), Key>| queue.iter().next().map(|(at, key)| (at.0, key.clone()));
        let (expiry, key) = [first(&self.backoff), first(&self.error_backoff)].into_iter().flatten().min()?;
        let errors = self.pods.get(&key).map_or(0, |(pod, _)| pod.consecutive_errors);
        Some((Instant(expiry.0 + SECOND), errors >= HOPELESS))
    }

    /// When [`SchedulingQueue::flush_unschedulable`] will next have something to do.
    pub fn next_unschedulable_flush(&self) -> Option<Instant> {
        let (oldest, _) = *self.waiting.first().as_ref()?;
        let due = (*oldest + UNSCHEDULABLE_DURATION_MAX).0;
        let period = UNSCHEDULABLE_FLUSH_SECONDS * SECOND;
        Some(Instant((due / period + 1) * period))
    }

    /// Whether [`SchedulingQueue::pop`] would give a pod.
    pub fn has_next(&self) -> bool {
        !self.active.is_empty() || !self.backoff.is_empty()
    }

    /// Whether the pod waits anywhere here.
    pub fn contains(&self, key: &Key) -> bool {
        self.pods.contains_key(key)
    }

    /// The waiting pods in the words of the metrics (`active`, `backoff`, `unschedulable`, `gated`), by key.
    pub fn pending(&self) -> impl Iterator<Item = (&Key, &'static str, &QueuedPod)> {
        self.pods.iter().map(|(key, (pod, sub_queue))| {
            let queue = match sub_queue {
                SubQueue::Active(_) => "active",
                SubQueue::Backoff(..) | SubQueue::ErrorBackoff(..) => "backoff",
                SubQueue::Unschedulable if pod.gated_by.is_some() => "gated",
                SubQueue::Unschedulable => "unschedulable",
            };
            (key, queue, pod)
        })
    }

    fn take(&mut self, key: &Key) -> Option<QueuedPod> {
        let (pod, sub_queue) = self.pods.remove(key)?;
        match sub_queue {
            SubQueue::Active(turn) => drop(self.active.remove(&turn)),
            SubQueue::Backoff(expiry, turn) => drop(self.backoff.remove(&(expiry, turn))),
            SubQueue::ErrorBackoff(expiry, turn) => drop(self.error_backoff.remove(&(expiry, turn))),
            SubQueue::Unschedulable => {
                self.waiting.remove(&(pod.timestamp, key.clone()));
                let group = (pod.profile, pod.rejected_by);
                if let Some(keys) = self.unschedulable.get_mut(&group) {
                    keys.remove(key);
                    if keys.is_empty() {
                        self.unschedulable.remove(&group);
                    }
                }
            }
        }
        Some(pod)
    }

    /// To the backoff queue while the backoff lasts, else to the active one.
    fn after_backoff(&mut self, mut pod: QueuedPod, now: Instant) {
        if let Some(gate) = self.gate(&pod) {
            return self.hold(pod, gate);
        }
        pod.gated_by = None;
        let Some(expiry) = pod.backoff_expiry().filter(|expiry| *expiry >= whole_second(now)) else {
            return self.activate_ungated(pod);
        };
        let turn = self.next_turn(&pod);
        let key = pod.info.key.clone();
        let sub_queue = if pod.consecutive_errors > 0 {
            self.error_backoff.insert((expiry, turn), key.clone());
            SubQueue::ErrorBackoff(expiry, turn)
        } else {
            self.backoff.insert((expiry, turn), key.clone());
            SubQueue::Backoff(expiry, turn)
        };
        self.pods.insert(key, (pod, sub_queue));
    }

    fn activate_or_gate(&mut self, mut pod: QueuedPod) {
        match self.gate(&pod) {
            Some(gate) => self.hold(pod, gate),
            None => {
                pod.gated_by = None;
                self.activate_ungated(pod);
            }
        }
    }

    fn activate_ungated(&mut self, pod: QueuedPod) {
        let turn = self.next_turn(&pod);
        self.active.insert(turn, pod.info.key.clone());
        self.pods.insert(pod.info.key.clone(), (pod, SubQueue::Active(turn)));
    }

    /// The first plugin that will not have the pod queued.
    fn gate(&self, pod: &QueuedPod) -> Option<usize> {
        self.profiles[pod.profile].gate(&pod.info)
    }

    fn hold(&mut self, mut pod: QueuedPod, gate: usize) {
        pod.gated_by = Some(gate);
        pod.rejected_by.insert(gate);
        self.park(pod);
    }

    fn park(&mut self, pod: QueuedPod) {
        let key = pod.info.key.clone();
        if pod.gated_by.is_none() {
            self.waiting.insert((pod.timestamp, key.clone()));
        }
        self.unschedulable.entry((pod.profile, pod.rejected_by)).or_default().insert(key.clone());
        self.pods.insert(key, (pod, SubQueue::Unschedulable));
    }

    fn next_turn(&mut self, pod: &QueuedPod) -> Turn {
        self.added += 1;
        (Reverse(pod.info.priority), pod.timestamp, self.added)
    }

    fn turn_of(&self, key: &Key) -> Turn {
        self.pods
            .get(key)
            .map_or((Reverse(0), Instant::default(), 0), |(pod, _)| (Reverse(pod.info.priority), pod.timestamp, 0))
    }

    fn keep(&mut self, event: ClusterEvent) {
        self.change_count += 1;
        self.changes.push_back((self.change_count, event));
    }

    /// Whether a plugin that rejected the pod sees hope in the change.
    fn worth_requeueing(&self, key: &Key, event: &ClusterEvent, snapshot: &Snapshot) -> bool {
        let Some((pod, _)) = self.pods.get(key) else { return false };
        self.profiles[pod.profile].sees_hope(&pod.info, pod.rejected_by, event, snapshot)
    }
}

/// An event that does not concern the plugin that gates a pod cannot release it, no matter which plugins rejected it before.
fn gate_listens(pod: &QueuedPod, interested: &[PluginSet]) -> bool {
    pod.gated_by.is_none_or(|gate| interested[pod.profile].contains(gate))
}

#[cfg(test)]
mod tests;

//! Pod workers: for each pod, which stage of its life it is in, and when it is synced next.
//!
//! Mirrors `pkg/kubelet/pod_workers.go`. A pod goes SyncPod → TerminatingPod → TerminatedPod and never back. At most
//! one sync of a pod is under way; whatever happens meanwhile leaves one mark, and the next sync reads the newest
//! state. A sync does not begin before the kubelet has seen the runtime's state from after the last one: it waits
//! for the next relist if need be.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::ending::Ending;
use super::params::{BACK_OFF_PERIOD, CARRIED_BACK_OFF_MAX, GRACE_SECONDS, GRACE_SECONDS_MIN, RELIST_PERIOD};
use super::probes::{Kind, Probe};
use super::resize::Resize;
use super::runtime_pod::RuntimePod;
use super::status::Reasons;
use super::volumes::PodVolumes;
use super::{Shared, WORK};
use crate::object::pod::is_final;
use crate::object::time::Instant;
use crate::object::{Accessor, Pod};

/// Where a pod is in its life on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It should run.
    Sync,
    /// It is being stopped.
    Terminating,
    /// Nothing of it runs; volumes and directories go.
    Terminated,
    /// Nothing is left to do.
    Finished,
}

/// One pod on this node.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The pod as the API server last told it, but as large as is allocated.
    pub pod: Arc<Pod>,
    /// What is known of its being made larger or smaller, if it is.
    pub resize: Option<Box<Resize>>,
    /// Its stage.
    pub stage: Stage,
    /// A sync is under way.
    pub busy: bool,
    /// The sync under way waits for a volume. If the pod is to end, the next sync does not wait for it.
    pub parked: bool,
    /// How many syncs have begun; what an abandoned one comes to does not count.
    pub begun: u64,
    /// Something has happened that the next sync should look at.
    pub pending: bool,
    /// When the last sync ended.
    pub synced: Instant,
    /// What the runtime last said of it.
    pub runtime: Rc<RuntimePod>,
    /// Why its containers wait (the reason cache).
    pub reasons: Reasons,
    /// The grace period in force once it is terminating. It only shrinks, which is nothing to a stop under way.
    pub grace: Option<i64>,
    /// Why the kubelet ends it, if it does of its own accord.
    pub ending: Option<Rc<Ending>>,
    /// When its `activeDeadlineSeconds` are over, as far as a timer is armed for that.
    pub deadline: Option<Instant>,
    /// The object is gone from the API server.
    pub removed: bool,
    /// When to sync it again, set by the last sync (the work queue).
    pub retry: Option<Instant>,
    /// Its probes, by container name and kind.
    pub probes: BTreeMap<(String, Kind), ProbeSlot>,
    /// Its volumes.
    pub volumes: PodVolumes,
}

/// A probe and its timer.
#[derive(Clone, Debug)]
pub struct ProbeSlot {
    /// The probe.
    pub probe: Probe,
    /// Timers of an earlier number are void: a probe made out of turn starts its period anew.
    pub timer: u64,
    /// A call is under way.
    pub busy: bool,
}

/// How a sync ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There was nothing to do.
    Done,
    /// Something was done to the pod's containers: look at it at once.
    Acted,
    /// The pod has come to its end by itself.
    Terminal,
    /// Something failed; try again after the usual pause, or at the given time if that is what the error says.
    Failed(Option<Instant>),
}

impl Worker {
    /// A worker for a pod that has just been seen.
    pub fn new(pod: Arc<Pod>, runtime: Rc<RuntimePod>) -> Worker {
        Worker {
            pod,
            resize: None,
            stage: Stage::Sync,
            busy: false,
            parked: false,
            begun: 0,
            pending: false,
            synced: Instant::default(),
            runtime,
            reasons: Reasons::new(),
            grace: None,
            ending: None,
            deadline: None,
            removed: false,
            retry: None,
            probes: BTreeMap::new(),
            volumes: PodVolumes::default(),
        }
    }

    /// Takes in the newest object; starts termination if it asks for it.
    pub fn update(&mut self, pod: Arc<Pod>, removed: bool) {
        self.take(pod);
        self.removed |= removed;
        self.follow_object();
    }

    fn follow_object(&mut self) {
        let phase = self.pod.status.as_ref().and_then(|s| s.phase.as_deref()).unwrap_or_default();
        let deleting = self.pod.metadata.deletion_timestamp.is_some();
        if self.stage == Stage::Sync && (deleting || self.removed || is_final(phase)) {
            self.stage = Stage::Terminating;
        }
        if self.stage == Stage::Sync {
            return;
        }
        let wanted = self.wanted_grace();
        self.grace = Some(self.grace.map_or(wanted, |grace| grace.min(wanted)));
    }

    /// `calculateEffectiveGracePeriod`: what whoever deleted the pod has asked for, or its own.
    fn wanted_grace(&self) -> i64 {
        let asked = self.pod.metadata.deletion_grace_period_seconds;
        let own = self.pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        asked.or(own).unwrap_or(GRACE_SECONDS).max(GRACE_SECONDS_MIN)
    }

    /// The pod's uid.
    pub fn uid(&self) -> &str {
        self.pod.metadata.uid()
    }
}

impl Shared {
    /// Marks a pod for a sync, and starts it if it can start now.
    pub(super) fn mark(self: &Rc<Self>, uid: &str) {
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(uid) {
            worker.pending = true;
        }
        self.start_if_due(uid);
    }

    /// Starts the next sync of a pod that is marked, idle, and whose runtime state has been read since the last one.
    /// Otherwise it waits for the next relist.
    pub(super) fn start_if_due(self: &Rc<Self>, uid: &str) {
        let (stage, begun) = {
            let mut state = self.state.borrow_mut();
            // Ticks at which nothing could have changed are not relisted, but they count.
            let ticked = if state.pleg.busy { state.pleg.relisted } else { self.last_tick() };
            let relisted = state.pleg.relisted.max(ticked);
            let Some(worker) = state.workers.get_mut(uid) else { return };
            let held = worker.busy && !(worker.parked && worker.stage > Stage::Sync);
            if !worker.pending || held || worker.stage == Stage::Finished {
                return;
            }
            if worker.runtime.seen_at.max(relisted) <= worker.synced {
                state.pleg.waiting.insert(uid.to_owned());
                drop(state);
                self.arm_relist();
                return;
            }
            worker.pending = false;
            worker.busy = true;
            worker.parked = false;
            // The sync that is overtaken ends by itself.
            let overtaken = worker.volumes.take_waiter();
            overtaken.into_iter().for_each(|call| self.hub.unpark(self.actor, call));
            worker.begun += 1;
            worker.retry = None;
            (worker.stage, worker.begun)
        };
        let label = format!("kubelet {} {}", self.config.name, self.pod_key(uid));
        let (me, uid) = (self.clone(), uid.to_owned());
        self.hub.spawn(self.actor, label, async move {
            let end = match stage {
                Stage::Sync => me.sync_pod(&uid).await,
                Stage::Terminating => me.sync_terminating_pod(&uid).await,
                Stage::Terminated | Stage::Finished => me.sync_terminated_pod(&uid).await,
            };
            me.complete(&uid, begun, stage, end);
        });
    }

    /// What follows from a sync's end (`completeWork`, `completeSync`, `completeTerminating`).
    fn complete(self: &Rc<Self>, uid: &str, begun: u64, stage: Stage, end: End) {
        let now = self.hub.now();
        let wait = match end {
            End::Failed(at) => Some(self.retry_after(at, now)),
            End::Done | End::Acted | End::Terminal => None,
        };
        let mut state = self.state.borrow_mut();
        let Some(worker) = state.workers.get_mut(uid).filter(|worker| worker.begun == begun) else { return };
        worker.busy = false;
        worker.synced = now;
        let next = match (stage, end) {
            (Stage::Sync, End::Terminal) => Stage::Terminating,
            (Stage::Terminating, End::Done) => Stage::Terminated,
            (Stage::Terminated, End::Done) => Stage::Finished,
            _ => stage,
        };
        worker.pending |= next > worker.stage;
        let ended = next >= Stage::Terminated && worker.stage < next;
        worker.stage = worker.stage.max(next);
        if worker.stage > Stage::Sync {
            worker.follow_object();
        }
        let finished = worker.stage == Stage::Finished && worker.removed;
        let failed = wait.is_some();
        if let Some(wait) = wait {
            worker.retry = Some(now + wait);
            let tick = self.next_tick(now + wait) - now;
            self.hub.wake(self.actor, WORK, uid, tick);
        }
        drop(state);
        if failed {
            // Whatever it did before it failed, the next relist will see.
            self.arm_relist();
        }
        if ended {
            self.preemption_goes_on(uid);
            self.shutdown_goes_on();
            self.try_resizes();
        }
        if finished {
            self.forget_pod(uid);
        } else if end == End::Acted {
            let (me, uid) = (self.clone(), uid.to_owned());
            self.hub.spawn(self.actor, format!("kubelet {} pleg", self.config.name), async move {
                me.relist_pod(&uid).await;
                me.mark(&uid);
            });
        } else {
            self.start_if_due(uid);
        }
    }

    /// The work queue's time has come for this pod.
    pub(super) fn retry(self: &Rc<Self>, uid: &str) {
        let now = self.hub.now();
        let due = self.state.borrow().workers.get(uid).is_some_and(|w| w.retry.is_some_and(|at| at <= now));
        if due {
            self.mark(uid);
        }
    }

    /// Ten seconds, or the time that the error carries, and up to half as much again so that pods spread out.
    fn retry_after(&self, at: Option<Instant>, now: Instant) -> Duration {
        let base = at.map_or(BACK_OFF_PERIOD, |at| (at - now).min(CARRIED_BACK_OFF_MAX));
        let half = (base / 2).as_nanos() as u64;
        base + Duration::from_nanos(self.hub.random(|random| random.below(half + 1)))
    }

    /// The first tick of the kubelet's one-second loops at or after `at`.
    pub(super) fn next_tick(&self, at: Instant) -> Instant {
        let period = RELIST_PERIOD.as_nanos() as u64;
        let since = (at - self.started.get()).as_nanos() as u64;
        self.started.get() + Duration::from_nanos(since.div_ceil(period) * period)
    }

    /// The last tick before now.
    fn last_tick(&self) -> Instant {
        let period = RELIST_PERIOD.as_nanos() as u64;
        let (now, started) = (self.hub.now(), self.started.get());
        let since = (now - started).as_nanos() as u64;
        if now < started { Instant::default() } else { started + Duration::from_nanos(since / period * period) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_period_is_what_was_asked_for_or_the_pods_own_and_only_shrinks() {
        let pod = |own: Option<i64>, asked: Option<i64>| {
            let mut pod = super::super::testing::pod(&["web"]);
            pod.spec.as_mut().unwrap().termination_grace_period_seconds = own;
            pod.metadata.deletion_grace_period_seconds = asked;
            pod.metadata.deletion_timestamp = asked.map(|_| Instant(0).time());
            Arc::new(pod)
        };
        for (own, asked, removed, grace) in [
            (None, None, false, None),
            (Some(60), Some(10), false, Some(10)),
            (Some(60), Some(0), false, Some(1)),
            (Some(60), Some(0), true, Some(1)),
            // That it was deleted nobody has told, only that it is gone.
            (Some(60), None, true, Some(60)),
            (None, None, true, Some(30)),
        ] {
            let mut worker = Worker::new(pod(own, None), Rc::default());
            worker.update(pod(own, asked), removed);
            assert_eq!(worker.grace, grace, "{own:?} {asked:?} {removed}");
            worker.update(pod(own, Some(5)), removed);
            assert_eq!(worker.grace, Some(grace.map_or(5, |grace| grace.min(5))));
        }
    }
}

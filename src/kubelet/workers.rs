//! Pod workers: when each pod is synced next, and what follows from the end of a sync.
//!
//! Mirrors `pkg/kubelet/pod_workers.go`. At most one sync of a pod is under way; changes that happen meanwhile leave one mark,
//! and the next sync reads the newest state. A sync does not begin before the kubelet has seen the runtime's state from after
//! the last one: it waits for the next relist if need be.

use std::rc::Rc;
use std::time::Duration;

use crate::ending::Ending;
use crate::params::{BACK_OFF_PERIOD, CARRIED_BACK_OFF_MAX, RELIST_PERIOD};
use crate::shared::Shared;
use crate::timers::Timer;
use crate::worker::{End, Stage, Worker};
use object::Pod;
use object::time::Instant;

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
            self.wake(Timer::Work { uid }, tick);
        }
        drop(state);
        if failed {
            // The next relist will see what the sync did before it failed.
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

    /// Ends a pod that runs. Its containers get so many seconds, or what is left of them if it is to end already.
    pub(super) fn end_pod(self: &Rc<Self>, pod: &Pod, ending: Ending, grace: i64) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let runs = |worker: &&mut Box<Worker>| worker.stage < Stage::Terminated;
        if let Some(worker) = self.state.borrow_mut().workers.get_mut(&uid).filter(runs) {
            worker.ending = Some(Rc::new(ending));
            worker.stage = Stage::Terminating;
            worker.grace = Some(worker.grace.map_or(grace, |held| held.min(grace)));
        }
        self.mark(&uid);
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

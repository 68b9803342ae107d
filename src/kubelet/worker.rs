//! One pod's worker, as plain data: which stage of its life the pod is in, and what is known of it.
//!
//! Mirrors `pkg/kubelet/pod_workers.go`. A pod goes SyncPod → TerminatingPod → TerminatedPod and never back.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use crate::ending::Ending;
use crate::params::{GRACE_SECONDS, GRACE_SECONDS_MIN};
use crate::probes::{Kind, Probe};
use crate::resize::pending::Resize;
use crate::runtime_pod::RuntimePod;
use crate::status::inputs::Reasons;
use crate::volumes::slots::PodVolumes;
use object::pod::is_final;
use object::time::Instant;
use object::{Accessor, Pod};

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

    pub(crate) fn follow_object(&mut self) {
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

    /// `calculateEffectiveGracePeriod`: what the client that deleted the pod has asked for, or its own.
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

/// The workers, by pod uid. They are beside the map, whose nodes are half empty. Whose worker may have changed is known, so
/// that what follows from it can be found at the end of a turn without a look at all others.
#[derive(Clone, Default)]
pub(crate) struct Workers {
    all: BTreeMap<String, Box<Worker>>,
    touched: Vec<String>,
}

impl Deref for Workers {
    type Target = BTreeMap<String, Box<Worker>>;

    fn deref(&self) -> &BTreeMap<String, Box<Worker>> {
        &self.all
    }
}

impl Workers {
    /// The pod's worker, to be changed.
    pub(crate) fn get_mut(&mut self, uid: &str) -> Option<&mut Box<Worker>> {
        note(&mut self.touched, uid);
        self.all.get_mut(uid)
    }

    /// A pod gets a worker.
    pub(crate) fn insert(&mut self, uid: &str, worker: Worker) {
        note(&mut self.touched, uid);
        self.all.insert(uid.to_owned(), worker.into());
    }

    /// The pod has no worker any more.
    pub(crate) fn remove(&mut self, uid: &str) -> Option<Box<Worker>> {
        note(&mut self.touched, uid);
        self.all.remove(uid)
    }

    /// The volumes of all pods, each with the uid and the stage of its pod. They have no part in what a pod's status is.
    pub(crate) fn volumes_mut(&mut self) -> impl Iterator<Item = (&String, Stage, &mut PodVolumes)> {
        self.all.iter_mut().map(|(uid, worker)| (uid, worker.stage, &mut worker.volumes))
    }

    /// The pods whose workers may have changed since this was last asked.
    pub(crate) fn take_touched(&mut self) -> Vec<String> {
        std::mem::take(&mut self.touched)
    }

    /// Whether there is any.
    pub(crate) fn are_touched(&self) -> bool {
        !self.touched.is_empty()
    }
}

/// Adds a pod to those that were touched. Mostly it is the last one once more.
pub(crate) fn note(touched: &mut Vec<String>, uid: &str) {
    if touched.last().is_none_or(|last| last != uid) {
        touched.push(uid.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_period_is_what_was_asked_for_or_the_pods_own_and_only_shrinks() {
        let pod = |own: Option<i64>, asked: Option<i64>| {
            let mut pod = crate::testing::pod(&["web"]);
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
            // The kubelet saw no deletion timestamp, only that the pod is gone.
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

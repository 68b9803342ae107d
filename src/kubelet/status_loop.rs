//! The status manager's loop: GET, PATCH and, at the very end, DELETE.
//!
//! Mirrors `syncBatch` and `syncPod` of `pkg/kubelet/status/status_manager.go`. One loop writes for all pods of the
//! node, one after another; what is set while it writes is taken with the next round. Every ten seconds a real kubelet
//! passes over all statuses, writes those that could not be written or that another client has changed, and deletes what
//! is to go. That is a rule about a state and not about what has led to it; so here too it is asked of the state,
//! whenever that has changed, and the pass is made only if it would do something.
//!
//! Must hold:
//! - If a pass over all statuses would do something, one comes. Kept by `a_pass_comes_whenever_it_would_do_something`.

use std::rc::Rc;
use std::sync::Arc;

use crate::params::STATUS_SYNC_PERIOD;
use crate::shared::{Shared, State};
use crate::status::manager::{Write, may_delete, revision};
use crate::status::merge::{gone, merge};
use crate::timers::Timer;
use crate::worker::Stage;
use object::Pod;
use object::pod::status::PodStatus;
use object::time::Instant;
use wire::{self, DeleteOptions, Patch, StatusPatch};

impl Shared {
    /// Sets a pod's status and wakes the loop if it says anything new.
    pub(super) fn set_status(self: &Rc<Self>, pod: &Pod, status: PodStatus) {
        let changed = self.state.borrow_mut().status.set(pod, status, self.hub.now());
        if changed {
            self.write_statuses();
        }
    }

    /// Wakes the loop.
    pub(super) fn write_statuses(self: &Rc<Self>) {
        {
            let mut state = self.state.borrow_mut();
            state.status.again = true;
            if std::mem::replace(&mut state.status.writing, true) {
                return;
            }
        }
        let label = format!("kubelet {} status", self.config.name);
        self.hub.spawn(self.actor, label, self.clone().status_loop());
    }

    /// The end of a turn: whether the ten-second pass has anything to do follows from the state, and not from what has
    /// brought it about. What was not touched is as it was; of static pods, which are few, the mirrors may have changed.
    pub(super) fn expect_status_pass(&self) {
        {
            let state = self.state.borrow();
            let is_touched = state.workers.are_touched() || state.status.are_touched() || !state.statics.is_empty();
            let status = &state.status;
            if !is_touched && (status.writing || status.retrying || status.due.is_empty()) {
                return;
            }
        }
        let mut state = self.state.borrow_mut();
        let mut touched = state.workers.take_touched();
        touched.extend(state.status.take_touched());
        touched.extend(state.statics.iter().cloned());
        for uid in touched {
            match state.would_be_written(&uid, self.hub.now()) {
                true => state.status.due.insert(uid),
                false => state.status.due.remove(&uid),
            };
        }
        let status = &mut state.status;
        if status.writing || status.due.is_empty() || std::mem::replace(&mut status.retrying, true) {
            return;
        }
        drop(state);
        self.wake(Timer::Status, STATUS_SYNC_PERIOD);
    }

    /// The ten-second pass (`syncBatch(true)`).
    pub(super) fn write_statuses_again(self: &Rc<Self>) {
        {
            let status = &mut self.state.borrow_mut().status;
            status.retrying = false;
            let due = status.due.clone();
            due.iter().for_each(|uid| status.touch(uid));
        }
        self.write_statuses();
    }

    async fn status_loop(self: Rc<Self>) {
        while std::mem::take(&mut self.state.borrow_mut().status.again) {
            let batch = self.state.borrow().status.batch();
            for write in batch {
                // Of a static pod without a mirror it stays pending.
                let Some(uid) = self.uid_of_object(&write.uid, &write.key) else { continue };
                match self.write_status(&write, &uid).await {
                    Ok(Some(at)) => self.state.borrow_mut().status.written(&write.uid, write.version, at),
                    Ok(None) => self.state.borrow_mut().status.forget(&write.uid),
                    // It stays pending, for the next batch.
                    Err(_) => {}
                }
            }
        }
        self.state.borrow_mut().status.writing = false;
    }

    /// Writes one status to the object with that uid. Returns the object's revision then; None: it is gone, and so is
    /// everything there was to say about it.
    async fn write_status(&self, write: &Write, uid: &str) -> Result<Option<u64>, wire::Error> {
        let (namespace, name) = (write.key.namespace(), write.key.name());
        let mut pod: Arc<Pod> = match self.client.get::<Pod>(namespace, name).await {
            Ok(pod) => pod,
            Err(status) if status.is_not_found() => return Ok(None),
            Err(status) => return Err(status),
        };
        if pod.metadata.uid.as_deref() != Some(uid) {
            return Ok(None);
        }
        let may_run = self.state.borrow().workers.get(&write.uid).is_some_and(|w| w.stage < Stage::Terminated);
        let merged = merge(&pod, &write.status, may_run, self.hub.now());
        if pod.status.as_ref() != Some(&merged) {
            let without = gone(pod.status.as_deref(), &merged);
            let patch = StatusPatch::Pod { uid: uid.to_owned(), status: merged, without };
            pod = self.client.patch_status::<Pod>(namespace, name, Patch::Status(Box::new(patch))).await?;
        }
        if may_delete(&pod, write.finished) {
            let options =
                DeleteOptions { grace_period_seconds: Some(0), uid: Some(uid.to_owned()), ..DeleteOptions::default() };
            return match self.client.delete::<Pod>(namespace, name, options).await {
                Ok(()) => Ok(None),
                Err(status) if status.is_not_found() => Ok(None),
                Err(status) => Err(status),
            };
        }
        Ok(Some(revision(&pod)))
    }
}

impl State {
    /// Whether a pass over all statuses would write this one, or delete its object: `needsUpdate` and `needsReconcile`.
    pub(crate) fn would_be_written(&self, uid: &str, now: Instant) -> bool {
        let Some(entry) = self.status.entry(uid) else { return false };
        let is_static = self.statics.contains(uid);
        let worker = self.workers.get(uid);
        let object = match is_static {
            true => self.mirrors.get(&entry.key),
            false => worker.filter(|worker| !worker.removed).map(|worker| &worker.pod),
        };
        let may_run = worker.is_some_and(|worker| worker.stage < Stage::Terminated);
        match object {
            Some(object) => entry.is_pending() || entry.differs(object, may_run, now),
            None => entry.is_pending() && !is_static,
        }
    }
}

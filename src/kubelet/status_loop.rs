//! The status manager's loop: GET, PATCH and, at the very end, DELETE.
//!
//! Mirrors `syncBatch` and `syncPod` of `pkg/kubelet/status/status_manager.go`. One loop writes for all pods of the
//! node, one after another; what is set while it writes is taken with the next round.

use std::rc::Rc;
use std::sync::Arc;

use crate::params::STATUS_SYNC_PERIOD;
use crate::shared::{Shared, State};
use crate::status::manager::{Write, may_delete};
use crate::status::merge::{gone, merge, says_as_much};
use crate::timers::Timer;
use crate::worker::Stage;
use object::Pod;
use object::pod::status::PodStatus;
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

    /// Somebody else may have written into a status that the kubelet has written: at the next tick it is put right
    /// (`needsReconcile`).
    pub(super) fn reconcile_status(self: &Rc<Self>, uid: &str, pod: &Pod, may_run: bool) {
        let mut state = self.state.borrow_mut();
        let Some(ours) = state.status.written_status(uid) else { return };
        if says_as_much(pod.status.as_deref(), &merge(pod, ours, may_run, self.hub.now())) {
            return;
        }
        state.status.touch(uid);
        drop(state);
        self.retry_statuses();
    }

    /// The ten-second tick, which is armed only while a status is to be written once more, or an object is to go. Only this tick
    /// looks for the latter (`needsUpdate`).
    pub(super) fn write_statuses_again(self: &Rc<Self>) {
        {
            let mut state = self.state.borrow_mut();
            let State { workers, status, .. } = &mut *state;
            status.retrying = false;
            for (uid, worker) in workers {
                if may_delete(&worker.pod, status.is_finished(uid) == Some(true)) {
                    status.touch(uid);
                }
            }
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
                    Ok(true) => self.state.borrow_mut().status.written(&write.uid, write.version),
                    Ok(false) => self.state.borrow_mut().status.forget(&write.uid),
                    // It stays pending, for the next batch.
                    Err(_) => {}
                }
            }
        }
        self.state.borrow_mut().status.writing = false;
        self.retry_statuses();
    }

    /// Arms the ten-second tick, if a status is to be written and there is an object to write it to.
    pub(super) fn retry_statuses(&self) {
        let pending = self.state.borrow().status.batch();
        if !pending.iter().any(|write| self.uid_of_object(&write.uid, &write.key).is_some()) {
            return;
        }
        self.arm_status_tick();
    }

    /// Arms the ten-second tick.
    pub(super) fn arm_status_tick(&self) {
        if !std::mem::replace(&mut self.state.borrow_mut().status.retrying, true) {
            self.wake(Timer::Status, STATUS_SYNC_PERIOD);
        }
    }

    /// Writes one status to the object with that uid. False: it is gone, and so is everything there was to say about it.
    async fn write_status(&self, write: &Write, uid: &str) -> Result<bool, wire::Error> {
        let (namespace, name) = (write.key.namespace(), write.key.name());
        let mut pod: Arc<Pod> = match self.client.get::<Pod>(namespace, name).await {
            Ok(pod) => pod,
            Err(status) if status.is_not_found() => return Ok(false),
            Err(status) => return Err(status),
        };
        if pod.metadata.uid.as_deref() != Some(uid) {
            return Ok(false);
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
                Ok(()) => Ok(false),
                Err(status) if status.is_not_found() => Ok(false),
                Err(status) => Err(status),
            };
        }
        Ok(true)
    }
}

//! Which statuses wait to be written: the plain data of the status manager.
//!
//! Mirrors `pkg/kubelet/status/status_manager.go`. The code that computes a status sets it here; a status equal to the
//! last is dropped, a different one gets a higher version. One loop (in [`crate::status_loop`]) writes what
//! is new, pod after pod, so several changes in quick succession become one PATCH. A status that could not be
//! written stays pending and is tried with the next batch.

use std::collections::{BTreeMap, BTreeSet};

use super::merge::{self, says_as_much};
use super::{conditions, containers};
use crate::worker::note;
use object::pod::status::PodStatus;
use object::pod::{MIRROR, has_ended};
use object::time::Instant;
use object::{Accessor, Key, Pod, Shared};

/// The statuses of this node's pods, by pod uid.
#[derive(Clone, Debug, Default)]
pub struct StatusManager {
    entries: BTreeMap<String, Entry>,
    /// The loop is writing, or about to.
    pub writing: bool,
    /// Something was set since the loop last made a batch.
    pub again: bool,
    /// The ten-second pass is armed.
    pub retrying: bool,
    /// The pods for which such a pass would do something.
    pub due: BTreeSet<String>,
    touched: Vec<String>,
    clock: u64,
}

/// The status of one pod.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The pod's namespace and name.
    pub key: Key,
    status: Shared<PodStatus>,
    /// Raised with each change.
    version: u64,
    /// The last version that was written.
    written: u64,
    /// The object's revision then. What the kubelet has in its cache may be older.
    at: u64,
    /// Nothing of the pod is left on the node: it may be deleted.
    finished: bool,
    /// When it was last changed, among all: the order in which statuses are written.
    changed: u64,
}

/// One status to write.
#[derive(Clone, Debug)]
pub struct Write {
    /// The pod's uid.
    pub uid: String,
    /// The pod's namespace and name.
    pub key: Key,
    /// The status as it was when the batch was made.
    pub status: Shared<PodStatus>,
    /// Which version that is.
    pub version: u64,
    /// Nothing of the pod is left on the node.
    pub finished: bool,
}

impl Entry {
    /// Whether it is yet to be written.
    pub fn is_pending(&self) -> bool {
        self.version > self.written
    }

    /// Whether an object whose status was written has changed since (`needsReconcile`), or is
    /// to be deleted.
    pub fn differs(&self, object: &Pod, may_run: bool, now: Instant) -> bool {
        let as_written = || says_as_much(object.status.as_deref(), &merge::merge(object, &self.status, may_run, now));
        revision(object) >= self.at && (may_delete(object, self.finished) || !as_written())
    }
}

impl StatusManager {
    /// The status last set for the pod.
    pub fn get(&self, uid: &str) -> Option<&PodStatus> {
        self.entries.get(uid).map(|entry| &*entry.status)
    }

    /// What is known of the pod.
    pub fn entry(&self, uid: &str) -> Option<&Entry> {
        self.entries.get(uid)
    }

    fn entry_mut(&mut self, uid: &str) -> Option<&mut Entry> {
        note(&mut self.touched, uid);
        self.entries.get_mut(uid)
    }

    /// The pods that may have changed since the last call.
    pub fn take_touched(&mut self) -> Vec<String> {
        std::mem::take(&mut self.touched)
    }

    /// Whether there is any.
    pub fn are_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Sets a pod's status; false if it says nothing new. A pod that is being deleted is written in any case,
    /// lest its deletion be waited for in vain.
    pub fn set(&mut self, pod: &Pod, mut status: PodStatus, now: Instant) -> bool {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let empty = PodStatus::default();
        let old = self.get(&uid).or(pod.status.as_deref()).unwrap_or(&empty);
        merge::stamp(&mut status, old, now);
        merge::shorten_messages(&mut status, pod);
        let forced = pod.metadata.deletion_timestamp.is_some();
        if !forced && self.entries.get(&uid).is_some_and(|entry| *entry.status == status) {
            return false;
        }
        self.clock += 1;
        let changed = self.clock;
        note(&mut self.touched, &uid);
        let entry = self.entries.entry(uid).or_insert_with(|| Entry {
            key: Key::of_meta(&pod.metadata),
            status: Shared::default(),
            version: 0,
            written: 0,
            at: 0,
            finished: false,
            changed,
        });
        entry.status = status.into();
        entry.version += 1;
        entry.changed = changed;
        true
    }

    /// Writes a probe's result into the status at once, before the next sync (`SetContainerReadiness`,
    /// `SetContainerStartup`).
    pub fn set_probed(
        &mut self,
        pod: &Pod,
        id: &str,
        started: Option<bool>,
        ready: Option<bool>,
        now: Instant,
    ) -> bool {
        let uid = pod.metadata.uid();
        let Some(mut status) = self.get(uid).cloned() else { return false };
        let mut all = status.container_statuses.iter_mut().chain(&mut status.init_container_statuses).flatten();
        let Some(container) = all.find(|s| containers::runtime_id(s) == id) else { return false };
        container.started = started.or(container.started);
        container.ready = ready.unwrap_or(container.ready);
        let Some(spec) = &pod.spec else { return false };
        let in_phase = status.phase.clone().unwrap_or_default();
        let containers_ready = conditions::containers_ready(spec, &status, &in_phase);
        let ready = conditions::ready(pod, &containers_ready);
        for new in [ready, containers_ready] {
            if let Some(old) = status.conditions.iter_mut().flatten().find(|c| c.type_ == new.type_) {
                let generation = old.observed_generation;
                *old = new;
                old.observed_generation = generation;
            }
        }
        self.set(pod, status, now)
    }

    /// Nothing of the pod is left on this node: its status is final (`TerminatePod`).
    pub fn finish(&mut self, pod: &Pod, now: Instant) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let mut status = self.get(&uid).or(pod.status.as_deref()).cloned().unwrap_or_default();
        merge::finish(pod, &mut status);
        self.set(pod, status, now);
        if let Some(entry) = self.entry_mut(&uid) {
            entry.finished = true;
            entry.version += 1;
        }
    }

    /// The pod is gone from the API or from the node.
    pub fn forget(&mut self, uid: &str) {
        note(&mut self.touched, uid);
        self.entries.remove(uid);
    }

    /// Whether nothing of the pod is left on this node; None: nothing is known of it any more.
    pub fn is_finished(&self, uid: &str) -> Option<bool> {
        self.entries.get(uid).map(|entry| entry.finished)
    }

    /// A status is written once more, changed or not.
    pub fn touch(&mut self, uid: &str) {
        if let Some(entry) = self.entry_mut(uid) {
            entry.version += 1;
        }
    }

    /// Every status not yet written, oldest change first.
    pub fn batch(&self) -> Vec<Write> {
        let mut pending: Vec<(&String, &Entry)> = self.entries.iter().filter(|(_, entry)| entry.is_pending()).collect();
        pending.sort_by_key(|(_, entry)| entry.changed);
        let write = |(uid, entry): (&String, &Entry)| Write {
            uid: uid.clone(),
            key: entry.key.clone(),
            status: entry.status.clone(),
            version: entry.version,
            finished: entry.finished,
        };
        pending.into_iter().map(write).collect()
    }

    /// That version of the pod's status is with the API server, since this revision of the object at the latest.
    pub fn written(&mut self, uid: &str, version: u64, at: u64) {
        if let Some(entry) = self.entry_mut(uid) {
            (entry.written, entry.at) = (entry.written.max(version), at);
        }
    }
}

/// The revision of an object. Those of one kind can be compared.
pub fn revision(pod: &Pod) -> u64 {
    pod.metadata.resource_version.as_deref().and_then(|revision| revision.parse().ok()).unwrap_or_default()
}

/// Whether the kubelet may now remove the pod object for good: it is being deleted, the API server holds a
/// terminal phase, and nothing of it is left here (`canBeDeleted`).
pub fn may_delete(pod: &Pod, finished: bool) -> bool {
    let mirror = pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR));
    pod.metadata.deletion_timestamp.is_some() && !mirror && has_ended(pod) && finished
}

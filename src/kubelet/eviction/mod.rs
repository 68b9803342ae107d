//! Eviction under pressure: the kubelet ends a pod to save the others.
//!
//! A node whose memory runs out does not slow down, it kills: the kernel ends whichever process it likes. One whose disk is
//! full can start nothing and log nothing. Before it comes to that the kubelet ends pods of its own choice. Every ten seconds
//! it looks:
//!
//! 1. A pod that has written more than it may goes at once, full disk or not ([`limits`], [`usage`]).
//! 2. Else it compares what is free with its thresholds ([`threshold`]). If less is free, it says so in the node's condition
//!    and takes no more pods (of memory: none that ask for nothing), and so for five minutes after there is enough again.
//! 3. It evicts *one* pod, that which the order puts first ([`rank`]). Then it looks again, for one may have been enough.
//!
//! What is evicted is Failed and stays, to be looked at; its controller makes another, and the taint that follows from the
//! condition keeps it away from here.
//!
//! This is not the eviction that a PodDisruptionBudget can refuse: the kubelet checks no budget.
//!
//! Mirrors `pkg/kubelet/eviction`.
//!
//! Left out: how much memory pods use is not measured, so a pod that asks for none is taken to use more than it asks for, and
//! any other to keep within it, and the message names no container; soft thresholds; eviction for inodes and process numbers;
//! dead containers and unused images, which a real kubelet removes before it evicts for want of disk. After an eviction a real
//! one looks again as soon as the pod is cleaned up, and not ten seconds later.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::ending::Ending;
use crate::params::{EVICTION_MONITOR_PERIOD, GRACE_SECONDS_MIN};
use crate::pod_types::is_critical;
use crate::shared::Shared;
use crate::timers::Timer;
use crate::volumes::host_path;
use crate::worker::{Stage, Worker};
use client::recorder::EventType;
use network::host::Shortage;
use object::{Accessor, Key, Pod};

pub mod limits;
pub mod rank;
pub mod threshold;
pub mod usage;

use threshold::{REASON, Threshold};
use usage::{DiskUse, EphemeralStorage, empty_dirs, of_the_run};

impl Shared {
    /// The kubelet starts: what was taken before it did is so still.
    pub(super) fn begin_evictions(&self) {
        if self.host.is_short() || self.disk.used("") > 0 {
            self.arm_eviction();
        }
    }

    /// There will be a look at what is left, unless one is due already.
    pub(super) fn arm_eviction(&self) {
        if !std::mem::replace(&mut self.state.borrow_mut().agent.looks_at_evictions, true) {
            self.wake(Timer::Eviction, EVICTION_MONITOR_PERIOD);
        }
    }

    /// One round of the eviction manager (`synchronize`).
    pub(super) fn eviction_tick(self: &Rc<Self>) {
        self.state.borrow_mut().agent.looks_at_evictions = false;
        let (of_memory, of_disk) = self.look_at_pressure();
        if self.evict_over_limit() {
            return self.arm_eviction();
        }
        // Memory before disk.
        let Some(threshold) = of_memory.or(of_disk) else { return };
        self.warn_node("EvictionThresholdMet", &format!("Attempting to reclaim {}", threshold.resource));
        match self.victim(&threshold) {
            Some(pod) => {
                let (message, annotations) = threshold.message(&pod, &DiskUse::of(&self.disk, &pod));
                self.evict(&pod, message, Some(annotations));
                self.arm_eviction();
            }
            // There is nothing to take; pods that come later are looked at then.
            None => {
                self.state.borrow_mut().agent.looks_at_evictions = true;
                self.wake_background(Timer::Eviction, EVICTION_MONITOR_PERIOD);
            }
        }
    }

    /// Says in the node's conditions of what there is too little, or was until a short while ago, lest they flicker. Gives the
    /// thresholds of memory and disk that are met.
    pub(super) fn look_at_pressure(&self) -> (Option<Threshold>, Option<Threshold>) {
        let (of_memory, of_disk) = self.thresholds();
        let found = [
            (Shortage::Memory, of_memory.is_some()),
            (Shortage::Disk, of_disk.is_some()),
            (Shortage::Pids, self.host.is_short_of(Shortage::Pids)),
        ];
        let now = self.hub.now();
        let turned = found.map(|(what, is_short)| self.state.borrow_mut().agent.press(what, is_short, now));
        if turned.contains(&true) {
            self.status_changed();
        }
        let is_short = |what: Shortage| found.contains(&(what, true));
        let over = self.state.borrow_mut().agent.next_relief(is_short, now);
        over.into_iter().for_each(|at| self.wake(Timer::Relief, at - now));
        (of_memory, of_disk)
    }

    /// Whether the node has too little memory, and whether too little disk.
    fn thresholds(&self) -> (Option<Threshold>, Option<Threshold>) {
        let of_memory = self.host.is_short_of(Shortage::Memory).then(threshold::memory);
        let is_full = self.host.is_short_of(Shortage::Disk);
        (of_memory, threshold::disk(&self.config.capacity, self.disk.used(""), is_full))
    }

    /// Evicts every pod that has written more than it may. Says whether there was one.
    fn evict_over_limit(self: &Rc<Self>) -> bool {
        let over = |pod: Arc<Pod>| limits::exceeded(&pod, &DiskUse::of(&self.disk, &pod)).map(|message| (pod, message));
        let over: Vec<(Arc<Pod>, String)> = self.candidates().into_iter().filter_map(over).collect();
        for (pod, message) in &over {
            self.evict(pod, message.clone(), None);
        }
        !over.is_empty()
    }

    fn victim(&self, threshold: &Threshold) -> Option<Arc<Pod>> {
        let order = |pod: &Arc<Pod>| match threshold.is_of_disk() {
            true => rank::for_disk(pod, &DiskUse::of(&self.disk, pod)),
            false => rank::for_memory(pod),
        };
        self.candidates().into_iter().min_by_key(order)
    }

    /// The pods that still run something and that the system can do without: one that is being deleted may go as well, so that
    /// it takes no longer than that. None that the kubelet is ending already.
    fn candidates(&self) -> Vec<Arc<Pod>> {
        let state = self.state.borrow();
        let runs = |worker: &Worker| worker.stage < Stage::Terminated && worker.ending.is_none();
        state
            .workers
            .values()
            .filter(|worker| runs(worker))
            .map(|worker| &worker.pod)
            .filter(|pod| !is_critical(pod))
            .cloned()
            .collect()
    }

    /// `evictPod`: its containers get a second to end. Only one that goes for the sake of others has annotations.
    fn evict(self: &Rc<Self>, pod: &Pod, message: String, annotations: Option<BTreeMap<String, String>>) {
        let disruption = annotations.as_ref().map(|_| message.clone());
        let annotations = annotations.unwrap_or_default();
        self.recorder.annotated_event(pod, annotations, EventType::Warning, REASON, message.clone());
        let ending = Ending { reason: REASON, message, disruption };
        self.end_pod(pod, ending, GRACE_SECONDS_MIN);
    }

    /// A pod that runs here has written so much to a storage. The eviction manager sees it at its next look.
    pub(super) fn fill(&self, pod: &Key, storage: &EphemeralStorage, bytes: u64) -> Result<(), String> {
        let of_key = |pod: &Key| {
            let state = self.state.borrow();
            let mut running = state.workers.values().filter(|worker| worker.stage == Stage::Sync);
            running.find(|worker| Key::of_meta(&worker.pod.metadata) == *pod).map(|worker| worker.pod.clone())
        };
        let there = of_key(pod).ok_or_else(|| format!("{pod} does not run on {}", self.config.name))?;
        let uid = there.metadata.uid();
        let path = match storage {
            EphemeralStorage::Container(name) => {
                let mut names = of_the_run(&there).map(|container| &container.name);
                let found = names.clone().find(|there| name.is_empty() || *there == name);
                let all = names.by_ref().map(String::as_str).collect::<Vec<_>>().join(", ");
                let found = found.ok_or_else(|| format!("{pod} has no container {name:?}; it has {all}"))?;
                host_path::of_container(uid, found)
            }
            EphemeralStorage::Volume(name) => {
                let all = empty_dirs(&there).map(|volume| volume.name.as_str()).collect::<Vec<_>>().join(", ");
                let all = if all.is_empty() { "none" } else { &all };
                let found = empty_dirs(&there).find(|volume| volume.name == *name);
                let found = found.ok_or_else(|| format!("{pod} has no emptyDir volume {name:?}; it has {all}"))?;
                host_path::of_volume(uid, &found.name, found)
            }
        };
        self.disk.fill(&path, bytes);
        self.arm_eviction();
        Ok(())
    }
}

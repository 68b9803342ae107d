//! The pod lifecycle event generator: how the kubelet learns what has become of containers.
//!
//! Mirrors `pkg/kubelet/pleg/generic.go`. The runtime is listed once a second, the list is compared with the one
//! before, and each pod with a difference is looked at closely and synced. Since 1.36 (PLEGOnDemandRelist) a sync
//! that did something has its own pod looked at at once, so that Running is reported without waiting for the tick.
//!
//! Simplified: a relist that would find nothing is not made. It is made at the next tick when a sync waits for news,
//! or when a container has ended, which the runtime gives to know in the background
//! ([`RelistWouldFind`](crate::node::cri::RelistWouldFind)); a real kubelet asks every second in any case, and is told nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use super::runtime_pod::{RunState, RuntimePod};
use super::{RELIST_TICK, Shared};
use crate::node::small_map::SmallMap;
use crate::object::text::Text;
use crate::object::time::Instant;

/// What the last relist saw, and who waits for the next.
#[derive(Clone, Debug, Default)]
pub struct Pleg {
    /// When the runtime was last listed as a whole.
    pub relisted: Instant,
    /// Pods whose next sync waits for the next relist.
    pub waiting: BTreeSet<String>,
    /// A timer for the next relist is armed.
    pub armed: bool,
    /// A relist is under way.
    pub busy: bool,
    /// A container has ended after the relist under way began.
    pub exited: bool,
    /// State by id of every sandbox and container, by pod uid.
    records: BTreeMap<Text, Record>,
}

/// The states of one pod's sandboxes and containers, by id.
pub type Record = SmallMap<Text, Seen>;

/// A state as lists show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A sandbox, ready or not.
    Sandbox(bool),
    /// A container.
    Container(RunState),
}

impl Pleg {
    /// Takes a whole list in, and says which pods differ from the list before.
    pub fn take(&mut self, list: BTreeMap<Text, Record>, now: Instant) -> Vec<Text> {
        let others = list.iter().filter(|(uid, record)| self.records.get(*uid) != Some(record)).map(|(uid, _)| uid);
        let gone = self.records.keys().filter(|uid| !list.contains_key(*uid));
        let changed: BTreeSet<&Text> = others.chain(gone).collect();
        let changed = changed.into_iter().cloned().collect();
        self.records = list;
        self.relisted = now;
        changed
    }

    /// Takes one pod's list in.
    fn take_pod(&mut self, uid: Text, record: Record) {
        self.records.insert(uid, record);
    }

    /// What the runtime has of the pod, as last listed.
    pub fn record(&self, uid: &str) -> Record {
        self.records.get(uid).cloned().unwrap_or_default()
    }

    /// Whether the runtime has anything of the pod.
    pub fn knows(&self, uid: &str) -> bool {
        self.records.contains_key(uid)
    }

    /// Pods that the runtime has something of.
    pub fn known(&self) -> Vec<Text> {
        self.records.keys().cloned().collect()
    }

    /// A container has been removed.
    pub fn forget_container(&mut self, uid: &str, id: &str) {
        if let Some(record) = self.records.get_mut(uid) {
            record.remove(id);
        }
    }

    /// Nothing of the pod is left in the runtime.
    pub fn forget(&mut self, uid: &str) {
        self.records.remove(uid);
        self.waiting.remove(uid);
    }
}

impl Shared {
    /// Makes sure that there is a relist at the next tick.
    pub(super) fn arm_relist(&self) {
        let mut state = self.state.borrow_mut();
        if state.pleg.armed || state.pleg.busy {
            return;
        }
        state.pleg.armed = true;
        let now = self.hub.now();
        let tick = self.next_tick(now + Duration::from_nanos(1));
        self.hub.wake(self.actor, RELIST_TICK, "", tick - now);
    }

    /// A container has ended: the next relist will find it.
    pub(super) fn container_ended(&self) {
        self.state.borrow_mut().pleg.exited = true;
        self.hub.come_forward();
        self.arm_relist();
    }

    /// The tick: lists the runtime, looks closely at pods that differ, and lets waiting syncs begin.
    pub(super) async fn relist(self: Rc<Self>) {
        {
            let mut state = self.state.borrow_mut();
            state.pleg.armed = false;
            state.pleg.busy = true;
            state.pleg.exited = false;
        }
        let listed = self.list_runtime(None).await;
        let mut changed = Vec::new();
        if let Ok(list) = listed {
            changed = self.state.borrow_mut().pleg.take(list, self.hub.now());
            for uid in &changed {
                self.look_at(uid).await;
            }
        }
        let waiting = {
            let mut state = self.state.borrow_mut();
            state.pleg.busy = false;
            std::mem::take(&mut state.pleg.waiting)
        };
        for uid in &changed {
            self.mark(uid);
        }
        for uid in waiting.iter().filter(|uid| !changed.iter().any(|other| *other == **uid)) {
            self.start_if_due(uid);
        }
        // Only now it is known what of them runs already.
        if !std::mem::replace(&mut self.state.borrow_mut().agent.manifests_read, true) {
            self.read_manifests();
        }
        let again = {
            let mut state = self.state.borrow_mut();
            std::mem::take(&mut state.pleg.exited) || !state.pleg.waiting.is_empty()
        };
        if again {
            self.arm_relist();
        }
    }

    /// The relist of one pod, right after a sync that did something.
    pub(super) async fn relist_pod(self: &Rc<Self>, uid: &str) {
        if let Ok(mut list) = self.list_runtime(Some(uid)).await {
            let (uid, record) = list.remove_entry(uid).unwrap_or_else(|| (uid.into(), Record::default()));
            self.state.borrow_mut().pleg.take_pod(uid.clone(), record);
            self.look_at(&uid).await;
        }
    }

    /// Reads a pod's newest sandbox and all its containers, and keeps the picture (`updateCache`).
    pub(super) async fn look_at(self: &Rc<Self>, uid: &str) {
        let record = self.state.borrow().pleg.record(uid);
        let pod = self.read_runtime_pod(&record).await;
        let sandboxes = pod.sandboxes.len();
        let old = {
            let mut state = self.state.borrow_mut();
            let Some(worker) = state.workers.get_mut(uid) else { return };
            let ips = pod.addresses(&worker.runtime);
            worker.runtime = Rc::new(RuntimePod { ips, seen_at: self.hub.now(), ..pod });
            worker.runtime.superseded()
        };
        // Of the ends of a container only the last is kept (`cleanUpContainersInPod`). The picture keeps the others until the
        // next look: the status made from it tells of the last two.
        if !old.is_empty() {
            let (me, uid) = (self.clone(), uid.to_owned());
            let label = format!("kubelet {} container deletor", self.config.name);
            self.hub.spawn(self.actor, label, async move { me.remove_ended(&uid, &old).await });
        }
        if sandboxes > 1 {
            self.arm_garbage(uid);
        }
    }
}

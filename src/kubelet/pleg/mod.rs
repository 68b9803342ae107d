//! The pod lifecycle event generator: how the kubelet learns what has become of containers.
//!
//! Mirrors `pkg/kubelet/pleg/generic.go`. The runtime is listed once a second, the list is compared with the one
//! before, and each pod with a difference is looked at closely and synced. Since 1.36 (PLEGOnDemandRelist) a sync
//! that did something has its own pod looked at at once, so that Running is reported without waiting for the tick.
//!
//! Simplified: a relist that would find nothing is not made. It is made at the next tick when a sync waits for news,
//! or when a container has ended, which the runtime gives to know in the background
//! ([`RelistWouldFind`](crate::cri::RelistWouldFind)); a real kubelet asks every second in any case, and is told nothing.

use std::rc::Rc;
use std::time::Duration;

use crate::runtime_pod::RuntimePod;
use crate::shared::Shared;
use crate::timers::Timer;

pub mod records;

use records::Record;

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
        self.wake(Timer::Relist, tick - now);
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

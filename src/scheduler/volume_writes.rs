//! Reserve and PreBind of VolumeBinding: what was decided about a pod's claims is written, and the pod is not bound to
//! its node before its claims are bound to their volumes.
//!
//! A claim that gets a volume that is there: the volume's `claimRef` is written here, and the binder does the rest. A
//! claim that needs a new one: its annotation `selected-node` says where. Then the scheduler looks every second, for
//! ten minutes. Mirrors `BindPodVolumes` of `plugins/volumebinding/binder.go`.
//!
//! Simplified: it looks at the seconds at which there is something new to see.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use serde_json::json;

use super::attempt::Scheduler;
use super::condition;
use super::node_info::NodeId;
use super::plugins::volume_binding;
use super::pod_info::PodInfo;
use super::storage::Plan;
use crate::engine::{CallId, Memory};
use crate::object::volume::{SELECTED_NODE, is_bound, promised_to};
use crate::object::{Key, Status};

/// Wake: a pod's claims have had their time. The key is the pod's.
pub(super) const DEADLINE: &str = "volumes not bound in time";
/// How often the claims are looked at.
const POLL: Duration = Duration::from_secs(1);
/// `bindTimeoutSeconds`.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The pods that wait for their claims, and the calls that wake them.
pub(super) type Waiting = Memory<BTreeMap<Key, CallId>>;

impl Scheduler {
    /// Reserve: what the node that was found asks for, kept in memory.
    pub(super) fn reserve_volumes(&self, pod: &PodInfo, node: NodeId) -> Plan {
        let state = &mut *self.state.borrow_mut();
        let snapshot = &mut state.cache.snapshot;
        let plan = volume_binding::plan(pod, snapshot.node(node), &snapshot.storage);
        let name = snapshot.node(node).name.clone();
        snapshot.storage.assume(&plan, &name);
        plan
    }

    /// PreBind. The error is told to the user.
    pub(super) async fn bind_volumes(self: &Rc<Self>, pod: &PodInfo, node: &str, plan: &Plan) -> Result<(), String> {
        let failed = |status: Status| format!("binding volumes: {status}");
        // Others shall know where the pod is going, since it will not be there for a while. If they cannot be told, the
        // pod goes there all the same.
        if pod.nominated_node() != Some(node) {
            let expected = json!({"status": {"nominatedNodeName": node}});
            let _ = condition::write(&self.client, &pod.key, expected).await;
        }
        for (claim, volume) in &plan.promise {
            if let Some(promised) = self.promised(claim, volume) {
                self.client.update(promised).await.map_err(failed)?;
            }
        }
        for claim in &plan.provision {
            if let Some(annotated) = self.annotated(claim, node) {
                self.client.update(annotated).await.map_err(failed)?;
            }
        }
        self.wait_for_claims(pod, node, plan).await
    }

    /// The volume with its promise; None if it has it.
    fn promised(&self, key: &Key, volume: &str) -> Option<PersistentVolume> {
        let state = self.state.borrow();
        let storage = &state.cache.snapshot.storage;
        promised_to(storage.volume(volume)?, storage.claim(key)?)
    }

    /// The claim with the node that was chosen; None if it says so already.
    fn annotated(&self, key: &Key, node: &str) -> Option<PersistentVolumeClaim> {
        let state = self.state.borrow();
        let claim = state.cache.snapshot.storage.claim(key)?;
        let annotations = claim.metadata.annotations.as_ref();
        if annotations.and_then(|all| all.get(SELECTED_NODE)).is_some_and(|there| there == node) {
            return None;
        }
        let mut new = PersistentVolumeClaim::clone(claim);
        new.metadata.annotations.get_or_insert_default().insert(SELECTED_NODE.into(), node.to_owned());
        Some(new)
    }

    async fn wait_for_claims(self: &Rc<Self>, pod: &PodInfo, node: &str, plan: &Plan) -> Result<(), String> {
        let (hub, began) = (self.client.hub(), self.client.now());
        hub.wake(self.client.actor(), DEADLINE, pod.key.to_string(), TIMEOUT);
        loop {
            if self.claims_are_bound(pod, node, plan)? {
                return Ok(());
            }
            if self.client.now() - began >= TIMEOUT {
                return Err("binding volumes: context deadline exceeded".to_owned());
            }
            let park = hub.park("volumes to be bound");
            self.waiting.borrow_mut().insert(pod.key.clone(), park.call());
            park.await;
            // The next look.
            let over = (self.client.now() - began).as_nanos() as u64 % POLL.as_nanos() as u64;
            hub.sleep(POLL - Duration::from_nanos(over)).await;
        }
    }

    fn claims_are_bound(&self, pod: &PodInfo, node: &str, plan: &Plan) -> Result<bool, String> {
        let gone = self.pods.get(&pod.key).is_none_or(|there| there.metadata.uid.as_deref() != Some(&pod.uid));
        if gone {
            return Err(format!("binding volumes: pod does not exist any more: pod {:?} not found", pod.key.name()));
        }
        let state = self.state.borrow();
        let storage = &state.cache.snapshot.storage;
        let claim = |key: &Key| -> Result<Arc<PersistentVolumeClaim>, String> {
            let missing = || format!("binding volumes: failed to get pvc {key}");
            storage.claim(key).cloned().ok_or_else(missing)
        };
        let mut all = true;
        for (key, _) in &plan.promise {
            all &= is_bound(&*claim(key)?);
        }
        for key in &plan.provision {
            let claim = claim(key)?;
            let annotations = claim.metadata.annotations.as_ref();
            let written = storage.selected_node(key, &claim);
            if written.is_some_and(|written| written != node) {
                let there = annotations.and_then(|all| all.get(SELECTED_NODE)).cloned().unwrap_or_default();
                return Err(format!(
                    "binding volumes: selectedNode annotation value {there:?} not set to scheduled node {node:?}"
                ));
            }
            all &= is_bound(&claim);
        }
        Ok(all)
    }

    /// A claim changed: whoever waits for one looks again. Few pods wait at once.
    pub(super) fn claims_changed(&self) {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.values().for_each(|call| self.client.hub().unpark(self.client.actor(), *call));
    }

    /// A pod's claims have had their time.
    pub(super) fn volumes_overdue(&self, pod: &Key) {
        if let Some(call) = self.waiting.borrow_mut().remove(pod) {
            self.client.hub().unpark(self.client.actor(), call);
        }
    }
}

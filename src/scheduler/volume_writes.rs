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
use engine::{CallId, Memory};
use object::Key;
use object::volume::{SELECTED_NODE, is_bound, promised_to};
use wire::Error;

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
        // Others shall know where the pod is going, since it will not be there for a while. If they cannot be told, the
        // pod goes there all the same.
        if pod.nominated_node() != Some(node) {
            let expected = json!({"status": {"nominatedNodeName": node}});
            let _ = condition::write(&self.client, &pod.key, expected).await;
        }
        let failed = |error: Error| error.to_string();
        for (claim, volume) in &plan.promise {
            if let Some(promised) = self.promised(claim, volume) {
                self.client.update(promised).await.map_err(failed)?;
            }
        }
        let mut written = BTreeMap::new();
        for claim in &plan.provision {
            if let Some(annotated) = self.annotated(claim, node) {
                let there = self.client.update(annotated).await.map_err(failed)?;
                written.insert(claim.clone(), version(&there));
            }
        }
        let bound = self.wait_for_claims(pod, node, plan, &written).await;
        bound.map_err(|why| format!("binding volumes: {why}"))
    }

    /// The volume with its promise. It is written even if it has it.
    fn promised(&self, key: &Key, volume: &str) -> Option<PersistentVolume> {
        let state = self.state.borrow();
        let storage = &state.cache.snapshot.storage;
        let volume = storage.volume(volume)?;
        Some(promised_to(volume, storage.claim(key)?).unwrap_or_else(|| PersistentVolume::clone(volume)))
    }

    /// The claim with the node that was chosen. It is written even if it says so.
    fn annotated(&self, key: &Key, node: &str) -> Option<PersistentVolumeClaim> {
        let state = self.state.borrow();
        let mut claim = PersistentVolumeClaim::clone(state.cache.snapshot.storage.claim(key)?);
        claim.metadata.annotations.get_or_insert_default().insert(SELECTED_NODE.into(), node.to_owned());
        Some(claim)
    }

    async fn wait_for_claims(
        self: &Rc<Self>,
        pod: &PodInfo,
        node: &str,
        plan: &Plan,
        written: &BTreeMap<Key, u64>,
    ) -> Result<(), String> {
        let (hub, began) = (self.client.hub(), self.client.now());
        hub.wake(self.client.actor(), DEADLINE, pod.key.to_string(), TIMEOUT);
        loop {
            if self.claims_are_bound(pod, node, plan, written)? {
                return Ok(());
            }
            if self.client.now() - began >= TIMEOUT {
                return Err("context deadline exceeded".to_owned());
            }
            let park = hub.park("volumes to be bound");
            self.waiting.borrow_mut().insert(pod.key.clone(), park.call());
            park.await;
            // The next look.
            let over = (self.client.now() - began).as_nanos() as u64 % POLL.as_nanos() as u64;
            hub.sleep(POLL - Duration::from_nanos(over)).await;
        }
    }

    /// A claim that lost the node that was chosen has been given back: no volume can be made there. Mirrors
    /// `checkBindings`.
    fn claims_are_bound(
        &self,
        pod: &PodInfo,
        node: &str,
        plan: &Plan,
        written: &BTreeMap<Key, u64>,
    ) -> Result<bool, String> {
        let gone = self.pods.get(&pod.key).is_none_or(|there| there.metadata.uid.as_deref() != Some(&pod.uid));
        if gone {
            return Err(format!("pod does not exist any more: pod {:?} not found", pod.key.name()));
        }
        let state = self.state.borrow();
        let claim = |key: &Key, doing: &str| -> Result<Arc<PersistentVolumeClaim>, String> {
            let missing = || format!("{doing}: could not find v1.PersistentVolumeClaim {:?}", key.to_string());
            state.cache.snapshot.storage.claim(key).cloned().ok_or_else(missing)
        };
        for (key, _) in &plan.promise {
            if !is_bound(&*claim(key, "failed to check binding")?) {
                return Ok(false);
            }
        }
        for key in &plan.provision {
            let claim = claim(key, "failed to check provisioning pvc")?;
            if written.get(key).is_some_and(|written| version(&claim) < *written) {
                return Ok(false);
            }
            let Some(annotations) = claim.metadata.annotations.as_ref().filter(|all| !all.is_empty()) else {
                return Err(format!("selectedNode annotation reset for PVC {:?}", key.name()));
            };
            if annotations.get(SELECTED_NODE).is_none_or(|selected| selected != node) {
                return Err(format!("provisioning failed for PVC {:?}", key.name()));
            }
            if !is_bound(&claim) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A claim changed: each pod that waits for one looks again. Few pods wait at once.
    pub(super) fn claims_changed(&self) {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.values().for_each(|call| self.client.hub().unpark(self.client.actor(), *call));
    }

    /// A pod's claims have had their time, or it is gone: it looks again.
    pub(super) fn look_again(&self, pod: &Key) {
        if let Some(call) = self.waiting.borrow_mut().remove(pod) {
            self.client.hub().unpark(self.client.actor(), call);
        }
    }
}

fn version(claim: &PersistentVolumeClaim) -> u64 {
    claim.metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}

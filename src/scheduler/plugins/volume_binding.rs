//! VolumeBinding: a pod goes where its volumes are, or can be.
//!
//! Claims that are bound tie the pod to the nodes that can reach their volumes. Claims of a class that waits for its
//! first consumer are decided with the pod: a volume that is there already, the smallest that fits and that the node
//! can reach; or one that is yet to be made. What was decided is written before the pod is bound, by
//! [`volume_writes`](crate::volume_writes). Mirrors `plugins/volumebinding`.
//!
//! Left out: capacity that drivers publish, and scores by it.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, TopologySelectorLabelRequirement};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Filter, Hint, Plugin, PreFilter, Reason, Rejection, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use crate::storage::{Plan, Storage, claims_of, not_found};
use object::selector::nodes::any_term_matches;
use object::selector::selects;
use object::volume::{
    NO_PROVISIONER, claims_behind, class_of, fits, is_bound, is_promised_to, made_for, phase_of, phase_of_volume,
    requested, volume_name,
};
use object::{Key, Object};

const AFFINITY: &str = "node(s) didn't match PersistentVolume's node affinity";
const NONE_TO_BIND: &str = "node(s) didn't find available persistent volumes to bind";
const NON_EXISTENT: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
const IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

/// The annotation of a CSINode that says which built-in plugins its drivers stand in for.
const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// Volumes that are there, or can be made, decide where a pod may go.
pub struct VolumeBinding;

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[
            EventKind::ClassAdd,
            EventKind::ClassUpdate,
            EventKind::ClaimAdd,
            EventKind::ClaimUpdate,
            EventKind::VolumeAdd,
            EventKind::VolumeUpdate,
            EventKind::DriversAdd,
            EventKind::DriversUpdate,
            EventKind::NodeAdd,
            EventKind::NodeUpdateLabel,
        ]
    }

    /// Of claims only its own are worth a try, and of what changed only where volumes may be made, and which drivers
    /// took over from those that are built in.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        match (&event.old, &event.new) {
            (_, Some(claim @ Object::PersistentVolumeClaim(_))) => {
                Hint::queue_if(claims_of(pod).contains(&Key::of(claim)))
            }
            (Some(Object::StorageClass(old)), Some(Object::StorageClass(new))) => {
                Hint::queue_if(old.allowed_topologies != new.allowed_topologies)
            }
            (Some(Object::CSINode(old)), Some(Object::CSINode(new))) => {
                let migrated = |node: &CSINode| node.metadata.annotations.as_ref()?.get(MIGRATED_PLUGINS).cloned();
                Hint::queue_if(migrated(old) != migrated(new))
            }
            _ => Hint::Queue,
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        if claims_behind(&pod.pod).next().is_none() {
            return PreFilter::Skip;
        }
        match Wanted::of(pod, &snapshot.storage) {
            Ok(wanted) => PreFilter::Ask(Box::new(wanted)),
            Err(reason) => PreFilter::Reject(Rejection::unresolvable(reason)),
        }
    }
}

/// A pod's claims, sorted by what has to be done about them.
struct Wanted<'a> {
    storage: &'a Storage,
    bound: Vec<&'a PersistentVolumeClaim>,
    waiting: Vec<(Key, &'a PersistentVolumeClaim)>,
}

impl<'a> Wanted<'a> {
    fn of(pod: &PodInfo, storage: &'a Storage) -> Result<Wanted<'a>, String> {
        let mut wanted = Wanted { storage, bound: Vec::new(), waiting: Vec::new() };
        let mut immediate = false;
        for used in claims_behind(&pod.pod) {
            let key = Key::new(pod.namespace(), &used.name);
            let name = key.name();
            let Some(claim) = storage.claim(&key) else {
                return Err(if used.ephemeral { not_made_yet(&key) } else { not_found(&key) });
            };
            if phase_of(claim) == "Lost" {
                let volume = volume_name(claim);
                return Err(format!(
                    "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
                ));
            }
            if claim.metadata.deletion_timestamp.is_some() {
                return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
            }
            if used.ephemeral {
                made_for(&pod.pod.metadata, claim)?;
            }
            let class = storage.class_of(claim).and_then(|class| class.volume_binding_mode.as_deref());
            match (is_bound(claim), class) {
                (true, _) => wanted.bound.push(claim),
                (false, Some("WaitForFirstConsumer")) if volume_name(claim).is_empty() => {
                    wanted.waiting.push((key, claim));
                }
                (false, _) => immediate = true,
            }
        }
        // Only of claims that are there, and stay, is it asked which of them are bound.
        if immediate {
            return Err(IMMEDIATE.to_owned());
        }
        // Small claims have the first choice, so that none takes a volume that a larger one needs.
        wanted.waiting.sort_by_key(|(_, claim)| requested(claim));
        Ok(wanted)
    }

    /// What has to be written if the pod goes to this node, or why it cannot.
    fn plan(&self, node: &NodeInfo) -> Result<Plan, Vec<&'static str>> {
        let mut reasons = Vec::new();
        if let Some(reason) = self.bound.iter().find_map(|claim| self.out_of_reach(claim, node)) {
            reasons.push(reason);
        }
        let mut plan = Plan::default();
        let mut taken = BTreeSet::new();
        for (key, claim) in &self.waiting {
            let selected = self.storage.selected_node(key, claim);
            // Decided before: the volume is being made there, and nowhere else.
            if selected.is_some_and(|selected| selected != &*node.name) {
                reasons.push(NONE_TO_BIND);
            } else if selected.is_none()
                && let Some(volume) = self.match_for(key, claim, node, &taken)
            {
                taken.insert(volume.clone());
                plan.promise.push((key.clone(), volume));
            } else if self.storage.class_of(claim).is_some_and(|class| can_provision(class, node)) {
                plan.provision.push(key.clone());
            } else {
                reasons.push(NONE_TO_BIND);
            }
        }
        reasons.dedup();
        if reasons.is_empty() { Ok(plan) } else { Err(reasons) }
    }

    fn out_of_reach(&self, claim: &PersistentVolumeClaim, node: &NodeInfo) -> Option<&'static str> {
        match self.storage.volume(volume_name(claim)) {
            None => Some(NON_EXISTENT),
            Some(volume) => (!reaches(volume, node)).then_some(AFFINITY),
        }
    }

    /// The volume that was promised to the claim, if there is one, whether or not it is of use here; else the smallest that
    /// suits. Mirrors `FindMatchingVolume`.
    fn match_for(
        &self,
        key: &Key,
        claim: &PersistentVolumeClaim,
        node: &NodeInfo,
        taken: &BTreeSet<String>,
    ) -> Option<String> {
        let name_of = |volume: &PersistentVolume| volume.metadata.name.clone().unwrap_or_default();
        let fitting = || {
            let volumes = self.storage.free(class_of(claim), key);
            volumes.filter(|volume| {
                let stays = volume.metadata.deletion_timestamp.is_none();
                stays && fits(volume, claim) && !taken.contains(&name_of(volume))
            })
        };
        if let Some(own) = fitting().find(|volume| is_promised_to(volume, claim)) {
            return reaches(own, node).then(|| name_of(own));
        }
        let selector = claim.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let suits = |volume: &&Arc<PersistentVolume>| {
            volume.spec.as_ref().is_none_or(|spec| spec.claim_ref.is_none())
                && phase_of_volume(volume) == "Available"
                && reaches(volume, node)
                && selector.is_none_or(|selector| selects(selector, volume.metadata.labels.as_ref()))
        };
        fitting().find(suits).map(|volume| name_of(volume))
    }
}

impl Filter for Wanted<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        self.plan(node).map(|_| ()).map_err(|reasons| {
            let mut rejection = Rejection::unresolvable("");
            rejection.reasons = reasons.into_iter().map(Reason::from).collect();
            rejection
        })
    }
}

/// What has to be written before the pod can go to the node; nothing if it has no claims that wait.
pub fn plan(pod: &PodInfo, node: &NodeInfo, storage: &Storage) -> Plan {
    if claims_behind(&pod.pod).next().is_none() {
        return Plan::default();
    }
    Wanted::of(pod, storage).ok().and_then(|wanted| wanted.plan(node).ok()).unwrap_or_default()
}

/// A claim that is made for a pod comes a moment after the pod.
fn not_made_yet(claim: &Key) -> String {
    format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {:?}", claim.name())
}

/// Whether a volume can be used on a node.
fn reaches(volume: &PersistentVolume, node: &NodeInfo) -> bool {
    let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    required.is_none_or(|required| any_term_matches(&required.node_selector_terms, &node.name, node.labels()))
}

/// Whether the class has a provisioner, and allows volumes that the node can use.
fn can_provision(class: &StorageClass, node: &NodeInfo) -> bool {
    let terms = class.allowed_topologies.as_deref().unwrap_or_default();
    let allowed = terms.is_empty()
        // A term that asks for nothing is met nowhere.
        || terms.iter().filter_map(|term| term.match_label_expressions.as_ref()).any(|expressions| {
            let met = |e: &TopologySelectorLabelRequirement| {
                node.labels().get(&e.key).is_some_and(|value| e.values.contains(value))
            };
            !expressions.is_empty() && expressions.iter().all(met)
        });
    class.provisioner != NO_PROVISIONER && !class.provisioner.is_empty() && allowed
}

#[cfg(test)]
mod tests;

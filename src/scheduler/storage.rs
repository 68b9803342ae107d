//! What the scheduler knows of claims and volumes, and what it has decided about them but not yet seen written.
//!
//! Mirrors the assume caches of `plugins/volumebinding`: a volume that is promised in memory is no longer free for the
//! next pod, and a claim whose node was chosen keeps to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};

use super::pod_info::PodInfo;
use object::volume::{SELECTED_NODE, capacity, claim_uid, claims_behind, class_of, class_of_volume};
use object::{Key, Object};

/// Claims, volumes, classes and the limits of nodes.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    claims: BTreeMap<Key, Arc<PersistentVolumeClaim>>,
    volumes: BTreeMap<String, Arc<PersistentVolume>>,
    classes: BTreeMap<String, Arc<StorageClass>>,
    drivers: BTreeMap<String, Arc<CSINode>>,
    /// Volumes that no claim has, by class, the smallest first.
    free: BTreeMap<String, BTreeSet<(i64, String)>>,
    /// Volumes that were promised to a claim in memory.
    promised: BTreeMap<String, Key>,
    /// Nodes that were chosen for claims in memory.
    selected: BTreeMap<Key, String>,
    /// The pods on nodes that use each claim.
    users: BTreeMap<Key, BTreeSet<Key>>,
}

impl Storage {
    /// A claim by its key.
    pub fn claim(&self, key: &Key) -> Option<&Arc<PersistentVolumeClaim>> {
        self.claims.get(key)
    }

    /// A volume by its name.
    pub fn volume(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        self.volumes.get(name)
    }

    /// The class of a claim.
    pub fn class_of(&self, claim: &PersistentVolumeClaim) -> Option<&Arc<StorageClass>> {
        self.classes.get(class_of(claim))
    }

    /// The drivers on a node.
    pub fn drivers(&self, node: &str) -> Option<&Arc<CSINode>> {
        self.drivers.get(node)
    }

    /// The pods on nodes that use a claim.
    pub fn users(&self, claim: &Key) -> impl Iterator<Item = &Key> {
        self.users.get(claim).into_iter().flatten()
    }

    /// Volumes of a class that no claim has, the smallest first; those promised by hand to `claim` come along.
    pub fn free(&self, class: &str, claim: &Key) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        let of_class = self.free.get(class).into_iter().flatten();
        let untaken = of_class.filter(move |(_, name)| self.promised.get(name).is_none_or(|taken| taken == claim));
        untaken.filter_map(|(_, name)| self.volumes.get(name))
    }

    /// The node that was chosen for a claim: by its annotation, or by us a moment ago.
    pub fn selected_node<'a>(&'a self, key: &Key, claim: &'a PersistentVolumeClaim) -> Option<&'a str> {
        let written = claim.metadata.annotations.as_ref().and_then(|all| all.get(SELECTED_NODE));
        written.or_else(|| self.selected.get(key)).map(String::as_str)
    }

    /// Notes an object, or forgets it.
    pub fn set(&mut self, object: &Object, gone: bool) {
        let key = Key::of(object);
        match object {
            Object::PersistentVolumeClaim(claim) => note(&mut self.claims, key, claim, gone),
            Object::StorageClass(class) => note(&mut self.classes, key.name().to_owned(), class, gone),
            Object::CSINode(node) => note(&mut self.drivers, key.name().to_owned(), node, gone),
            Object::PersistentVolume(volume) => self.set_volume(key.name(), volume, gone),
            _ => {}
        }
    }

    fn set_volume(&mut self, name: &str, volume: &Arc<PersistentVolume>, gone: bool) {
        if let Some(old) = self.volumes.get(name).cloned()
            && let Some(free) = self.free.get_mut(class_of_volume(&old))
        {
            free.remove(&(capacity(&old).value(), name.to_owned()));
        }
        if !gone && claim_uid(volume).is_empty() {
            let entry = (capacity(volume).value(), name.to_owned());
            self.free.entry(class_of_volume(volume).to_owned()).or_default().insert(entry);
        }
        note(&mut self.volumes, name.to_owned(), volume, gone);
    }

    /// A pod came to a node, or left it.
    pub fn pod_moved(&mut self, pod: &PodInfo, here: bool) {
        for claim in named_claims_of(pod) {
            let users = self.users.entry(claim).or_default();
            if here {
                users.insert(pod.key.clone())
            } else {
                users.remove(&pod.key)
            };
        }
    }

    /// Keeps what was decided about a pod's claims, until it is seen written or given up.
    pub fn assume(&mut self, plan: &Plan, node: &str) {
        for (claim, volume) in &plan.promise {
            self.promised.insert(volume.clone(), claim.clone());
        }
        for claim in &plan.provision {
            self.selected.insert(claim.clone(), node.to_owned());
        }
    }

    /// Forgets what was decided: it is written, or the pod goes elsewhere.
    pub fn forget(&mut self, plan: &Plan) {
        plan.promise.iter().for_each(|(_, volume)| drop(self.promised.remove(volume)));
        plan.provision.iter().for_each(|claim| drop(self.selected.remove(claim)));
    }
}

fn note<K: Ord, T>(map: &mut BTreeMap<K, Arc<T>>, key: K, object: &Arc<T>, gone: bool) {
    if gone {
        map.remove(&key);
    } else {
        map.insert(key, object.clone());
    }
}

/// What has to be written before a pod can go to the node that was found for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Claims, each with the volume that it is to have.
    pub promise: Vec<(Key, String)>,
    /// Claims for which a volume is to be made where the pod goes.
    pub provision: Vec<Key>,
}

impl Plan {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.promise.is_empty() && self.provision.is_empty()
    }
}

/// What a plugin says that misses a claim.
pub fn not_found(claim: &Key) -> String {
    format!("persistentvolumeclaim {:?} not found", claim.name())
}

/// The claims that a pod uses, in the order of its volumes: those that it names, and those that are made for it.
pub fn claims_of(pod: &PodInfo) -> Vec<Key> {
    claims_behind(&pod.pod).map(|claim| Key::new(pod.namespace(), &claim.name)).collect()
}

/// The claims that a pod names. No other pod uses one that is made for it.
pub fn named_claims_of(pod: &PodInfo) -> Vec<Key> {
    claims_behind(&pod.pod)
        .filter(|claim| !claim.ephemeral)
        .map(|claim| Key::new(pod.namespace(), &claim.name))
        .collect()
}

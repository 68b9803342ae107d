//! NodeVolumeLimits: a node takes no more volumes of a driver than the driver can attach there. Mirrors
//! `plugins/nodevolumelimits/csi.go`.
//!
//! Volumes are counted by the pods on the node, anew for each pod that has claims; nodes have few of either.
//!
//! Left out: volumes that are still attached though no pod there uses them any more (`VolumeAttachment`).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::storage::v1::{CSINode, CSINodeDriver};

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Filter, Hint, Plugin, PreFilter, Rejection, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use crate::storage::{Storage, claims_of};
use object::volume::volume_name;
use object::{Key, Object};

const TOO_MANY: &str = "node(s) exceed max volume count";

/// A driver can attach only so many volumes to a node.
pub struct NodeVolumeLimits;

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        "NodeVolumeLimits"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::DriversAdd, EventKind::DriversUpdate, EventKind::AssignedPodDelete, EventKind::ClaimAdd]
    }

    /// Worth a try when a driver comes to a node or can attach more there, when a pod with claims leaves one, and when a
    /// claim of its own comes.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        match (&event.old, &event.new) {
            (Some(Object::CSINode(old)), Some(Object::CSINode(new))) => Hint::queue_if(attaches_more(old, new)),
            (_, Some(claim @ Object::PersistentVolumeClaim(_))) => {
                Hint::queue_if(claims_of(pod).contains(&Key::of(claim)))
            }
            (Some(Object::Pod(_)), None) => {
                let gone = event.pod_that_left_room();
                Hint::queue_if(gone.is_some_and(|gone| !claims_of(&PodInfo::new(gone.clone())).is_empty()))
            }
            _ => Hint::Queue,
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        let storage = &snapshot.storage;
        let new: BTreeMap<String, String> = claims_of(pod).iter().filter_map(|key| volume_of(storage, key)).collect();
        if new.is_empty() { PreFilter::Skip } else { PreFilter::Ask(Box::new(Limits { storage, new })) }
    }
}

/// Whether a driver says a greater limit than before. Mirrors `isSchedulableAfterCSINodeUpdated`.
fn attaches_more(old: &CSINode, new: &CSINode) -> bool {
    let limit =
        |driver: &CSINodeDriver| driver.allocatable.as_ref().and_then(|allocatable| allocatable.count).unwrap_or(0);
    let before = |name: &str| old.spec.drivers.iter().find(|driver| driver.name == name).map_or(0, limit);
    new.spec.drivers.iter().any(|driver| limit(driver) > before(&driver.name))
}

/// What identifies the claim's volume, and its driver. A volume that is yet to be made counts for its class's driver.
fn volume_of(storage: &Storage, key: &Key) -> Option<(String, String)> {
    let claim = storage.claim(key)?;
    match storage.volume(volume_name(claim)) {
        Some(volume) => {
            let csi = volume.spec.as_ref()?.csi.as_ref()?;
            Some((format!("{}/{}", csi.driver, csi.volume_handle), csi.driver.clone()))
        }
        None => Some((format!("claim {key}"), storage.class_of(claim)?.provisioner.clone())),
    }
}

struct Limits<'a> {
    storage: &'a Storage,
    new: BTreeMap<String, String>,
}

impl Filter for Limits<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let drivers = self.storage.drivers(&node.name).map(|drivers| drivers.spec.drivers.as_slice());
        for driver in drivers.unwrap_or_default() {
            let Some(limit) = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count) else { continue };
            let there = node.pods.iter().flat_map(|pod| claims_of(pod)).filter_map(|key| volume_of(self.storage, &key));
            let there: BTreeSet<String> =
                there.filter(|(_, of)| *of == driver.name).map(|(volume, _)| volume).collect();
            let of_driver = self.new.iter().filter(|(_, of)| **of == driver.name);
            let new = of_driver.filter(|(volume, _)| !there.contains(*volume)).count();
            if new > 0 && i64::try_from(there.len() + new).is_ok_and(|count| count > i64::from(limit)) {
                return Err(Rejection::unschedulable(TOO_MANY));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{info, node, pod, snapshot};
    use object::Kind;

    #[test]
    fn hints() {
        let drivers = |limit: i32| {
            let drivers = json!([{"name": "x", "nodeID": "n", "allocatable": {"count": limit}}]);
            let manifest = json!({"metadata": {"name": "n"}, "spec": {"drivers": drivers}});
            Kind::CSINode.decode(manifest).expect("it decodes")
        };
        let gone = |spec: &str| ClusterEvent::pod_deleted(&Arc::new(pod("gone", spec)));
        let limit = |old: i32, new: i32| ClusterEvent {
            kind: EventKind::DriversUpdate,
            old: Some(drivers(old)),
            new: Some(drivers(new)),
        };
        let waiting = info(pod("p", ""));
        for (event, expected) in [
            (limit(1, 2), Hint::Queue),
            (limit(2, 1), Hint::QueueSkip),
            (gone("{nodeName: n}"), Hint::QueueSkip),
            (gone("{nodeName: n, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}"), Hint::Queue),
            (gone("{volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}"), Hint::QueueSkip),
        ] {
            assert_eq!(NodeVolumeLimits.hint(&waiting, &event, &Snapshot::default()), expected, "{event:?}");
        }
    }

    #[test]
    fn a_node_takes_as_many_volumes_as_its_driver_says() {
        let uses = |claim: &str| format!("{{volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}]}}");
        for (limit, new, reason) in [(2, "c", ""), (1, "c", TOO_MANY), (1, "a", ""), (0, "a", "")] {
            let mut world = snapshot(vec![node("n", "")], vec![(pod("first", &uses("a")), "n")]);
            for claim in ["a", "c"] {
                let manifest =
                    json!({"metadata": {"name": claim, "namespace": "default"}, "spec": {"volumeName": claim}});
                world.storage.set(&Kind::PersistentVolumeClaim.decode(manifest).expect("it decodes"), false);
                let csi = json!({"driver": "x", "volumeHandle": claim});
                let manifest = json!({"metadata": {"name": claim}, "spec": {"csi": csi}});
                world.storage.set(&Kind::PersistentVolume.decode(manifest).expect("it decodes"), false);
            }
            let drivers = json!([{"name": "x", "nodeID": "n", "allocatable": {"count": limit}}]);
            let manifest = json!({"metadata": {"name": "n"}, "spec": {"drivers": drivers}});
            world.storage.set(&Kind::CSINode.decode(manifest).expect("it decodes"), false);
            assert_eq!(filter_reasons(&NodeVolumeLimits, pod("new", &uses(new)), &world, "n"), reason, "{limit} {new}");
        }
    }
}

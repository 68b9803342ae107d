//! NodeVolumeLimits: a node takes no more volumes of a driver than the driver can attach there. Mirrors
//! `plugins/nodevolumelimits/csi.go`.
//!
//! Volumes are counted by the pods on the node, anew for each pod that has claims; nodes have few of either.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::Key;
use crate::object::volume::volume_name;
use crate::scheduler::events::EventKind;
use crate::scheduler::framework::{Filter, Plugin, PreFilter, Rejection, Verdict};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::pod_info::PodInfo;
use crate::scheduler::snapshot::Snapshot;
use crate::scheduler::storage::{Storage, claims_of};

const TOO_MANY: &str = "node(s) exceed max volume count";

/// The plugin.
pub struct NodeVolumeLimits;

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        "NodeVolumeLimits"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::DriversAdd, EventKind::DriversUpdate, EventKind::AssignedPodDelete, EventKind::ClaimAdd]
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        let storage = &snapshot.storage;
        let new: BTreeMap<String, String> = claims_of(pod).iter().filter_map(|key| volume_of(storage, key)).collect();
        if new.is_empty() { PreFilter::Skip } else { PreFilter::Ask(Box::new(Limits { storage, new })) }
    }
}

/// What identifies the claim's volume, and its driver. A volume that is yet to be made counts for its class's driver.
fn volume_of(storage: &Storage, key: &Key) -> Option<(String, String)> {
    let claim = storage.claim(key)?;
    match storage.volume(volume_name(claim)) {
        Some(volume) => {
            let csi = volume.spec.as_ref()?.csi.as_ref()?;
            Some((csi.volume_handle.clone(), csi.driver.clone()))
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
            let all = there.chain(self.new.clone()).filter(|(_, of)| *of == driver.name);
            let all: BTreeSet<String> = all.map(|(volume, _)| volume).collect();
            let any_new = self.new.values().any(|of| *of == driver.name);
            if any_new && i64::try_from(all.len()).is_ok_and(|count| count > i64::from(limit)) {
                return Err(Rejection::unschedulable(TOO_MANY));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Kind;
    use crate::scheduler::plugins::testing::filter_reasons;
    use crate::scheduler::testing::{node, pod, snapshot};

    #[test]
    fn a_node_takes_as_many_volumes_as_its_driver_says() {
        let uses = |claim: &str| format!("{{volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}]}}");
        for (limit, new, reason) in [(2, "c", ""), (1, "c", TOO_MANY), (1, "a", ""), (0, "a", TOO_MANY)] {
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

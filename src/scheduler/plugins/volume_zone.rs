//! VolumeZone: a volume that carries a zone or region as a label can be used there only. Mirrors `plugins/volumezone`.
//! Volumes of today say so by their node affinity, which is VolumeBinding's business.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PersistentVolume;

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Filter, Hint, Plugin, PreFilter, Rejection, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use crate::storage::{Storage, named_claims_of, not_found};
use object::volume::{class_of, volume_name};
use object::well_known::{REGION, REGION_BETA, ZONE, ZONE_BETA};
use object::{Key, Object};

const CONFLICT: &str = "node(s) had no available volume zone";
const LABELS: [&str; 4] = [ZONE_BETA, REGION_BETA, ZONE, REGION];

/// Volumes with a zone or region as a label can be used there only.
pub struct VolumeZone;

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        "VolumeZone"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[
            EventKind::ClassAdd,
            EventKind::ClaimAdd,
            EventKind::ClaimUpdate,
            EventKind::VolumeAdd,
            EventKind::VolumeUpdate,
            EventKind::NodeAdd,
            EventKind::NodeUpdateLabel,
        ]
    }

    /// Worth a try: its own claims, a class that waits for its consumers, a volume that is new or carries other topologies.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        match (&event.old, &event.new) {
            (_, Some(claim @ Object::PersistentVolumeClaim(_))) => {
                Hint::queue_if(named_claims_of(pod).contains(&Key::of(claim)))
            }
            (_, Some(Object::StorageClass(class))) => {
                Hint::queue_if(class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"))
            }
            (Some(Object::PersistentVolume(old)), Some(Object::PersistentVolume(new))) => {
                Hint::queue_if(topologies_of(old) != topologies_of(new))
            }
            _ => Hint::Queue,
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        let volumes: Result<Vec<_>, String> =
            named_claims_of(pod).iter().map(|key| volume_of(&snapshot.storage, key)).collect();
        match volumes {
            Err(reason) => PreFilter::Reject(Rejection::unresolvable(reason)),
            Ok(volumes) => {
                let topologies: Vec<PvTopology> = volumes.into_iter().flatten().flat_map(topologies_of).collect();
                if topologies.is_empty() { PreFilter::Skip } else { PreFilter::Ask(Box::new(PvTopologies(topologies))) }
            }
        }
    }
}

/// The volume of a claim; none if it waits for its first consumer. Mirrors `getPVbyPod`.
fn volume_of<'a>(storage: &'a Storage, key: &Key) -> Result<Option<&'a PersistentVolume>, String> {
    let claim = storage.claim(key).ok_or_else(|| not_found(key))?;
    let name = volume_name(claim);
    if !name.is_empty() {
        let volume = storage.volume(name).ok_or_else(|| format!("persistentvolume {name:?} not found"))?;
        return Ok(Some(volume));
    }
    let class = class_of(claim);
    if class.is_empty() {
        return Err("PersistentVolumeClaim had no pv name and storageClass name".to_owned());
    }
    let missing = || format!("storageclass.storage.k8s.io {class:?} not found");
    match storage.class_of(claim).ok_or_else(missing)?.volume_binding_mode.as_deref() {
        None => Err(format!("VolumeBindingMode not set for StorageClass {class:?}")),
        Some("WaitForFirstConsumer") => Ok(None),
        Some(_) => Err("PersistentVolume had no name".to_owned()),
    }
}

/// A label, and the values that a node may have.
type PvTopology<'a> = (&'static str, BTreeSet<&'a str>);

/// Several zones are written with two underscores between them; with nothing between those, the label says nothing.
/// Mirrors `getPVTopologies`.
fn topologies_of(volume: &PersistentVolume) -> Vec<PvTopology<'_>> {
    let topology = |key: &'static str| {
        let values: BTreeSet<&str> = volume.metadata.labels.as_ref()?.get(key)?.split("__").map(str::trim).collect();
        (!values.contains("")).then_some((key, values))
    };
    LABELS.into_iter().filter_map(topology).collect()
}

struct PvTopologies<'a>(Vec<PvTopology<'a>>);

impl Filter for PvTopologies<'_> {
    /// In a cluster of one zone nodes may say nothing of it: such a node takes every volume.
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let label = |key: &str| node.labels().get(key).map(String::as_str);
        if LABELS.into_iter().all(|key| label(key).is_none()) {
            return Ok(());
        }
        let fits = |(key, values): &PvTopology| {
            label(key).or_else(|| label(of_today(key))).is_some_and(|value| values.contains(value))
        };
        if self.0.iter().all(fits) { Ok(()) } else { Err(Rejection::unresolvable(CONFLICT)) }
    }
}

/// What a label of old is called now. Mirrors `translateToGALabel`.
fn of_today(key: &str) -> &str {
    match key {
        ZONE_BETA => ZONE,
        REGION_BETA => REGION,
        key => key,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{info, node, pod, snapshot};
    use object::Kind;

    const POD: &str = "{volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}";

    fn volume(label: &str, zone: &str) -> Object {
        let manifest = json!({"metadata": {"name": "pv", "labels": {label: zone}}});
        Kind::PersistentVolume.decode(manifest).expect("it decodes")
    }

    #[test]
    fn a_volume_in_a_zone_is_used_there() {
        let in_a = "{metadata: {labels: {topology.kubernetes.io/zone: a}}}";
        let in_region = "{metadata: {labels: {topology.kubernetes.io/region: r}}}";
        for (labels, label, zone, reason) in [
            (in_a, ZONE, "a", ""),
            (in_a, ZONE, "b", CONFLICT),
            (in_a, ZONE, "b__a", ""),
            (in_a, ZONE, "b__", ""),
            (in_a, ZONE_BETA, "a", ""),
            (in_a, ZONE_BETA, "b", CONFLICT),
            (in_region, ZONE, "a", CONFLICT),
            ("", ZONE, "b", ""),
        ] {
            let mut world = snapshot(vec![node("n", labels)], vec![]);
            let manifest = json!({"metadata": {"name": "data", "namespace": "default"}, "spec": {"volumeName": "pv"}});
            world.storage.set(&Kind::PersistentVolumeClaim.decode(manifest).expect("it decodes"), false);
            world.storage.set(&volume(label, zone), false);
            let reasons = filter_reasons(&VolumeZone, pod("p", POD), &world, "n");
            assert_eq!(reasons, reason, "{label}={zone} on {labels:?}");
        }
    }

    #[test]
    fn a_volume_that_is_gone_is_missed_before_any_node_is_asked() {
        let mut world = snapshot(vec![node("n", "")], vec![]);
        let manifest = json!({"metadata": {"name": "data", "namespace": "default"}, "spec": {"volumeName": "pv"}});
        world.storage.set(&Kind::PersistentVolumeClaim.decode(manifest).expect("it decodes"), false);
        let reasons = filter_reasons(&VolumeZone, pod("p", POD), &world, "n");
        assert_eq!(reasons, "persistentvolume \"pv\" not found");
    }

    #[test]
    fn hints() {
        let pod = info(pod("p", POD));
        let class = |mode: &str| {
            let manifest = json!({"metadata": {"name": "c"}, "provisioner": "x", "volumeBindingMode": mode});
            Kind::StorageClass.decode(manifest).expect("it decodes")
        };
        for (kind, old, new, expected) in [
            (EventKind::ClassAdd, None, class("Immediate"), Hint::QueueSkip),
            (EventKind::ClassAdd, None, class("WaitForFirstConsumer"), Hint::Queue),
            (EventKind::VolumeAdd, None, volume(ZONE, "a"), Hint::Queue),
            (EventKind::VolumeUpdate, Some(volume(ZONE, "a")), volume(ZONE, "a"), Hint::QueueSkip),
            (EventKind::VolumeUpdate, Some(volume(ZONE, "a")), volume(ZONE, "b"), Hint::Queue),
        ] {
            let event = ClusterEvent { kind, old, new: Some(new) };
            assert_eq!(VolumeZone.hint(&pod, &event, &Snapshot::default()), expected, "{event:?}");
        }
    }
}

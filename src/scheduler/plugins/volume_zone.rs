//! VolumeZone: a volume that carries a zone or region as a label can be used there only. Mirrors `plugins/volumezone`.
//! Volumes of today say so by their node affinity, which is VolumeBinding's business.

use crate::object::volume::volume_name;
use crate::scheduler::events::EventKind;
use crate::scheduler::framework::{Filter, Plugin, PreFilter, Rejection, Verdict};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::pod_info::PodInfo;
use crate::scheduler::snapshot::Snapshot;
use crate::scheduler::storage::claims_of;

const CONFLICT: &str = "node(s) had no available volume zone";
const LABELS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// The plugin.
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

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        let storage = &snapshot.storage;
        let mut places = Vec::new();
        for claim in claims_of(pod).iter().filter_map(|key| storage.claim(key)) {
            let labels = storage.volume(volume_name(claim)).and_then(|volume| volume.metadata.labels.as_ref());
            let of_place = labels.into_iter().flatten().filter(|(key, _)| LABELS.contains(&key.as_str()));
            // Several zones are written with two underscores between them.
            places.extend(of_place.map(|(key, value)| (key.as_str(), value.split("__").collect())));
        }
        if places.is_empty() { PreFilter::Skip } else { PreFilter::Ask(Box::new(Places(places))) }
    }
}

/// Labels, and the values that a node may have.
struct Places<'a>(Vec<(&'a str, Vec<&'a str>)>);

impl Filter for Places<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let fits = |(key, values): &(&str, Vec<&str>)| {
            node.labels().get(*key).is_some_and(|value| values.contains(&value.as_str()))
        };
        if self.0.iter().all(fits) { Ok(()) } else { Err(Rejection::unresolvable(CONFLICT)) }
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
    fn a_volume_in_a_zone_is_used_there() {
        for (zone, reason) in [("a", ""), ("b", CONFLICT), ("b__a", "")] {
            let labels = "{metadata: {labels: {topology.kubernetes.io/zone: a}}}";
            let mut world = snapshot(vec![node("n", labels)], vec![]);
            let manifest = json!({"metadata": {"name": "data", "namespace": "default"}, "spec": {"volumeName": "pv"}});
            world.storage.set(&Kind::PersistentVolumeClaim.decode(manifest).expect("it decodes"), false);
            let manifest = json!({"metadata": {"name": "pv", "labels": {"topology.kubernetes.io/zone": zone}}});
            world.storage.set(&Kind::PersistentVolume.decode(manifest).expect("it decodes"), false);
            let pod = pod("p", "{volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}");
            assert_eq!(filter_reasons(&VolumeZone, pod, &world, "n"), reason, "{zone}");
        }
    }
}

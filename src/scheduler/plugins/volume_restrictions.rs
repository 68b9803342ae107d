//! VolumeRestrictions: a claim that is for one pod only keeps other pods away. Mirrors `plugins/volumerestrictions`.
//!
//! Left out: the disks of clouds that could be mounted once only.

use crate::object::Key;
use crate::scheduler::events::{ClusterEvent, EventKind};
use crate::scheduler::framework::{Filter, Hint, Plugin, PreFilter, Rejection, Verdict};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::pod_info::PodInfo;
use crate::scheduler::snapshot::Snapshot;
use crate::scheduler::storage::claims_of;

const IN_USE: &str =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

/// The plugin.
pub struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        "VolumeRestrictions"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::AssignedPodDelete, EventKind::ClaimAdd, EventKind::ClaimUpdate]
    }

    /// Worth a try when a pod goes that used the same claim.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        let Some(gone) = event.old_pod().filter(|_| event.kind == EventKind::AssignedPodDelete) else {
            return Hint::queue_if(event.new.as_ref().is_some_and(|claim| claims_of(pod).contains(&Key::of(claim))));
        };
        let theirs = claims_of(&PodInfo::new(gone.clone()));
        Hint::queue_if(claims_of(pod).iter().any(|claim| theirs.contains(claim)))
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        let exclusive: Vec<Key> = claims_of(pod).into_iter().filter(|key| is_exclusive(snapshot, key)).collect();
        if exclusive.is_empty() {
            return PreFilter::Skip;
        }
        let users = exclusive.iter().flat_map(|claim| snapshot.storage.users(claim)).filter(|user| **user != pod.key);
        PreFilter::Ask(Box::new(Conflicts { count: users.count(), exclusive }))
    }
}

fn is_exclusive(snapshot: &Snapshot, key: &Key) -> bool {
    let claim = snapshot.storage.claim(key);
    let modes = claim.and_then(|claim| claim.spec.as_ref()?.access_modes.as_ref());
    modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteOncePod"))
}

/// How often the pod's exclusive claims are used by others.
struct Conflicts {
    exclusive: Vec<Key>,
    count: usize,
}

impl Conflicts {
    fn shared_with(&self, pod: &PodInfo) -> usize {
        claims_of(pod).iter().filter(|claim| self.exclusive.contains(claim)).count()
    }
}

impl Filter for Conflicts {
    fn filter(&self, _: &NodeInfo) -> Verdict {
        if self.count == 0 { Ok(()) } else { Err(Rejection::unschedulable(IN_USE)) }
    }

    fn add_pod(&mut self, pod: &PodInfo, _: &NodeInfo) {
        self.count += self.shared_with(pod);
    }

    fn remove_pod(&mut self, pod: &PodInfo, _: &NodeInfo) {
        self.count -= self.shared_with(pod).min(self.count);
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
    fn a_claim_for_one_pod_keeps_others_away() {
        const POD: &str = "{volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}";
        for (mode, used, reason) in
            [("ReadWriteOncePod", true, IN_USE), ("ReadWriteOncePod", false, ""), ("ReadWriteOnce", true, "")]
        {
            let there = if used { vec![(pod("first", POD), "a")] } else { vec![] };
            let mut world = snapshot(vec![node("a", ""), node("b", "")], there);
            let manifest =
                json!({"metadata": {"name": "data", "namespace": "default"}, "spec": {"accessModes": [mode]}});
            world.storage.set(&Kind::PersistentVolumeClaim.decode(manifest).expect("it decodes"), false);
            for name in ["a", "b"] {
                assert_eq!(filter_reasons(&VolumeRestrictions, pod("second", POD), &world, name), reason, "{mode}");
            }
        }
    }
}

//! VolumeRestrictions: a claim that is for one pod only keeps other pods away. Mirrors `plugins/volumerestrictions`.
//!
//! Left out: the disks of clouds that could be mounted once only.

use crate::events::{ClusterEvent, EventKind};
use crate::framework::{Filter, Hint, Plugin, PreFilter, Rejection, Verdict};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use crate::storage::{named_claims_of, not_found};
use object::Key;

const IN_USE: &str =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

/// A `ReadWriteOncePod` claim serves one pod at a time.
pub struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        "VolumeRestrictions"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[EventKind::AssignedPodDelete, EventKind::NodeAdd, EventKind::ClaimAdd]
    }

    /// Worth a try when a pod goes that used the same claim, when a claim of its own comes, and on a new node.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        match event.kind {
            EventKind::AssignedPodDelete => {
                let theirs = event.pod_that_left_room().map(|gone| named_claims_of(&PodInfo::new(gone.clone())));
                let theirs = theirs.unwrap_or_default();
                Hint::queue_if(named_claims_of(pod).iter().any(|claim| theirs.contains(claim)))
            }
            EventKind::ClaimAdd => {
                Hint::queue_if(event.new.as_ref().is_some_and(|claim| named_claims_of(pod).contains(&Key::of(claim))))
            }
            _ => Hint::Queue,
        }
    }

    /// A claim that is not there has no access mode to look at, so this plugin is the first to miss it.
    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        if let Some(missing) = named_claims_of(pod).iter().find(|key| snapshot.storage.claim(key).is_none()) {
            return PreFilter::Reject(Rejection::unresolvable(not_found(missing)));
        }
        let exclusive: Vec<Key> = named_claims_of(pod).into_iter().filter(|key| is_exclusive(snapshot, key)).collect();
        // How often a claim is used does not matter: one pod too many is there already.
        let used = |claim: &&Key| snapshot.storage.users(claim).any(|user| *user != pod.key);
        match exclusive.iter().filter(used).count() {
            0 => PreFilter::Skip,
            count => PreFilter::Ask(Box::new(Conflicts { count, exclusive })),
        }
    }
}

fn is_exclusive(snapshot: &Snapshot, key: &Key) -> bool {
    let claim = snapshot.storage.claim(key);
    let modes = claim.and_then(|claim| claim.spec.as_ref()?.access_modes.as_ref());
    modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteOncePod"))
}

/// How many of the pod's exclusive claims are used by others.
struct Conflicts {
    exclusive: Vec<Key>,
    count: usize,
}

impl Conflicts {
    fn shared_with(&self, pod: &PodInfo) -> usize {
        named_claims_of(pod).iter().filter(|claim| self.exclusive.contains(claim)).count()
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
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::plugins::testing::filter_reasons;
    use crate::testing::{info, node, pod, snapshot};
    use object::Kind;

    #[test]
    fn a_claim_that_is_missing_is_missed_here_first() {
        let world = snapshot(vec![node("a", "")], vec![]);
        let pod = pod("p", "{volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}");
        let reasons = filter_reasons(&VolumeRestrictions, pod, &world, "a");
        assert_eq!(reasons, "persistentvolumeclaim \"data\" not found");
    }

    /// Nor then by a pod that is nominated there.
    #[test]
    fn a_claim_that_nobody_on_a_node_uses_is_not_asked_for_again() {
        const POD: &str = "{volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}";
        let asks = |there: Vec<(object::Pod, &str)>| {
            let mut world = snapshot(vec![node("a", "")], there);
            let spec = json!({"accessModes": ["ReadWriteOncePod"]});
            let manifest = json!({"metadata": {"name": "data", "namespace": "default"}, "spec": spec});
            world.storage.set(&Kind::PersistentVolumeClaim.decode(manifest).expect("it decodes"), false);
            !matches!(VolumeRestrictions.pre_filter(&info(pod("p", POD)), &world), PreFilter::Skip)
        };
        assert!(!asks(vec![]));
        assert!(asks(vec![(pod("first", POD), "a")]));
    }

    #[test]
    fn hints() {
        let using = |claim: &str| format!("volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}]");
        let waiting = info(pod("p", &format!("{{{}}}", using("data"))));
        let gone = |claim: &str, more: &str| {
            ClusterEvent::pod_deleted(&Arc::new(pod("q", &format!("{{{}{more}}}", using(claim)))))
        };
        for (event, expected) in [
            (gone("data", ", nodeName: a"), Hint::Queue),
            (gone("other", ", nodeName: a"), Hint::QueueSkip),
            (gone("data", ""), Hint::QueueSkip),
            (ClusterEvent::node_added(&Arc::new(node("a", ""))), Hint::Queue),
        ] {
            assert_eq!(VolumeRestrictions.hint(&waiting, &event, &Snapshot::default()), expected, "{event:?}");
        }
    }

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

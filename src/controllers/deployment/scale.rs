//! Sizes outside of a rollout: a Deployment that was resized or is paused, and old ReplicaSets that may go.
//! Mirrors `sync`, `scale`, `scaleReplicaSet`, `isScalingEvent` and `cleanupDeployment` of
//! `pkg/controller/deployment/sync.go`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use client::{Error, EventType};
use object::{Accessor, Key};
use wire::DeleteOptions;

use super::arithmetic::{available, is_rolling_update, max_replicas, proportion, size, wanted};
use super::revision::{by_creation, by_revision, desired_replicas, rollback_to, set_replicas};
use super::{Deployments, Sets};

impl Deployments {
    /// Whether a client changed the Deployment's size: an active ReplicaSet remembers another one.
    pub(super) async fn is_scaling_event(&self, d: &mut Deployment, owned: &[Arc<ReplicaSet>]) -> Result<bool, Error> {
        let sets = self.sets(d, owned, false).await?;
        let wanted = wanted(d);
        Ok(sets.active().filter_map(|rs| desired_replicas(rs)).any(|desired| desired != wanted))
    }

    /// Brings the ReplicaSets to the Deployment's size without moving a rollout. Mirrors `sync`.
    pub(super) async fn sync_size(
        &self,
        d: &mut Deployment,
        owned: &[Arc<ReplicaSet>],
        paused: bool,
    ) -> Result<(), Error> {
        let sets = self.sets(d, owned, false).await?;
        self.scale(d, &sets).await?;
        if paused && rollback_to(d).is_none() {
            self.clean_up(d, &sets).await?;
        }
        self.sync_status(d, &sets).await
    }

    async fn scale(&self, d: &Deployment, sets: &Sets) -> Result<(), Error> {
        if let Some(only) = active_or_latest(sets) {
            self.resize(d, &only, wanted(d)).await?;
        } else if is_saturated(d, sets.new.as_deref()) {
            // The rollout is over, and what is left of it goes, newest first.
            for old in sets.old.iter().rev().filter(|rs| size(rs) > 0) {
                self.resize(d, old, 0).await?;
            }
        } else if is_rolling_update(d) {
            // In the middle of a rollout each gets its share: whichever template turns out bad, the risk is spread.
            for (rs, size) in shares(d, sets) {
                self.force_size(d, &rs, size).await?;
            }
        }
        Ok(())
    }

    /// Gives a ReplicaSet another size, if it has another. Gives whether it was scaled, and the ReplicaSet as it is
    /// then. Mirrors `scaleReplicaSetAndRecordEvent`.
    pub(super) async fn resize(
        &self,
        d: &Deployment,
        rs: &Arc<ReplicaSet>,
        new_size: i32,
    ) -> Result<(bool, Arc<ReplicaSet>), Error> {
        if size(rs) == new_size {
            return Ok((false, rs.clone()));
        }
        self.force_size(d, rs, new_size).await
    }

    /// The same, and writes the size that the Deployment has now into the annotations even if the ReplicaSet keeps
    /// its own. Mirrors `scaleReplicaSet`.
    async fn force_size(
        &self,
        d: &Deployment,
        rs: &Arc<ReplicaSet>,
        new_size: i32,
    ) -> Result<(bool, Arc<ReplicaSet>), Error> {
        let old_size = size(rs);
        let mut update = (**rs).clone();
        let annotated = set_replicas(&mut update.metadata, d);
        if old_size == new_size && !annotated {
            return Ok((false, rs.clone()));
        }
        update.spec.get_or_insert_default().replicas = Some(new_size);
        let updated = self.client.update(update).await?;
        if old_size != new_size {
            let direction = if old_size < new_size { "up" } else { "down" };
            let name = updated.metadata.name();
            let message = format!("Scaled {direction} replica set {name} from {old_size} to {new_size}");
            self.recorder.event(d, EventType::Normal, "ScalingReplicaSet", message);
        }
        Ok((old_size != new_size, updated))
    }

    /// Deletes the ReplicaSets of revisions that are older than `revisionHistoryLimit` keeps, and empty.
    /// Mirrors `cleanupDeployment`.
    pub(super) async fn clean_up(&self, d: &Deployment, sets: &Sets) -> Result<(), Error> {
        for rs in outdated(d, sets) {
            let key = Key::of_meta(&rs.metadata);
            match self.client.delete::<ReplicaSet>(key.namespace(), key.name(), DeleteOptions::default()).await {
                Err(status) if !status.is_not_found() => return Err(status.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The one ReplicaSet that has all the Pods, or if none has any, the newest. Mirrors `FindActiveOrLatest`.
fn active_or_latest(sets: &Sets) -> Option<Arc<ReplicaSet>> {
    let mut active = sets.active();
    match (active.next(), active.next()) {
        (Some(only), None) => Some(only.clone()),
        (Some(_), Some(_)) => None,
        (None, _) => sets.new.clone().or_else(|| sets.old.iter().max_by(|a, b| by_creation(a, b)).cloned()),
    }
}

/// Whether the new ReplicaSet has all Pods, and all are available. Mirrors `IsSaturated`.
fn is_saturated(d: &Deployment, new: Option<&ReplicaSet>) -> bool {
    let wanted = wanted(d);
    new.is_some_and(|rs| size(rs) == wanted && desired_replicas(rs) == Some(wanted) && available(rs) == wanted)
}

/// What size each active ReplicaSet gets when the Deployment is resized in the middle of a rollout: in proportion,
/// what rounding leaves going to the largest.
fn shares(d: &Deployment, sets: &Sets) -> Vec<(Arc<ReplicaSet>, i32)> {
    let newest_first = sets.old.iter().rev().chain(&sets.new);
    let mut active: Vec<Arc<ReplicaSet>> = newest_first.filter(|rs| size(rs) > 0).cloned().collect();
    let allowed = if wanted(d) > 0 { max_replicas(d) } else { 0 };
    let to_add = allowed - active.iter().map(|rs| size(rs)).fold(0, i32::saturating_add);
    // The largest first. Growing prefers the newer of two equals, shrinking the older.
    if to_add != 0 {
        active.sort_by(|a, b| {
            let age = if to_add > 0 { by_creation(b, a) } else { by_creation(a, b) };
            size(b).cmp(&size(a)).then(age)
        });
    }
    let mut added = 0;
    let mut shares = Vec::with_capacity(active.len());
    for rs in active {
        let gain = proportion(&rs, d, to_add, added);
        added += gain;
        let size = size(&rs) + gain;
        shares.push((rs, size));
    }
    if let Some((_, first)) = shares.first_mut().filter(|_| to_add != 0) {
        // In this order, as the sum of all that are asked for may be as large as a number can be.
        *first = (*first + (to_add - added)).max(0);
    }
    shares
}

/// The old ReplicaSets to delete: beyond the limit, lowest revisions first, if they are empty and known to be.
fn outdated(d: &Deployment, sets: &Sets) -> Vec<Arc<ReplicaSet>> {
    let limit = d.spec.as_ref().and_then(|spec| spec.revision_history_limit);
    let Some(limit) = limit.filter(|limit| *limit != i32::MAX) else { return Vec::new() };
    let mut old: Vec<_> = sets.old.iter().filter(|rs| rs.metadata.deletion_timestamp.is_none()).cloned().collect();
    let excess = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    old.sort_by(|a, b| by_revision(a, b));
    old.truncate(excess);
    old.retain(|rs| size(rs) == 0 && is_seen_empty(rs));
    old
}

fn is_seen_empty(rs: &ReplicaSet) -> bool {
    let status = rs.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation).unwrap_or(0);
    status.map_or(0, |status| status.replicas) == 0 && rs.metadata.generation.unwrap_or(0) <= observed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::revision::{DESIRED_REPLICAS, MAX_REPLICAS, REVISION};
    use serde_json::json;

    fn deployment(replicas: i32) -> Deployment {
        let rolling = json!({"maxSurge": 0, "maxUnavailable": 1});
        let spec = json!({"replicas": replicas, "revisionHistoryLimit": 2, "selector": {}, "template": {},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}});
        serde_json::from_value(json!({"spec": spec})).unwrap()
    }

    /// A ReplicaSet made for a Deployment of 10; its revision is its age.
    fn replica_set(revision: i64, replicas: i32) -> Arc<ReplicaSet> {
        let created = object::time::Instant(revision as u64 * 1_000_000_000).time();
        let annotations = json!({REVISION: revision.to_string(), DESIRED_REPLICAS: "10", MAX_REPLICAS: "10"});
        let metadata = json!({"name": format!("rs-{revision}"), "generation": 1, "annotations": annotations,
            "creationTimestamp": created});
        let status = json!({"replicas": replicas, "availableReplicas": replicas, "observedGeneration": 1});
        let rs = json!({"metadata": metadata, "spec": {"replicas": replicas, "selector": {}}, "status": status});
        Arc::new(serde_json::from_value(rs).unwrap())
    }

    fn sets(old: &[i32], new: Option<i32>) -> Sets {
        let old = (1..).zip(old).map(|(revision, size)| replica_set(revision, *size)).collect();
        Sets { new: new.map(|size| replica_set(100, size)), old }
    }

    #[test]
    fn shares_are_in_proportion() {
        // old sizes, new size, wanted -> size by name
        for (old, new, wanted, want) in [
            (vec![5], 5, 20, vec![("rs-100", 10), ("rs-1", 10)]),
            (vec![7], 3, 5, vec![("rs-1", 3), ("rs-100", 2)]),
            (vec![5], 5, 5, vec![("rs-1", 2), ("rs-100", 3)]),
            (vec![3, 3], 4, 12, vec![("rs-100", 5), ("rs-2", 4), ("rs-1", 3)]),
            (vec![5], 5, 0, vec![("rs-1", 0), ("rs-100", 0)]),
            (vec![1, 4], 5, 10, vec![("rs-2", 4), ("rs-1", 1), ("rs-100", 5)]),
            (vec![5], 5, i32::MAX, vec![("rs-100", 1_073_741_824), ("rs-1", 1_073_741_823)]),
        ] {
            let got = shares(&deployment(wanted), &sets(&old, Some(new)));
            let got: Vec<_> = got.iter().map(|(rs, size)| (rs.metadata.name.as_deref().unwrap(), *size)).collect();
            assert_eq!(got, want, "{old:?} {new} to {wanted}");
        }
    }

    #[test]
    fn the_only_active_one_takes_it_all() {
        for (old, new, want) in [
            (vec![0, 3], Some(0), Some("rs-2")),
            (vec![0, 0], Some(0), Some("rs-100")),
            (vec![0, 0], None, Some("rs-2")),
            (vec![1], Some(1), None),
            (vec![], None, None),
        ] {
            let got = active_or_latest(&sets(&old, new));
            assert_eq!(got.as_ref().and_then(|rs| rs.metadata.name.as_deref()), want, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_saturated_rollout_is_over() {
        assert!(is_saturated(&deployment(10), Some(&replica_set(100, 10))));
        assert!(!is_saturated(&deployment(10), Some(&replica_set(100, 9))));
        assert!(!is_saturated(&deployment(9), Some(&replica_set(100, 9))), "made for another size");
        assert!(!is_saturated(&deployment(10), None));
    }

    #[test]
    fn the_oldest_empty_ones_go() {
        for (old, want) in
            [(vec![0, 0], vec![]), (vec![0, 0, 0, 0], vec!["rs-1", "rs-2"]), (vec![0, 1, 0, 0], vec!["rs-1"])]
        {
            let got = outdated(&deployment(10), &sets(&old, Some(10)));
            let got: Vec<_> = got.iter().map(|rs| rs.metadata.name.as_deref().unwrap()).collect();
            assert_eq!(got, want, "{old:?}");
        }
    }
}

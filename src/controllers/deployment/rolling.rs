//! The rolling update: new Pods come as far as the surge allows, old ones go as far as availability allows.
//! Mirrors `pkg/controller/deployment/rolling.go`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use client::Error;
use object::Accessor;

use super::arithmetic::{
    available, max_replicas, max_scaled_down, min_available, new_replicas, size, unavailable, wanted,
};
use super::{Deployments, Sets, status};

/// The sizes that one reconcile gives to ReplicaSets.
pub struct Sizes {
    /// That of the new one.
    pub new: i32,
    /// Those of the old ones, in their order.
    pub old: Vec<i32>,
}

/// Works out how far a rolling update may go now, for a Deployment with these ReplicaSets and the new one among them.
pub type Arithmetic = dyn Fn(&Deployment, &Sets, &ReplicaSet) -> Sizes;

impl Deployments {
    /// One step of a rolling update: up, or else down, or else nothing but the status. Mirrors `rolloutRolling`.
    pub(super) async fn rollout_rolling(&self, d: &mut Deployment, owned: &[Arc<ReplicaSet>]) -> Result<(), Error> {
        let sets = self.sets(d, owned, true).await?;
        let Some(new) = &sets.new else { return Ok(()) };
        let scaled = match &self.sizes {
            None => self.scale_up_new(d, &sets, new).await? || self.scale_down_old(d, &sets, new).await,
            Some(sizes) => self.scale_to(d, &sets, new, sizes(d, &sets, new)).await?,
        };
        if !scaled && status::is_complete(d, &d.status.clone().unwrap_or_default()) {
            self.clean_up(d, &sets).await?;
        }
        self.sync_rollout_status(d, &sets).await
    }

    /// Gives ReplicaSets these sizes, and returns whether any of them had another. Old ones keep theirs while
    /// the status of one is older than its size, as in [`Deployments::clean_up_unhealthy`].
    async fn scale_to(&self, d: &Deployment, sets: &Sets, new: &Arc<ReplicaSet>, to: Sizes) -> Result<bool, Error> {
        let mut scaled = self.resize(d, new, to.new).await?.0;
        if sets.old.iter().any(|rs| size(rs) > 0 && unavailable(rs).is_none()) {
            return Ok(scaled);
        }
        for (rs, size) in sets.old.iter().zip(to.old) {
            scaled |= self.resize(d, rs, size).await?.0;
        }
        Ok(scaled)
    }

    /// Mirrors `reconcileNewReplicaSet`.
    async fn scale_up_new(&self, d: &Deployment, sets: &Sets, new: &Arc<ReplicaSet>) -> Result<bool, Error> {
        let target = if size(new) > wanted(d) {
            wanted(d)
        } else {
            new_replicas(wanted(d), max_replicas(d), sets.total_size(), size(new))
        };
        Ok(self.resize(d, new, target).await?.0)
    }

    /// Whether any old ReplicaSet was scaled down. If something fails, none counts as scaled: the next reconcile sees what
    /// became of it. Mirrors `reconcileOldReplicaSets`.
    async fn scale_down_old(&self, d: &Deployment, sets: &Sets, new: &Arc<ReplicaSet>) -> bool {
        let mut old: Vec<Arc<ReplicaSet>> = sets.old.iter().filter(|rs| size(rs) > 0).cloned().collect();
        if old.is_empty() {
            return false;
        }
        let room = max_scaled_down(sets.total_size(), min_available(d), size(new), available(new));
        if room <= 0 {
            return false;
        }
        let Ok(unhealthy) = self.clean_up_unhealthy(d, &mut old, room).await else { return false };
        let Ok(healthy) = self.scale_down_available(d, &old, new).await else { return false };
        unhealthy + healthy > 0
    }

    /// Pods that are not available go first: that costs no availability, and a broken rollout that is undone would
    /// wait for them for ever. Fails if a ReplicaSet's own controller has not yet counted the last scale-down:
    /// with the count from before it, old Pods would go twice. Mirrors `cleanupUnhealthyReplicas`.
    async fn clean_up_unhealthy(&self, d: &Deployment, old: &mut [Arc<ReplicaSet>], room: i32) -> Result<i32, Error> {
        let mut scaled_down = 0;
        for rs in old {
            if scaled_down >= room {
                break;
            }
            let name = rs.metadata.name();
            let unavailable = unavailable(rs).ok_or_else(|| Error::Other(format!("the status of {name} is old")))?;
            let less = (room - scaled_down).min(unavailable);
            if less > 0 {
                *rs = self.resize(d, rs, size(rs) - less).await?.1;
                scaled_down += less;
            }
        }
        Ok(scaled_down)
    }

    /// Mirrors `scaleDownOldReplicaSetsForRollingUpdate`.
    async fn scale_down_available(
        &self,
        d: &Deployment,
        old: &[Arc<ReplicaSet>],
        new: &ReplicaSet,
    ) -> Result<i32, Error> {
        let all_available = old.iter().map(|rs| available(rs)).sum::<i32>() + available(new);
        let room = all_available - min_available(d);
        let mut scaled_down = 0;
        for rs in old {
            let less = (room - scaled_down).min(size(rs));
            if less > 0 {
                self.resize(d, rs, size(rs) - less).await?;
                scaled_down += less;
            }
        }
        Ok(scaled_down)
    }
}

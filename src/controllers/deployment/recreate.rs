//! The strategy Recreate: never two versions at once. Mirrors `pkg/controller/deployment/recreate.go`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use crate::pods::{BY_CONTROLLER, owned_by};
use client::Error;
use object::pod::has_ended;

use super::arithmetic::{size, wanted};
use super::{Deployments, Sets, status};

impl Deployments {
    /// One step: old ReplicaSets to zero, wait for their Pods to end, then the new one at full size.
    /// Mirrors `rolloutRecreate`.
    pub(super) async fn rollout_recreate(&self, d: &mut Deployment, owned: &[Arc<ReplicaSet>]) -> Result<(), Error> {
        let mut sets = self.sets(d, owned, false).await?;
        if self.scale_down_all_old(d, &sets).await? || self.are_old_pods_running(&sets) {
            return self.sync_rollout_status(d, &sets).await;
        }
        if sets.new.is_none() {
            sets = self.sets(d, owned, true).await?;
        }
        if let Some(new) = &sets.new {
            self.resize(d, new, wanted(d)).await?;
        }
        if status::is_complete(d, &d.status.clone().unwrap_or_default()) {
            self.clean_up(d, &sets).await?;
        }
        self.sync_rollout_status(d, &sets).await
    }

    async fn scale_down_all_old(&self, d: &Deployment, sets: &Sets) -> Result<bool, Error> {
        let mut scaled = false;
        for rs in sets.old.iter().filter(|rs| size(rs) > 0) {
            scaled |= self.resize(d, rs, 0).await?.0;
        }
        Ok(scaled)
    }

    /// A Pod that is being deleted still runs until it has ended, so the ReplicaSets' counts are not enough.
    /// Mirrors `oldPodsRunning`.
    fn are_old_pods_running(&self, sets: &Sets) -> bool {
        let counted = |rs: &Arc<ReplicaSet>| rs.status.as_ref().is_some_and(|status| status.replicas > 0);
        let runs = |rs: &Arc<ReplicaSet>| {
            let pods = self.pods.by_index(BY_CONTROLLER, &owned_by(&**rs));
            pods.iter().any(|pod| !has_ended(pod))
        };
        sets.old.iter().any(counted) || sets.old.iter().any(runs)
    }
}

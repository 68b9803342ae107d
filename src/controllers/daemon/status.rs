//! What a DaemonSet's status says. Mirrors `updateDaemonSetStatus`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};

use crate::pods::{is_available, seconds};
use client::Error;
use object::pod::is_ready;
use object::{Accessor, Kind};

use super::nodes::{Fit, fit, is_updated};
use super::{DaemonSets, Sync};

/// A refused status write is tried again this often, from the newest version.
const STATUS_UPDATE_RETRIES: usize = 1;

impl DaemonSets {
    /// Counts, and writes the status if it says anything new. `acted` says whether the present generation was acted on.
    pub(super) async fn update_status(&self, context: &Sync, acted: bool) -> Result<(), Error> {
        let by_node = self.pods_by_node(context, false).await?;
        let (now, min_ready) = (self.client.now(), context.min_ready_seconds());
        let mut status = DaemonSetStatus::default();
        let (mut updated, mut available) = (0, 0);
        for node in &context.nodes {
            let pod = by_node.get(node.metadata.name()).and_then(|pods| pods.first());
            if fit(&context.set, node) != Fit::Run {
                status.number_misscheduled += i32::from(pod.is_some());
                continue;
            }
            status.desired_number_scheduled += 1;
            let Some(pod) = pod else { continue };
            status.current_number_scheduled += 1;
            status.number_ready += i32::from(is_ready(pod));
            available += i32::from(is_available(pod, min_ready, now));
            updated += i32::from(is_updated(pod, &context.set, &context.hash));
        }
        let nonzero = |count: i32| (count != 0).then_some(count);
        status.updated_number_scheduled = nonzero(updated);
        status.number_available = nonzero(available);
        status.number_unavailable = nonzero(status.desired_number_scheduled - available);
        let ready = status.number_ready;
        self.store_status(context, status, acted).await?;
        // A Pod becomes available by the mere passing of time, which no watch tells.
        if min_ready > 0 && ready != available {
            self.queue.add_after(context.key.clone(), seconds(min_ready));
        }
        Ok(())
    }

    /// Mirrors `storeDaemonSetStatus`.
    async fn store_status(&self, context: &Sync, counts: DaemonSetStatus, acted: bool) -> Result<(), Error> {
        let generation = context.set.metadata.generation;
        let mut newest: Arc<DaemonSet> = context.set.clone();
        let mut retries = 0;
        loop {
            let old = newest.status.clone().unwrap_or_default();
            let status = DaemonSetStatus {
                observed_generation: if acted { generation } else { old.observed_generation },
                collision_count: old.collision_count,
                conditions: old.conditions.clone(),
                ..counts.clone()
            };
            // Where a generation has not been acted on yet the status is written even if it says nothing new.
            let is_observed = old.observed_generation.unwrap_or(0) >= generation.unwrap_or(0);
            if retries == 0 && status == old && is_observed {
                return Ok(());
            }
            match self.client.update_status(DaemonSet { status: Some(status), ..DaemonSet::clone(&newest) }).await {
                Ok(updated) => {
                    let version = updated.metadata.resource_version.as_deref();
                    self.consistency.wrote(&context.key, Kind::DaemonSet, version);
                    return Ok(());
                }
                Err(status) if retries == STATUS_UPDATE_RETRIES => return Err(status.into()),
                Err(_) => retries += 1,
            }
            newest = self.client.get(context.key.namespace(), context.key.name()).await?;
        }
    }
}

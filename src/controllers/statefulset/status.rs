//! What a StatefulSet's status says. Mirrors `updateStatus`, `completeRollingUpdate` and `inconsistentStatus`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};

use crate::pods::is_available;
use client::Error;
use object::pod::{is_ready, phase};
use object::{Kind, Pod};

use super::identity::revision_of;
use super::revisions::{History, name_of};
use super::{StatefulSets, Sync};

/// A status write that was made from an old version is tried again this often, so long after it. Mirrors
/// `retry.DefaultRetry`.
const STATUS_UPDATE_RETRIES: usize = 4;
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// Whether the Pod's containers run and are ready.
pub(super) fn is_running_and_ready(pod: &Pod) -> bool {
    phase(pod) == "Running" && is_ready(pod)
}

/// Whether the Pod is being deleted. Mirrors `isTerminating` of this controller, which includes a Pod that has ended.
pub(super) fn is_leaving(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

impl StatefulSets {
    /// Counts what is there.
    pub(super) fn survey(&self, context: &Sync, history: &History) -> StatefulSetStatus {
        let (now, min_ready) = (context.now, context.min_ready_seconds());
        let (mut ready, mut available, mut current, mut updated) = (0, 0, 0, 0);
        let created = context.pods.values().filter(|pod| !phase(pod).is_empty());
        for pod in created.clone() {
            let runs = is_running_and_ready(pod);
            ready += i32::from(runs);
            available += i32::from(runs && is_available(pod, min_ready, now));
            let stays = !is_leaving(pod);
            current += i32::from(stays && revision_of(pod) == name_of(&history.current));
            updated += i32::from(stays && revision_of(pod) == name_of(&history.update));
        }
        let nonzero = |count: i32| (count != 0).then_some(count);
        StatefulSetStatus {
            observed_generation: context.set.metadata.generation,
            replicas: created.count() as i32,
            ready_replicas: nonzero(ready),
            // Go prints this count even when it is zero.
            available_replicas: Some(available),
            current_replicas: nonzero(current),
            updated_replicas: nonzero(updated),
            current_revision: Some(name_of(&history.current).to_owned()),
            update_revision: Some(name_of(&history.update).to_owned()),
            collision_count: Some(history.collisions),
            conditions: None,
        }
    }

    /// Writes the status if it says anything new. When all Pods are of the update revision and ready, that is the current
    /// one from now on.
    pub(super) async fn store_status(&self, context: &Sync, mut status: StatefulSetStatus) -> Result<(), Error> {
        complete(&mut status, context);
        let old = context.set.status.clone().unwrap_or_default();
        let told = |status: &StatefulSetStatus| StatefulSetStatus { collision_count: None, ..status.clone() };
        if told(&old) == told(&status) {
            return Ok(());
        }
        let mut newest: Arc<StatefulSet> = context.set.clone();
        let mut retries = 0;
        loop {
            let update = StatefulSet { status: Some(status.clone()), ..StatefulSet::clone(&newest) };
            match self.client.update_status(update).await {
                Ok(updated) => {
                    let version = updated.metadata.resource_version.as_deref();
                    self.consistency.wrote(&context.key, Kind::StatefulSet, version);
                    return Ok(());
                }
                Err(status) if retries == STATUS_UPDATE_RETRIES || !status.is_conflict() => return Err(status.into()),
                Err(_) => retries += 1,
            }
            self.client.sleep(RETRY_PAUSE).await;
            newest = self.sets.get(&context.key).unwrap_or(newest);
        }
    }
}

fn complete(status: &mut StatefulSetStatus, context: &Sync) {
    let strategy = context.spec.update_strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
    let wanted = context.spec.replicas.unwrap_or(1);
    let all = |count: Option<i32>| count.unwrap_or(0) == wanted;
    if strategy == Some("RollingUpdate")
        && all(status.updated_replicas)
        && all(status.ready_replicas)
        && status.replicas == wanted
    {
        status.current_replicas = status.updated_replicas;
        status.current_revision.clone_from(&status.update_revision);
    }
}

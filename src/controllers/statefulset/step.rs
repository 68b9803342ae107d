//! One step towards what is asked for. Mirrors `updateStatefulSet` of `stateful_set_control.go`.

use std::future::Future;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSetStatus;

use crate::pods::{is_available, slow_start};
use client::Error;
use object::Pod;
use object::pod::{has_ended, phase};

use super::identity::{new_pod, ordinals, revision_of};
use super::revisions::{History, name_of};
use super::status::{is_leaving, is_running_and_ready};
use super::{StatefulSets, Sync};

/// Whether there may be more to do in this reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

impl StatefulSets {
    /// Makes, deletes or replaces: one Pod if in order, else as many as there are.
    pub(super) async fn step(
        &self,
        context: &Sync,
        history: &History,
        status: &mut StatefulSetStatus,
    ) -> Result<(), Error> {
        if context.set.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let wanted = ordinals(&context.spec);
        let replica = |ordinal| self.replica(context, history, ordinal);
        if for_all(context, wanted.clone(), replica).await? == Next::Stop {
            return Ok(());
        }
        let condemned = context.pods.iter().rev().filter(|(ordinal, _)| !wanted.contains(ordinal));
        let keep_claims = |(ordinal, pod): (&i32, &'_ Arc<Pod>)| {
            let (ordinal, pod) = (*ordinal, pod.clone());
            async move {
                if !self.claims_in_line(context, ordinal, &pod) {
                    self.keep_claims_in_line(context, ordinal, &pod).await?;
                }
                Ok(Next::GoOn)
            }
        };
        for_all(context, condemned.clone(), keep_claims).await?;
        let first_unhealthy = self.first_unhealthy(context);
        let condemn = |(_, pod)| self.condemn(context, pod, first_unhealthy);
        if for_all(context, condemned, condemn).await? == Next::Stop {
            return Ok(());
        }
        self.roll(context, history, status).await
    }

    fn is_available(&self, context: &Sync, pod: &Pod) -> bool {
        is_running_and_ready(pod) && is_available(pod, context.min_ready_seconds(), context.now)
    }

    /// A Pod that is wanted: made if it is missing, waited for, mended. Mirrors `processReplica`.
    async fn replica(&self, context: &Sync, history: &History, ordinal: i32) -> Result<Next, Error> {
        let Some(pod) = context.pods.get(&ordinal) else {
            let (spec, revision) = history.version_for(context, ordinal);
            let pod = new_pod(&context.set, &spec, ordinal, &revision);
            if self.are_claims_left_over(context, ordinal, &pod) {
                return Ok(Next::Stop);
            }
            self.create_pod(context, ordinal, pod).await?;
            return Ok(Next::Stop);
        };
        if has_ended(pod) {
            if !is_leaving(pod) {
                self.delete_pod(context, pod).await?;
            }
            // The next one is made when this one is gone.
            return Ok(Next::Stop);
        }
        if phase(pod) == "Pending" {
            self.create_missing_claims(context, ordinal, pod).await?;
        }
        if context.is_ordered() && (is_leaving(pod) || !self.is_available(context, pod)) {
            return Ok(Next::Stop);
        }
        self.mend_pod(context, ordinal, pod).await?;
        Ok(Next::GoOn)
    }

    /// The Pod of the lowest number that is not available: when Pods are deleted in order it may go though it is not.
    fn first_unhealthy<'a>(&self, context: &'a Sync) -> Option<&'a Arc<Pod>> {
        let wanted = ordinals(&context.spec);
        // One that is wanted and missing comes before any that is there.
        if wanted.clone().any(|ordinal| !context.pods.contains_key(&ordinal)) {
            return None;
        }
        let unhealthy = |pod: &&Arc<Pod>| is_leaving(pod) || !self.is_available(context, pod);
        let inside = wanted.filter_map(|ordinal| context.pods.get(&ordinal));
        let outside = context.pods.iter().filter(|(ordinal, _)| !ordinals(&context.spec).contains(ordinal));
        inside.chain(outside.map(|(_, pod)| pod)).find(unhealthy)
    }

    /// A Pod that is not wanted goes. Mirrors `processCondemned`.
    async fn condemn(&self, context: &Sync, pod: &Arc<Pod>, first_unhealthy: Option<&Arc<Pod>>) -> Result<Next, Error> {
        if is_leaving(pod) {
            return Ok(Next::Stop);
        }
        let is_first = first_unhealthy.is_some_and(|first| Arc::ptr_eq(first, pod));
        if context.is_ordered() && !self.is_available(context, pod) && !is_first {
            return Ok(Next::Stop);
        }
        self.delete_pod(context, pod).await?;
        Ok(Next::Stop)
    }

    /// From the highest number down to the partition: a Pod of another revision goes, when all above it are available.
    async fn roll(&self, context: &Sync, history: &History, status: &mut StatefulSetStatus) -> Result<(), Error> {
        let strategy = context.spec.update_strategy.clone().unwrap_or_default();
        if strategy.type_.as_deref() == Some("OnDelete") {
            return Ok(());
        }
        let wanted = ordinals(&context.spec);
        let partition = strategy.rolling_update.and_then(|rolling| rolling.partition).unwrap_or(0);
        for ordinal in (wanted.start.saturating_add(partition)..wanted.end).rev() {
            // One that was made in this reconcile is not available yet.
            let Some(pod) = context.pods.get(&ordinal) else { return Ok(()) };
            if revision_of(pod) != name_of(&history.update) && !is_leaving(pod) {
                self.delete_pod(context, pod).await?;
                // Be it of the current revision or of one between: in Kubernetes too the count may so come to -1, and
                // the API server refuses such a status.
                status.current_replicas = Some(status.current_replicas.unwrap_or(0) - 1).filter(|count| *count != 0);
                return Ok(());
            }
            if is_leaving(pod) || !self.is_available(context, pod) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// One after another until one says to stop; or, where nothing waits for another, all of them in growing batches.
/// Mirrors `runForAll`.
async fn for_all<T, F>(
    context: &Sync,
    mut items: impl Iterator<Item = T> + Clone,
    work: impl Fn(T) -> F,
) -> Result<Next, Error>
where
    F: Future<Output = Result<Next, Error>>,
{
    if context.is_ordered() {
        for item in items {
            if work(item).await? == Next::Stop {
                return Ok(Next::Stop);
            }
        }
        return Ok(Next::GoOn);
    }
    let count = items.clone().count();
    let start = || {
        let work = items.next().map(&work);
        async move {
            match work {
                Some(work) => work.await.map(drop),
                None => Ok(()),
            }
        }
    };
    slow_start(count, start).await.1?;
    Ok(Next::GoOn)
}

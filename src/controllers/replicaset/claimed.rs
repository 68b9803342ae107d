//! The Pods of one ReplicaSet, claimed and counted: what the original has as `activePods` and `terminatingPods`.
//!
//! Mirrors `FilterPodsByOwner`, `FilterActivePods` and `claimPods`. The original walks through the Pods whenever it needs a
//! count. Here the counts come from the [census](super::census), and the Pods themselves are listed only where each one
//! matters: to choose victims, and to see since when each is ready.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::claim::Claimer;
use crate::pods::{self, BY_CONTROLLER, orphans_of, owned_by};
use client::Error;
use object::selector::{Labels, Selector};
use object::time::Instant;
use object::{Key, Kind, Pod};

use super::ReplicaSets;
use super::census::Counts;
use super::replicated::Replicated;

/// A ReplicaSet's Pods as they were when it had claimed them, at the beginning of a reconcile.
#[derive(Clone, Debug, Default)]
pub struct ClaimedPods {
    /// How many count as replicas, are ready, are on their way out.
    pub counts: Counts,
    /// Those that count as replicas and have all labels of the template.
    pub fully_labeled: i32,
    /// Those that this reconcile adopted. They may be missing in the cache's index of owners.
    pub(super) adopted: Vec<Arc<Pod>>,
    /// Those that count as replicas, one by one, where it takes time to become available.
    pub(super) waiting: Vec<Arc<Pod>>,
}

impl ClaimedPods {
    /// How many are available: ready for `min_ready_seconds`.
    pub fn available(&self, min_ready_seconds: i32, now: Instant) -> i32 {
        if min_ready_seconds == 0 {
            return self.counts.ready;
        }
        self.waiting.iter().filter(|pod| pods::is_available(pod, min_ready_seconds, now)).count() as i32
    }

    fn add(&mut self, counts: Counts, fully_labeled: bool) {
        self.counts.add(counts, 1);
        if fully_labeled {
            self.fully_labeled += counts.active;
        }
    }
}

impl<T: Replicated> ReplicaSets<T> {
    /// Adopts and releases Pods, and counts the ReplicaSet's own.
    pub(super) async fn claim_pods(&self, key: &Key, rs: &T, selector: &Selector) -> Result<ClaimedPods, Error> {
        let selected = |labels: &Labels| selector.matches(Some(labels));
        let groups = self.census.owned_by(rs.metadata().uid.as_deref());
        let mut candidates = Vec::new();
        if groups.iter().any(|(labels, _)| !selected(labels)) {
            candidates = self.pods.by_index(BY_CONTROLLER, &owned_by(rs));
            candidates.retain(|pod| !selector.matches(pod.metadata.labels.as_ref()));
        }
        candidates.extend(self.pods.by_index(BY_CONTROLLER, &orphans_of(key.namespace())));
        candidates.retain(|pod| pods::is_active(pod));
        let mut waiting = if rs.min_ready_seconds() > 0 { self.cached_pods(rs, selector) } else { Vec::new() };

        let patched = |version: Option<&str>| self.wrote(key, Kind::Pod, version);
        let claimer = Claimer { client: &self.client, owner: rs, selector, finalizers: &[], patched: &patched };
        let adopted = claimer.claim_by(candidates, |pod| (self.rule)(rs, selector, pod)).await?;
        if rs.min_ready_seconds() > 0 {
            waiting.extend(adopted.iter().cloned());
        }

        let template = template_labels(rs.template());
        let mut claimed = ClaimedPods { waiting, ..ClaimedPods::default() };
        for (labels, counts) in groups.iter().filter(|(labels, _)| selected(labels)) {
            claimed.add(*counts, template.matches(Some(labels)));
        }
        for pod in &adopted {
            claimed.add(Counts::of(pod), template.matches(pod.metadata.labels.as_ref()));
        }
        Ok(ClaimedPods { adopted, ..claimed })
    }

    /// The Pods that count as replicas, one by one: those in the cache, and those just adopted.
    pub(super) fn active_pods(&self, rs: &T, selector: &Selector, claimed: &ClaimedPods) -> Vec<Arc<Pod>> {
        let mut active = self.cached_pods(rs, selector);
        let cached = keys_of(&active);
        let is_new = |pod: &&Arc<Pod>| !cached.contains(&Key::of_meta(&pod.metadata));
        active.extend(claimed.adopted.iter().filter(is_new).cloned());
        active
    }

    fn cached_pods(&self, rs: &T, selector: &Selector) -> Vec<Arc<Pod>> {
        let mut owned = self.pods.by_index(BY_CONTROLLER, &owned_by(rs));
        owned.retain(|pod| pods::is_active(pod) && selector.matches(pod.metadata.labels.as_ref()));
        owned
    }
}

/// `namespace/name` of each Pod.
pub fn keys_of(pods: &[Arc<Pod>]) -> BTreeSet<Key> {
    pods.iter().map(|pod| Key::of_meta(&pod.metadata)).collect()
}

/// Selects Pods with all labels of the template.
fn template_labels(template: Option<&PodTemplateSpec>) -> Selector {
    let labels = template.and_then(|template| template.metadata.as_ref()?.labels.as_ref());
    labels.map_or_else(Selector::everything, Selector::of_labels)
}

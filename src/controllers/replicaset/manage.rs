//! Creating what is missing and deleting what is too much. Mirrors `manageReplicas`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::pods::{BY_CONTROLLER, slow_start};
use crate::service_pods::selected;
use client::{Error, join_all};
use object::meta::{controller_of, controller_ref};
use object::selector::Selector;
use object::{Accessor, Key, Kind, Pod};

use super::ReplicaSets;
use super::claimed::{ClaimedPods, keys_of};
use super::rank::{Related, victims};
use super::replicated::Replicated;

/// At most so many Pods are created or deleted in one reconcile.
const BURST_REPLICAS: usize = 500;

/// Where the index has the objects that the same controller owns, if one owns the ReplicaSet with this metadata.
fn siblings_of(rs: &ObjectMeta) -> Option<String> {
    let owner = controller_of(rs)?;
    let namespace = rs.namespace.as_deref().unwrap_or_default();
    Some(format!("{namespace}/{}/{}/{}", owner.kind, owner.name, owner.uid))
}

impl<T: Replicated> ReplicaSets<T> {
    /// One step towards `spec.replicas`.
    pub(super) async fn manage_replicas(
        &self,
        key: &Key,
        rs: &T,
        selector: &Selector,
        claimed: &ClaimedPods,
    ) -> Result<(), Error> {
        let missing = rs.replicas() - claimed.counts.active;
        let count = BURST_REPLICAS.min(missing.unsigned_abs() as usize);
        match missing {
            0 => Ok(()),
            1.. => self.create_pods(key, rs, count).await,
            _ => {
                let active = self.active_pods(rs, selector, claimed);
                self.delete_pods(key, rs, &active, count).await
            }
        }
    }

    async fn create_pods(&self, key: &Key, rs: &T, count: usize) -> Result<(), Error> {
        let no_template = PodTemplateSpec::default();
        let template = rs.template().unwrap_or(&no_template);
        self.expectations.expect_creations(key, count, self.client.now());
        let create = || async {
            match self.pod_control.create(rs, template, controller_ref(rs)).await {
                Ok(pod) => self.wrote(key, Kind::Pod, pod.metadata.resource_version.as_deref()),
                // No creation can succeed here any more, and the ReplicaSet is about to go: not an error. The
                // expectation stays open, so that nothing more is tried.
                Err(Error::Api(status)) if status.is_namespace_terminating() => {}
                Err(error) => return Err(error),
            }
            Ok(())
        };
        let (successes, result) = slow_start(count, create).await;
        // What failed or was not tried will bring no event.
        for _ in successes..count {
            self.expectations.creation_observed(key);
        }
        result
    }

    async fn delete_pods(&self, key: &Key, rs: &T, active: &[Arc<Pod>], count: usize) -> Result<(), Error> {
        let related = self.related_pods(rs);
        let victims = victims(active, &Related::new(&related), count, self.client.now());
        self.expectations.expect_deletions_of(key, keys_of(&victims), self.client.now());
        let delete = |pod: &Arc<Pod>| {
            let pod = pod.clone();
            async move {
                let result = self.pod_control.delete(rs, &pod).await;
                if result.is_err() {
                    self.expectations.deletion_of_observed(key, &Key::of_meta(&pod.metadata));
                }
                match result {
                    Err(Error::Api(status)) if status.is_not_found() => Ok(()),
                    result => result,
                }
            }
        };
        let results = join_all(victims.iter().map(delete).collect()).await;
        results.into_iter().find(Result::is_err).unwrap_or(Ok(()))
    }

    /// The Pods that all ReplicaSets of the same Deployment select, whosever they are. Mirrors `getIndirectlyRelatedPods`.
    fn related_pods(&self, rs: &T) -> Vec<Arc<Pod>> {
        let Some(siblings) = siblings_of(rs.metadata()) else { return Vec::new() };
        let namespace = rs.metadata().namespace();
        let selectors = self.replica_sets.by_index(BY_CONTROLLER, &siblings).into_iter();
        let pods = selectors.filter_map(|sibling| sibling.selector().ok()).flat_map(|selector| {
            selected(&self.pods, namespace, &selector).into_iter().map(|pod| (Key::of_meta(&pod.metadata), pod))
        });
        pods.collect::<BTreeMap<_, _>>().into_values().collect()
    }
}

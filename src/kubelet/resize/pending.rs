//! What is known of a pod that is being made larger or smaller.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ResourceRequirements;

use super::size::each_container;
use object::Pod;
use object::pod::status::PodCondition;

/// What is known of a pod whose containers are not all as large as is asked for.
#[derive(Clone, Debug, Default)]
pub struct Resize {
    /// The pod as it is asked for, if that could not be allocated yet.
    pub(super) wanted: Option<Arc<Pod>>,
    /// What running containers have, by name, where it is not what is allocated.
    pub(super) actual: BTreeMap<String, ResourceRequirements>,
    /// Why it waits.
    pub(super) pending: Option<PodCondition>,
    /// It is allocated, and not all containers have it.
    pub(super) in_progress: Option<PodCondition>,
}

impl Resize {
    /// What the status says of it.
    pub fn conditions(&self) -> impl Iterator<Item = PodCondition> + '_ {
        self.pending.iter().chain(&self.in_progress).cloned()
    }

    /// The size of a running container, if it is not the one that is allocated.
    pub fn actual(&self, container: &str) -> Option<&ResourceRequirements> {
        self.actual.get(container)
    }

    /// The pod as large as its containers are.
    pub fn actual_pod(&self, allocated: &Pod) -> Pod {
        let mut pod = allocated.clone();
        each_container(&mut pod, |container| {
            if let Some(actual) = self.actual.get(&container.name) {
                container.resources = Some(actual.clone());
            }
        });
        pod
    }

    pub(super) fn is_over(&self) -> bool {
        self.wanted.is_none() && self.actual.is_empty() && self.pending.is_none() && self.in_progress.is_none()
    }
}

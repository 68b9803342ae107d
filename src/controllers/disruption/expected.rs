//! How many Pods a budget is about, and how many of them must stay healthy.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::ReplicationController;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::pods::resolve;
use client::Error;
use object::meta::controller_of;
use object::share::scaled;
use object::{Accessor, Discovery, Key, Kind, Object, Pod, Resource};

use super::Disruptions;

/// What a budget asks of its Pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// How many there should be.
    pub pods: i32,
    /// How many must be healthy.
    pub desired: i32,
    /// Some have no controller, and so were not counted.
    pub unmanaged: bool,
}

/// How many Pods a controller asks for, and which controller it is: the uid.
type Scale = (String, i32);

impl Disruptions {
    /// Mirrors `getExpectedPodCount`.
    pub(super) async fn expected(&self, budget: &PodDisruptionBudget, pods: &[Arc<Pod>]) -> Result<Expected, Error> {
        let spec = budget.spec.as_ref();
        let [max, min] = [spec.and_then(|s| s.max_unavailable.as_ref()), spec.and_then(|s| s.min_available.as_ref())];
        if let (None, None | Some(IntOrString::Int(_))) = (max, min) {
            let pods = if min.is_some() { pods.len() as i32 } else { 0 };
            return Ok(Expected { pods, desired: desired(max, min, pods), unmanaged: false });
        }
        let (scale, unmanaged) = self.expected_scale(pods).await?;
        Ok(Expected { pods: scale, desired: desired(max, min, scale), unmanaged })
    }

    /// The sum of what the Pods' controllers ask for, each counted once; and whether a Pod has none. Mirrors
    /// `getExpectedScale`.
    async fn expected_scale(&self, pods: &[Arc<Pod>]) -> Result<(i32, bool), Error> {
        let mut scales: BTreeMap<String, i32> = BTreeMap::new();
        let mut seen: Vec<&str> = Vec::new();
        let mut unmanaged = false;
        for pod in pods {
            let Some(owner) = controller_of(&pod.metadata) else {
                unmanaged = true;
                continue;
            };
            // The Pods of one ReplicaSet stand next to each other, as a rule: names have its name in front.
            if seen.contains(&owner.uid.as_str()) {
                continue;
            }
            seen.push(&owner.uid);
            let Some((uid, replicas)) = self.scale_of(pod, owner).await? else {
                let name = pod.metadata.name();
                return Err(Error::Other(format!("found no controllers for pod {name:?}")));
            };
            scales.insert(uid, replicas);
        }
        Ok((scales.into_values().fold(0, i32::saturating_add), unmanaged))
    }

    /// What asks for this Pod, and how many like it. Whom this controller does not know, or has not heard of (yet, or
    /// any more), is asked. Mirrors `finders`.
    async fn scale_of(&self, pod: &Pod, owner: &OwnerReference) -> Result<Option<Scale>, Error> {
        match self.known_scale(pod, owner) {
            Some(scale) => Ok(Some(scale)),
            None => self.ask_for_scale(pod, owner).await,
        }
    }

    /// What the informers tell. A ReplicaSet of a Deployment does not count, but the Deployment does: in a rollout it
    /// has two.
    fn known_scale(&self, pod: &Pod, owner: &OwnerReference) -> Option<Scale> {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        let asked_for = match (group, owner.kind.as_str()) {
            ("", "ReplicationController") => {
                let known = &self.owners.replication_controllers;
                resolve::<ReplicationController>(known, &pod.metadata, owner)?.spec.as_ref()?.replicas
            }
            ("apps", "ReplicaSet") => {
                let set = resolve::<ReplicaSet>(&self.owners.replica_sets, &pod.metadata, owner)?;
                return self.scale_of_replica_set(&set);
            }
            ("apps", "StatefulSet") => {
                let known = &self.owners.stateful_sets;
                resolve::<StatefulSet>(known, &pod.metadata, owner)?.spec.as_ref()?.replicas
            }
            _ => return None,
        };
        Some((owner.uid.clone(), replicas(asked_for)))
    }

    /// Mirrors `getPodDeployment` and `getPodReplicaSet`.
    fn scale_of_replica_set(&self, set: &ReplicaSet) -> Option<Scale> {
        let deployment = controller_of(&set.metadata).filter(|owner| owner.kind == Kind::Deployment.info().kind);
        let Some(owner) = deployment else {
            let uid = set.metadata.uid.clone().unwrap_or_default();
            return Some((uid, replicas(set.spec.as_ref().and_then(|spec| spec.replicas))));
        };
        let deployment = resolve::<Deployment>(&self.owners.deployments, &set.metadata, owner)?;
        Some((owner.uid.clone(), replicas(deployment.spec.as_ref().and_then(|spec| spec.replicas))))
    }

    /// The number comes from the owner's `scale`, if its kind has one. Mirrors `getScaleController`.
    async fn ask_for_scale(&self, pod: &Pod, owner: &OwnerReference) -> Result<Option<Scale>, Error> {
        let definitions: Vec<Object> = self.owners.definitions.list().into_iter().map(Resource::into_object).collect();
        let Some(kind) = Discovery::of(&definitions).from_manifest(&owner.api_version, &owner.kind) else {
            let (kind, version) = (&owner.kind, &owner.api_version);
            return Err(Error::Other(format!("no matches for kind {kind:?} in version {version:?}")));
        };
        let namespace = pod.metadata.namespace();
        match self.client.get_scale(kind, namespace, &owner.name).await {
            Ok(scale) if scale.metadata.uid.as_ref() != Some(&owner.uid) => Ok(None),
            Ok(scale) => Ok(Some((owner.uid.clone(), scale.spec.and_then(|spec| spec.replicas).unwrap_or(0)))),
            // Either there is no such object, or its kind has no scale.
            Err(status) if status.is_not_found() && self.has_scale(kind) => Ok(None),
            Err(status) if status.is_not_found() => {
                let resource = kind.info().qualified_plural();
                Err(Error::Other(format!("{resource} does not implement the scale subresource")))
            }
            Err(status) => Err(status.into()),
        }
    }
}

impl Disruptions {
    /// Whether objects of a kind can be asked how many Pods they ask for: of those that users have defined the
    /// definition says it. Mirrors `implementsScale`.
    fn has_scale(&self, kind: Kind) -> bool {
        use Kind::{Deployment, ReplicaSet, ReplicationController, StatefulSet};
        if matches!(kind, Deployment | ReplicaSet | ReplicationController | StatefulSet) {
            return true;
        }
        let info = kind.info();
        let definition = self.owners.definitions.get(&Key::new("", &info.qualified_plural()));
        let versions = definition.iter().flat_map(|definition| &definition.spec.versions);
        let of_kind = |version: &&CustomResourceDefinitionVersion| version.name == info.version;
        { versions }.find(of_kind).and_then(|version| version.subresources.as_ref()?.scale.as_ref()).is_some()
    }
}

/// Objects that were stored have a count.
fn replicas(count: Option<i32>) -> i32 {
    count.unwrap_or(1)
}

/// How many of `pods` must be healthy. A share is rounded up, of those that may be missing too.
fn desired(max_unavailable: Option<&IntOrString>, min_available: Option<&IntOrString>, pods: i32) -> i32 {
    match max_unavailable {
        Some(max) => (pods - scaled(Some(max), pods, true)).max(0),
        None => scaled(min_available, pods, true),
    }
}

/// The message for a budget that also selects Pods without a controller.
pub(super) fn unmanaged_text(budget: &PodDisruptionBudget) -> String {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let labels = selector.and_then(|selector| selector.match_labels.as_ref());
    let labels: Vec<String> = labels.into_iter().flatten().map(|(key, value)| format!("{key}: {value},")).collect();
    let shown = format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{}},}}",
        labels.join("")
    );
    format!(
        "Pods selected by this PodDisruptionBudget (selector: {shown}) were found to be unmanaged. As a result, the status \
         of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods \
         please set \".spec.minAvailable\" field of the PDB to an integer value."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up() {
        let amount = |text: &str| -> IntOrString {
            text.parse().map_or_else(|_| IntOrString::String(text.into()), IntOrString::Int)
        };
        for (max, min, pods, want) in [
            ("", "2", 3, 2),
            ("", "5", 3, 5),
            ("", "50%", 7, 4),
            ("", "100%", 3, 3),
            ("1", "", 3, 2),
            ("5", "", 3, 0),
            ("30%", "", 7, 4),
            ("0%", "", 7, 7),
            ("", "", 0, 0),
        ] {
            let given = |text: &str| (!text.is_empty()).then(|| amount(text));
            let (max_given, min_given) = (given(max), given(min));
            assert_eq!(desired(max_given.as_ref(), min_given.as_ref(), pods), want, "{max:?} {min:?} of {pods}");
        }
    }
}

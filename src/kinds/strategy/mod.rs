//! What each kind's strategy does to an object between admission and validation.
//!
//! Mirrors `pkg/registry/*/strategy.go`: what a client may not set is reset or kept, and `metadata.generation` counts
//! the versions of what is asked for.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::{
    Container, Namespace, NamespaceStatus, PersistentVolume, PersistentVolumeClaimStatus, PersistentVolumeStatus,
};
use k8s_openapi::api::networking::v1::IngressStatus;
use k8s_openapi::api::policy::v1::PodDisruptionBudgetStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::object::pod::status::{PodCondition, PodStatus};
use crate::object::pod::{Spec, qos_class};
use crate::object::time::Instant;
use crate::object::well_known::KUBERNETES;
use crate::object::{Object, Pod};

use super::defaults::NAME_LABEL;
use crate::apiserver::apiextensions::{Version, definition};

mod disabled;
mod generation;
pub mod job;
mod kinds;
mod label_keys;
mod pod_status;
mod status;

pub use kinds::{
    allow_create_on_update, allow_unconditional_update, has_spec_finalizers, is_graceful, orphans_by_default,
    outlives_first_delete, returns_object_on_delete,
};
pub use status::has_status;
use status::keep;

/// Before a create: the status is the server's, the generation 1.
pub fn prepare_for_create(object: &mut Object, custom: Option<&Version>, now: Instant) {
    disabled::drop_fields(object);
    // Of a kind that is not counted, nobody asks where the number comes from.
    if generation::is_counted(object.kind()) {
        object.meta_mut().generation = Some(1);
    }
    match object {
        Object::Pod(pod) => {
            let pod = Arc::make_mut(pod);
            pod.status = Some(new_pod_status(pod, now).into());
            label_keys::merge_into_selectors(pod);
        }
        Object::Deployment(deployment) => Arc::make_mut(deployment).status = Some(Default::default()),
        Object::ReplicaSet(set) => Arc::make_mut(set).status = Some(Default::default()),
        Object::ReplicationController(controller) => Arc::make_mut(controller).status = Some(Default::default()),
        Object::DaemonSet(set) => {
            let set = Arc::make_mut(set);
            set.status = Some(Default::default());
            number_template(set, template_generation(set).max(1));
        }
        Object::StatefulSet(set) => {
            let set = Arc::make_mut(set);
            // Go prints this count even when it is zero.
            set.status = Some(StatefulSetStatus { available_replicas: Some(0), ..Default::default() });
            drop_max_unavailable(set);
        }
        Object::Job(job) => {
            let job = Arc::make_mut(job);
            job.status = Some(Default::default());
            job::generate_selector(job);
        }
        Object::CronJob(job) => Arc::make_mut(job).status = Some(Default::default()),
        Object::ResourceQuota(quota) => Arc::make_mut(quota).status = Some(Default::default()),
        Object::Ingress(ingress) => {
            Arc::make_mut(ingress).status = Some(IngressStatus { load_balancer: Some(Default::default()) });
        }
        Object::PodDisruptionBudget(budget) => Arc::make_mut(budget).status = Some(uncounted()),
        Object::HorizontalPodAutoscaler(hpa) => Arc::make_mut(hpa).status = Some(Default::default()),
        Object::Namespace(namespace) => prepare_namespace(Arc::make_mut(namespace)),
        Object::PersistentVolume(volume) => {
            let (phase, since) = (Some("Pending".into()), Some(now.time()));
            let status = PersistentVolumeStatus { phase, last_phase_transition_time: since, ..Default::default() };
            Arc::make_mut(volume).status = Some(status);
        }
        Object::PersistentVolumeClaim(claim) => {
            let status = PersistentVolumeClaimStatus { phase: Some("Pending".into()), ..Default::default() };
            Arc::make_mut(claim).status = Some(status);
        }
        Object::VolumeAttachment(attachment) => Arc::make_mut(attachment).status = Some(Default::default()),
        Object::ServiceCIDR(range) => Arc::make_mut(range).status = None,
        Object::ValidatingAdmissionPolicy(policy) => Arc::make_mut(policy).status = Some(Default::default()),
        Object::CustomResourceDefinition(defined) => definition::prepare_for_create(Arc::make_mut(defined)),
        Object::Custom(object) => {
            if let Some(version) = custom {
                version.prepare_for_create(Arc::make_mut(object));
            }
        }
        _ => {}
    }
}

fn prepare_namespace(namespace: &mut Namespace) {
    namespace.status = Some(NamespaceStatus { phase: Some("Active".into()), ..Default::default() });
    let finalizers = namespace.spec.get_or_insert_default().finalizers.get_or_insert_default();
    if !finalizers.iter().any(|f| f == KUBERNETES) {
        finalizers.push(KUBERNETES.into());
    }
    // Defaults could not know a name that was only just made up.
    let name = namespace.metadata.name.clone().unwrap_or_default();
    namespace.metadata.labels.get_or_insert_default().insert(NAME_LABEL.into(), name);
}

/// The status of a budget that nobody has looked at. Go prints these counts even when they are zero.
fn uncounted() -> PodDisruptionBudgetStatus {
    PodDisruptionBudgetStatus {
        current_healthy: Some(0),
        desired_healthy: Some(0),
        disruptions_allowed: Some(0),
        expected_pods: Some(0),
        ..PodDisruptionBudgetStatus::default()
    }
}

fn new_pod_status(pod: &Pod, now: Instant) -> PodStatus {
    let gated = pod.spec.as_ref().is_some_and(|s| s.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()));
    let condition = PodCondition {
        type_: "PodScheduled".into(),
        status: "False".into(),
        reason: Some("SchedulingGated".into()),
        message: Some("Scheduling is blocked due to non-empty scheduling gates".into()),
        last_transition_time: Some(now.time()),
        ..PodCondition::default()
    };
    PodStatus {
        phase: Some("Pending".into()),
        qos_class: Some(qos_class(pod).into()),
        conditions: gated.then(|| vec![condition]),
        ..PodStatus::default()
    }
}

/// A field behind a gate that is off by default, MaxUnavailableStatefulSet, is not stored: there is one at a time. Mirrors
/// `dropStatefulSetDisabledFields`.
fn drop_max_unavailable(set: &mut StatefulSet) {
    let strategy = set.spec.as_mut().and_then(|spec| spec.update_strategy.as_mut());
    if let Some(rolling) = strategy.and_then(|strategy| strategy.rolling_update.as_mut()) {
        rolling.max_unavailable = None;
    }
}

/// Before an update of the main resource: the status stays, a change of what is asked for counts as a generation.
pub fn prepare_for_update(new: &mut Object, old: &Object, custom: Option<&Version>) {
    disabled::drop_fields(new);
    status::keep_status(new, old);
    match (&mut *new, old) {
        (Object::DaemonSet(new), Object::DaemonSet(old)) => {
            let template = |set: &DaemonSet| set.spec.as_ref().map(|spec| spec.template.clone());
            let rolls = u64::from(template(new) != template(old));
            number_template(Arc::make_mut(new), template_generation(old) + rolls);
        }
        (Object::StatefulSet(new), _) => drop_max_unavailable(Arc::make_mut(new)),
        (Object::Namespace(new), Object::Namespace(old)) => keep(new, |n| &mut n.spec, &old.spec),
        (Object::CustomResourceDefinition(new), Object::CustomResourceDefinition(old)) if new.spec != old.spec => {
            definition::note_storage_version(Arc::make_mut(new));
        }
        (Object::Custom(new), Object::Custom(old)) => {
            if let Some(version) = custom {
                version.prepare_for_update(Arc::make_mut(new), old);
            }
        }
        _ => {}
    }
    if generation::is_next(new, old) {
        new.meta_mut().generation = Some(old.meta().generation.unwrap_or(0) + 1);
    }
}

/// Before an update of the status: all else stays.
pub fn prepare_for_status_update(new: &mut Object, old: &Object, now: Instant) {
    status::keep_spec(new, old);
    match (&mut *new, old) {
        (Object::Pod(new), Object::Pod(old)) => {
            keep(new, |n| &mut n.metadata.owner_references, &old.metadata.owner_references);
            pod_status::keep_what_is_left_out(new, old);
        }
        (Object::Deployment(new), Object::Deployment(old)) => {
            keep(new, |n| &mut n.metadata.labels, &old.metadata.labels);
        }
        (Object::PersistentVolume(new), Object::PersistentVolume(old)) => note_phase_transition(new, old, now),
        (Object::VolumeAttachment(new), Object::VolumeAttachment(old)) => {
            keep_metadata(&mut Arc::make_mut(new).metadata, &old.metadata);
        }
        (Object::ServiceCIDR(new), Object::ServiceCIDR(old)) => {
            keep_metadata(&mut Arc::make_mut(new).metadata, &old.metadata);
        }
        (Object::ValidatingAdmissionPolicy(new), Object::ValidatingAdmissionPolicy(old)) => {
            keep_metadata(&mut Arc::make_mut(new).metadata, &old.metadata);
        }
        (Object::Custom(new), Object::Custom(old)) => Version::prepare_for_status_update(Arc::make_mut(new), old),
        _ => {}
    }
}

/// Who writes a status changes nothing else: mirrors `ResetObjectMetaForStatus`.
fn keep_metadata(new: &mut ObjectMeta, old: &ObjectMeta) {
    new.self_link.clone_from(&old.self_link);
    new.labels.clone_from(&old.labels);
    new.annotations.clone_from(&old.annotations);
    new.finalizers.clone_from(&old.finalizers);
    new.owner_references.clone_from(&old.owner_references);
}

/// The annotation in which a DaemonSet counts its templates, since `apps/v1` has no field for it.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(set: &DaemonSet) -> u64 {
    let annotations = set.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(TEMPLATE_GENERATION)?.parse().ok()).unwrap_or(0)
}

fn number_template(set: &mut DaemonSet, number: u64) {
    set.metadata.annotations.get_or_insert_default().insert(TEMPLATE_GENERATION.into(), number.to_string());
}

/// Before a Pod gets ephemeral containers: all else stays. Mirrors `dropNonEphemeralContainerUpdates`.
pub fn prepare_for_ephemeral_containers(new: &mut Object, old: &Object) {
    let (Object::Pod(new), Object::Pod(old)) = (new, old) else { return };
    let sent = Arc::make_mut(new);
    let ephemeral = sent.spec.as_mut().and_then(|spec| spec.ephemeral_containers.take());
    keep_but(sent, old, |spec| spec.ephemeral_containers = ephemeral);
}

/// Before the containers of a Pod are resized: all else stays. Other containers than there are, or others' names, are left to
/// validation. Mirrors `dropNonResizeUpdates`.
pub fn prepare_for_resize(new: &mut Object, old: &Object) {
    let (Object::Pod(new), Object::Pod(old)) = (new, old) else { return };
    let sent = Arc::make_mut(new);
    let (Some(spec), Some(before)) = (sent.spec.as_deref(), old.spec.as_deref()) else { return };
    let (inits, inits_before) = (spec.init_containers.as_deref(), before.init_containers.as_deref());
    let (inits, inits_before) = (inits.unwrap_or_default(), inits_before.unwrap_or_default());
    if spec.containers.len() != before.containers.len() || inits.len() != inits_before.len() {
        return;
    }
    let containers = resized(&spec.containers, &before.containers);
    let inits = spec.init_containers.as_ref().map(|_| resized(inits, inits_before));
    let resources = spec.resources.clone();
    keep_but(sent, old, |spec| {
        (spec.containers, spec.init_containers, spec.resources) = (containers, inits, resources);
    });
}

/// The containers there were, as large as is asked. Mirrors `dropNonResizeUpdatesForContainers`.
fn resized(sent: &[Container], before: &[Container]) -> Vec<Container> {
    if sent.iter().zip(before).any(|(sent, before)| sent.name != before.name) {
        return sent.to_vec();
    }
    let merged = sent.iter().zip(before).map(|(sent, before)| Container {
        resources: sent.resources.clone(),
        resize_policy: sent.resize_policy.clone(),
        ..before.clone()
    });
    merged.collect()
}

/// Puts a Pod back to what it was, but for what a subresource changes in its spec. A changed spec has a new generation.
fn keep_but(sent: &mut Pod, old: &Pod, change: impl FnOnce(&mut Spec)) {
    let mut pod = old.clone();
    pod.metadata.resource_version = sent.metadata.resource_version.take();
    pod.metadata.uid = sent.metadata.uid.take();
    if let Some(spec) = &mut pod.spec {
        change(spec);
    }
    if pod.spec != old.spec {
        pod.metadata.generation = Some(old.metadata.generation.unwrap_or(0) + 1);
    }
    *sent = pod;
}

/// Before `finalize`: a Namespace's finalizers change, the status stays.
pub fn prepare_for_finalize(new: &mut Object, old: &Object) {
    if let (Object::Namespace(new), Object::Namespace(old)) = (new, old) {
        keep(new, |n| &mut n.status, &old.status);
    }
}

/// A volume's status says since when it is in its phase.
fn note_phase_transition(new: &mut Arc<PersistentVolume>, old: &PersistentVolume, now: Instant) {
    let phase = |volume: &PersistentVolume| volume.status.as_ref().and_then(|status| status.phase.clone());
    if phase(new) != phase(old) {
        Arc::make_mut(new).status.get_or_insert_default().last_phase_transition_time = Some(now.time());
    }
}

/// When an object is marked as being deleted, a Namespace's phase and a definition's condition become Terminating.
pub fn prepare_for_deletion(object: &mut Object, old: &Object, now: Instant) {
    match object {
        Object::Namespace(namespace) => {
            Arc::make_mut(namespace).status.get_or_insert_default().phase = Some("Terminating".into());
        }
        Object::CustomResourceDefinition(defined) if old.meta().deletion_timestamp.is_none() => {
            definition::prepare_for_deletion(Arc::make_mut(defined), now);
        }
        _ => {}
    }
}

/// Metadata that an update may leave out, and what it may not change; that it changes what it cannot is left to validation.
/// Mirrors `rest.BeforeUpdate`.
pub fn carry_over_metadata(new: &mut Object, old: &Object) {
    let (there, sent) = (old.meta(), new.meta());
    let same = sent.uid == there.uid
        && sent.creation_timestamp == there.creation_timestamp
        && sent.deletion_timestamp == there.deletion_timestamp
        && sent.deletion_grace_period_seconds == there.deletion_grace_period_seconds
        && sent.generation == there.generation;
    if same {
        return;
    }
    let sent = new.meta_mut();
    if sent.uid.as_deref().unwrap_or_default().is_empty() {
        sent.uid.clone_from(&there.uid);
    }
    if there.creation_timestamp.is_some() {
        sent.creation_timestamp.clone_from(&there.creation_timestamp);
    }
    if there.deletion_timestamp.is_some() {
        sent.deletion_timestamp.clone_from(&there.deletion_timestamp);
    }
    if sent.deletion_grace_period_seconds.is_none() {
        sent.deletion_grace_period_seconds = there.deletion_grace_period_seconds;
    }
    sent.generation = there.generation;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Kind;

    #[test]
    fn a_status_brings_no_labels_and_no_status_comes_with_a_new_object() {
        let range = |labels: serde_json::Value| {
            let status = json!({"conditions": []});
            let (metadata, spec) = (json!({"name": "x", "labels": labels}), json!({"cidrs": ["10.0.0.0/24"]}));
            Kind::ServiceCIDR.decode(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
        };
        let (mut new, old) = (range(json!({"a": "b"})), range(json!({"c": "d"})));
        prepare_for_status_update(&mut new, &old, Instant(0));
        assert_eq!(new.to_json()["metadata"]["labels"], json!({"c": "d"}));
        prepare_for_create(&mut new, None, Instant(0));
        assert_eq!(new.to_json().get("status"), None);
    }

    #[test]
    fn the_generation_of_what_is_not_counted_is_the_senders() {
        for (kind, want) in [(Kind::ConfigMap, 7), (Kind::NetworkPolicy, 1)] {
            let metadata = json!({"name": "a", "namespace": "b", "generation": 7});
            let mut object = kind.decode(json!({"metadata": metadata})).unwrap();
            prepare_for_create(&mut object, None, Instant(0));
            assert_eq!(object.meta().generation, Some(want), "{kind}");
        }
    }

    #[test]
    fn a_daemon_set_goes_on_counting_its_templates() {
        for (annotations, want) in [(json!({}), "1"), (json!({TEMPLATE_GENERATION: "7"}), "7")] {
            let metadata = json!({"name": "a", "annotations": annotations});
            let spec = json!({"selector": {}, "template": {}});
            let mut set = Kind::DaemonSet.decode(json!({"metadata": metadata, "spec": spec})).unwrap();
            prepare_for_create(&mut set, None, Instant(0));
            assert_eq!(set.to_json()["metadata"]["annotations"][TEMPLATE_GENERATION], want);
        }
    }

    #[test]
    fn a_pod_behind_a_gate_says_since_when() {
        let pod = json!({"metadata": {"name": "web"}, "spec": {"schedulingGates": [{"name": "g"}], "containers": []}});
        let mut object = Kind::Pod.decode(pod).unwrap();
        prepare_for_create(&mut object, None, Instant(3_000_000_000));
        let condition = &object.to_json()["status"]["conditions"][0];
        assert_eq!(condition["reason"], "SchedulingGated");
        assert_eq!(condition["lastTransitionTime"], json!(Instant(3_000_000_000).time()));
    }
}

//! What each kind's strategy does to an object between admission and validation.
//!
//! Mirrors `pkg/registry/*/strategy.go`: what a client may not set is reset or kept, and `metadata.generation` counts
//! the versions of what is asked for.

use std::sync::Arc;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::core::v1::Container;

use crate::certificates::certificate_signing_request;
use crate::pod_template::disabled;
use crate::strategy::kept::keep;
use crate::table::{facts, row};
use object::pod::Spec;
use object::time::Instant;
use object::{Kind, Object, Pod};
use rules::apiextensions::Version;

pub mod kept;

/// Whether a kind has a `status` subresource. Of a kind that a user defines, its definition says so.
pub fn has_status(kind: Kind) -> bool {
    row(kind).is_none_or(|row| row.has_status())
}

/// Whether the first DELETE only marks the object: a Namespace goes when it is finalized, a definition when its
/// objects are gone. Mirrors `REST.Delete` of `pkg/registry/core/namespace/storage` and of
/// `pkg/registry/customresourcedefinition`.
pub fn outlives_first_delete(object: &Object) -> bool {
    facts(object.kind()).outlives_first_delete && object.meta().deletion_timestamp.is_none()
}

/// Whether finalizers in the spec still hold the object: those of a Namespace.
pub fn has_spec_finalizers(object: &Object) -> bool {
    row(object.kind()).is_some_and(|row| row.has_spec_finalizers(object))
}

/// Before a create: the status is the server's, the generation 1.
pub fn prepare_for_create(object: &mut Object, custom: Option<&Version>, now: Instant) {
    drop_disabled(object);
    if let Some(row) = row(object.kind()) {
        row.prepare_for_create(object, now);
        return;
    }
    object.meta_mut().generation = Some(1);
    if let (Object::Custom(object), Some(version)) = (object, custom) {
        version.prepare_for_create(Arc::make_mut(object));
    }
}

/// Before a create: some kinds keep who asked.
pub fn note_requester(object: &mut Object, user: &dyn Fn() -> UserInfo) {
    if let Some(row) = row(object.kind()) {
        row.note_requester(object, user);
    }
}

/// Before an update of the main resource: the status stays, a change of what is asked for counts as a generation.
pub fn prepare_for_update(new: &mut Object, old: &Object, custom: Option<&Version>) {
    drop_disabled(new);
    if let Some(row) = row(new.kind()) {
        row.prepare_for_update(new, old);
        if row.is_next_generation(new, old) {
            new.meta_mut().generation = Some(old.meta().generation.unwrap_or(0) + 1);
        }
    } else if let (Object::Custom(new), Object::Custom(old), Some(version)) = (new, old, custom) {
        version.prepare_for_update(Arc::make_mut(new), old);
    }
}

/// Before an update of the status: all else stays.
pub fn prepare_for_status_update(new: &mut Object, old: &Object, now: Instant) {
    if let Some(row) = row(new.kind()) {
        row.prepare_for_status_update(new, old, now);
    } else if let (Object::Custom(new), Object::Custom(old)) = (new, old) {
        Version::prepare_for_status_update(Arc::make_mut(new), old);
    }
}

/// Fields behind feature gates that are off are not stored.
pub fn drop_disabled(object: &mut Object) {
    if let Some(row) = row(object.kind()) {
        row.drop_disabled(object);
    }
    disabled::drop_from_pods(object);
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

/// Before a request for a certificate is approved or denied: all else stays.
pub fn prepare_for_approval(new: &mut Object, old: &Object, now: Instant) {
    if let (Object::CertificateSigningRequest(new), Object::CertificateSigningRequest(old)) = (new, old) {
        certificate_signing_request::prepare_for_approval(Arc::make_mut(new), old, now);
    }
}

/// Before `finalize`: a Namespace's finalizers change, the status stays.
pub fn prepare_for_finalize(new: &mut Object, old: &Object) {
    if let (Object::Namespace(new), Object::Namespace(old)) = (new, old) {
        keep(new, |n| &mut n.status, &old.status);
    }
}

/// When an object is marked as being deleted, a Namespace's phase and a definition's condition become Terminating.
pub fn prepare_for_deletion(dying: &mut Object, old: &Object, now: Instant) {
    if let Some(row) = row(dying.kind()) {
        row.prepare_for_deletion(dying, old, now);
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
    use crate::apps::daemon_set::TEMPLATE_GENERATION;

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

    #[test]
    fn strategies_differ_in_small_things() {
        assert!(facts(Kind::RuntimeClass).create_on_update && !facts(Kind::RuntimeClass).unconditional_update);
        assert!(!facts(Kind::StorageClass).create_on_update && facts(Kind::StorageClass).unconditional_update);
        assert!(facts(Kind::CSINode).returns_deleted && !facts(Kind::CSIStorageCapacity).returns_deleted);
    }

    #[test]
    fn a_driver_counts_from_its_first_change() {
        let driver = |republish: bool| {
            let driver = json!({"metadata": {"name": "d"}, "spec": {"requiresRepublish": republish}});
            Kind::CSIDriver.decode(driver).expect("the driver decodes")
        };
        for (republish, want) in [(true, Some(1)), (false, None)] {
            let (mut new, mut old) = (driver(republish), driver(false));
            prepare_for_create(&mut old, None, Instant(0));
            assert_eq!(old.meta().generation, None);
            prepare_for_update(&mut new, &old, None);
            assert_eq!(new.meta().generation, want);
        }
    }
}

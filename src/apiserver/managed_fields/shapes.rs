//! What each kind lets through at which endpoint, and what of it is there although nothing was written into it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use object::fields::{Set, Writer};
use object::time::Instant;
use object::{Kind, Object, go_types, versions};

/// What a write to an endpoint does not change, even if it was sent. Mirrors the strategies' `GetResetFields`.
pub fn reset_fields(kind: Kind, subresource: &str, has_status: bool) -> Set {
    let paths: &[&str] = match (kind, subresource) {
        (Kind::Custom(_), "status") => &["apiVersion", "kind", "metadata", "spec"],
        // It has no strategy.
        (kind, _) if !kind.is_kept() => &[],
        (Kind::Namespace, "") => &["status", "spec.finalizers"],
        (_, "") if has_status => &["status"],
        (Kind::Pod, "status") => &["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
        (Kind::Deployment, "status") => &["spec", "metadata.labels"],
        (
            Kind::VolumeAttachment | Kind::ServiceCIDR | Kind::ResourceClaim | Kind::ValidatingAdmissionPolicy,
            "status",
        ) => &["spec", "metadata"],
        (_, "status") => &["spec"],
        _ => &[],
    };
    Set::of_fields(paths)
}

/// When a write was, as it is noted. It is not for writes of a scale: `managedfields.ScaleHandler`, which makes fields of the
/// object of those of the scale, loses it.
pub fn time_of(by: &Writer, at: Instant) -> Option<Time> {
    (by.subresource != "scale").then(|| at.time())
}

/// Whether the server fills in more of a new object of this kind than its status.
pub fn is_filled_in(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Pod
            | Kind::Node
            | Kind::Service
            | Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::VolumeAttributesClass
            | Kind::Job
            | Kind::Ingress
            | Kind::CustomResourceDefinition
    )
}

/// The type of the only kind whose older version is served in the same group.
const OLDER: &str = "HorizontalPodAutoscalerV1";

/// An object as Go prints it, or what it prints of one into which nothing was written. The structs that are always there have
/// no manager: a struct is a field of its own only if it is behind a pointer.
pub fn whole(kind: Kind, object: Option<&Object>) -> Value {
    match (object, kind) {
        (Some(object), _) => object.printed(),
        (None, Kind::Custom(_)) if versions::stored_as(kind) == kind => json!({"metadata": {}}),
        (None, kind) => Value::Object(go_types::printed_empty(versions::go_type(kind).unwrap_or(OLDER))),
    }
}

//! What each kind lets through at which endpoint, and which of its structs are there although nothing is in them.

use serde_json::{Map, Value};

use crate::object::fields::Set;
use crate::object::{Kind, Object};

/// What a write to an endpoint does not change, whatever was sent. Mirrors the strategies' `GetResetFields`.
pub fn reset_fields(kind: Kind, subresource: &str, has_status: bool) -> Set {
    let paths: &[&str] = match (kind, subresource) {
        (Kind::Custom(_), "status") => &["apiVersion", "kind", "metadata", "spec"],
        (Kind::Namespace, "") => &["status", "spec.finalizers"],
        (_, "") if has_status => &["status"],
        (Kind::Pod, "status") => &["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
        (Kind::Deployment, "status") => &["spec", "metadata.labels"],
        (_, "status") => &["spec"],
        _ => &[],
    };
    Set::of_fields(paths)
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
            | Kind::Job
            | Kind::Ingress
            | Kind::CustomResourceDefinition
    )
}

/// An object as JSON, with the structs that a Go struct has in it whether anything was written into them or not. They are
/// nobody's: a struct is a field of its own only if it is behind a pointer.
pub fn whole(kind: Kind, object: Option<&Object>) -> Value {
    let mut value = object.map_or_else(|| Value::Object(Map::new()), Object::to_json);
    let template = ["spec.template.metadata", "spec.template.spec.containers"];
    let more: &[&str] = match kind {
        Kind::Pod => &["spec.containers"],
        Kind::Deployment => &["spec.strategy"],
        Kind::DaemonSet | Kind::StatefulSet => &["spec.updateStrategy"],
        Kind::CronJob => &[
            "spec.jobTemplate.metadata",
            "spec.jobTemplate.spec.template.metadata",
            "spec.jobTemplate.spec.template.spec.containers",
        ],
        Kind::Service | Kind::Ingress => &["status.loadBalancer"],
        Kind::PersistentVolumeClaim => &["spec.resources"],
        Kind::Node => &["status.daemonEndpoints.kubeletEndpoint", "status.nodeInfo"],
        Kind::Event => &["source"],
        Kind::CustomResourceDefinition => &["spec.names", "status.acceptedNames"],
        Kind::VolumeAttachment => &["spec.source"],
        _ => &[],
    };
    let always: &[&str] = if matches!(kind, Kind::Custom(_)) { &["metadata"] } else { &["metadata", "spec", "status"] };
    let has_template =
        matches!(kind, Kind::Deployment | Kind::ReplicaSet | Kind::DaemonSet | Kind::StatefulSet | Kind::Job);
    let template = template.iter().filter(|_| has_template);
    always.iter().chain(more).chain(template).for_each(|path| ensure(&mut value, path));
    value
}

/// Makes sure that there is something at a path; a list that nobody wrote is null.
fn ensure(value: &mut Value, path: &str) {
    let mut at = value;
    for name in path.split('.') {
        let Some(fields) = at.as_object_mut() else { return };
        let empty = if name == "containers" { Value::Null } else { Value::Object(Map::new()) };
        at = fields.entry(name).or_insert(empty);
    }
}

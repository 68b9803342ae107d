//! What cells of several kinds are made of. Mirrors `pkg/printers/internalversion/printers.go`.

use jiff::Timestamp;
use serde_json::Value;

use crate::printers::duration::age;
use crate::printers::fields::{at, list, map, or_none, text};

/// The object's name.
pub fn name(object: &Value) -> String {
    text(object, "metadata.name").to_owned()
}

/// How old the object is.
pub fn created(object: &Value, now: Timestamp) -> String {
    age(now, object, "metadata.creationTimestamp")
}

/// Names and images of the containers in the template at `path`.
pub fn containers(object: &Value, path: &str) -> (String, String) {
    let containers = list(at(object, path), "spec.containers");
    let all = |field| containers.iter().map(|c| text(c, field)).collect::<Vec<_>>().join(",");
    (all("name"), all("image"))
}

/// What the labels `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE` say.
pub fn node_roles(node: &Value) -> String {
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) if !role.is_empty() => Some(role.to_owned()),
        _ if key == "kubernetes.io/role" => value.as_str().filter(|r| !r.is_empty()).map(str::to_owned),
        _ => None,
    };
    let roles: std::collections::BTreeSet<String> = map(node, "metadata.labels").filter_map(role).collect();
    or_none(&roles.into_iter().collect::<Vec<_>>().join(","))
}

/// How many keys there are.
pub fn data_count(object: &Value) -> usize {
    map(object, "data").count() + map(object, "binaryData").count()
}

/// The component that an Event is from: the old field, or the new one.
pub fn event_source(event: &Value) -> &str {
    match text(event, "source.component") {
        "" => text(event, "reportingComponent"),
        component => component,
    }
}

//! The cells of volumes, claims, classes, attachments and drivers in a table.

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::fields::{at, flag, int, list, plain, text};
use crate::object::well_known::DEFAULT_STORAGE_CLASS;
/// `RWO,ROX`: access modes in short, in the order of Kubernetes. Mirrors `GetAccessModesAsString`.
pub fn access_modes(object: &Value, path: &str) -> String {
    const SHORT: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let there = |mode: &str| list(object, path).iter().any(|m| m == mode);
    SHORT.iter().filter(|(mode, _)| there(mode)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// The phase, or that it is being deleted.
pub fn phase(object: &Value) -> String {
    let deleting = !at(object, "metadata.deletionTimestamp").is_null();
    if deleting { "Terminating".to_owned() } else { text(object, "status.phase").to_owned() }
}

/// `default/data`: the claim that a volume is bound or reserved to.
pub fn claim_of(volume: &Value) -> String {
    match text(volume, "spec.claimRef.name") {
        "" => String::new(),
        name => format!("{}/{name}", text(volume, "spec.claimRef.namespace")),
    }
}

/// How large it is; in Go what is not there is zero.
fn size(object: &Value, path: &str) -> String {
    match text(at(object, path), "storage") {
        "" => "0".to_owned(),
        size => size.to_owned(),
    }
}

/// The class, as it is said today or was once. Mirrors `GetPersistentVolumeClass`.
fn class_of(object: &Value) -> String {
    let beta = at(object, "metadata.annotations").get("volume.beta.kubernetes.io/storage-class");
    beta.map_or_else(|| text(object, "spec.storageClassName").to_owned(), plain)
}

/// The cells of a CSIStorageCapacity.
pub fn capacity_cells(capacity: &Value, _: Timestamp) -> Vec<Value> {
    cells![name(capacity), text(capacity, "storageClassName"), or_unset(capacity, "capacity")]
}

fn or_unset(object: &Value, path: &str) -> String {
    let value = at(object, path);
    if value.is_null() { "<unset>".to_owned() } else { plain(value) }
}

pub fn volume_cells(volume: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(volume),
        size(volume, "spec.capacity"),
        access_modes(volume, "spec.accessModes"),
        text(volume, "spec.persistentVolumeReclaimPolicy"),
        phase(volume),
        claim_of(volume),
        class_of(volume),
        or_unset(volume, "spec.volumeAttributesClassName"),
        text(volume, "status.reason"),
        created(volume, now),
        or_unset(volume, "spec.volumeMode"),
    ]
}

pub fn claim_cells(claim: &Value, now: Timestamp) -> Vec<Value> {
    let bound = !text(claim, "spec.volumeName").is_empty();
    let if_bound = |value: String| if bound { value } else { String::new() };
    cells![
        name(claim),
        phase(claim),
        text(claim, "spec.volumeName"),
        if_bound(size(claim, "status.capacity")),
        if_bound(access_modes(claim, "status.accessModes")),
        class_of(claim),
        or_unset(claim, "spec.volumeAttributesClassName"),
        created(claim, now),
        or_unset(claim, "spec.volumeMode"),
    ]
}

/// Whether a class is the default one.
pub fn is_default(class: &Value) -> bool {
    at(class, "metadata.annotations").get(DEFAULT_STORAGE_CLASS).is_some_and(|v| v == "true")
}

pub fn class_cells(class: &Value, now: Timestamp) -> Vec<Value> {
    let default = if is_default(class) { " (default)" } else { "" };
    cells![
        name(class) + default,
        text(class, "provisioner"),
        text(class, "reclaimPolicy"),
        text(class, "volumeBindingMode"),
        flag(class, "allowVolumeExpansion"),
        created(class, now),
    ]
}

pub fn attachment_cells(attachment: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(attachment),
        text(attachment, "spec.attacher"),
        text(attachment, "spec.source.persistentVolumeName"),
        text(attachment, "spec.nodeName"),
        flag(attachment, "status.attached"),
        created(attachment, now),
    ]
}

pub fn driver_cells(driver: &Value, now: Timestamp) -> Vec<Value> {
    let modes: Vec<&str> = list(driver, "spec.volumeLifecycleModes").iter().filter_map(Value::as_str).collect();
    let tokens: Vec<&str> = list(driver, "spec.tokenRequests").iter().map(|t| text(t, "audience")).collect();
    let does = |field: &str| flag(at(driver, "spec"), field);
    cells![
        name(driver),
        does("attachRequired"),
        does("podInfoOnMount"),
        does("storageCapacity"),
        if tokens.is_empty() { "<unset>".to_owned() } else { tokens.join(",") },
        does("requiresRepublish"),
        modes.join(","),
        created(driver, now),
    ]
}

pub fn driver_node_cells(node: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(node), list(node, "spec.drivers").len(), created(node, now)]
}

/// The most volumes that a driver attaches to a node; 0 if it says nothing.
pub fn limit(driver: &Value) -> i64 {
    int(driver, "allocatable.count")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_said_of_storage() {
        let now = Timestamp::UNIX_EPOCH;
        let beta = json!({"volume.beta.kubernetes.io/storage-class": "old"});
        let claim = json!({"metadata": {"name": "c", "annotations": beta}, "spec": {"volumeName": "pv"}});
        let cells = claim_cells(&claim, now);
        assert_eq!((&cells[3], &cells[5]), (&json!("0"), &json!("old")), "a volume that is not bound yet has no size");
        let capacity = json!({"metadata": {"name": "x"}, "storageClassName": "fast"});
        assert_eq!(capacity_cells(&capacity, now), [json!("x"), json!("fast"), json!("<unset>")]);
    }
}

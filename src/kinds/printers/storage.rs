//! What is shown of volumes, claims, classes and drivers.

use serde_json::Value;

use crate::printers::fields::{at, int, list, plain, text};
use object::well_known::DEFAULT_STORAGE_CLASS;

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
pub fn size(object: &Value, path: &str) -> String {
    match text(at(object, path), "storage") {
        "" => "0".to_owned(),
        size => size.to_owned(),
    }
}

/// The class, as it is said today or was once. Mirrors `GetPersistentVolumeClass`.
pub fn class_of(object: &Value) -> String {
    let beta = at(object, "metadata.annotations").get("volume.beta.kubernetes.io/storage-class");
    beta.map_or_else(|| text(object, "spec.storageClassName").to_owned(), plain)
}

/// A value, or that there is none.
pub fn or_unset(object: &Value, path: &str) -> String {
    let value = at(object, path);
    if value.is_null() { "<unset>".to_owned() } else { plain(value) }
}

/// Whether a class is the default one.
pub fn is_default(class: &Value) -> bool {
    at(class, "metadata.annotations").get(DEFAULT_STORAGE_CLASS).is_some_and(|v| v == "true")
}

/// The most volumes that a driver attaches to a node; 0 if it says nothing.
pub fn limit(driver: &Value) -> i64 {
    int(driver, "allocatable.count")
}

//! How kubectl names kinds and objects.

use serde_json::Value;

use super::fields;
use object::{Discovery, Kind};

/// The kind of a JSON object, if the cluster knows it.
pub fn kind_of(object: &Value) -> Option<Kind> {
    Discovery::default().from_manifest(fields::text(object, "apiVersion"), fields::text(object, "kind"))
}

/// `deployment.apps/web`: how kubectl names an object that it did something to.
pub fn qualified_name(object: &Value) -> String {
    let [name, api_version, kind] = ["metadata.name", "apiVersion", "kind"].map(|path| fields::text(object, path));
    let kind = kind.to_ascii_lowercase();
    // What is only asked about has no name.
    let name = if name.is_empty() { "<unknown>" } else { name };
    match api_version.split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

/// `deployment.apps`, `pod`.
pub fn qualified_singular(kind: Kind) -> String {
    let info = kind.info();
    match info.group {
        "" => info.singular(),
        group => format!("{}.{group}", info.singular()),
    }
}

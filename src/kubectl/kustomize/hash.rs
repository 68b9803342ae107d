//! The hash at the end of a generated name: it depends on the object's content, so that references to the object change too.
//! Mirrors `api/hasher`, which has it from kubectl.

use serde_json::{Value, json};

use super::resource::Resource;
use object::sha256;
use object::text::go_json;

/// The hash of a ConfigMap or Secret. Two of different names with the same in them have the same hash: since version 4
/// kustomize looks for the name where there is none, and documentation shows hashes of the time before.
pub fn of(resource: &Resource) -> String {
    let object = &resource.object;
    let field = |name: &str| object.get(name).cloned().unwrap_or_else(|| json!(""));
    let mut hashed = json!({"kind": object["kind"], "name": "", "data": field("data")});
    let (more, is_secret) = match object["kind"].as_str() {
        Some("Secret") => ("stringData", true),
        _ => ("binaryData", false),
    };
    if is_secret {
        hashed["type"] = field("type");
    }
    if let Some(entries) = object.get(more).filter(|entries| entries.is_object()) {
        hashed[more] = entries.clone();
    }
    encoded(&hashed)
}

/// The hash of a value.
pub fn encoded(value: &Value) -> String {
    let written = go_json(&value.to_string());
    // No vowels, so that it is no word.
    let letter = |digit: char| match digit {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    };
    sha256::hex(&written).chars().take(10).map(letter).collect()
}

//! The hash that a generated name ends in: it tells of what is in the object, so that whoever names it changes with it.
//! Mirrors `api/hasher`, which has it from kubectl.

use serde_json::{Value, json};

use super::resource::Resource;
use object::sha256;

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
    // As Go writes JSON.
    let escapes =
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    let written = escapes.iter().fold(value.to_string(), |text, (c, escape)| text.replace(*c, escape));
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

//! Patches.

use serde_json::Value;

use super::{Kind, Status};

/// RFC 6902.
pub fn json(mut value: Value, patch: &Value) -> Result<Value, Status> {
    let patch: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|e| Status::bad_request(e.to_string()))?;
    json_patch::patch(&mut value, &patch).map_err(|e| Status::bad_request(e.to_string()))?;
    Ok(value)
}

/// RFC 7386.
pub fn merge(mut value: Value, patch: &Value) -> Value {
    json_patch::merge(&mut value, patch);
    value
}

/// Strategic merge patch.
pub fn strategic(_: Kind, value: Value, patch: &Value) -> Result<Value, Status> {
    Ok(merge(value, patch))
}

/// A value as Go's `%+v` prints it: `map[spec:map[replicas:3]]`.
pub fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

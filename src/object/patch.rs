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

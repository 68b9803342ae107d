//! JSON patches, RFC 6902, with what goes wrong in the words of `evanphx/json-patch`.

use serde_json::{Value, json};

use object::patch;

/// An object with the operations of a patch applied one after another.
///
/// # Errors
/// One does not apply.
pub fn apply(object: Value, operations: &[Value]) -> Result<Value, String> {
    operations.iter().try_fold(object, |object, operation| {
        patch::json(object.clone(), &json!([operation])).map_err(|_| why(&object, operation))
    })
}

fn why(object: &Value, operation: &Value) -> String {
    let text = |field: &str| operation.get(field).and_then(Value::as_str).unwrap_or_default();
    let (name, path) = (text("op"), text("path"));
    let (parent, key) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "add" | "remove" | "replace"
            if object.pointer(parent).is_none_or(|node| !node.is_object() && !node.is_array()) =>
        {
            let path = if name == "replace" { path.to_owned() } else { format!("{path:?}") };
            format!("{name} operation does not apply: doc is missing path: {path}: missing value")
        }
        "replace" => format!("replace operation does not apply: doc is missing key: {path}: missing value"),
        "remove" => {
            format!("error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value")
        }
        "add" => {
            format!("error in add for path: '{path}': Unable to access invalid index: {key}: invalid index referenced")
        }
        "test" => format!("testing value {path} failed: test failed"),
        "move" | "copy" => {
            format!("{name} operation does not apply: doc is missing from path: {}: missing value", text("from"))
        }
        other => format!("Unexpected kind: {other}"),
    }
}

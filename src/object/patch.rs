//! Patches: changes to an object, in the three languages the API server speaks.
//!
//! - [`json`]: RFC 6902, a list of operations.
//! - [`merge`]: RFC 7386, an object laid over another; lists are replaced whole.
//! - [`strategic()`]: Kubernetes' own. Like a merge patch, but lists of named things are merged item by item: a patch
//!   that names one container changes that container. [`schema`] says which list goes by which key.
//!
//! [`diff`] makes strategic patches, from two versions of an object or, for `kubectl apply`, from three.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use serde_json::{Map, Value};

use super::status::{Details, Reason};
use super::{Kind, Status};

pub mod diff;
pub mod schema;
mod strategic;

pub use diff::{diff_merge, diff_strategic, three_way_merge, three_way_strategic};

/// How many operations an RFC 6902 patch may have.
const OPERATIONS_MAX: usize = 10_000;

/// Applies an RFC 6902 patch.
pub fn json(mut value: Value, patch: &Value) -> Result<Value, Status> {
    let Value::Array(operations) = patch else {
        let type_name = go_type(patch);
        let text = format!("json: cannot unmarshal {type_name} into Go value of type jsonpatch.Patch");
        return Err(Status::bad_request(text));
    };
    if operations.len() > OPERATIONS_MAX {
        let (most, count) = (OPERATIONS_MAX, operations.len());
        let text = format!("The allowed maximum operations in a JSON patch is {most}, got {count}");
        return Err(Status::new(Reason::RequestEntityTooLarge, text));
    }
    let patch: json_patch::Patch = serde_json::from_value(patch.clone()).map_err(|_| rejected())?;
    for operation in patch.0 {
        if let Some(operation) = as_in_go(&value, operation) {
            json_patch::patch(&mut value, &[operation]).map_err(|_| rejected())?;
        }
    }
    Ok(value)
}

/// Go's library takes a field that an object lacks for one that is null: it can be tested for that, and be replaced. None: the
/// operation has been done. Mirrors `evanphx/json-patch`, version 4.
fn as_in_go(value: &Value, operation: PatchOperation) -> Option<PatchOperation> {
    let is_lacking = |path: &PointerBuf| {
        let parent = path.split_back().and_then(|(parent, field)| Some((parent.resolve(value).ok()?, field)));
        parent.is_some_and(|(parent, field)| parent.as_object().is_some_and(|all| !all.contains_key(&*field.decoded())))
    };
    match operation {
        PatchOperation::Test(test) if test.value.is_null() && is_lacking(&test.path) => None,
        PatchOperation::Replace(ReplaceOperation { path, value }) if is_lacking(&path) => {
            Some(PatchOperation::Add(AddOperation { path, value }))
        }
        other => Some(other),
    }
}

/// Applies an RFC 7386 patch.
pub fn merge(mut value: Value, patch: &Value) -> Value {
    json_patch::merge(&mut value, patch);
    value
}

/// Applies a strategic merge patch to an object of `kind`.
pub fn strategic(kind: Kind, value: Value, patch: &Value) -> Result<Value, Status> {
    let (Value::Object(value), Value::Object(patch)) = (value, patch) else {
        let type_name = go_type(patch);
        let text = format!("json: cannot unmarshal {type_name} into Go value of type map[string]interface {{}}");
        return Err(Status::bad_request(text));
    };
    strategic::apply(kind, value, patch.clone()).map(Value::Object).map_err(Status::from)
}

/// A patch that cannot be applied: 422 in words that tell nothing, as the real server has it.
fn rejected() -> Status {
    let mut status = Status::new(Reason::Invalid, "the server rejected our request due to an error in our request");
    status.details = Some(Box::new(Details::default()));
    status
}

/// Why a strategic merge patch cannot be applied. The texts are `k8s.io/apimachinery/pkg/util/mergepatch`'s.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// `$deleteFromPrimitiveList/…` is no list.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    /// `$retainKeys` is no list, or misses a key that the patch sets.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$setElementOrder/…` is no list, or contradicts the patch.
    #[error("invalid patch format of setElementOrder list")]
    SetElementOrder,
    /// A list in a list that is merged.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// An item of a merged list does not say which one it is.
    #[error("map: {map} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The item, as Go prints it.
        map: String,
        /// The key it should have.
        key: &'static str,
    },
    /// `$patch` says something unknown.
    #[error("unknown patch type: {directive} in map: {map}")]
    UnknownDirective {
        /// What it says.
        directive: String,
        /// Where, as Go prints it.
        map: String,
    },
    /// `$patch: merge` on an item of a list.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
}

impl From<PatchError> for Status {
    /// Mirrors `interpretStrategicMergePatchError`.
    fn from(error: PatchError) -> Status {
        match error {
            PatchError::PrimitiveList | PatchError::RetainKeys | PatchError::SetElementOrder => {
                Status::bad_request(error.to_string())
            }
            PatchError::ListOfLists => rejected(),
            _ => Status::new(Reason::Unknown, error.to_string()),
        }
    }
}

/// A value as Go's `%+v` prints it: `map[spec:map[replicas:3]]`.
pub fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => go_map(fields),
        other => other.to_string(),
    }
}

fn go_map(fields: &Map<String, Value>) -> String {
    let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
    format!("map[{}]", fields.join(" "))
}

/// What Go calls the type of a JSON value.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failed_test_of_a_json_patch_tells_nothing() {
        let status = json(json!({"a": 1}), &json!([{"op": "test", "path": "/a", "value": 2}])).unwrap_err();
        assert_eq!(status.code, 422);
        assert_eq!(status.message, "the server rejected our request due to an error in our request");
        assert_eq!(status.to_json()["details"], json!({}));
        assert_eq!(json(json!({"a": 1}), &json!([{"op": "zap", "path": "/a"}])).unwrap_err().code, 422);
        assert_eq!(json(json!({"a": 1}), &json!({"op": "remove", "path": "/a"})).unwrap_err().code, 400);
        assert_eq!(json(json!({"a": 1}), &json!([{"op": "remove", "path": "/a"}])).unwrap(), json!({}));
    }

    /// kube-rs adds its finalizer so, and a real server takes a replaced label that was not there.
    #[test]
    fn a_field_that_is_not_there_is_null_to_a_json_patch() {
        let test = |path: &str, value: Value| json!({"op": "test", "path": path, "value": value});
        let add = json!({"op": "add", "path": "/meta/list", "value": ["x"]});
        let there = json!({"meta": {"list": ["x"]}});
        assert_eq!(json(json!({"meta": {}}), &json!([test("/meta/list", Value::Null), add])).unwrap(), there);
        let wrong = [test("/meta/list", json!([])), test("/none/list", Value::Null), test("/meta", Value::Null)];
        for test in wrong {
            assert_eq!(json(json!({"meta": {}}), &json!([test])).unwrap_err().code, 422, "{test}");
        }
        let replace = |path: &str| json!([{"op": "replace", "path": path, "value": ["x"]}]);
        assert_eq!(json(json!({"meta": {}}), &replace("/meta/list")).unwrap(), there);
        assert_eq!(json(json!({"meta": {}}), &replace("/none/list")).unwrap_err().code, 422);
        assert_eq!(json(json!({"meta": []}), &replace("/meta/0")).unwrap_err().code, 422);
    }

    #[test]
    fn a_merge_patch_replaces_lists() {
        let merged = merge(json!({"a": [1], "b": {"c": 1, "d": 2}}), &json!({"a": [2], "b": {"c": null}}));
        assert_eq!(merged, json!({"a": [2], "b": {"d": 2}}));
    }

    #[test]
    fn a_strategic_patch_is_an_object() {
        let status = strategic(Kind::Pod, json!({}), &json!([])).unwrap_err();
        assert_eq!(status.code, 400);
        assert_eq!(status.message, "json: cannot unmarshal array into Go value of type map[string]interface {}");
    }

    #[test]
    fn values_print_as_go_prints_them() {
        let value = json!({"spec": {"b": [1, "x"], "a": null}, "ok": true});
        assert_eq!(go_text(&value), "map[ok:true spec:map[a:<nil> b:[1 x]]]");
    }
}

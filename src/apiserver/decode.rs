//! From JSON to a typed object.

use serde_json::Value;

use crate::object::{Kind, Object, Status};

use super::request::FieldValidation;

/// Decodes the body of a request. Returns the object and warnings.
pub fn decode(kind: Kind, body: &str, mode: FieldValidation) -> Result<(Object, Vec<String>), Status> {
    let value = serde_json::from_str(body).map_err(|e| Status::bad_request(e.to_string()))?;
    decode_value(kind, value, mode)
}

/// The same for a body that is parsed already.
pub fn decode_value(kind: Kind, value: Value, _: FieldValidation) -> Result<(Object, Vec<String>), Status> {
    let object = kind.decode(value).map_err(|e| Status::bad_request(e.to_string()))?;
    Ok((object, Vec::new()))
}

//! Validation.

use crate::object::Object;
use crate::object::status::Cause;

/// What is wrong with a new object.
pub fn validate_create(_: &Object) -> Vec<Cause> {
    Vec::new()
}

/// What is wrong with a change.
pub fn validate_update(_: &Object, _: &Object) -> Vec<Cause> {
    Vec::new()
}

/// What is wrong with a change of the status.
pub fn validate_status_update(_: &Object, _: &Object) -> Vec<Cause> {
    Vec::new()
}

//! How a function may be called, and what a call comes to.

use crate::cel::failure::{Failure, error};
use crate::cel::types::Type;
use crate::cel::value::Value;

/// One way to call a function.
pub struct Overload {
    /// Whether it is a method; the target is the first that it takes.
    pub member: bool,
    /// What it takes.
    pub takes: Vec<Type>,
    /// What it gives.
    pub gives: Type,
}

/// What a function of the library comes to; none if it is not one of this file, or the values do not fit it.
pub type Found = Option<Result<Value, Failure>>;

/// It comes to this.
pub fn ok(value: Value) -> Found {
    Some(Ok(value))
}

/// It fails with this.
pub fn fails(text: impl Into<String>) -> Found {
    Some(Err(error(text.into())))
}

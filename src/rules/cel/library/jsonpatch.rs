//! Paths of JSON patches. Mirrors `pkg/cel/library/jsonpatch.go`.

use super::found::{Found, ok};
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &["static jsonpatch.escapeKey(string) string"];

/// Only expressions that change objects have it.
pub const ESCAPE_KEY: &str = "jsonpatch.escapeKey";

pub fn call(name: &str, args: &[Value]) -> Found {
    match (name, args) {
        (ESCAPE_KEY, [Value::String(key)]) => ok(Value::string(key.replace('~', "~0").replace('/', "~1"))),
        _ => None,
    }
}

//! Conversions between types, and values that may not be there. Mirrors `common/stdlib` and `cel/library.go` of cel-go.

use std::sync::Arc;

use super::found::{Found, fails, ok};
use crate::cel::duration::{go_duration, parse_duration};
use crate::cel::failure::{Failure, error};
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "dyn(A) dyn",
    "type(A) type",
    "bool(bool) bool",
    "bool(string) bool",
    "int(int) int",
    "int(uint) int",
    "int(double) int",
    "int(string) int",
    "int(timestamp) int",
    "uint(uint) uint",
    "uint(int) uint",
    "uint(double) uint",
    "uint(string) uint",
    "double(double) double",
    "double(int) double",
    "double(uint) double",
    "double(string) double",
    "string(string) string",
    "string(bool) string",
    "string(int) string",
    "string(uint) string",
    "string(double) string",
    "string(bytes) string",
    "string(duration) string",
    "string(timestamp) string",
    "string(ip) string",
    "string(cidr) string",
    "bytes(bytes) bytes",
    "bytes(string) bytes",
    "duration(duration) duration",
    "duration(string) duration",
    "timestamp(timestamp) timestamp",
    "timestamp(string) timestamp",
    "timestamp(int) timestamp",
    "static optional.of(A) optional(A)",
    "static optional.none() optional(A)",
    "static optional.ofNonZeroValue(A) optional(A)",
    "optional(A).hasValue() bool",
    "optional(A).value() A",
    "optional(A).or(optional(A)) optional(A)",
    "optional(A).orValue(A) A",
];

pub fn call(name: &str, args: &[Value]) -> Found {
    match (name, args) {
        ("dyn", [value]) => ok(value.clone()),
        ("type", [value]) => ok(Value::Type(value.type_name().into())),
        ("bool", [value @ Value::Bool(_)])
        | ("int", [value @ Value::Int(_)])
        | ("uint", [value @ Value::Uint(_)])
        | ("double", [value @ Value::Double(_)])
        | ("string", [value @ Value::String(_)])
        | ("bytes", [value @ Value::Bytes(_)])
        | ("duration", [value @ Value::Duration(_)])
        | ("timestamp", [value @ Value::Timestamp(_)]) => ok(value.clone()),
        ("bool", [Value::String(text)]) => match &**text {
            "true" | "True" | "TRUE" | "t" | "1" => ok(Value::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "0" => ok(Value::Bool(false)),
            _ => fails("type conversion error from 'string' to 'bool'"),
        },
        ("int", [value]) => int(value),
        ("uint", [value]) => uint(value),
        ("double", [Value::Int(value)]) => ok(Value::Double(*value as f64)),
        ("double", [Value::Uint(value)]) => ok(Value::Double(*value as f64)),
        ("double", [Value::String(text)]) => parsed(text.parse().map(Value::Double).ok(), "double"),
        ("string", [value]) => shown(value).map(|text| text.map(Value::string)),
        ("bytes", [Value::String(text)]) => ok(Value::Bytes(text.as_bytes().into())),
        ("duration", [Value::String(text)]) => {
            parsed(parse_duration(text).map(Value::Duration), "google.protobuf.Duration")
        }
        ("timestamp", [Value::String(text)]) => {
            parsed(text.parse().map(Value::Timestamp).ok(), "google.protobuf.Timestamp")
        }
        ("timestamp", [Value::Int(seconds)]) => {
            let at = jiff::Timestamp::from_second(*seconds).map(Value::Timestamp);
            Some(at.map_err(|_| error("timestamp overflow".into())))
        }
        ("optional.of", [value]) => ok(Value::Optional(Some(Arc::new(value.clone())))),
        ("optional.none", []) => ok(Value::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => ok(Value::Optional((!is_zero(value)).then(|| Arc::new(value.clone())))),
        ("hasValue", [Value::Optional(of)]) => ok(Value::Bool(of.is_some())),
        ("value", [Value::Optional(of)]) => {
            Some(of.as_deref().cloned().ok_or_else(|| error("optional.none() dereference".into())))
        }
        _ => None,
    }
}

fn parsed(value: Option<Value>, into: &str) -> Found {
    Some(value.ok_or_else(|| error(format!("type conversion error from 'string' to '{into}'"))))
}

fn int(value: &Value) -> Found {
    let overflow = || error("integer overflow".to_owned());
    match value {
        Value::Uint(value) => Some(i64::try_from(*value).map(Value::Int).map_err(|_| overflow())),
        // Rounds towards zero, and leaves out the last values that a double cannot tell apart.
        Value::Double(value) if value.abs() < i64::MAX as f64 => ok(Value::Int(*value as i64)),
        Value::Double(_) => Some(Err(overflow())),
        Value::String(text) => parsed(text.parse().map(Value::Int).ok(), "int"),
        Value::Timestamp(at) => ok(Value::Int(at.as_second())),
        _ => None,
    }
}

fn uint(value: &Value) -> Found {
    let overflow = || error("unsigned integer overflow".to_owned());
    match value {
        Value::Int(value) => Some(u64::try_from(*value).map(Value::Uint).map_err(|_| overflow())),
        Value::Double(value) if *value >= 0.0 && *value < u64::MAX as f64 => ok(Value::Uint(*value as u64)),
        Value::Double(_) => Some(Err(overflow())),
        Value::String(text) => parsed(text.parse().map(Value::Uint).ok(), "uint"),
        _ => None,
    }
}

fn shown(value: &Value) -> Option<Result<String, Failure>> {
    Some(Ok(match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Some(Err(error("invalid UTF-8 in bytes, cannot convert to string".into()))),
        },
        Value::Duration(nanos) => go_duration(*nanos),
        Value::Timestamp(at) => at.to_string(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(address, bits) => format!("{address}/{bits}"),
        _ => return None,
    }))
}

/// What `omitempty` leaves out.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Optional(None) => true,
        Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) => value.size() == 0,
        Value::Int(0) | Value::Uint(0) | Value::Duration(0) => true,
        Value::Double(value) => *value == 0.0,
        Value::Struct(of) => of.fields.is_empty(),
        _ => false,
    }
}

//! Operators. Mirrors `common/stdlib` of cel-go.

use std::cmp::Ordering;

use jiff::SignedDuration;

use super::found::{Found, Overload, fails, ok};
use crate::cel::failure::{Budget, error};
use crate::cel::types::Type;
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "_==_(A, A) bool",
    "_!=_(A, A) bool",
    "@in(A, list(A)) bool",
    "@in(A, map(A,B)) bool",
    "!_(bool) bool",
    "@not_strictly_false(bool) bool",
    "_&&_(bool, bool) bool",
    "_||_(bool, bool) bool",
    "_?_:_(bool, A, A) A",
    "_[_](list(A), int) A",
    "_[_](map(A,B), A) B",
    "_[_](optional(list(A)), int) optional(A)",
    "_[_](optional(map(A,B)), A) optional(B)",
    "_[?_](list(A), int) optional(A)",
    "_[?_](map(A,B), A) optional(B)",
    "_[?_](optional(list(A)), int) optional(A)",
    "_[?_](optional(map(A,B)), A) optional(B)",
    "_+_(int, int) int",
    "_+_(uint, uint) uint",
    "_+_(double, double) double",
    "_+_(string, string) string",
    "_+_(bytes, bytes) bytes",
    "_+_(list(A), list(A)) list(A)",
    "_+_(duration, duration) duration",
    "_+_(timestamp, duration) timestamp",
    "_+_(duration, timestamp) timestamp",
    "_-_(int, int) int",
    "_-_(uint, uint) uint",
    "_-_(double, double) double",
    "_-_(duration, duration) duration",
    "_-_(timestamp, timestamp) duration",
    "_-_(timestamp, duration) timestamp",
    "_*_(int, int) int",
    "_*_(uint, uint) uint",
    "_*_(double, double) double",
    "_/_(int, int) int",
    "_/_(uint, uint) uint",
    "_/_(double, double) double",
    "_%_(int, int) int",
    "_%_(uint, uint) uint",
    "-_(int) int",
    "-_(double) double",
];

/// `<` and the like take two of one type, or any two numbers.
pub fn ordered() -> Vec<Overload> {
    let numbers = [Type::Int, Type::Uint, Type::Double];
    let same = [Type::Bool, Type::String, Type::Bytes, Type::Duration, Type::Timestamp].map(|of| (of.clone(), of));
    let mixed = numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a.clone(), b.clone())));
    let overload = |(a, b)| Overload { member: false, takes: vec![a, b], gives: Type::Bool };
    same.into_iter().chain(mixed).map(overload).collect()
}

pub fn call(name: &str, args: &[Value], budget: &mut Budget) -> Found {
    match (name, args) {
        ("_==_", [a, b]) => Some(budget.same(a, b).map(Value::Bool)),
        ("_!=_", [a, b]) => Some(budget.same(a, b).map(|same| Value::Bool(!same))),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => compare(name, a, b),
        ("!_", [Value::Bool(value)]) => ok(Value::Bool(!value)),
        ("-_", [Value::Int(value)]) => int(value.checked_neg()),
        ("-_", [Value::Double(value)]) => ok(Value::Double(-value)),
        ("@in", [item, Value::List(items)]) => {
            for there in items.iter() {
                match budget.same(item, there) {
                    Ok(false) => {}
                    found => return Some(found.map(Value::Bool)),
                }
            }
            ok(Value::Bool(false))
        }
        ("@in", [key, Value::Map(entries)]) => ok(Value::Bool(key.key().is_some_and(|key| entries.contains_key(&key)))),
        ("_+_", [a, b]) => add(a, b),
        ("_-_" | "_*_" | "_/_" | "_%_", [a, b]) => arithmetic(name, a, b),
        _ => None,
    }
}

fn compare(name: &str, a: &Value, b: &Value) -> Found {
    let nan = |value: &Value| matches!(value, Value::Double(value) if value.is_nan());
    let Some(order) = a.order(b) else {
        return if nan(a) || nan(b) { fails("NaN values cannot be ordered") } else { None };
    };
    ok(Value::Bool(match name {
        "_<_" => order == Ordering::Less,
        "_<=_" => order != Ordering::Greater,
        "_>_" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

fn int(value: Option<i64>) -> Found {
    Some(value.map(Value::Int).ok_or_else(|| error("integer overflow".into())))
}

fn uint(value: Option<u64>) -> Found {
    Some(value.map(Value::Uint).ok_or_else(|| error("unsigned integer overflow".into())))
}

fn duration(value: Option<i64>) -> Found {
    Some(value.map(Value::Duration).ok_or_else(|| error("duration overflow".into())))
}

pub fn add(a: &Value, b: &Value) -> Found {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(*b)),
        (Value::Double(a), Value::Double(b)) => ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => ok(Value::string([&**a, &**b].concat())),
        (Value::Bytes(a), Value::Bytes(b)) => ok(Value::Bytes([&**a, &**b].concat().into())),
        (Value::List(a), Value::List(b)) => ok(Value::list([a.as_slice(), b.as_slice()].concat())),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        (Value::Timestamp(at), Value::Duration(by)) | (Value::Duration(by), Value::Timestamp(at)) => moved(*at, *by),
        _ => None,
    }
}

fn moved(at: jiff::Timestamp, by: i64) -> Found {
    let moved = at.checked_add(SignedDuration::from_nanos(by));
    Some(moved.map(Value::Timestamp).map_err(|_| error("timestamp overflow".into())))
}

fn arithmetic(name: &str, a: &Value, b: &Value) -> Found {
    match (name, a, b) {
        ("_/_", Value::Int(_), Value::Int(0)) | ("_/_", Value::Uint(_), Value::Uint(0)) => fails("division by zero"),
        ("_%_", Value::Int(_), Value::Int(0)) | ("_%_", Value::Uint(_), Value::Uint(0)) => fails("modulus by zero"),
        ("_-_", Value::Int(a), Value::Int(b)) => int(a.checked_sub(*b)),
        ("_*_", Value::Int(a), Value::Int(b)) => int(a.checked_mul(*b)),
        ("_/_", Value::Int(a), Value::Int(b)) => int(a.checked_div(*b)),
        ("_%_", Value::Int(a), Value::Int(b)) => int(a.checked_rem(*b)),
        ("_-_", Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(*b)),
        ("_*_", Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(*b)),
        ("_/_", Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(*b)),
        ("_%_", Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(*b)),
        ("_-_", Value::Double(a), Value::Double(b)) => ok(Value::Double(a - b)),
        ("_*_", Value::Double(a), Value::Double(b)) => ok(Value::Double(a * b)),
        ("_/_", Value::Double(a), Value::Double(b)) => ok(Value::Double(a / b)),
        ("_-_", Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        ("_-_", Value::Timestamp(a), Value::Timestamp(b)) => {
            duration(i64::try_from(a.as_nanosecond() - b.as_nanosecond()).ok())
        }
        ("_-_", Value::Timestamp(at), Value::Duration(by)) => match by.checked_neg() {
            Some(by) => moved(*at, by),
            None => fails("timestamp overflow"),
        },
        _ => None,
    }
}

//! Lists as sets. Mirrors `ext/sets.go` of cel-go.

use super::found::Found;
use crate::cel::failure::{Budget, Failure};
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "static sets.contains(list(A), list(A)) bool",
    "static sets.equivalent(list(A), list(A)) bool",
    "static sets.intersects(list(A), list(A)) bool",
];

pub fn call(name: &str, args: &[Value], budget: &mut Budget) -> Found {
    let [Value::List(a), Value::List(b)] = args else { return None };
    let found = match name {
        "sets.contains" => all_in(b, a, budget),
        "sets.equivalent" => all_in(a, b, budget).and_then(|there| Ok(there && all_in(b, a, budget)?)),
        "sets.intersects" => intersect(a, b, budget),
        _ => return None,
    };
    Some(found.map(Value::Bool))
}

fn is_in(item: &Value, list: &[Value], budget: &mut Budget) -> Result<bool, Failure> {
    for there in list {
        if budget.same(there, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn all_in(items: &[Value], list: &[Value], budget: &mut Budget) -> Result<bool, Failure> {
    for item in items {
        if !is_in(item, list, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersect(a: &[Value], b: &[Value], budget: &mut Budget) -> Result<bool, Failure> {
    for item in a {
        if is_in(item, b, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

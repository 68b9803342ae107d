//! Lists and maps. Mirrors `pkg/cel/library/lists.go` and `ext/lists.go` of cel-go (version 3).
//!
//! Left out: `sortBy`, which is a macro; `lists.range`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::found::{Found, fails, ok};
use super::operators::add;
use crate::cel::failure::{Budget, Failure, error, no_such_overload};
use crate::cel::macros::INSERT;
use crate::cel::value::{Key, Value};

pub const DECLARED: &[&str] = &[
    "size(list(A)) int",
    "size(map(A,B)) int",
    "list(A).size() int",
    "map(A,B).size() int",
    "list(A).isSorted() bool",
    "list(A).sum() A",
    "list(A).min() A",
    "list(A).max() A",
    "list(A).indexOf(A) int",
    "list(A).lastIndexOf(A) int",
    "list(A).slice(int, int) list(A)",
    "list(dyn).flatten() list(dyn)",
    "list(A).distinct() list(A)",
    "list(A).sort() list(A)",
    "list(A).reverse() list(A)",
    "list(A).first() optional(A)",
    "list(A).last() optional(A)",
    "@mapInsert(map(A,B), A, B) map(A,B)",
    "@mapInsert(map(A,B), map(A,B)) map(A,B)",
];

pub fn call(name: &str, args: &[Value], budget: &mut Budget) -> Found {
    match (name, args) {
        ("size", [Value::Map(entries)]) => ok(Value::Int(entries.len() as i64)),
        (INSERT, [Value::Map(into), key, value]) => Some(
            key.key()
                .ok_or_else(no_such_overload)
                .and_then(|key| insert(into, &BTreeMap::from([(key, value.clone())]), budget)),
        ),
        (INSERT, [Value::Map(into), Value::Map(more)]) => Some(insert(into, more, budget)),
        (_, [Value::List(items), rest @ ..]) => of_list(name, items, rest, budget),
        _ => None,
    }
}

/// The map with more entries; their keys must be new to it.
fn insert(into: &BTreeMap<Key, Value>, more: &BTreeMap<Key, Value>, budget: &mut Budget) -> Result<Value, Failure> {
    budget.pay((into.len() + more.len()) as u64)?;
    let mut entries = into.clone();
    for (key, value) in more {
        if entries.insert(key.clone(), value.clone()).is_some() {
            return Err(error(format!("insert failed: key {key} already exists")));
        }
    }
    Ok(Value::Map(Arc::new(entries)))
}

fn of_list(name: &str, items: &[Value], rest: &[Value], budget: &mut Budget) -> Found {
    if let Err(cost) = budget.pay(items.len() as u64) {
        return Some(Err(cost));
    }
    match (name, rest) {
        ("size", []) => ok(Value::Int(items.len() as i64)),
        ("isSorted", []) => is_sorted(items),
        ("sum", []) => sum(items),
        ("min" | "max", []) => extreme(name, items),
        ("indexOf" | "lastIndexOf", [item]) => Some(index_of(name, items, item, budget)),
        ("slice", [Value::Int(from), Value::Int(to)]) => slice(items, *from, *to),
        ("flatten", []) => ok(Value::list(items.iter().flat_map(flat).cloned().collect())),
        ("distinct", []) => Some(distinct(items, budget)),
        ("sort", []) => sort(items),
        ("reverse", []) => ok(Value::list(items.iter().rev().cloned().collect())),
        ("first" | "last", []) => {
            let found = if name == "first" { items.first() } else { items.last() };
            ok(Value::Optional(found.cloned().map(Arc::new)))
        }
        _ => None,
    }
}

fn is_sorted(items: &[Value]) -> Found {
    let mut sorted = true;
    for pair in items.windows(2) {
        sorted &= pair[0].order(&pair[1])? != Ordering::Greater;
    }
    ok(Value::Bool(sorted))
}

fn sum(items: &[Value]) -> Found {
    let Some((first, rest)) = items.split_first() else { return ok(Value::Int(0)) };
    if !matches!(first, Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)) {
        return None;
    }
    let mut total = first.clone();
    for item in rest {
        match add(&total, item)? {
            Ok(next) => total = next,
            Err(why) => return Some(Err(why)),
        }
    }
    ok(total)
}

fn extreme(name: &str, items: &[Value]) -> Found {
    let Some((first, rest)) = items.split_first() else { return fails(format!("{name} called on empty list")) };
    let wanted = if name == "min" { Ordering::Less } else { Ordering::Greater };
    let mut found = first;
    for item in rest {
        if item.order(found)? == wanted {
            found = item;
        }
    }
    ok(found.clone())
}

fn index_of(name: &str, items: &[Value], item: &Value, budget: &mut Budget) -> Result<Value, Failure> {
    let mut found = -1;
    for (i, there) in items.iter().enumerate() {
        if budget.same(there, item)? {
            found = i as i64;
            if name == "indexOf" {
                break;
            }
        }
    }
    Ok(Value::Int(found))
}

fn slice(items: &[Value], from: i64, to: i64) -> Found {
    if from < 0 || to < 0 {
        return fails(format!("cannot slice({from}, {to}), negative indexes not supported"));
    }
    if from > to {
        return fails(format!("cannot slice({from}, {to}), start index must be less than or equal to end index"));
    }
    match items.get(from as usize..to as usize) {
        Some(part) => ok(Value::list(part.to_vec())),
        None => fails(format!("cannot slice({from}, {to}), list is length {}", items.len())),
    }
}

fn flat(item: &Value) -> &[Value] {
    match item {
        Value::List(items) => items,
        other => std::slice::from_ref(other),
    }
}

fn distinct(items: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let mut kept: Vec<Value> = Vec::new();
    'items: for item in items {
        for there in &kept {
            if budget.same(there, item)? {
                continue 'items;
            }
        }
        kept.push(item.clone());
    }
    Ok(Value::list(kept))
}

fn sort(items: &[Value]) -> Found {
    // An item that cannot be compared with the first cannot be sorted with it.
    for item in items {
        items[0].order(item)?;
    }
    let mut items = items.to_vec();
    items.sort_by(|a, b| a.order(b).unwrap_or(Ordering::Equal));
    ok(Value::list(items))
}

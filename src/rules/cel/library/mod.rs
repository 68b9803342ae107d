//! The functions of the language: how each may be called, and what it does.
//!
//! A declaration is written as it is read, `list(A).indexOf(A) int`; the checker goes by them, the evaluator by the values
//! it has. The standard library is that of cel-go; what is beyond it is Kubernetes' own (`pkg/cel/library`) or an
//! extension of cel-go that Kubernetes turns on.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::failure::{Budget, Failure, error, no_such_overload};
use super::types::Type;
use super::value::{Key, Value};

mod convert;
mod format;
mod found;
mod jsonpatch;
mod lists;
mod network;
mod operators;
mod quantity;
mod sets;
mod strings;
mod time;
mod url;

pub use found::Overload;
pub use jsonpatch::ESCAPE_KEY;

/// Every way to call a function, by its name.
static OVERLOADS: LazyLock<BTreeMap<&str, Vec<Overload>>> = LazyLock::new(|| {
    let all = [
        operators::DECLARED,
        convert::DECLARED,
        strings::DECLARED,
        lists::DECLARED,
        time::DECLARED,
        quantity::DECLARED,
        network::DECLARED,
        url::DECLARED,
        format::DECLARED,
        sets::DECLARED,
        jsonpatch::DECLARED,
    ];
    let mut overloads = BTreeMap::<&str, Vec<Overload>>::new();
    for (name, overload) in all.concat().into_iter().filter_map(declared) {
        overloads.entry(name).or_default().push(overload);
    }
    for name in ["_<_", "_<=_", "_>_", "_>=_"] {
        overloads.insert(name, operators::ordered());
    }
    overloads
});

/// Reads `target.name(types) type`, or `name(types) type`; a name that has a point in it is written after `static`.
fn declared(text: &'static str) -> Option<(&'static str, Overload)> {
    let (text, pointed) = text.strip_prefix("static ").map_or((text, false), |text| (text, true));
    let close = text.rfind(") ")?;
    let open = opening(&text[..close])?;
    let mut takes: Vec<Type> = split(&text[open + 1..close]).into_iter().map(Type::read).collect();
    let gives = Type::read(&text[close + 2..]);
    // The point of a method stands behind the type of its target, if not in the name of an operator (`_?._`).
    let target = text[..open].rfind('.').filter(|_| !pointed && !text.starts_with(['_', '@']));
    let name = match target {
        Some(dot) => {
            takes.insert(0, Type::read(&text[..dot]));
            &text[dot + 1..open]
        }
        None => &text[..open],
    };
    Some((name, Overload { member: target.is_some(), takes, gives }))
}

/// Where the bracket that is still open was opened.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(at),
            '(' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Splits at commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        parts.push(&text[from..]);
    }
    parts
}

/// The ways to call `name`; none if there is no such function.
pub fn overloads(name: &str) -> &'static [Overload] {
    OVERLOADS.get(name).map_or(&[], Vec::as_slice)
}

/// Names of types that stand for themselves.
const TYPES: [(&str, &str); 12] = [
    ("bool", "bool"),
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("string", "string"),
    ("bytes", "bytes"),
    ("list", "list"),
    ("map", "map"),
    ("null_type", "null_type"),
    ("type", "type"),
    ("google.protobuf.Duration", "google.protobuf.Duration"),
    ("google.protobuf.Timestamp", "google.protobuf.Timestamp"),
];

/// Whether a name is that of a type.
pub fn is_type(name: &str) -> bool {
    TYPES.iter().any(|(there, _)| *there == name)
}

/// The type of this name as a value.
pub fn type_value(name: &str) -> Option<Value> {
    TYPES.iter().find(|(there, _)| *there == name).map(|(_, of)| Value::Type((*of).into()))
}

/// The type of a literal.
pub fn type_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        other => Type::read(other.type_name()),
    }
}

/// Calls a function; a method has its target first.
pub fn call(name: &str, args: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let found = operators::call(name, args, budget)
        .or_else(|| convert::call(name, args))
        .or_else(|| strings::call(name, args, budget))
        .or_else(|| lists::call(name, args, budget))
        .or_else(|| time::call(name, args))
        .or_else(|| quantity::call(name, args))
        .or_else(|| network::call(name, args))
        .or_else(|| url::call(name, args))
        .or_else(|| format::call(name, args))
        .or_else(|| sets::call(name, args, budget))
        .or_else(|| jsonpatch::call(name, args));
    found.unwrap_or_else(|| Err(no_such_overload()))
}

/// What stands under a key, or at an index.
pub fn at(of: &Value, key: &Value) -> Result<Value, Failure> {
    match of {
        Value::List(items) => {
            let Some(Key::Int(index)) = key.key() else { return Err(no_such_overload()) };
            let found = usize::try_from(index).ok().and_then(|index| items.get(index));
            found.cloned().ok_or_else(|| error(format!("index out of bounds: {index}")))
        }
        Value::Map(entries) => {
            let found = key.key().and_then(|key| entries.get(&key));
            let shown = || key.key().map_or_else(String::new, |key| key.to_string());
            found.cloned().ok_or_else(|| error(format!("no such key: {}", shown())))
        }
        Value::Struct(of) => match key {
            Value::String(name) if of.is_set(name) => Ok(of.field(name)),
            Value::String(name) => Err(error(format!("no such key: {name}"))),
            _ => Err(no_such_overload()),
        },
        _ => Err(no_such_overload()),
    }
}

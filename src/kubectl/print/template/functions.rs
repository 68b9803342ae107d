//! The functions of templates, and how values print. Mirrors `text/template/funcs.go`; `base64decode` and `exists` are
//! kubectl's own.

use std::cmp::Ordering;

use k8s_openapi::ByteString;
use serde_json::Value;

use super::printf::printf;
use super::tree::Item;
use kinds::printers::fields::go_value;
use object::read;

const NAMES: &[&str] = &[
    "and",
    "base64decode",
    "eq",
    "exists",
    "ge",
    "gt",
    "html",
    "index",
    "js",
    "le",
    "len",
    "lt",
    "ne",
    "not",
    "or",
    "print",
    "printf",
    "println",
    "slice",
    "urlquery",
];

/// The function that a word names.
pub fn find(word: &str) -> Option<&'static str> {
    NAMES.iter().find(|name| **name == word).copied()
}

/// What a function makes of its arguments.
pub fn call(name: &str, arguments: &[Item]) -> Result<Item, String> {
    let truth = |value: bool| Ok(Item::Value(value.into()));
    match (name, arguments) {
        ("not", [one]) => truth(!is_true(one)),
        ("and", [_, ..]) => Ok(first(arguments, |item| !is_true(item))),
        ("or", [_, ..]) => Ok(first(arguments, is_true)),
        ("eq", [one, others @ ..]) if !others.is_empty() => {
            for other in others {
                if equal(one, other)? {
                    return truth(true);
                }
            }
            truth(false)
        }
        ("ne", [one, other]) => truth(!equal(one, other)?),
        ("lt", [one, other]) => truth(order(one, other)? == Ordering::Less),
        ("le", [one, other]) => truth(order(one, other)? != Ordering::Greater),
        ("gt", [one, other]) => truth(order(one, other)? == Ordering::Greater),
        ("ge", [one, other]) => truth(order(one, other)? != Ordering::Less),
        ("len", [one]) => length(one),
        ("index", [one, keys @ ..]) => keys.iter().try_fold(one.clone(), index),
        ("slice", [one, bounds @ ..]) => slice(one, bounds),
        ("exists", [one, keys @ ..]) => {
            truth(keys.iter().try_fold(one.clone(), index).is_ok_and(|i| i != Item::Missing))
        }
        ("print", items) => Ok(Item::Value(print(items).into())),
        ("println", items) => Ok(Item::Value((items.iter().map(text).collect::<Vec<_>>().join(" ") + "\n").into())),
        ("printf", [format, items @ ..]) => Ok(Item::Value(printf(&text(format), items).into())),
        ("html", items) => Ok(Item::Value(html(&print(items)).into())),
        ("js", items) => Ok(Item::Value(js(&print(items)).into())),
        ("urlquery", items) => Ok(Item::Value(url_query(&print(items)).into())),
        ("base64decode", [Item::Value(coded @ Value::String(_))]) => match read::from_value::<ByteString>(coded) {
            Ok(ByteString(bytes)) => Ok(Item::Value(String::from_utf8_lossy(&bytes).into_owned().into())),
            Err(_) => Err("illegal base64 data".to_owned()),
        },
        (_, given) => Err(format!("wrong number or type of arguments: {}", given.len())),
    }
}

/// Whether an `if` goes on: what is empty or zero does not.
pub fn is_true(item: &Item) -> bool {
    match item {
        Item::Missing | Item::Value(Value::Null) => false,
        Item::Int(number) => *number != 0,
        Item::Value(Value::Bool(value)) => *value,
        Item::Value(Value::Number(number)) => number.as_f64() != Some(0.0),
        Item::Value(Value::String(text)) => !text.is_empty(),
        Item::Value(Value::Array(items)) => !items.is_empty(),
        Item::Value(Value::Object(fields)) => !fields.is_empty(),
    }
}

/// What is printed of a value: Go's `%v`.
pub fn text(item: &Item) -> String {
    match item {
        Item::Missing | Item::Value(Value::Null) => "<no value>".to_owned(),
        Item::Int(number) => number.to_string(),
        Item::Value(value) => go_value(value),
    }
}

/// The first for which it holds, or else the last.
fn first(items: &[Item], holds: impl Fn(&Item) -> bool) -> Item {
    items.iter().find(|item| holds(item)).or(items.last()).cloned().unwrap_or(Item::Missing)
}

const INCOMPATIBLE: &str = "incompatible types for comparison";

fn equal(one: &Item, other: &Item) -> Result<bool, String> {
    match (one, other) {
        (Item::Missing | Item::Value(Value::Null), Item::Missing | Item::Value(Value::Null)) => Ok(true),
        (Item::Missing | Item::Value(Value::Null), _) | (_, Item::Missing | Item::Value(Value::Null)) => Ok(false),
        (Item::Value(Value::Bool(one)), Item::Value(Value::Bool(other))) => Ok(one == other),
        _ => order(one, other).map(Ordering::is_eq),
    }
}

/// Of two texts, two whole numbers, or two fractions.
fn order(one: &Item, other: &Item) -> Result<Ordering, String> {
    match (one, other) {
        (Item::Int(one), Item::Int(other)) => Ok(one.cmp(other)),
        (Item::Value(Value::String(one)), Item::Value(Value::String(other))) => Ok(one.cmp(other)),
        (Item::Value(Value::Number(one)), Item::Value(Value::Number(other))) => {
            one.as_f64().partial_cmp(&other.as_f64()).ok_or_else(|| INCOMPATIBLE.to_owned())
        }
        (Item::Value(Value::Array(_) | Value::Object(_)), _) => Err("invalid type for comparison".to_owned()),
        _ => Err(INCOMPATIBLE.to_owned()),
    }
}

fn length(item: &Item) -> Result<Item, String> {
    let length = match item {
        Item::Value(Value::String(text)) => text.len(),
        Item::Value(Value::Array(items)) => items.len(),
        Item::Value(Value::Object(fields)) => fields.len(),
        Item::Value(Value::Number(_)) => return Err("len of type float64".to_owned()),
        Item::Value(Value::Bool(_)) => return Err("len of type bool".to_owned()),
        Item::Int(_) => return Err("len of type int64".to_owned()),
        Item::Missing | Item::Value(Value::Null) => return Err("len of nil pointer".to_owned()),
    };
    Ok(Item::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn index(item: Item, key: &Item) -> Result<Item, String> {
    match (item, key) {
        (Item::Value(Value::Object(mut fields)), Item::Value(Value::String(name))) => {
            Ok(fields.remove(name).map_or(Item::Missing, Item::of))
        }
        (Item::Value(Value::Array(mut items)), Item::Int(at)) => match usize::try_from(*at) {
            Ok(at) if at < items.len() => Ok(Item::of(items.swap_remove(at))),
            _ => Err(format!("index out of range: {at}")),
        },
        (Item::Missing | Item::Value(Value::Null), _) => Err("index of untyped nil".to_owned()),
        (Item::Value(Value::Array(_)), key) => Err(format!("cannot index slice/array with {}", text(key))),
        (item, _) => Err(format!("can't index item of type of {}", text(&item))),
    }
}

/// Go's `Sprint`: a space between two operands when neither is a string.
fn print(items: &[Item]) -> String {
    let is_text = |item: &Item| matches!(item, Item::Value(Value::String(_)));
    let mut out = String::new();
    for (i, item) in items.iter().enumerate() {
        if i > 0 && !is_text(item) && !is_text(&items[i - 1]) {
            out.push(' ');
        }
        out += &text(item);
    }
    out
}

/// `slice x 1 2`: from a place, up to a place, of a text or a list.
fn slice(item: &Item, bounds: &[Item]) -> Result<Item, String> {
    let length = match item {
        Item::Value(Value::String(text)) => text.len(),
        Item::Value(Value::Array(items)) => items.len(),
        Item::Missing | Item::Value(Value::Null) => return Err("slice of untyped nil".to_owned()),
        other => return Err(format!("can't slice item of type {}", type_of(other))),
    };
    if bounds.len() > 2 {
        return Err(match item {
            Item::Value(Value::String(_)) => "cannot 3-index slice a string".to_owned(),
            _ => format!("too many slice indexes: {}", bounds.len()),
        });
    }
    let place = |bound: &Item| match bound {
        Item::Int(place) => usize::try_from(*place)
            .ok()
            .filter(|place| *place <= length)
            .ok_or_else(|| format!("index out of range: {place}")),
        other => Err(format!("cannot index slice/array with type {}", type_of(other))),
    };
    let from = bounds.first().map_or(Ok(0), place)?;
    let to = bounds.get(1).map_or(Ok(length), place)?;
    if from > to {
        return Err(format!("invalid slice index: {from} > {to}"));
    }
    Ok(match item {
        Item::Value(Value::String(text)) => {
            Item::Value(String::from_utf8_lossy(&text.as_bytes()[from..to]).into_owned().into())
        }
        Item::Value(Value::Array(items)) => Item::Value(items[from..to].to_vec().into()),
        _ => Item::Missing,
    })
}

/// The type that Go reads a value into.
pub(super) fn type_of(item: &Item) -> &'static str {
    match item {
        Item::Missing => "<nil>",
        Item::Int(_) => "int64",
        Item::Value(value) => object::go_types::untyped(value),
    }
}

fn html(text: &str) -> String {
    let escapes = [("&", "&amp;"), ("\"", "&#34;"), ("'", "&#39;"), ("<", "&lt;"), (">", "&gt;")];
    escapes.iter().fold(text.to_owned(), |text, (plain, coded)| text.replace(plain, coded))
}

/// Text within a string of JavaScript. Mirrors `JSEscape`.
fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\\' | '\'' | '"' => out.extend(['\\', sign]),
            '<' | '>' | '&' | '=' => out += &format!("\\u{:04X}", u32::from(sign)),
            sign if sign.is_control() => out += &format!("\\u{:04X}", u32::from(sign)),
            sign => out.push(sign),
        }
    }
    out
}

/// Text within the query of a URL. Mirrors `url.QueryEscape`.
fn url_query(text: &str) -> String {
    let coded = |byte: u8| match byte {
        b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        b' ' => "+".to_owned(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(coded).collect()
}

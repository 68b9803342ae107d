//! The functions that are called by name.

use regex::RegexBuilder;
use serde_json::{Map, Value, json};

use super::filter::Filter;
use super::run::{compare, holds, kind, named, number, run, sum};
use object::base64;

/// Their names, with how many arguments they take.
const NAMES: &[(&str, usize)] = &[
    ("@base64", 0),
    ("@base64d", 0),
    ("@csv", 0),
    ("@tsv", 0),
    ("add", 0),
    ("all", 0),
    ("all", 1),
    ("any", 0),
    ("any", 1),
    ("ascii_downcase", 0),
    ("ascii_upcase", 0),
    ("contains", 1),
    ("empty", 0),
    ("endswith", 1),
    ("first", 0),
    ("first", 1),
    ("flatten", 0),
    ("from_entries", 0),
    ("fromjson", 0),
    ("group_by", 1),
    ("has", 1),
    ("join", 1),
    ("keys", 0),
    ("last", 0),
    ("length", 0),
    ("ltrimstr", 1),
    ("map", 1),
    ("map_values", 1),
    ("max", 0),
    ("max_by", 1),
    ("min", 0),
    ("min_by", 1),
    ("not", 0),
    ("reverse", 0),
    ("rtrimstr", 1),
    ("select", 1),
    ("sort", 0),
    ("sort_by", 1),
    ("split", 1),
    ("startswith", 1),
    ("test", 1),
    ("to_entries", 0),
    ("tojson", 0),
    ("tonumber", 0),
    ("tostring", 0),
    ("type", 0),
    ("unique", 0),
    ("unique_by", 1),
    ("values", 0),
    ("with_entries", 1),
];

/// Whether one is known, with so many arguments.
pub(super) fn is_known(name: &str, arguments: usize) -> bool {
    NAMES.contains(&(name, arguments))
}

/// A value as a text: a text as it is, all else as JSON.
pub(super) fn said(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What one makes of a value.
///
/// # Errors
/// Why it cannot.
pub(super) fn call(name: &str, arguments: &[Filter], value: &Value) -> Result<Vec<Value>, String> {
    let Some(argument) = arguments.first() else { return of_value(name, value) };
    let one = |value: Value| Ok(vec![value]);
    match name {
        "select" => Ok(run(argument, value)?.iter().filter(|so| holds(so)).map(|_| value.clone()).collect()),
        "first" => Ok(run(argument, value)?.into_iter().take(1).collect()),
        "map" => one(Value::Array(of_each(&items(value)?, argument)?)),
        "map_values" => match value {
            Value::Object(fields) => {
                let mut changed = Map::new();
                for (key, value) in fields {
                    run(argument, value)?
                        .into_iter()
                        .take(1)
                        .for_each(|value| drop(changed.insert(key.clone(), value)));
                }
                one(Value::Object(changed))
            }
            other => one(Value::Array(of_each(&items(other)?, argument)?)),
        },
        "any" | "all" => {
            let so: Vec<bool> = of_each(&items(value)?, argument)?.iter().map(holds).collect();
            one(json!(if name == "any" { so.contains(&true) } else { !so.contains(&false) }))
        }
        "with_entries" => {
            let entries = of_value("to_entries", value)?;
            one(from_entries(&of_each(&items(&entries[0])?, argument)?)?)
        }
        "sort_by" | "group_by" | "unique_by" | "min_by" | "max_by" => {
            by(name, argument, value).map(|found| vec![found])
        }
        _ => run(argument, value)?.iter().map(|argument| with(name, value, argument)).collect(),
    }
}

/// Those whose argument is a value.
fn with(name: &str, value: &Value, argument: &Value) -> Result<Value, String> {
    let texts = || match (value, argument) {
        (Value::String(text), Value::String(other)) => Ok((text.as_str(), other.as_str())),
        _ => Err(format!("{name}() cannot be done with {} and {}", named(value), named(argument))),
    };
    Ok(match name {
        "contains" => json!(contains(value, argument)),
        "has" => match (value, argument) {
            (Value::Object(fields), Value::String(key)) => json!(fields.contains_key(key)),
            (Value::Array(items), Value::Number(at)) => json!(at.as_u64().is_some_and(|at| at < items.len() as u64)),
            _ => return Err(format!("Cannot check whether {} has a {} key", kind(value), kind(argument))),
        },
        "join" => {
            let between = argument.as_str().ok_or_else(|| format!("{} is no string", named(argument)))?;
            let parts = items(value)?
                .iter()
                .map(|part| if part.is_null() { String::new() } else { said(part) })
                .collect::<Vec<_>>();
            parts.join(between).into()
        }
        "startswith" => texts().map(|(text, other)| json!(text.starts_with(other)))?,
        "endswith" => texts().map(|(text, other)| json!(text.ends_with(other)))?,
        "split" => texts().map(|(text, other)| text.split(other).collect())?,
        "ltrimstr" => {
            texts().map_or_else(|_| value.clone(), |(text, other)| text.strip_prefix(other).unwrap_or(text).into())
        }
        "rtrimstr" => {
            texts().map_or_else(|_| value.clone(), |(text, other)| text.strip_suffix(other).unwrap_or(text).into())
        }
        _ => {
            let (text, pattern) = texts()?;
            let regex = RegexBuilder::new(pattern).size_limit(1 << 18).build();
            json!(regex.map_err(|_| format!("{pattern} is no regular expression"))?.is_match(text))
        }
    })
}

/// Those without an argument.
fn of_value(name: &str, value: &Value) -> Result<Vec<Value>, String> {
    let list = || items(value);
    Ok(vec![match name {
        "empty" => return Ok(Vec::new()),
        "values" => return Ok(if value.is_null() { Vec::new() } else { vec![value.clone()] }),
        "first" => list()?.into_iter().next().unwrap_or_default(),
        "last" => list()?.into_iter().next_back().unwrap_or_default(),
        "not" => json!(!holds(value)),
        "length" => match value {
            Value::Null => json!(0),
            Value::Bool(_) => return Err(format!("{} has no length", named(value))),
            Value::Number(of) => number(of.as_f64().unwrap_or_default().abs()),
            Value::String(text) => json!(text.chars().count()),
            Value::Array(items) => json!(items.len()),
            Value::Object(fields) => json!(fields.len()),
        },
        "keys" => match value {
            Value::Object(fields) => fields.keys().cloned().collect(),
            Value::Array(items) => (0..items.len()).collect(),
            other => return Err(format!("{} has no keys", named(other))),
        },
        "to_entries" => match value {
            Value::Object(fields) => fields.iter().map(|(key, value)| json!({"key": key, "value": value})).collect(),
            other => return Err(format!("{} has no keys", named(other))),
        },
        "from_entries" => from_entries(&list()?)?,
        "add" => list()?.iter().try_fold(Value::Null, |all, item| sum("+", &all, item))?,
        "any" => json!(list()?.iter().any(holds)),
        "all" => json!(list()?.iter().all(holds)),
        "flatten" => flat(&list()?).into(),
        "reverse" => list()?.into_iter().rev().collect(),
        "sort" | "unique" | "min" | "max" => by(&format!("{name}_by"), &Filter::This, value)?,
        "type" => json!(kind(value)),
        "tostring" => said(value).into(),
        "tojson" => value.to_string().into(),
        "fromjson" => serde_json::from_str(&said(value)).map_err(|why| format!("{} (while parsing)", why))?,
        "tonumber" => match value {
            Value::Number(_) => value.clone(),
            other => {
                let parsed = other.as_str().and_then(|text| text.trim().parse::<f64>().ok()).filter(|n| n.is_finite());
                number(parsed.ok_or_else(|| format!("{} cannot be parsed as a number", named(other)))?)
            }
        },
        "ascii_downcase" => said(value).to_ascii_lowercase().into(),
        "ascii_upcase" => said(value).to_ascii_uppercase().into(),
        "@base64" => base64::padded(said(value).as_bytes()).into(),
        "@base64d" => {
            let plain = said(value).trim_end_matches('=').replace('+', "-").replace('/', "_");
            let bytes = base64::decode(&plain).map_err(|_| format!("{} is not valid base64 data", named(value)))?;
            String::from_utf8_lossy(&bytes).into_owned().into()
        }
        "@tsv" => list()?
            .iter()
            .map(|cell| if cell.is_null() { String::new() } else { said(cell) })
            .collect::<Vec<_>>()
            .join("\t")
            .into(),
        _ => {
            let cell = |cell: &Value| match cell {
                Value::Null => String::new(),
                Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
                other => other.to_string(),
            };
            list()?.iter().map(cell).collect::<Vec<_>>().join(",").into()
        }
    }])
}

fn items(value: &Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) => Ok(items.clone()),
        Value::Object(fields) => Ok(fields.values().cloned().collect()),
        other => Err(format!("Cannot iterate over {}", named(other))),
    }
}

fn of_each(values: &[Value], filter: &Filter) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for value in values {
        all.extend(run(filter, value)?);
    }
    Ok(all)
}

/// Those that go by the order of what a filter gives.
fn by(name: &str, filter: &Filter, value: &Value) -> Result<Value, String> {
    let mut keyed = Vec::new();
    for item in items(value)? {
        keyed.push((Value::Array(run(filter, &item)?), item));
    }
    keyed.sort_by(|(one, _), (other, _)| compare(one, other));
    let groups = || keyed.chunk_by(|(one, _), (other, _)| compare(one, other).is_eq());
    let alone = |item: Option<&(Value, Value)>| item.map_or(Value::Null, |(_, item)| item.clone());
    Ok(match name {
        "min_by" => alone(keyed.first()),
        "max_by" => alone(keyed.last()),
        "unique_by" => groups().map(|group| group[0].1.clone()).collect(),
        "group_by" => groups().map(|group| group.iter().map(|(_, item)| item.clone()).collect::<Value>()).collect(),
        _ => keyed.iter().map(|(_, item)| item.clone()).collect(),
    })
}

fn from_entries(entries: &[Value]) -> Result<Value, String> {
    let mut fields = Map::new();
    for entry in entries {
        let key = ["key", "k", "name", "Name"].iter().find_map(|field| entry.get(field)).map(said);
        let key = key.ok_or_else(|| format!("{} has no key", named(entry)))?;
        let value = ["value", "v", "Value"].iter().find_map(|field| entry.get(field));
        fields.insert(key, value.cloned().unwrap_or_default());
    }
    Ok(Value::Object(fields))
}

/// A text within a text, each item in some item, each field in the same one.
fn contains(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::String(text), Value::String(other)) => text.contains(other.as_str()),
        (Value::Array(items), Value::Array(others)) => {
            others.iter().all(|other| items.iter().any(|item| contains(item, other)))
        }
        (Value::Object(fields), Value::Object(others)) => {
            others.iter().all(|(key, other)| fields.get(key).is_some_and(|value| contains(value, other)))
        }
        (value, other) => value == other,
    }
}

/// Lists within a list, as deep as they go: what is read of JSON is bounded.
fn flat(items: &[Value]) -> Vec<Value> {
    items
        .iter()
        .flat_map(|item| if let Value::Array(items) = item { flat(items) } else { vec![item.clone()] })
        .collect()
}

//! What comes of a filter.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::filter::Filter;
use super::functions;

/// A filter may give so many values.
const MANY: usize = 100_000;

/// What a filter makes of a value.
///
/// # Errors
/// Why it cannot.
pub(super) fn run(filter: &Filter, value: &Value) -> Result<Vec<Value>, String> {
    let found = match filter {
        Filter::This => vec![value.clone()],
        Filter::All => everything(value),
        Filter::Literal(value) => vec![value.clone()],
        Filter::Text(parts) => {
            let mut texts = vec![String::new()];
            for part in parts {
                let said: Vec<String> = run(part, value)?.iter().map(functions::said).collect();
                texts = said.iter().flat_map(|end| texts.iter().map(move |text| format!("{text}{end}"))).collect();
                bounded(&texts)?;
            }
            texts.into_iter().map(Value::from).collect()
        }
        Filter::At(of, key) => {
            let keys = run(key, value)?;
            each(&run(of, value)?, |of| keys.iter().map(|key| at(of, key)).collect())?
        }
        Filter::Slice(of, from, to) => {
            let bound = |end: &Option<Box<Filter>>| end.as_ref().map(|end| first(end, value)).transpose();
            let (from, to) = (bound(from)?, bound(to)?);
            each(&run(of, value)?, |of| slice(of, from.as_ref(), to.as_ref()).map(|part| vec![part]))?
        }
        Filter::Each(of) => each(&run(of, value)?, |of| match of {
            Value::Array(items) => Ok(items.clone()),
            Value::Object(fields) => Ok(fields.values().cloned().collect()),
            other => Err(format!("Cannot iterate over {}", named(other))),
        })?,
        Filter::Try(of) => run(of, value).unwrap_or_default(),
        Filter::Pipe(from, to) => each(&run(from, value)?, |value| run(to, value))?,
        Filter::Both(one, other) => [run(one, value)?, run(other, value)?].concat(),
        Filter::Binary(sign, left, right) => binary(sign, left, right, value)?,
        Filter::Array(None) => vec![json!([])],
        Filter::Array(Some(items)) => vec![Value::Array(run(items, value)?)],
        Filter::Object(fields) => {
            let mut objects = vec![Map::new()];
            for (key, of) in fields {
                let (keys, values) = (run(key, value)?, run(of, value)?);
                let mut next = Vec::new();
                for (object, key) in objects.iter().flat_map(|object| keys.iter().map(move |key| (object, key))) {
                    let key = key.as_str().ok_or_else(|| format!("Object keys must be strings, not {}", named(key)))?;
                    for value in &values {
                        let mut object = object.clone();
                        object.insert(key.to_owned(), value.clone());
                        next.push(object);
                    }
                    bounded(&next)?;
                }
                objects = next;
            }
            objects.into_iter().map(Value::Object).collect()
        }
        Filter::If(when, then, other) => {
            each(&run(when, value)?, |so| run(if holds(so) { then } else { other }, value))?
        }
        Filter::Call(name, arguments) => functions::call(name, arguments, value)?,
    };
    bounded(&found)?;
    Ok(found)
}

fn bounded<T>(values: &[T]) -> Result<(), String> {
    if values.len() > MANY { Err("the filter gives too many values".to_owned()) } else { Ok(()) }
}

fn each(values: &[Value], of: impl Fn(&Value) -> Result<Vec<Value>, String>) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for value in values {
        all.extend(of(value)?);
        bounded(&all)?;
    }
    Ok(all)
}

/// The first of what a filter gives; null if that is nothing.
pub(super) fn first(filter: &Filter, value: &Value) -> Result<Value, String> {
    Ok(run(filter, value)?.into_iter().next().unwrap_or_default())
}

pub(super) fn holds(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

/// A value and all within it.
fn everything(value: &Value) -> Vec<Value> {
    let (mut all, mut next) = (Vec::new(), vec![value]);
    while let Some(value) = next.pop() {
        all.push(value.clone());
        match value {
            Value::Array(items) => next.extend(items.iter().rev()),
            Value::Object(fields) => next.extend(fields.values().rev()),
            _ => {}
        }
    }
    all
}

fn at(of: &Value, key: &Value) -> Result<Value, String> {
    match (of, key) {
        (Value::Null, Value::String(_) | Value::Number(_) | Value::Null) => Ok(Value::Null),
        (Value::Object(fields), Value::String(key)) => Ok(fields.get(key).cloned().unwrap_or_default()),
        (Value::Array(items), Value::Number(_)) => {
            let place = place(key, items.len());
            Ok(usize::try_from(place).ok().and_then(|place| items.get(place)).cloned().unwrap_or_default())
        }
        (of, Value::String(key)) => Err(format!("Cannot index {} with \"{key}\"", kind(of))),
        (of, key) => Err(format!("Cannot index {} with {}", kind(of), kind(key))),
    }
}

/// Where a number points to: one below zero counts from the end.
fn place(number: &Value, length: usize) -> i64 {
    let (place, length) = (number.as_f64().unwrap_or_default() as i64, length as i64);
    if place < 0 { place + length } else { place }
}

fn slice(of: &Value, from: Option<&Value>, to: Option<&Value>) -> Result<Value, String> {
    let bounds = |length: usize| {
        let bound = |end: Option<&Value>, open: usize| match end {
            None | Some(Value::Null) => open,
            Some(end) => place(end, length).clamp(0, length as i64) as usize,
        };
        let (from, to) = (bound(from, 0), bound(to, length));
        (from, to.max(from))
    };
    match of {
        Value::Null => Ok(Value::Null),
        Value::Array(items) => {
            let (from, to) = bounds(items.len());
            Ok(Value::Array(items[from..to].to_vec()))
        }
        Value::String(text) => {
            let (from, to) = bounds(text.chars().count());
            Ok(text.chars().skip(from).take(to - from).collect::<String>().into())
        }
        other => Err(format!("Cannot index {} with object", kind(other))),
    }
}

fn binary(sign: &str, left: &Filter, right: &Filter, value: &Value) -> Result<Vec<Value>, String> {
    if sign == "//" {
        let found: Vec<Value> = run(left, value).unwrap_or_default().into_iter().filter(holds).collect();
        return if found.is_empty() { run(right, value) } else { Ok(found) };
    }
    if matches!(sign, "and" | "or") {
        return each(&run(left, value)?, |one| match (sign, holds(one)) {
            ("and", false) => Ok(vec![json!(false)]),
            ("or", true) => Ok(vec![json!(true)]),
            _ => Ok(run(right, value)?.iter().map(|other| json!(holds(other))).collect()),
        });
    }
    let lefts = run(left, value)?;
    each(&run(right, value)?, |other| lefts.iter().map(|one| of_two(sign, one, other)).collect())
}

fn of_two(sign: &str, one: &Value, other: &Value) -> Result<Value, String> {
    let order = || compare(one, other);
    Ok(match sign {
        "==" => json!(order().is_eq()),
        "!=" => json!(order().is_ne()),
        "<" => json!(order().is_lt()),
        "<=" => json!(order().is_le()),
        ">" => json!(order().is_gt()),
        ">=" => json!(order().is_ge()),
        _ => return sum(sign, one, other),
    })
}

/// `+`, `-`, `*`, `/` and `%`.
pub(super) fn sum(sign: &str, one: &Value, other: &Value) -> Result<Value, String> {
    match (sign, one, other) {
        ("+", Value::Null, it) | ("+", it, Value::Null) => Ok(it.clone()),
        ("+", Value::String(one), Value::String(other)) => Ok(format!("{one}{other}").into()),
        ("+", Value::Array(one), Value::Array(other)) => Ok([one.as_slice(), other].concat().into()),
        ("+", Value::Object(one), Value::Object(other)) => {
            let fields = one.iter().chain(other).map(|(key, value)| (key.clone(), value.clone()));
            Ok(Value::Object(fields.collect()))
        }
        ("-", Value::Array(one), Value::Array(other)) => {
            Ok(one.iter().filter(|item| !other.contains(item)).cloned().collect())
        }
        ("/", Value::String(text), Value::String(between)) => Ok(text.split(between.as_str()).collect()),
        (_, Value::Number(one), Value::Number(other)) => {
            let (a, b) = (one.as_f64().unwrap_or_default(), other.as_f64().unwrap_or_default());
            if b == 0.0 && matches!(sign, "/" | "%") {
                return Err(format!(
                    "number ({one}) and number ({other}) cannot be divided because the divisor is zero"
                ));
            }
            Ok(number(match sign {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "/" => a / b,
                _ => (a.trunc() % b.trunc()).trunc(),
            }))
        }
        _ => {
            let how = match sign {
                "+" => "added",
                "-" => "subtracted",
                "*" => "multiplied",
                _ => "divided",
            };
            Err(format!("{} and {} cannot be {how}", named(one), named(other)))
        }
    }
}

/// A number as it is printed: a whole one without a point.
pub(super) fn number(number: f64) -> Value {
    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
    if is_whole { json!(number as i64) } else { json!(number) }
}

/// The order of all values: null, false, true, numbers, texts, lists, objects.
pub(super) fn compare(one: &Value, other: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(so) => 1 + i32::from(*so),
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
    };
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let differs = one.iter().zip(other).map(|(one, other)| compare(one, other)).find(|order| order.is_ne());
            differs.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => {
            let differs = one.values().zip(other.values()).map(|(one, other)| compare(one, other));
            one.keys().cmp(other.keys()).then_with(|| differs.fold(Ordering::Equal, Ordering::then))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as errors name it: `string ("web")`, its text cut off where it is long.
pub(super) fn named(value: &Value) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let text = value.to_string();
    let short: String =
        if text.chars().count() > 11 { text.chars().take(8).chain("...".chars()).collect() } else { text };
    format!("{} ({short})", kind(value))
}

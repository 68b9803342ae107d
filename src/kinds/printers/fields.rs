//! Reading fields out of JSON, the way kubectl's printers see objects.

use jiff::Timestamp;
use serde_json::{Map, Value};

use object::read;
/// The value at `path` (`spec.template.metadata`), or null.
pub fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').try_fold(value, |value, part| value.get(part)).unwrap_or(&Value::Null)
}

/// The text at `path`; empty if there is none.
pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// The namespace and the name of an object; empty if it has none.
pub fn namespace_and_name(object: &Value) -> (&str, &str) {
    (text(object, "metadata.namespace"), text(object, "metadata.name"))
}

/// The text at `path`, or `<none>`.
pub fn text_or_none(value: &Value, path: &str) -> String {
    or_none(text(value, path))
}

/// `text`, or `<none>` for an empty one.
pub fn or_none(text: &str) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text.to_owned() }
}

/// The number at `path`; 0 if there is none.
pub fn int(value: &Value, path: &str) -> i64 {
    at(value, path).as_i64().unwrap_or_default()
}

/// Whether `path` holds `true`.
pub fn flag(value: &Value, path: &str) -> bool {
    at(value, path).as_bool().unwrap_or_default()
}

/// The list at `path`; empty if there is none.
pub fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}

/// The fields at `path` in key order; none if it is no object.
pub fn map<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    at(value, path).as_object().into_iter().flat_map(Map::iter)
}

/// A scalar as Go's `%v` prints it; other values as JSON.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Any value as Go's `%v` prints it: `map[a:1 b:[x y]]`.
pub fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.is_f64() => go_float(number.as_f64().unwrap_or_default()),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_value).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key}:{}", go_value(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// A fraction as Go's `%v` prints it: `0.5`, `3`, `1e+06`. Mirrors `%g` of `strconv/ftoa.go`.
fn go_float(number: f64) -> String {
    let shortest = format!("{number:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else { return shortest };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        _ => number.to_string(),
    }
}

/// The time at `path`.
pub fn time(value: &Value, path: &str) -> Option<Timestamp> {
    text(value, path).parse().ok()
}

/// `app=web,tier=front`, or `<none>`. Mirrors `labels.FormatLabels`.
pub fn labels(value: &Value, path: &str) -> String {
    let pairs: Vec<String> = map(value, path).map(|(key, value)| format!("{key}={}", plain(value))).collect();
    or_none(&pairs.join(","))
}

/// A label selector, typed or plain, as tables show it. Mirrors `metav1.FormatLabelSelector`.
pub fn selector(value: &Value, path: &str) -> String {
    // Only a plain one has texts where a typed one has `matchLabels`.
    if map(value, path).any(|(_, label)| label.is_string()) {
        return labels(value, path);
    }
    let selector =
        Some(at(value, path)).filter(|value| !value.is_null()).and_then(|value| read::from_value(value).ok());
    object::selector::format_label_selector(selector.as_ref())
}

/// `Thu, 01 Jan 2026 00:00:00 +0000`, as describe pages show times. Mirrors `time.RFC1123Z`.
pub fn long_time(value: &Value, path: &str) -> Option<String> {
    time(value, path).map(|time| time.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string())
}

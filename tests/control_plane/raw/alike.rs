//! Whether two answers are alike, but for what no two clusters have in common.

use rest::exchange::RawAnswer;
use serde_json::{Map, Value, json};

use super::recorded::Case;

/// What differs: its kind, by which differences are gathered, and what it is here.
pub struct Differences(pub Vec<(String, String)>);

/// What differs between the recorded answer to a case and ours.
pub fn compare(case: &Case, answer: &RawAnswer) -> Differences {
    let mut found = Vec::new();
    let line = &case.line;
    let code = line["http_status"].as_u64().unwrap_or_default();
    let real = value(&line["response"]);
    let ours = value(&Value::String(answer.body.clone()));
    if code != u64::from(answer.code) {
        let [real, ours] = [&real, &ours].map(|body| brief(&body["message"]));
        found.push((format!("code {code} is {}", answer.code), format!("{real} | {ours}")));
        return Differences(found);
    }
    let kind = line["content_type"].as_str().unwrap_or_default();
    if kind != answer.header("Content-Type") && !answer.body.is_empty() {
        found.push(("Content-Type".into(), format!("{kind} | {}", answer.header("Content-Type"))));
    }
    let texts = |values: &Value| values.as_array().into_iter().flatten().filter_map(Value::as_str).map(mask).collect();
    let real_warnings: Vec<String> = texts(&line["warning_headers"]);
    let warnings = answer.headers.iter().filter(|(name, _)| *name == "Warning");
    let our_warnings: Vec<String> = warnings.map(|(_, text)| mask(text)).collect();
    if real_warnings != our_warnings {
        found.push(("warnings".into(), format!("{real_warnings:?} | {our_warnings:?}")));
    }
    if line.get("response_length").is_some() || case.method == "HEAD" {
        return Differences(found);
    }
    if line["varies"] == true {
        let said = |body: &Value| [&body["kind"], &body["reason"]].map(brief);
        if said(&real) != said(&ours) {
            found.push(("what varies".into(), format!("{:?} | {:?}", said(&real), said(&ours))));
        }
        return Differences(found);
    }
    differ("", &masked(&real), &masked(&ours), &mut found);
    Differences(found)
}

/// A body as a value: JSON, YAML, or else a text.
fn value(body: &Value) -> Value {
    let Value::String(text) = body else { return body.clone() };
    let read = serde_json::from_str(text).or_else(|_| serde_yaml::from_str(text));
    match read {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ if text.is_empty() => Value::Null,
        _ => json!(text),
    }
}

fn differ(path: &str, real: &Value, ours: &Value, found: &mut Vec<(String, String)>) {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            for (key, value) in real {
                let path = format!("{path}.{key}");
                match ours.get(key) {
                    None => found.push((format!("lacks {path}"), brief(value))),
                    Some(other) => differ(&path, value, other, found),
                }
            }
            for (key, value) in ours.iter().filter(|(key, _)| !real.contains_key(*key)) {
                found.push((format!("has {path}.{key}"), brief(value)));
            }
        }
        (Value::Array(real), Value::Array(ours)) if real.len() == ours.len() => {
            real.iter().zip(ours).for_each(|(real, ours)| differ(&format!("{path}[]"), real, ours, found));
        }
        (real, ours) if real == ours => {}
        (real, ours) => found.push((format!("other {path}"), format!("{} | {}", brief(real), brief(ours)))),
    }
}

fn brief(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(4000).collect()
}

/// The same without what no two clusters have in common.
fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let generated = fields.contains_key("generateName");
            let field = |(key, value): (&String, &Value)| {
                let value = match key.as_str() {
                    "resourceVersion" | "uid" | "continue" | "token" | "clusterIP" if value.is_string() => {
                        json!("masked")
                    }
                    "clusterIPs" => json!("masked"),
                    "name" if generated => json!("generated"),
                    _ => masked(value),
                };
                (key.clone(), value)
            };
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::String(text) if is_age(text) => json!("AGE"),
        Value::String(text) => json!(mask(text)),
        other => other.clone(),
    }
}

/// A text with its uids and times masked.
fn mask(text: &str) -> String {
    const TOKEN_VOLUME: &str = "kube-api-access-";
    if text.starts_with(TOKEN_VOLUME) {
        return TOKEN_VOLUME.to_owned();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // An object that is quoted in a sentence has a version too.
        const VERSION: &str = "\"resourceVersion\":\"";
        if let Some(version) = rest.strip_prefix(VERSION) {
            out += VERSION;
            rest = version.trim_start_matches(|c: char| c.is_ascii_digit());
            continue;
        }
        if let Some(hash) = rest.strip_prefix("?hash=") {
            out += "?hash=";
            rest = hash.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            continue;
        }
        let shapes = [("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "UID"), ("dddd-dd-ddTdd:dd:dd", "TIME")];
        match shapes.iter().find(|(shape, _)| fits(rest, shape)) {
            Some((shape, name)) => {
                out += name;
                rest = &rest[shape.len()..];
                if *name == "TIME" {
                    rest = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
                }
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Whether a text is an age as tables show it.
fn is_age(text: &str) -> bool {
    let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
    digits.len() < text.len() && !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Whether a text begins so: `h` is a digit in hexadecimal, `d` one in decimal.
fn fits(text: &str, shape: &str) -> bool {
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'h' => byte.is_ascii_hexdigit(),
        b'd' => byte.is_ascii_digit(),
        _ => byte == wanted,
    };
    text.len() >= shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

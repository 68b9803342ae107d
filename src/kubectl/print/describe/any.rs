//! The page about a kind that has none of its own, such as an Event, a definition of a kind or what such a kind has: its fields
//! as they are, in the order of their names. Mirrors `GenericDescriberFor`.

use serde_json::{Map, Value};

use super::super::fields::go_value;
use super::page::Page;
use super::simple::head;

/// What the page begins with is not told again.
const TOLD: [&str; 5] = ["name", "namespace", "labels", "annotations", "managedFields"];

pub(super) fn describe(page: &mut Page, object: &Value) {
    head(page, object);
    for (key, value) in object.as_object().into_iter().flatten() {
        match value {
            Value::Object(fields) if key == "metadata" => {
                let rest = fields.iter().filter(|(key, _)| !TOLD.contains(&key.as_str()));
                let rest: Map<String, Value> = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
                describe_value(page, key, &Value::Object(rest), 0);
            }
            value => describe_value(page, key, value, 0),
        }
    }
}

fn describe_value(page: &mut Page, key: &str, value: &Value, level: usize) {
    let (indent, title) = ("  ".repeat(level), title(key));
    match value {
        Value::Object(fields) => {
            page.line(format!("{indent}{title}:"));
            fields.iter().for_each(|(key, value)| describe_value(page, key, value, level + 1));
        }
        Value::Array(items) => {
            page.line(format!("{indent}{title}:"));
            for item in items {
                match item {
                    Value::Object(fields) => {
                        fields.iter().for_each(|(key, value)| describe_value(page, key, value, level + 1));
                    }
                    other => page.line(format!("{indent}  {}", go_value(other))),
                }
            }
        }
        other => page.field(&format!("{indent}{title}"), go_value(other)),
    }
}

/// `holderIdentity` as `Holder Identity`, and `podCIDRs` as `Pod CIDRs`. Mirrors `smartLabelFor`.
fn title(key: &str) -> String {
    // What is no name of a field stays as it is.
    if key.contains(|c: char| !c.is_alphabetic() && c != '-') {
        return key.to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    for part in parts(key) {
        let is_capital = |word: &String| word.chars().count() >= 2 && word.chars().all(char::is_uppercase);
        // The plural of an abbreviation is one word.
        match words.last_mut().filter(|last| is_capital(last)) {
            Some(last) if part.starts_with(char::is_uppercase) => last.push_str(&part),
            _ => words.push(part),
        }
    }
    let shown = |word: String| match word.to_uppercase() {
        capital if ["API", "URL", "UID", "GUID"].contains(&capital.as_str()) => capital,
        _ if word.starts_with(char::is_lowercase) => {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
        }
        _ => word,
    };
    words.into_iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Runs of small letters, each with the capital before it, of capitals, and of dashes. Mirrors `camelcase.Split`.
fn parts(key: &str) -> Vec<String> {
    let sort = |c: char| (c.is_lowercase(), c.is_uppercase());
    let mut parts: Vec<Vec<char>> = Vec::new();
    for c in key.chars() {
        match parts.last_mut().filter(|part| part.last().is_some_and(|last| sort(*last) == sort(c))) {
            Some(part) => part.push(c),
            None => parts.push(vec![c]),
        }
    }
    for at in 1..parts.len() {
        let (before, after) = parts.split_at_mut(at);
        let (Some(capitals), Some(small)) = (before.last_mut(), after.first_mut()) else { continue };
        if capitals.last().is_some_and(|c| c.is_uppercase()) && small.first().is_some_and(|c| c.is_lowercase()) {
            small.extend(capitals.pop());
            small.rotate_right(1);
        }
    }
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| part.into_iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_in_words() {
        for (key, want) in [
            ("holderIdentity", "Holder Identity"),
            ("apiGroups", "API Groups"),
            ("uid", "UID"),
            ("clientIP", "Client IP"),
            ("podCIDRs", "Pod CIDRs"),
            ("URLPath", "URLPath"),
            ("kind", "Kind"),
            ("openAPIV3Schema", "openAPIV3Schema"),
            ("x-kubernetes-int", "X - Kubernetes - Int"),
            ("a.b/c", "a.b/c"),
        ] {
            assert_eq!(title(key), want, "{key}");
        }
    }
}

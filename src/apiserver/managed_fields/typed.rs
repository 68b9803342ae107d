//! Whether the values of a configuration are of the types that its kind has. Mirrors the validation of `typed` in
//! `sigs.k8s.io/structured-merge-diff`, which has words of its own for what is wrong.

use serde_json::Value;

use object::Kind;
use object::fields::Schema;
use object::fields::schema::step_to;
use object::go_types::{self, GoType, resolve, untyped};
use object::patch::go_text;
use object::validation::field::below;
use rest::decode;
use rules::apiextensions::Version;

/// Whether the kind has all fields of a configuration, and of these types; if not, what is wrong, a line each.
pub fn check<S: Schema>(schema: &S, (kind, custom): (Kind, Option<&Version>), config: &Value) -> Result<(), String> {
    let wrong = if custom.is_some() { Vec::new() } else { wrong_types(kind, config) };
    let unknown = match wrong.is_empty() {
        true => decode::unknown_fields(kind, custom, config)?,
        false => Vec::new(),
    };
    let unknown = unknown.into_iter().map(|path| (path, "field not declared in schema".to_owned()));
    let lines: Vec<String> = { wrong.into_iter().chain(unknown) }
        .map(|(path, why)| format!("{}: {why}", with_keys(schema, config, &path)))
        .collect();
    match lines.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

/// `spec.ports[0].foo` as `.spec.ports[port=80,protocol="TCP"].foo`.
fn with_keys<S: Schema>(schema: &S, config: &Value, path: &str) -> String {
    let (mut place, mut value, mut shown) = (schema.clone(), Some(config), String::new());
    for name in path.split('.') {
        let (name, indices) = name.split_once('[').unwrap_or((name, ""));
        (place, value) = (place.field(name), value.and_then(|value| value.get(name)));
        shown += &format!(".{name}");
        for index in indices.split('[').map(|index| index.trim_end_matches(']')).filter(|index| !index.is_empty()) {
            let item = index.parse::<usize>().ok().and_then(|index| value?.get(index));
            let step = item.and_then(|item| step_to(&place, item).ok());
            shown += &step.map_or_else(|| format!("[{index}]"), |step| step.to_string());
            (place, value) = (place.item(), item);
        }
    }
    shown
}

/// The values of a wrong type, with the paths to them: `spec.ports[0].port` and `expected numeric (int or float), got string`.
fn wrong_types(kind: Kind, config: &Value) -> Vec<(String, String)> {
    let mut walk = Walk { kind: kind.info().kind, wrong: Vec::new() };
    walk.value(kind.info().kind, config, "");
    walk.wrong
}

struct Walk {
    kind: &'static str,
    wrong: Vec<(String, String)>,
}

impl Walk {
    fn value(&mut self, go_type: &str, value: &Value, path: &str) {
        let why = match (resolve(go_type), value) {
            (_, Value::Null) | (GoType::Opaque, _) => return,
            (GoType::Pointer(target), value) => return self.value(target, value, path),
            (GoType::Struct(_), Value::Object(fields)) => {
                for (name, value) in fields {
                    // What no such struct has is told elsewhere.
                    if let Some(field) = go_types::field(self.kind, go_type, name) {
                        self.value(field.go_type, value, &below(path, name));
                    }
                }
                return;
            }
            (GoType::Map(of), Value::Object(entries)) => {
                return entries.iter().for_each(|(key, value)| self.value(of, value, &below(path, key)));
            }
            (GoType::List(of), Value::Array(items)) => {
                return items.iter().enumerate().for_each(|(i, item)| self.value(of, item, &format!("{path}[{i}]")));
            }
            (GoType::Struct(_) | GoType::Map(_), other) => format!("expected map, got &{{{}}}", go_text(other)),
            // Bytes are written as a string.
            (GoType::List("uint8"), other) => return self.value("string", other, path),
            (GoType::List(_), other) => format!("expected list, got &{{{}}}", go_text(other)),
            (GoType::Text, Value::String(_)) | (GoType::Number, Value::Number(_)) | (GoType::Bool, Value::Bool(_)) => {
                return;
            }
            (GoType::Text, Value::Number(_)) if is_untyped(go_type) => return,
            (GoType::Text, other) if is_untyped(go_type) => format!("expected any scalar, got &{{{}}}", go_text(other)),
            (GoType::Text, other) => {
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", syntax(other))
            }
            (GoType::Number, other) => format!("expected numeric (int or float), got {}", untyped(other)),
            (GoType::Bool, other) => format!("expected boolean, got &{{{}}}", go_text(other)),
        };
        self.wrong.push((path.to_owned(), why));
    }
}

/// What may be a number as well as a string.
fn is_untyped(go_type: &str) -> bool {
    go_type.ends_with("Quantity") || go_type.ends_with("IntOrString")
}

/// The value as Go would have it in a program: `%#v`.
fn syntax(value: &Value) -> String {
    let all = |parts: Vec<String>| format!("{}{{{}}}", untyped(value), parts.join(", "));
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => all(items.iter().map(syntax).collect()),
        Value::Object(fields) => all(fields.iter().map(|(key, value)| format!("{key:?}:{}", syntax(value))).collect()),
        other => go_text(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_wrong_types_are_found() {
        let wrong = |kind: Kind, config: Value| {
            let found = wrong_types(kind, &config).into_iter();
            found.map(|(path, why)| format!("{path}: {why}")).collect::<Vec<_>>()
        };
        let string = |value: &str| format!("expected string, got &value.valueUnstructured{{Value:{value}}}");
        let data = wrong(Kind::ConfigMap, json!({"metadata": {"name": "c"}, "data": {"a": 1, "b": true, "c": "x"}}));
        assert_eq!(data, [format!("data.a: {}", string("1")), format!("data.b: {}", string("true"))]);
        let spec = wrong(
            Kind::Deployment,
            json!({"spec": {"replicas": "3", "paused": "no", "template": {"spec": {"containers": [
                {"name": "a", "ports": {}, "resources": {"limits": {"cpu": 1}}, "readinessProbe": {"httpGet": {"port": 80}}}]}},
                "strategy": "Recreate"}}),
        );
        assert_eq!(
            spec,
            [
                "spec.paused: expected boolean, got &{no}",
                "spec.replicas: expected numeric (int or float), got string",
                "spec.strategy: expected map, got &{Recreate}",
                "spec.template.spec.containers[0].ports: expected list, got &{map[]}",
            ]
        );
        assert_eq!(wrong(Kind::Secret, json!({"data": {"a": "MQ=="}})), Vec::<String>::new());
    }
}

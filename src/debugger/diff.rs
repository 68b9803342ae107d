//! What changed between two versions of an object, field by field.

use serde::Serialize;
use serde_json::Value;

use object::Object;

/// One field that differs. Items of lists go by their name or type where they have one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// `status.conditions[Ready].status`.
    pub path: String,
    /// The value before; none if the field is new.
    pub old: Option<Value>,
    /// The value after; none if the field is gone.
    pub new: Option<Value>,
}

/// Fields that change with every write and say nothing.
const NOISE: &[&str] = &["metadata.resourceVersion", "metadata.managedFields", "metadata.uid"];

/// The fields in which `new` differs from `old`, in the order of their paths.
pub fn fields(old: Option<&Object>, new: Option<&Object>) -> Vec<FieldChange> {
    let json = |object: Option<&Object>| object.map_or(Value::Null, Object::to_json);
    let mut changes = values("", &json(old), &json(new));
    changes.retain(|change| !NOISE.contains(&change.path.as_str()));
    changes
}

/// The same of two values that stand at this path.
pub fn values(path: &str, old: &Value, new: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    walk(path, old, new, &mut changes);
    changes
}

fn walk(path: &str, old: &Value, new: &Value, out: &mut Vec<FieldChange>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Value::Object(_) | Value::Null, Value::Object(_) | Value::Null) => {
            for key in keys(old, new) {
                let at = |value: &Value| value.get(&key).cloned().unwrap_or(Value::Null);
                walk(&join(path, &key), &at(old), &at(new), out);
            }
        }
        (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null) => walk_lists(path, old, new, out),
        _ => {
            let present = |value: &Value| (!value.is_null()).then(|| value.clone());
            out.push(FieldChange { path: path.to_owned(), old: present(old), new: present(new) });
        }
    }
}

fn walk_lists(path: &str, old: &Value, new: &Value, out: &mut Vec<FieldChange>) {
    let empty = Vec::new();
    let (before, after) = (old.as_array().unwrap_or(&empty), new.as_array().unwrap_or(&empty));
    let labels = |items: &[Value], label: fn(usize, &Value) -> String| -> Vec<String> {
        items.iter().enumerate().map(|(i, v)| label(i, v)).collect()
    };
    let is_plain = [before, after].iter().all(|items| are_different(&labels(items, label)));
    let label = if is_plain { label } else { full_label };
    let (old_labels, new_labels) = (labels(before, label), labels(after, label));
    let mut all = old_labels.clone();
    all.extend(new_labels.iter().filter(|label| !old_labels.contains(label)).cloned());
    for label in all {
        let find = |labels: &[String], items: &[Value]| {
            labels.iter().position(|l| *l == label).map_or(Value::Null, |i| items[i].clone())
        };
        walk(&format!("{path}[{label}]"), &find(&old_labels, before), &find(&new_labels, after), out);
    }
}

/// What a list's item is called: its type, name or uid, else its place.
fn label(index: usize, item: &Value) -> String {
    let named = ["type", "name", "key", "ip"].iter().find_map(|field| item.get(field)?.as_str());
    named.map_or_else(|| index.to_string(), str::to_owned)
}

/// The same where that is not enough: a node may have two taints with one key, a Pod two tolerations.
fn full_label(index: usize, item: &Value) -> String {
    match item.get("effect").and_then(Value::as_str) {
        Some(effect) => format!("{}:{effect}", label(index, item)),
        None => index.to_string(),
    }
}

fn are_different(labels: &[String]) -> bool {
    labels.iter().enumerate().all(|(i, label)| !labels[..i].contains(label))
}

fn keys(old: &Value, new: &Value) -> Vec<String> {
    let of = |value: &Value| value.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let mut keys = of(old);
    keys.extend(of(new));
    keys.sort();
    keys.dedup();
    keys
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(old: Value, new: Value) -> Vec<String> {
        values("", &old, &new).into_iter().map(|change| change.path).collect()
    }

    #[test]
    fn list_items_go_by_type_or_name() {
        let old = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let new =
            json!({"status": {"conditions": [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]}});
        let expected = ["status.conditions[Ready].status", "status.conditions[A].status", "status.conditions[A].type"];
        assert_eq!(paths(old, new), expected);
    }

    #[test]
    fn a_second_taint_of_one_key_is_a_change() {
        let taint = |effect: &str| json!({"key": "unreachable", "effect": effect});
        let (first, second) = (taint("NoSchedule"), taint("NoExecute"));
        let expected = ["taints[unreachable:NoExecute].effect", "taints[unreachable:NoExecute].key"];
        assert_eq!(paths(json!({"taints": [first]}), json!({"taints": [first, second]})), expected);
        let twice = json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]});
        assert_eq!(paths(twice, json!({"env": [{"name": "A", "value": "1"}]})), ["env[1].name", "env[1].value"]);
    }

    #[test]
    fn a_field_that_goes_is_a_change() {
        assert_eq!(paths(json!({"a": 1, "b": [1, 2]}), json!({"b": [1]})), ["a", "b[1]"]);
    }
}

//! Laying a configuration over an object, and taking fields away. Mirrors `typed.Merge` and `RemoveItems` of
//! structured-merge-diff.

use serde_json::{Map, Value, json};

use super::schema::{List, Schema, step_to};
use super::set::{Set, Step};

/// `live` with all that `config` says. Items of lists that `config` does not name stay.
pub fn merge<S: Schema>(schema: &S, live: Option<Value>, config: &Value) -> Value {
    match (live, config) {
        (_, config) if schema.is_atomic() => config.clone(),
        (live, Value::Object(config)) => {
            let mut merged = match live {
                Some(Value::Object(live)) => live,
                _ => Map::new(),
            };
            for (name, value) in config {
                let there = merged.remove(name);
                merged.insert(name.clone(), merge(&schema.field(name), there, value));
            }
            Value::Object(merged)
        }
        (live, Value::Array(config)) if schema.list() != List::Atomic => {
            let live = match live {
                Some(Value::Array(live)) => live,
                _ => Vec::new(),
            };
            Value::Array(merge_items(schema, live, config))
        }
        // Nothing is said of what is in a map or a list.
        (Some(live @ (Value::Object(_) | Value::Array(_))), Value::Null) => live,
        (_, config) => config.clone(),
    }
}

/// The items of both. Those that both have come in the order of `config`, the others of `live` stay where they were
/// between them. Mirrors `mergingWalker.visitListItems`.
fn merge_items<S: Schema>(schema: &S, live: Vec<Value>, config: &[Value]) -> Vec<Value> {
    let steps = |items: &[Value]| items.iter().map(|item| step_to(schema, item).ok()).collect::<Vec<_>>();
    let (live_steps, config_steps) = (steps(&live), steps(config));
    let shared = |step: &Option<Step>| step.is_some() && live_steps.contains(step) && config_steps.contains(step);
    let mut next_shared = config_steps.iter().filter(|step| shared(step)).peekable();
    let (mut i, mut j, mut merged) = (0, 0, Vec::new());
    while i < live.len() || j < config.len() {
        if i < live.len() && !shared(&live_steps[i]) {
            merged.push(live[i].clone());
            i += 1;
            continue;
        }
        // What both have comes when it is its turn in the configuration.
        let turn = i < live.len() && next_shared.peek() == Some(&&live_steps[i]);
        if i < live.len() && !turn {
            i += 1;
            continue;
        }
        if j < config.len() {
            let there = shared(&config_steps[j])
                .then(|| live_steps.iter().position(|step| *step == config_steps[j]))
                .flatten()
                .map(|at| live[at].clone());
            if there.is_some() {
                next_shared.next();
                i += usize::from(turn && live_steps[i] == config_steps[j]);
            }
            merged.push(merge(&schema.item(), there, &config[j]));
            j += 1;
        }
    }
    merged
}

/// `value` without the fields in `gone`.
pub fn remove<S: Schema>(schema: &S, value: Value, gone: &Set) -> Value {
    match value {
        value if schema.is_atomic() => value,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, value)| {
                let step = Step::field(&name);
                if gone.has(&step) {
                    return None;
                }
                let value = match gone.below(&step) {
                    Some(below) => remove_in(&schema.field(&name), value, below),
                    None => value,
                };
                Some((name, value))
            });
            Some(kept.collect::<Map<_, _>>()).filter(|kept| !kept.is_empty()).map_or(Value::Null, Value::Object)
        }
        Value::Array(items) if schema.list() != List::Atomic => {
            let kept = items.into_iter().filter_map(|item| {
                let Ok(step) = step_to(schema, &item) else { return Some(item) };
                if gone.has(&step) {
                    return None;
                }
                Some(match gone.below(&step) {
                    Some(below) => remove_in(&schema.item(), item, below),
                    None => item,
                })
            });
            Some(kept.collect::<Vec<_>>()).filter(|kept| !kept.is_empty()).map_or(Value::Null, Value::Array)
        }
        value => value,
    }
}

/// The same of what stands in a field that is not gone itself: it stays, if need be with nothing in it.
fn remove_in<S: Schema>(schema: &S, value: Value, gone: &Set) -> Value {
    let nothing = match &value {
        Value::Object(_) => json!({}),
        Value::Array(_) => json!([]),
        _ => Value::Null,
    };
    match remove(schema, value, gone) {
        Value::Null => nothing,
        kept => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::fields::schema::BuiltIn;

    #[test]
    fn items_are_merged_in_order() {
        let named =
            |names: &str| -> Value { names.chars().map(|c| json!({"name": c.to_string()})).collect::<Vec<_>>().into() };
        let of = |containers: Value| json!({"spec": {"containers": containers}});
        for (live, config, want) in [
            ("", "ab", "ab"),
            ("ab", "", "ab"),
            ("abc", "b", "abc"),
            ("ab", "ba", "ba"),
            ("axb", "bc", "axbc"),
            ("ab", "cb", "acb"),
            ("a", "ba", "ba"),
        ] {
            let merged = merge(&BuiltIn::new(Kind::Pod), Some(of(named(live))), &of(named(config)));
            let names: String =
                merged["spec"]["containers"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
            assert_eq!(names, want, "{live} and {config}");
        }
    }

    #[test]
    fn what_a_configuration_does_not_say_stays() {
        let live = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"type": "ClusterIP", "selector": {"a": "1"}, "ports": [{"port": 80, "protocol": "TCP"}]}});
        let config = json!({"metadata": {"labels": {"b": "2"}}, "spec": {"selector": {"b": "2"}, "ports": [{"port": 80, "name": "http"}]}});
        let want = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"type": "ClusterIP", "selector": {"b": "2"},
            "ports": [{"port": 80, "name": "http", "protocol": "TCP"}]}});
        assert_eq!(merge(&BuiltIn::new(Kind::Service), Some(live), &config), want);
    }

    #[test]
    fn fields_are_removed_and_what_they_were_in_stays() {
        let gone = Set::from_json(&json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {}}}})).unwrap();
        let live =
            json!({"metadata": {"name": "x", "labels": {"a": "1"}}, "spec": {"ports": [{"port": 80}, {"port": 81}]}});
        let want = json!({"metadata": {"name": "x", "labels": {}}, "spec": {"ports": [{"port": 81}]}});
        assert_eq!(remove(&BuiltIn::new(Kind::Service), live, &gone), want);
    }
}

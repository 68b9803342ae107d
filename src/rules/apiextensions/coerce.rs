//! What happens to an object before it is looked at: fields that its schema does not name are pruned, and what was left
//! out is filled in.
//!
//! Mirrors `pkg/apiserver/schema/{pruning,defaulting}` of apiextensions-apiserver.
//!
//! Left out: the metadata of embedded objects is taken as it is written.

use serde_json::{Map, Value};

use object::validation::field::below;

use super::schema::{Additional, Schema};

/// What every object has, whether its schema says so or not.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Takes out what the schema of the whole object does not name, and nulls where none may be. Gives the paths of what was
/// taken out, sorted.
pub fn prune(content: &mut Map<String, Value>, schema: &Schema) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_fields(content, schema, true, "", &mut unknown);
    drop_nulls_in(content, schema);
    unknown.sort();
    unknown
}

fn prune_value(value: &mut Value, schema: Option<&Schema>, path: &str, unknown: &mut Vec<String>) {
    match (value, schema) {
        (Value::Object(fields), Some(schema)) => prune_fields(fields, schema, schema.embedded, path, unknown),
        (Value::Object(fields), None) => {
            unknown.extend(fields.keys().map(|name| below(path, name)));
            fields.clear();
        }
        (Value::Array(items), schema) => {
            for (i, item) in items.iter_mut().enumerate() {
                let path = format!("{path}[{i}]");
                match schema {
                    // Nothing is unknown in a list of anything.
                    Some(list) if list.preserves_unknown && list.items.is_none() => {}
                    list => prune_value(item, list.and_then(|list| list.items.as_deref()), &path, unknown),
                }
            }
        }
        _ => {}
    }
}

fn prune_fields(
    fields: &mut Map<String, Value>,
    schema: &Schema,
    has_meta: bool,
    path: &str,
    unknown: &mut Vec<String>,
) {
    fields.retain(|name, value| {
        if has_meta && META.contains(&name.as_str()) {
            return true;
        }
        let path = below(path, name);
        match (schema.properties.get(name), &schema.additional) {
            (Some(known), _) => prune_value(value, Some(known), &path, unknown),
            (None, Some(Additional::Of(known))) => prune_value(value, Some(known), &path, unknown),
            // The schema says nothing of what is inside, so there is nothing in there that it knows.
            (None, Some(Additional::Any)) => prune_value(value, None, &path, unknown),
            (None, None) if schema.preserves_unknown => {}
            (None, None) => {
                unknown.push(path);
                return false;
            }
        }
        true
    });
}

/// Null is nothing where it may not be a value; where there is a default, the default takes its place later.
fn drop_nulls_in(fields: &mut Map<String, Value>, schema: &Schema) {
    fields.retain(|name, value| match schema.field(name) {
        Some(known) if value.is_null() => known.nullable || known.default.is_some(),
        known => {
            drop_nulls(value, known);
            true
        }
    });
}

fn drop_nulls(value: &mut Value, schema: Option<&Schema>) {
    let Some(schema) = schema else { return };
    match value {
        Value::Object(fields) => drop_nulls_in(fields, schema),
        Value::Array(items) => items.iter_mut().for_each(|item| drop_nulls(item, schema.items.as_deref())),
        _ => {}
    }
}

/// Fills in defaults, outermost first: a default may itself lack fields that have one.
pub fn default(content: &mut Map<String, Value>, schema: &Schema) {
    for (name, known) in &schema.properties {
        if let Some(default) = &known.default
            && content.get(name).is_none_or(|value| value.is_null() && !known.nullable)
        {
            content.insert(name.clone(), default.clone());
        }
    }
    for (name, value) in content.iter_mut() {
        if let Some(known) = schema.field(name) {
            default_value(value, known);
        }
    }
}

fn default_value(value: &mut Value, schema: &Schema) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or_default();
    }
    match value {
        Value::Object(fields) => default(fields, schema),
        Value::Array(items) => {
            if let Some(of) = schema.items.as_deref() {
                items.iter_mut().for_each(|item| default_value(item, of));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(text: Value) -> Schema {
        Schema::of(&serde_json::from_value(text).unwrap())
    }

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_the_schema_does_not_name_is_pruned() {
        let spec = |props: Value| json!({"type": "object", "properties": {"spec": props}});
        #[rustfmt::skip]
        let cases = [
            (spec(json!({"type": "object", "properties": {"a": {"type": "string"}}})),
                json!({"spec": {"a": "x", "b": 1}, "c": {"d": 1}}), json!({"spec": {"a": "x"}}), vec!["c", "spec.b"]),
            (spec(json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}})),
                json!({"spec": [{"a": "x"}, {"b": 1}]}), json!({"spec": [{"a": "x"}, {}]}), vec!["spec[1].b"]),
            (spec(json!({"type": "object", "additionalProperties": {"type": "string"}})),
                json!({"spec": {"a": "x", "b": "y"}}), json!({"spec": {"a": "x", "b": "y"}}), vec![]),
            (spec(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"a": {"type": "object", "properties": {}}}})),
                json!({"spec": {"a": {"lost": 1}, "b": {"kept": 1}}}), json!({"spec": {"a": {}, "b": {"kept": 1}}}),
                vec!["spec.a.lost"]),
            (spec(json!({"x-kubernetes-preserve-unknown-fields": true})),
                json!({"spec": [{"a": [1]}]}), json!({"spec": [{"a": [1]}]}), vec![]),
            (spec(json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"b": {"type": "string"}}})),
                json!({"spec": {"kind": "X", "metadata": {"name": "x"}, "b": "", "c": 1}}),
                json!({"spec": {"kind": "X", "metadata": {"name": "x"}, "b": ""}}), vec!["spec.c"]),
            (spec(json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "nullable": true}}})),
                json!({"spec": {"a": null, "b": null}}), json!({"spec": {"b": null}}), vec![]),
        ];
        for (props, before, after, unknown) in cases {
            let mut content = map(before.clone());
            assert_eq!(prune(&mut content, &schema(props)), unknown, "{before}");
            assert_eq!(Value::Object(content), after, "{before}");
        }
    }

    #[test]
    fn what_was_left_out_is_filled_in() {
        let props = json!({"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": {
            "replicas": {"type": "integer", "default": 1},
            "image": {"type": "string", "default": "busybox", "nullable": true},
            "ports": {"type": "array", "items": {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP"}}}},
            "hosts": {"type": "object", "additionalProperties": {"type": "object", "properties": {"tls": {"type": "boolean", "default": false}}}},
        }}}});
        #[rustfmt::skip]
        let cases = [
            (json!({}), json!({"spec": {"replicas": 1, "image": "busybox"}})),
            (json!({"spec": {"replicas": null, "image": null}}), json!({"spec": {"replicas": 1, "image": null}})),
            (json!({"spec": {"replicas": 0, "image": "", "ports": [{}, {"protocol": "UDP"}], "hosts": {"a": {}}}}),
                json!({"spec": {"replicas": 0, "image": "", "ports": [{"protocol": "TCP"}, {"protocol": "UDP"}], "hosts": {"a": {"tls": false}}}})),
        ];
        let schema = schema(props);
        for (before, after) in cases {
            let mut content = map(before.clone());
            prune(&mut content, &schema);
            default(&mut content, &schema);
            assert_eq!(Value::Object(content), after, "{before}");
        }
    }
}

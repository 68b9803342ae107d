use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::explain;

/// References to what has a name, which may be empty.
const GIVEN: [&str; 8] = [
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "LocalObjectReference",
    "SecretEnvSource",
    "SecretKeySelector",
    "SecretProjection",
];

/// All schemas of a kind, by the names of their types.
fn schemas(kind: Kind) -> BTreeMap<String, Value> {
    let mut schemas = Schemas::default();
    schemas.kind(kind, &Discovery::default());
    let of_type = |(name, text): (&String, &String)| {
        let json = serde_json::from_str(text).unwrap_or_else(|why| panic!("{name}: {why}: {text}"));
        (name.rsplit('.').next().unwrap_or_default().to_owned(), json)
    };
    schemas.written.iter().map(of_type).collect()
}

/// What kubectl calls the type of a schema.
fn type_of(schema: &Value, all: &BTreeMap<String, Value>) -> String {
    if let Some(reference) = schema["$ref"].as_str().or(schema["allOf"][0]["$ref"].as_str()) {
        let name = reference.rsplit('.').next().unwrap_or_default();
        let is_struct = |inner: &Value| inner["properties"].is_object();
        return match &all[name] {
            inner if is_struct(inner) => name.to_owned(),
            inner => inner["type"].as_str().filter(|plain| *plain == "string").unwrap_or(name).to_owned(),
        };
    }
    match schema["type"].as_str() {
        Some("array") => format!("[]{}", type_of(&schema["items"], all)),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("map[string]{}", type_of(&schema["additionalProperties"], all))
        }
        other => other.unwrap_or("Object").to_owned(),
    }
}

#[test]
fn schemas_have_the_fields_that_the_kinds_have() {
    let mut wrong = Vec::new();
    for kind in Kind::built_in().chain(versions::others()) {
        let schemas = schemas(kind);
        let (mut ways, mut seen) = (vec![Vec::<String>::new()], Vec::new());
        while let Some(way) = ways.pop() {
            let path: Vec<&str> = way.iter().map(String::as_str).collect();
            let explained = explain::built_in::explain(kind, &path).expect("it is a field");
            let name = explained.item_type().to_owned();
            if explained.fields.is_empty() || seen.contains(&name) {
                continue;
            }
            let Some(schema) = schemas.get(&name) else {
                wrong.push(format!("{kind} {path:?}: no {name}"));
                continue;
            };
            let properties = schema["properties"].as_object().expect("it has fields");
            let told: Vec<&str> = explained.fields.iter().map(|field| field.name.as_str()).collect();
            let mut written: Vec<&str> = properties.keys().map(String::as_str).collect();
            written.sort_unstable();
            if told.iter().any(|field| !written.contains(field)) {
                wrong.push(format!("{kind} {name}: {told:?} {written:?}"));
            }
            for field in explained.fields.iter().filter(|field| properties.contains_key(&field.name)) {
                let is_required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(field.name)));
                // The first are given a name if they have none; of the second the type here says nothing.
                let is_known = field.name == "name" && GIVEN.contains(&name.as_str()) || field.name == "eventTime";
                if is_required != field.required && !is_known {
                    wrong.push(format!("{kind} {name}.{} required {} {is_required}", field.name, field.required));
                }
                let written = type_of(&properties[&field.name], &schemas);
                if written != field.type_name {
                    wrong.push(format!("{kind} {name}.{}: {} {written}", field.name, field.type_name));
                }
                ways.push([way.as_slice(), std::slice::from_ref(&field.name)].concat());
            }
            seen.push(name);
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} {wrong:#?}", wrong.len());
}

//! Whether a schema is structural: whether it says of every field what type it is, and keeps to what a schema may say.
//!
//! Mirrors `pkg/apiserver/schema/validation.go` and `ValidateCustomResourceDefinitionOpenAPISchema` of
//! apiextensions-apiserver. Problems come in the order of the schema, where the real server sorts some of them by their text.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use regex::Regex;

use object::validation::field::{Json, Path, Problems};

use super::schema::Schema;
use super::{coerce, nested, rules, value};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Where in a schema a part of it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What is wrong with the schema of a whole object.
pub fn validate(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let before = problems.0.len();
    if schema.nullable == Some(true) {
        problems.forbidden(&path.child("nullable"), "nullable cannot be true at the root");
    }
    structure(problems, schema, path, Level::Root);
    nested::complete(problems, schema, path);
    // A default is looked at with the schema, and a rule knows its types from it, which has to be right for that.
    if problems.0.len() == before {
        defaults(problems, schema, path, None);
        rules::definition::rules(problems, schema, path, true, None);
    }
}

/// One place of the schema, and all below it.
fn structure(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path, level: Level) {
    let type_ = schema.type_.as_deref().unwrap_or_default();
    let typeless =
        schema.x_kubernetes_int_or_string == Some(true) || schema.x_kubernetes_preserve_unknown_fields == Some(true);
    let embedded = schema.x_kubernetes_embedded_resource == Some(true);
    let at = path.child("type");
    match (type_, level) {
        (other, _) if embedded && other != "object" => {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            if other.is_empty() { problems.required(&at, why) } else { problems.invalid(&at, other, why) }
        }
        ("", _) if typeless => {}
        ("", Level::Root) => problems.required(&at, "must not be empty at the root"),
        ("", Level::Item) => problems.required(&at, "must not be empty for specified array items"),
        ("", Level::Field) => problems.required(&at, "must not be empty for specified object fields"),
        ("null", _) => problems.forbidden(&at, "type cannot be set to null, use nullable as an alternative"),
        (other, _) if !TYPES.contains(&other) => problems.not_supported(&at, other, &TYPES),
        (other, Level::Root) if other != "object" => problems.invalid(&at, other, "must be object at the root"),
        ("array", _) if schema.items.is_none() => problems.required(&path.child("items"), "must be specified"),
        _ => {}
    }
    if level == Level::Root && schema.additional_properties.is_some() {
        problems.forbidden(&path.child("additionalProperties"), "must not be used at the root");
    }
    if embedded && schema.additional_properties.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        problems.forbidden(&path.child("additionalProperties"), why);
    }
    let empty = schema.properties.as_ref().is_none_or(|all| all.is_empty());
    if embedded && empty && schema.x_kubernetes_preserve_unknown_fields != Some(true) {
        let why =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        problems.required(&path.child("properties"), why);
    }
    not_supported(problems, schema, path);
    extensions(problems, schema, path);
    nested::nested(problems, schema, path);
    metadata(problems, schema, path, level);
    let below = path.child("properties");
    for (name, of) in schema.properties.iter().flatten() {
        if level == Level::Root && name == "metadata" {
            continue;
        }
        structure(problems, of, &below.key(name), Level::Field);
    }
    match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(of)) => {
            structure(problems, of, &path.child("additionalProperties"), Level::Field);
        }
        Some(JSONSchemaPropsOrBool::Bool(_)) | None => {}
    }
    if let Some(JSONSchemaPropsOrArray::Schema(of)) = &schema.items {
        structure(problems, of, &path.child("items"), Level::Item);
    }
}

/// What JSON schemas may say and these may not.
fn not_supported(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let said = [
        ("id", schema.id.is_some()),
        ("additionalItems", schema.additional_items.is_some()),
        ("patternProperties", schema.pattern_properties.is_some()),
        ("definitions", schema.definitions.is_some()),
        ("dependencies", schema.dependencies.is_some()),
        ("$ref", schema.ref_path.is_some()),
    ];
    for (field, _) in said.iter().filter(|(_, said)| *said) {
        problems.forbidden(&path.child(field), &format!("{field} is not supported"));
    }
    if matches!(schema.items, Some(JSONSchemaPropsOrArray::Schemas(_))) {
        problems.forbidden(&path.child("items"), "items must be a schema object and not an array");
    }
    if schema.unique_items == Some(true) {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        problems.forbidden(&path.child("uniqueItems"), why);
    }
    let has_properties = schema.properties.as_ref().is_some_and(|all| !all.is_empty());
    if has_properties && !matches!(schema.additional_properties, None | Some(JSONSchemaPropsOrBool::Bool(true))) {
        let why = "additionalProperties and properties are mutual exclusive";
        problems.forbidden(&path.child("additionalProperties"), why);
    }
    if let Some(pattern) = schema.pattern.as_deref()
        && let Err(error) = Regex::new(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {}", as_go_says(pattern, &error.to_string()));
        problems.invalid(&path.child("pattern"), pattern, &why);
    }
}

/// What Go's parser says of a regular expression, where it and ours stumble over the same.
fn as_go_says(pattern: &str, error: &str) -> String {
    // Ours shows the pattern in a line, and below it where it stumbled.
    let column = error.lines().nth(2).and_then(|line| line.find('^')).and_then(|at| at.checked_sub(4));
    let rest = column.and_then(|column| pattern.get(column..)).unwrap_or(pattern);
    let first = rest.chars().next().map(String::from).unwrap_or_default();
    let (what, part) = match error.lines().last().unwrap_or_default().trim_start_matches("error: ") {
        "unclosed character class" => ("missing closing ]", rest),
        "unclosed group" => ("missing closing )", pattern),
        "unopened group" => ("unexpected )", pattern),
        "repetition operator missing expression" => ("missing argument to repetition operator", first.as_str()),
        _ => return error.to_owned(),
    };
    format!("error parsing regexp: {what}: `{part}`")
}

/// `x-kubernetes-…`.
fn extensions(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let type_ = schema.type_.as_deref().unwrap_or_default();
    if schema.x_kubernetes_preserve_unknown_fields == Some(false) {
        problems.invalid(&path.child(PRESERVE), Json(&false), "must be true or undefined");
    }
    let int_or_string = schema.x_kubernetes_int_or_string == Some(true);
    for (field, on) in [
        (PRESERVE, schema.x_kubernetes_preserve_unknown_fields),
        ("x-kubernetes-embedded-resource", schema.x_kubernetes_embedded_resource),
    ] {
        if int_or_string && on == Some(true) {
            problems.invalid(&path.child(field), Json(&true), "must be false if x-kubernetes-int-or-string is true");
        }
    }
    let typed = [
        ("x-kubernetes-map-type", schema.x_kubernetes_map_type.as_deref(), "object", &["atomic", "granular"][..]),
        ("x-kubernetes-list-type", schema.x_kubernetes_list_type.as_deref(), "array", &["atomic", "set", "map"][..]),
    ];
    for (field, value, wanted, values) in typed {
        let Some(value) = value else { continue };
        let why = format!("must be {wanted} if {field} is specified");
        match type_ {
            "" => problems.required(&path.child("type"), &why),
            other if other != wanted => problems.invalid(&path.child("type"), other, &why),
            _ => {}
        }
        if !values.contains(&value) {
            problems.not_supported(&path.child(field), value, values);
        }
    }
    set_items(problems, schema, path);
    list_keys(problems, schema, path);
    rules::definition::texts(problems, schema, path);
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";

/// The items of a set are compared whole.
fn set_items(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let is_set = schema.x_kubernetes_list_type.as_deref() == Some("set") && schema.type_.as_deref() == Some("array");
    let Some(JSONSchemaPropsOrArray::Schema(item)) = schema.items.as_ref().filter(|_| is_set) else { return };
    let (list, map) = (item.x_kubernetes_list_type.as_deref(), item.x_kubernetes_map_type.as_deref());
    let field = match item.type_.as_deref() {
        Some("array") if list.is_some_and(|list| list != "atomic") => "x-kubernetes-list-type",
        Some("object") if map != Some("atomic") => "x-kubernetes-map-type",
        _ => return,
    };
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    problems.invalid(&path.child("items").child(field), Json(&list), why);
}

/// The keys of a list that is a map are fields of its items that every item has.
fn list_keys(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let keys = schema.x_kubernetes_list_map_keys.as_deref().unwrap_or_default();
    let is_map = schema.x_kubernetes_list_type.as_deref() == Some("map");
    if !keys.is_empty() && !is_map {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match schema.x_kubernetes_list_type.as_deref() {
            None => problems.required(&path.child("x-kubernetes-list-type"), why),
            Some(other) => problems.invalid(&path.child("x-kubernetes-list-type"), other, why),
        }
    }
    let keyed = matches!(schema.x_kubernetes_list_type.as_deref(), Some("set" | "map"));
    let Some(JSONSchemaPropsOrArray::Schema(item)) = schema.items.as_ref().filter(|_| keyed) else { return };
    if item.nullable == Some(true) {
        let list = schema.x_kubernetes_list_type.as_deref().unwrap_or_default();
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list}");
        problems.forbidden(&path.child("items").child("nullable"), &why);
    }
    if !is_map {
        return;
    }
    if keys.is_empty() {
        problems.required(&path.child(LIST_KEYS), "must not be empty if x-kubernetes-list-type is map");
    }
    let items = path.child("items");
    let type_ = item.type_.as_deref().unwrap_or_default();
    if type_ != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        problems.invalid(&items.child("type"), type_, why);
    }
    let properties = items.child("properties");
    for (i, key) in keys.iter().enumerate() {
        if keys[..i].contains(key) {
            problems.invalid(&path.child(LIST_KEYS), Json(&keys), "must not contain duplicate entries");
        }
        match item.properties.as_ref().and_then(|all| all.get(key)) {
            None => {
                problems.invalid(&path.child(LIST_KEYS), Json(&keys), "entries must all be names of item properties")
            }
            Some(of) => {
                if matches!(of.type_.as_deref(), Some("array" | "object")) {
                    let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    problems.invalid(&properties.key(key).child("type"), type_, why);
                }
                if of.default.is_none() && !item.required.iter().flatten().any(|name| name == key) {
                    let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                               property";
                    problems.required(&properties.key(key).child("default"), why);
                }
                if of.nullable == Some(true) {
                    let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                    problems.forbidden(&properties.key(key).child("nullable"), why);
                }
            }
        }
    }
}

/// What every object has is as it always is; only its name may be restricted.
fn metadata(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path, level: Level) {
    if level != Level::Root && schema.x_kubernetes_embedded_resource != Some(true) {
        return;
    }
    let properties = path.child("properties");
    let of = |name: &str| schema.properties.as_ref().and_then(|all| all.get(name));
    for (name, wanted) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let type_ = of(name).map(|of| of.type_.as_deref().unwrap_or_default());
        if let Some(other) = type_.filter(|type_| *type_ != wanted) {
            problems.invalid(&properties.key(name).child("type"), other, &format!("must be {wanted}"));
        }
    }
    let names = |name: &String| name == "name" || name == "generateName";
    let says_more = |of: &JSONSchemaProps| {
        let rest = JSONSchemaProps { type_: None, default: None, properties: None, ..of.clone() };
        rest != JSONSchemaProps::default() || !of.properties.iter().flatten().all(|(name, _)| names(name))
    };
    if level == Level::Root && of("metadata").is_some_and(says_more) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        problems.forbidden(&properties.key("metadata"), why);
    }
}

/// A default is a value that the schema knows and allows. Mirrors `ValidateDefaults`.
fn defaults(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path, inside: Option<&str>) {
    if let Some(JSON(default)) = &schema.default {
        let path = path.child("default");
        if let Some(name) = inside {
            problems.forbidden(&path, &format!("must not be set in top-level {name}"));
            return;
        }
        let known = Schema::of(schema);
        let mut pruned = serde_json::Map::from_iter([("default".to_owned(), default.clone())]);
        let around = Schema { properties: [("default".to_owned(), known.clone())].into(), ..Schema::default() };
        if !coerce::prune(&mut pruned, &around).is_empty() {
            problems.invalid(&path, Json(default), "must not have unknown fields");
        }
        let mut causes = value::validate(default, None, &known, &path.to_string());
        causes.iter_mut().for_each(|cause| cause.message = cause.message.replace(&cause.field, ""));
        problems.0.append(&mut causes);
    }
    let properties = path.child("properties");
    for (name, of) in schema.properties.iter().flatten() {
        let root = path.to_string().ends_with("openAPIV3Schema");
        let meta = root.then_some(name.as_str()).filter(|name| ["metadata", "kind", "apiVersion"].contains(name));
        defaults(problems, of, &properties.key(name), inside.or(meta));
    }
    if let Some(JSONSchemaPropsOrBool::Schema(of)) = &schema.additional_properties {
        defaults(problems, of, &path.child("additionalProperties"), inside);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(of)) = &schema.items {
        defaults(problems, of, &path.child("items"), inside);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_that_are_not_structural() {
        let field = |of: serde_json::Value| json!({"type": "object", "properties": {"f": of}});
        const F: &str = "s.properties[f]";
        #[rustfmt::skip]
        let cases = [
            (field(json!({"type": "string", "default": "x", "pattern": "^x$"})), vec![]),
            (field(json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})), vec![]),
            (field(json!({"x-kubernetes-preserve-unknown-fields": true})), vec![]),
            (json!({}), vec!["s.type: Required value: must not be empty at the root".to_owned()]),
            (json!({"type": "string"}), vec!["s.type: Invalid value: \"string\": must be object at the root".into()]),
            (field(json!({})), vec![format!("{F}.type: Required value: must not be empty for specified object fields")]),
            (field(json!({"type": "int"})), vec![format!("{F}.type: Unsupported value: \"int\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"")]),
            (field(json!({"type": "array"})), vec![format!("{F}.items: Required value: must be specified")]),
            (field(json!({"type": "array", "items": {}})), vec![format!("{F}.items.type: Required value: must not be empty for specified array items")]),
            (field(json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}})),
                vec![format!("{F}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive")]),
            (field(json!({"type": "string", "x-kubernetes-preserve-unknown-fields": false})),
                vec![format!("{F}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined")]),
            (field(json!({"type": "string", "anyOf": [{"type": "string"}]})), vec![format!("{F}.anyOf[0].type: Forbidden: must be empty to be structural")]),
            (field(json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}})),
                vec![format!("{F}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic")]),
            (field(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                    "items": {"type": "object", "properties": {"n": {"type": "string"}}}})),
                vec![format!("{F}.items.properties[n].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property")]),
            (field(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                    "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string", "nullable": true}}}})),
                vec![format!("{F}.items.properties[n].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable")]),
            (field(json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": true}})),
                vec![format!("{F}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set")]),
            (json!({"type": "object", "properties": {"metadata": {"type": "object", "description": "x"}}}),
                vec!["s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified".into()]),
            (field(json!({"type": "object", "x-kubernetes-embedded-resource": true})), vec![format!("{F}.properties: Required value: must \
                not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields")]),
            (field(json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "properties": {"a": {"type": "string"}}}})),
                vec![format!("{F}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set")]),
            (field(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "n"],
                    "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "array", "items": {"type": "string"}}}}})),
                vec![format!("{F}.items.properties[n].type: Invalid value: \"object\": must be a scalar type if parent array's x-kubernetes-list-type is map"),
                    format!("{F}.x-kubernetes-list-map-keys: Invalid value: [\"n\",\"n\"]: must not contain duplicate entries"),
                    format!("{F}.items.properties[n].type: Invalid value: \"object\": must be a scalar type if parent array's x-kubernetes-list-type is map")]),
            (json!({"type": "object", "properties": {"f": {"type": "string"}}, "oneOf": [{"required": ["f"]}, {"properties": {"g": {"maxLength": 1}}}]}),
                vec!["s.properties[g]: Required value: because it is defined in s.oneOf[1].properties[g]".into()]),
            (field(json!({"type": "object", "properties": {"metadata": {"type": "object"}}, "not": {"properties": {"metadata": {"maxProperties": 1}}}})),
                vec![format!("{F}.not.properties[metadata]: Forbidden: must not be specified in a nested context")]),
            (field(json!({"type": "integer", "default": "x"})),
                vec![format!("{F}.default: Invalid value: \"string\":  in body must be of type integer: \"string\"")]),
            (field(json!({"type": "object", "default": {"b": 1}, "properties": {"a": {"type": "string"}}})),
                vec![format!("{F}.default: Invalid value: {{\"b\":1}}: must not have unknown fields")]),
            (json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
                vec!["s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified".into()]),
        ];
        for (schema, want) in cases {
            let mut problems = Problems::default();
            validate(&mut problems, &serde_json::from_value(schema.clone()).unwrap(), &Path::new("s"));
            let texts: Vec<String> =
                problems.0.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(texts, want, "{schema}");
        }
    }
}

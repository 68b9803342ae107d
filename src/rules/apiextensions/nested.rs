//! What a schema says under `anyOf`, `oneOf`, `allOf` and `not`: which values are allowed, and nothing of what they are.
//!
//! Mirrors `validateNestedValueValidation` in `pkg/apiserver/schema/validation.go` and `pkg/apiserver/schema/complete.go` of
//! apiextensions-apiserver.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{JSONSchemaProps, JSONSchemaPropsOrArray};

use object::validation::field::{Path, Problems};

/// Under `anyOf` and the like a schema may only say what values are allowed, not what they are.
pub fn nested(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let int_or_string = schema.x_kubernetes_int_or_string == Some(true);
    each_listed(schema, path, |of, path| {
        // `anyOf: [{type: integer}, {type: string}]`, as it was before there was a word for it.
        if !(int_or_string && is_only_typed(of)) {
            value_validation(problems, of, path);
        }
    });
    if let Some(of) = &schema.not {
        value_validation(problems, of, &path.child("not"));
    }
}

fn is_only_typed(schema: &JSONSchemaProps) -> bool {
    *schema == JSONSchemaProps { type_: schema.type_.clone(), any_of: schema.any_of.clone(), ..Default::default() }
}

fn value_validation(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let said = [
        ("type", schema.type_.is_some(), "must be empty to be structural"),
        ("additionalProperties", schema.additional_properties.is_some(), "must be undefined to be structural"),
        ("default", schema.default.is_some(), "must be undefined to be structural"),
        ("title", schema.title.is_some(), "must be empty to be structural"),
        ("description", schema.description.is_some(), "must be empty to be structural"),
        ("nullable", schema.nullable == Some(true), "must be false to be structural"),
        (
            "x-kubernetes-preserve-unknown-fields",
            schema.x_kubernetes_preserve_unknown_fields.is_some(),
            "must be false to be structural",
        ),
        (
            "x-kubernetes-embedded-resource",
            schema.x_kubernetes_embedded_resource.is_some(),
            "must be false to be structural",
        ),
        ("x-kubernetes-int-or-string", schema.x_kubernetes_int_or_string.is_some(), "must be false to be structural"),
        ("x-kubernetes-list-map-keys", schema.x_kubernetes_list_map_keys.is_some(), "must be empty to be structural"),
        ("x-kubernetes-list-type", schema.x_kubernetes_list_type.is_some(), "must be undefined to be structural"),
        ("x-kubernetes-map-type", schema.x_kubernetes_map_type.is_some(), "must be undefined to be structural"),
        ("x-kubernetes-validations", schema.x_kubernetes_validations.is_some(), "must be empty to be structural"),
    ];
    for (field, _, why) in said.iter().filter(|(_, said, _)| *said) {
        problems.forbidden(&path.child(field), why);
    }
    nested(problems, schema, path);
    let properties = path.child("properties");
    for (name, of) in schema.properties.iter().flatten() {
        value_validation(problems, of, &properties.key(name));
        if name == "metadata" {
            problems.forbidden(&properties.key(name), "must not be specified in a nested context");
        }
    }
    if let Some(JSONSchemaPropsOrArray::Schema(of)) = &schema.items {
        value_validation(problems, of, &path.child("items"));
    }
}

/// The schemas in the lists of alternatives of one that stands at `path`, each with where it stands.
fn each_listed(schema: &JSONSchemaProps, path: &Path, mut each: impl FnMut(&JSONSchemaProps, &Path)) {
    for (field, list) in [("allOf", &schema.all_of), ("anyOf", &schema.any_of), ("oneOf", &schema.one_of)] {
        let path = path.child(field);
        list.iter().flatten().enumerate().for_each(|(i, of)| each(of, &path.index(i)));
    }
}

/// Whether everything that the alternatives at the root speak of is a field of the schema itself, which stands at `path`.
pub fn complete(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    within(problems, schema, schema, path, path);
}

/// `of` stands at `here` and speaks of what `schema` describes at `path`.
fn within(problems: &mut Problems, of: &JSONSchemaProps, schema: &JSONSchemaProps, path: &Path, here: &Path) {
    if let Some(of) = &of.not {
        one(problems, of, schema, path, &here.child("not"));
    }
    each_listed(of, here, |of, here| one(problems, of, schema, path, here));
}

fn one(problems: &mut Problems, of: &JSONSchemaProps, schema: &JSONSchemaProps, path: &Path, here: &Path) {
    within(problems, of, schema, path, here);
    if let Some(JSONSchemaPropsOrArray::Schema(of)) = &of.items {
        let (path, here) = (path.child("items"), here.child("items"));
        match &schema.items {
            Some(JSONSchemaPropsOrArray::Schema(schema)) => one(problems, of, schema, &path, &here),
            _ => missing(problems, &path, &here),
        }
    }
    let (properties, here) = (path.child("properties"), here.child("properties"));
    for (name, of) in of.properties.iter().flatten() {
        let (path, here) = (properties.key(name), here.key(name));
        match schema.properties.as_ref().and_then(|all| all.get(name)) {
            Some(schema) => one(problems, of, schema, &path, &here),
            None => missing(problems, &path, &here),
        }
    }
}

fn missing(problems: &mut Problems, path: &Path, here: &Path) {
    problems.required(path, &format!("because it is defined in {here}"));
}

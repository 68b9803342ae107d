//! The fields of kinds that users define, read from the schema in their definition.
//!
//! Mirrors the OpenAPI document that `apiextensions-apiserver` publishes for a definition: its schema, with the fields
//! that every object has.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use super::{Explanation, Field, built_in};
use crate::Kind;

/// What is at `path` of the kind that a definition defines in this version; None if there is no such field.
pub fn explain(definition: &CustomResourceDefinition, version: &str, path: &[&str]) -> Option<Explanation> {
    let version = definition.spec.versions.iter().find(|there| there.name == version)?;
    let schema = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
    match path {
        // These are the same of all kinds.
        ["apiVersion" | "kind" | "metadata", ..] => built_in::explain(Kind::Namespace, path),
        [] => {
            let mut explained = explanation_of(schema);
            explained.type_name.clone_from(&definition.spec.names.kind);
            explained.about = schema.description.clone().unwrap_or_default();
            explained.fields.retain(|field| !matches!(field.name.as_str(), "apiVersion" | "kind" | "metadata"));
            let of_all = built_in::explain(Kind::Namespace, &[])?.fields.into_iter();
            explained.fields.extend(of_all.filter(|field| !matches!(field.name.as_str(), "spec" | "status")));
            explained.fields.sort_by(|a, b| a.name.cmp(&b.name));
            Some(explained)
        }
        path => {
            path.iter().try_fold(schema, |at, name| item_of(at).properties.as_ref()?.get(*name)).map(explanation_of)
        }
    }
}

fn explanation_of(schema: &JSONSchemaProps) -> Explanation {
    let inner = item_of(schema);
    let required = inner.required.as_deref().unwrap_or_default();
    let field = |(name, schema): (&String, &JSONSchemaProps)| Field {
        name: name.clone(),
        type_name: type_of(schema),
        required: required.contains(name),
        values: schema.enum_.iter().flatten().map(|value| text(&value.0)).collect(),
        about: schema.description.clone().unwrap_or_default(),
        writer: None,
    };
    // Its own description is told where it is a field; here, that of its items is.
    let about = if std::ptr::eq(inner, schema) { None } else { inner.description.clone() };
    Explanation {
        type_name: type_of(schema),
        about: about.unwrap_or_default(),
        writer: None,
        fields: inner.properties.iter().flatten().map(field).collect(),
    }
}

/// The schema whose fields a path goes on with: of a list or a map, that of its items.
fn item_of(mut schema: &JSONSchemaProps) -> &JSONSchemaProps {
    while let (None, Some(inner)) = (&schema.properties, items(schema).or_else(|| values(schema))) {
        schema = inner;
    }
    schema
}

/// `[]string`, `map[string]Object`, `integer`. Mirrors `typeGuess` of kubectl's template.
fn type_of(schema: &JSONSchemaProps) -> String {
    match (items(schema), values(schema), schema.type_.as_deref()) {
        (Some(items), ..) => format!("[]{}", type_of(items)),
        (_, Some(values), _) => format!("map[string]{}", type_of(values)),
        (.., None | Some("object")) => "Object".to_owned(),
        (.., Some(plain)) => plain.to_owned(),
    }
}

fn items(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn values(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

/// A value as a list of values names it: strings without quotes, unless there is nothing else.
fn text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) if !text.is_empty() => text.clone(),
        other => other.to_string(),
    }
}

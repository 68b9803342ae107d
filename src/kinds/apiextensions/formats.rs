//! Warnings about the schemas of a CustomResourceDefinition: that the format of a value is not checked.
//!
//! Mirrors the strategy of CustomResourceDefinitions, with `GetUnrecognizedFormats` and `SchemaHas`, in
//! `apiextensions-apiserver`. That one goes through its maps in any order; here it is that of their keys.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
    JSONSchemaPropsOrStringArray,
};

/// What a text may be, without the dashes of the name, as `supportedVersionedFormats` lists it.
#[rustfmt::skip]
const OF_TEXTS: [&str; 26] = [
    "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn",
    "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime",
    "k8sshortname", "k8slongname",
];

/// Formats are told of when they are new, so that an old definition can be changed in peace.
pub fn of_formats(told: &mut Vec<String>, new: &CustomResourceDefinition, old: Option<&CustomResourceDefinition>) {
    let known = old.map(unrecognized_in).unwrap_or_default();
    let new = unrecognized_in(new).into_iter().filter(|format| !known.contains(format));
    told.extend(new.map(|format| format!("unrecognized format {format:?}")));
}

fn unrecognized_in(definition: &CustomResourceDefinition) -> Vec<&str> {
    let schemas = definition.spec.versions.iter().map(|version| version.schema.as_ref());
    let mut schemas: Vec<_> = schemas.map(|schema| schema?.open_api_v3_schema.as_ref()).collect();
    // A schema that every version has is kept once, outside them: `Convert_v1_…_To_apiextensions_…Spec` moves it there.
    if schemas.iter().all(|schema| *schema == schemas[0]) {
        schemas.truncate(1);
    }
    let mut found = Vec::new();
    schemas.into_iter().flatten().for_each(|schema| unrecognized(&mut found, schema));
    found
}

fn unrecognized<'a>(found: &mut Vec<&'a str>, schema: &'a JSONSchemaProps) {
    let type_ = schema.type_.as_deref().unwrap_or_default();
    found.extend(schema.format.as_deref().filter(|format| !format.is_empty() && !is_recognized(type_, format)));
    parts(schema).into_iter().for_each(|part| unrecognized(found, part));
}

fn is_recognized(type_: &str, format: &str) -> bool {
    match type_ {
        "" | "string" => OF_TEXTS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// The schemas right inside another.
fn parts(schema: &JSONSchemaProps) -> Vec<&JSONSchemaProps> {
    let mut parts = Vec::new();
    match &schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => parts.push(&**items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => parts.extend(items),
        None => {}
    }
    parts.extend([&schema.all_of, &schema.any_of, &schema.one_of].into_iter().flatten().flatten());
    parts.extend(schema.not.as_deref());
    parts.extend(schema.properties.iter().flatten().map(|(_, of)| of));
    parts.extend(schema_of(schema.additional_properties.as_ref()));
    parts.extend(schema.pattern_properties.iter().flatten().map(|(_, of)| of));
    parts.extend(schema_of(schema.additional_items.as_ref()));
    parts.extend(schema.definitions.iter().flatten().map(|(_, of)| of));
    for (_, dependency) in schema.dependencies.iter().flatten() {
        if let JSONSchemaPropsOrStringArray::Schema(of) = dependency {
            parts.push(of);
        }
    }
    parts
}

fn schema_of(of: Option<&JSONSchemaPropsOrBool>) -> Option<&JSONSchemaProps> {
    match of? {
        JSONSchemaPropsOrBool::Schema(of) => Some(of),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

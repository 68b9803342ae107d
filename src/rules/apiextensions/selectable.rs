//! `selectableFields`: by which fields, besides the metadata, objects may be selected.
//!
//! Mirrors `ValidateCustomResourceSelectableFields` in `pkg/apis/apiextensions/validation` of apiextensions-apiserver.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{JSONSchemaProps, SelectableField};

use object::validation::field::{Path, Problems};

use super::field_path;
use super::schema::Schema;

/// Mirrors `MaxSelectableFields`.
const FIELDS_MAX: usize = 8;
const TYPES: [&str; 3] = ["string", "boolean", "integer"];

/// How field selectors call a selectable field: `.spec.colour` is `spec.colour`.
pub fn name_of(field: &SelectableField) -> String {
    field.json_path.trim_start_matches('.').to_owned()
}

/// What is wrong with the fields of a version whose objects look like this.
pub fn validate(problems: &mut Problems, fields: &[SelectableField], schema: Option<&JSONSchemaProps>, path: &Path) {
    if fields.is_empty() {
        return;
    }
    let Some(schema) = schema.map(Schema::of) else {
        let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
        return problems.invalid(path, "", why);
    };
    let mut found = BTreeSet::new();
    for (i, field) in fields.iter().enumerate() {
        let (item, text) = (path.index(i), field.json_path.as_str());
        let at = item.child("jsonPath");
        if text.is_empty() {
            problems.required(&at, "");
            continue;
        }
        match field_path::follow(&schema, text, false) {
            Err(why) => problems.invalid(&at, text, &format!("is an invalid path: {why}")),
            Ok((place, of)) => {
                if place.split('.').nth(1) == Some("metadata") {
                    problems.invalid(&at, text, "must not point to fields in metadata");
                }
                if !matches!(&of.types[..], [one] if TYPES.contains(&one.as_str())) {
                    let why = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                               with formats are allowed.";
                    problems.invalid(&at, text, why);
                }
                if !found.insert(place) {
                    problems.duplicate(&at, text);
                }
            }
        }
    }
    if found.len() > FIELDS_MAX {
        problems.too_many(path, found.len(), FIELDS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn wrong(paths: &[&str], schema: Option<Value>) -> Vec<String> {
        let mut problems = Problems::default();
        let schema = schema.map(|schema| serde_json::from_value(schema).unwrap());
        let fields: Vec<SelectableField> =
            paths.iter().map(|path| SelectableField { json_path: (*path).to_owned() }).collect();
        validate(&mut problems, &fields, schema.as_ref(), &Path::new("f"));
        problems.0.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn a_selectable_field_is_one_scalar_of_the_schema() {
        let text = json!({"type": "string"});
        let many: serde_json::Map<String, Value> = (0..9).map(|i| (format!("f{i}"), text.clone())).collect();
        let schema = json!({"type": "object", "properties": {
            "metadata": {"type": "object", "properties": {"name": text}},
            "many": {"type": "object", "properties": many},
            "spec": {"type": "object", "properties": {"text": text, "on": {"type": "boolean"}, "n": {"type": "integer"},
                "ratio": {"type": "number"}, "port": {"x-kubernetes-int-or-string": true},
                "map": {"type": "object", "additionalProperties": text}}}}});
        let at = |path: &str, why: &str| format!("f[0].jsonPath: Invalid value: {path:?}: {why}");
        let type_of = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are \
                       allowed.";
        for (path, want) in [
            ("", "f[0].jsonPath: Required value".to_owned()),
            ("spec.text", at("spec.text", "is an invalid path: expected [ or . but got: spec")),
            (".spec.other", at(".spec.other", "is an invalid path: does not refer to a valid field")),
            (".spec['text']", at(".spec['text']", "is an invalid path: array notation is not allowed")),
            (".metadata.name", at(".metadata.name", "must not point to fields in metadata")),
            (".spec", at(".spec", type_of)),
            (".spec.ratio", at(".spec.ratio", type_of)),
            (".spec.port", at(".spec.port", type_of)),
        ] {
            assert_eq!(wrong(&[path], Some(schema.clone())), [want], "{path}");
        }
        let good = [".spec.text", ".spec.on", ".spec.n", ".spec.map.key"];
        assert!(wrong(&good, Some(schema.clone())).is_empty());
        let twice = wrong(&[".spec.n", ".spec.n"], Some(schema.clone()));
        assert_eq!(twice, ["f[1].jsonPath: Duplicate value: \".spec.n\""]);
        let many: Vec<String> = (0..9).map(|i| format!(".many.f{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(wrong(&many, Some(schema)), ["f: Too many: 9: must have at most 8 items"]);
        assert!(wrong(&[], None).is_empty());
        let none = "may only be set when `version.schema.openAPIV3Schema` is not included";
        assert_eq!(wrong(&[".spec.n"], None), [format!("f: Invalid value: \"\": {none}")]);
    }
}

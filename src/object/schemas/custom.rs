//! The schema of a kind that users have defined: its own, with the fields that every object has.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value, json};

use super::{HERE, Schemas};
use crate::Kind;
use crate::explain::notes;

impl Schemas {
    /// Writes it. Gives its name, which begins with the group's words from the end: `com.example.v1.Widget`.
    pub(super) fn custom(&mut self, kind: Kind, definition: &CustomResourceDefinition) -> String {
        let info = kind.info();
        let words: Vec<&str> = info.group.split('.').rev().collect();
        let name = format!("{}.{}.{}", words.join("."), info.version, info.kind);
        if self.written.contains_key(&name) {
            return name;
        }
        let metadata = self.meta("ObjectMeta", kind);
        let version = definition.spec.versions.iter().find(|version| version.name == info.version);
        let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
        let mut schema = schema.and_then(|schema| serde_json::to_value(schema).ok()).unwrap_or_else(|| json!({}));
        crate::json::go_numbers(&mut schema);
        let mut schema = if let Value::Object(schema) = schema { schema } else { Map::new() };
        schema.entry("type").or_insert_with(|| "object".into());
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            for field in ["apiVersion", "kind"] {
                let about = notes::field("*", field).map_or("", |note| note.text);
                properties.insert(field.to_owned(), json!({"description": about, "type": "string"}));
            }
            let about = notes::field("*", "metadata").map_or("", |note| note.text);
            let reference = json!([{"$ref": format!("{HERE}{metadata}")}]);
            properties.insert("metadata".to_owned(), json!({"description": about, "allOf": reference}));
        }
        let known_as = json!([{"group": info.group, "kind": info.kind, "version": info.version}]);
        schema.insert("x-kubernetes-group-version-kind".to_owned(), known_as);
        self.written.insert(name.clone(), Value::Object(schema).to_string());
        name
    }
}

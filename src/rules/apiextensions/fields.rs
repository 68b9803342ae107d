//! What is one field of a custom object: what its schema says of maps and lists.
//!
//! Mirrors `pkg/apiserver/schema` of apiextensions-apiserver as `managedfields` reads it: `x-kubernetes-list-type`,
//! `x-kubernetes-list-map-keys`, `x-kubernetes-map-type`. What no schema knows is taken apart as it stands: maps by key, lists
//! whole.

use serde_json::Value;

use object::Kind;
use object::fields::{BuiltIn, List, Schema as Fields};

use super::schema::{ListType, Schema};

/// A place in a custom object.
#[derive(Clone, Debug)]
pub struct Custom<'a>(Location<'a>);

#[derive(Clone, Debug)]
enum Location<'a> {
    Root(Kind, Option<&'a Schema>),
    Metadata(BuiltIn),
    Known(&'a Schema),
    Unknown,
}

impl<'a> Custom<'a> {
    /// An object of `kind`.
    pub fn new(kind: Kind, schema: Option<&'a Schema>) -> Custom<'a> {
        Custom(Location::Root(kind, schema))
    }

    fn below(schema: Option<&'a Schema>, name: &str) -> Custom<'a> {
        Custom(schema.and_then(|schema| schema.field(name)).map_or(Location::Unknown, Location::Known))
    }
}

impl Fields for Custom<'_> {
    fn is_atomic(&self) -> bool {
        match &self.0 {
            Location::Metadata(built_in) => built_in.is_atomic(),
            Location::Known(schema) => schema.atomic,
            _ => false,
        }
    }

    fn is_struct(&self) -> bool {
        match &self.0 {
            Location::Root(..) => true,
            Location::Metadata(built_in) => built_in.is_struct(),
            Location::Known(schema) => !schema.properties.is_empty(),
            Location::Unknown => false,
        }
    }

    fn list(&self) -> List<'_> {
        match &self.0 {
            Location::Metadata(built_in) => built_in.list(),
            Location::Known(schema) => match &schema.list {
                ListType::Atomic => List::Atomic,
                ListType::Set => List::Set,
                ListType::Map(keys) => List::Map(keys.iter().map(String::as_str).collect()),
            },
            _ => List::Atomic,
        }
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        match &self.0 {
            Location::Metadata(built_in) => built_in.key_default(key),
            Location::Known(schema) => schema.items.as_ref()?.properties.get(key)?.default.clone(),
            _ => None,
        }
    }

    fn field(&self, name: &str) -> Self {
        match &self.0 {
            Location::Root(kind, _) if name == "metadata" => {
                Custom(Location::Metadata(BuiltIn::new(*kind).field(name)))
            }
            Location::Root(_, schema) => Custom::below(*schema, name),
            Location::Metadata(built_in) => Custom(Location::Metadata(built_in.field(name))),
            Location::Known(schema) => Custom::below(Some(schema), name),
            Location::Unknown => Custom(Location::Unknown),
        }
    }

    fn item(&self) -> Self {
        match &self.0 {
            Location::Metadata(built_in) => Custom(Location::Metadata(built_in.item())),
            Location::Known(schema) => Custom(schema.items.as_deref().map_or(Location::Unknown, Location::Known)),
            _ => Custom(Location::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use object::CustomKind;
    use object::fields::compare::set_of;

    #[test]
    fn lists_and_maps_are_what_the_schema_says() {
        let named = json!({"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 1}}});
        let props = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "hosts": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "parts": {"type": "array", "items": named, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "plain": {"type": "array", "items": named},
        }}}});
        let schema = Schema::of(&serde_json::from_value(props).unwrap());
        let kind = Kind::Custom(CustomKind::new("example.com", "v1", "things", "Thing", true));
        let config = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"hosts": ["x"], "parts": [{"name": "a"}], "whole": {"a": "b"},
            "plain": [{"name": "a"}]}, "other": {"a": {"b": 1}}});
        let set = set_of(&Custom::new(kind, Some(&schema)), &config).unwrap();
        let want = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:other": {"f:a": {".": {}, "f:b": {}}},
            "f:spec": {"f:hosts": {"v:\"x\"": {}}, "f:whole": {}, "f:plain": {},
                "f:parts": {"k:{\"name\":\"a\",\"port\":1}": {".": {}, "f:name": {}}}}});
        assert_eq!(set.to_json(), want);
    }
}

//! Objects that expressions make: `Object{spec: Object.spec{replicas: 3}}` and `JSONPatch{op: "remove", path: "/spec"}`.
//!
//! Which fields an `Object` may have is not checked here, but when it is laid over a real one. Its type, though, says where
//! it belongs, and that can be checked ([`Struct::misplaced`]).
//!
//! Mirrors `pkg/cel/mutation/{typeresolver,jsonpatch}.go` and `pkg/cel/mutation/dynamic/objects.go` of apiserver.
//!
//! Left out: types below `Object` as values: `type(x) == Object.spec`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::duration::go_duration;
use super::types::Names;
use super::types::Type;
use super::value::{Key, Value};
use object::base64;

/// The type of what is laid over an object; of what lies in it the names go on with a point: `Object.spec`.
pub const OBJECT: &str = "Object";
/// The type of one operation of a JSON patch.
pub const JSON_PATCH: &str = "JSONPatch";

/// What an expression has made.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// The name of its type.
    pub name: Arc<str>,
    /// What was said of it.
    pub fields: BTreeMap<String, Value>,
}

/// The names by which expressions that may make objects know that.
pub fn names() -> Names {
    [OBJECT, JSON_PATCH].map(|name| (name.to_owned(), Type::Type)).into()
}

/// The name that has to be known for objects of this type to be made.
pub fn family(name: &str) -> &str {
    if name.strip_prefix(OBJECT).is_some_and(|rest| rest.starts_with('.')) { OBJECT } else { name }
}

/// The type of this name.
pub fn type_named(name: &str) -> Option<Type> {
    [OBJECT, JSON_PATCH].contains(&family(name)).then(|| Type::Struct(name.into()))
}

/// The type of this name as a value.
pub fn type_value(name: &str) -> Option<Value> {
    type_named(name).map(|_| Value::Type(name.into()))
}

/// The type of a field. An `Object` has any.
pub fn field_type(name: &str, field: &str) -> Option<Type> {
    match (name, field) {
        (JSON_PATCH, "op" | "path" | "from") => Some(Type::String),
        (JSON_PATCH, "value") => Some(Type::Dyn),
        (JSON_PATCH, _) => None,
        _ => Some(Type::Dyn),
    }
}

impl Struct {
    /// Whether its fields are of their types, which only the running program knows of what is dynamic.
    pub fn check(&self) -> Result<(), String> {
        let wrong = self.fields.iter().find(|(name, value)| {
            field_type(&self.name, name) == Some(Type::String) && !matches!(value, Value::String(_))
        });
        match wrong {
            Some((name, value)) => {
                Err(format!("unexpected type {} for JSONPatchType '{name}' field", value.type_name()))
            }
            None => Ok(()),
        }
    }

    /// Whether `has` says that the field is there.
    pub fn is_set(&self, field: &str) -> bool {
        let empty = |value: &Value| &*self.name == JSON_PATCH && field != "value" && value.size() == 0;
        self.fields.get(field).is_some_and(|value| !empty(value))
    }

    /// A field; one that is not set is null, or empty if it is a text of an operation.
    pub fn field(&self, field: &str) -> Value {
        let unset =
            || if field_type(&self.name, field) == Some(Type::String) { Value::string("") } else { Value::Null };
        self.fields.get(field).cloned().unwrap_or_else(unset)
    }

    /// What in it is of a type that does not say where it lies. Lists and maps between count for nothing. Mirrors
    /// `CheckTypeNamesMatchFieldPathNames`.
    pub fn misplaced(&self) -> Result<(), String> {
        let mut wrong = Vec::new();
        self.look_for_misplaced(&self.name, &mut wrong);
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    fn look_for_misplaced(&self, wanted: &str, wrong: &mut Vec<String>) {
        if &*self.name != wanted {
            wrong.push(format!(
                "unexpected type name {:?}, expected {wanted:?}, which matches field name path from root Object type",
                self.name
            ));
        }
        for (field, value) in &self.fields {
            look_into(value, &format!("{wanted}.{field}"), wrong);
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Result<Json, String> {
        let fields = self.fields.iter().map(|(name, value)| match to_json(value) {
            Ok(json) => Ok((name.clone(), json)),
            Err(why) => Err(format!("fail to convert field {name:?}: {why}")),
        });
        Ok(Json::Object(fields.collect::<Result<Map<_, _>, String>>()?))
    }
}

fn look_into(value: &Value, wanted: &str, wrong: &mut Vec<String>) {
    match value {
        Value::Struct(of) => of.look_for_misplaced(wanted, wrong),
        Value::List(items) => items.iter().for_each(|item| look_into(item, wanted, wrong)),
        Value::Map(entries) => entries.values().for_each(|value| look_into(value, wanted, wrong)),
        _ => {}
    }
}

/// A value as JSON; or why it cannot be.
pub fn to_json(value: &Value) -> Result<Json, String> {
    Ok(match value {
        Value::Null | Value::Optional(None) => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Uint(value) => json!(value),
        // JSON has one sort of numbers: 3.0 is 3.
        Value::Double(value) if value.fract() == 0.0 && value.abs() < 9e15 => json!(*value as i64),
        Value::Double(value) => json!(value),
        Value::String(text) => json!(**text),
        Value::Bytes(bytes) => json!(base64::padded(bytes)),
        Value::Duration(nanos) => json!(go_duration(*nanos)),
        Value::Timestamp(at) => json!(at.to_string()),
        Value::Optional(Some(of)) => to_json(of)?,
        Value::List(items) => Json::Array(items.iter().map(to_json).collect::<Result<_, _>>()?),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| match key {
                Key::String(key) => Ok((key.to_string(), to_json(value)?)),
                other => {
                    Err(format!("map key {:?} is of type {}, not string", other.to_string(), other.value().type_name()))
                }
            });
            Json::Object(entries.collect::<Result<_, _>>()?)
        }
        Value::Struct(of) => of.to_json()?,
        Value::Type(_) | Value::Quantity(_) | Value::Ip(_) | Value::Cidr(..) | Value::Url(_) | Value::Format(_) => {
            return Err(format!("unable to convert {} to JSON", value.type_name()));
        }
    })
}

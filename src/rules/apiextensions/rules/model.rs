//! How a schema and its values look to a rule.
//!
//! Fields that CEL could not name have other names there: `a-b` is `a__dash__b`, `namespace` is `__namespace__`. What the
//! schema does not name cannot be seen. Mirrors `pkg/cel/common/{schemas,valuesunstructured}.go` and `pkg/cel/escaping.go`
//! of apiserver.

use serde_json::{Map, Value as Json};

use crate::cel::Value;
use crate::cel::duration::parse_duration;
use crate::cel::parse::RESERVED;
use crate::cel::types::Type;
use object::{CustomObject, base64};

use super::super::schema::{Additional, Schema};

/// What every object has.
const TYPE_META: [&str; 2] = ["apiVersion", "kind"];
const OBJECT_META: [&str; 2] = ["name", "generateName"];

/// An object as rules at its root see it.
pub fn whole(object: &CustomObject) -> Json {
    let mut fields = (*object.content).clone();
    fields.extend(common(object));
    Json::Object(fields)
}

/// The fields that every object has: of its metadata a rule sees only the name.
pub fn common(object: &CustomObject) -> Map<String, Json> {
    let info = object.kind().info();
    let meta = [("name", &object.metadata.name), ("generateName", &object.metadata.generate_name)];
    let meta = meta.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into())));
    Map::from_iter([
        ("apiVersion".to_owned(), info.api_version.into()),
        ("kind".to_owned(), info.kind.into()),
        ("metadata".to_owned(), Json::Object(meta.collect())),
    ])
}

/// The type of a value, if a rule can see it; `name` is what errors call it.
pub fn type_of(schema: &Schema, is_root: bool, name: &str) -> Option<Type> {
    let below = |of: &Schema, part: &str| type_of(of, of.embedded, &format!("{name}.{part}"));
    match schema.types.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["integer", "string"] => Some(Type::Dyn),
        ["array"] => below(schema.items.as_deref()?, "@idx").map(Type::list),
        ["object"] => match &schema.additional {
            Some(Additional::Of(of)) => Some(Type::Map(Box::new(Type::String), Box::new(below(of, "@elem")?))),
            _ => {
                let known = schema.properties.iter();
                let mut fields: Vec<(String, Type)> =
                    known.filter_map(|(field, of)| Some((escape(field)?, below(of, field)?))).collect();
                if is_root {
                    fields.extend(TYPE_META.map(|field| (field.to_owned(), Type::String)));
                    let meta = OBJECT_META.map(|field| (field.to_owned(), Type::String));
                    fields.push(("metadata".to_owned(), Type::object(&format!("{name}.metadata"), meta)));
                }
                Some(Type::object(name, fields))
            }
        },
        ["string"] => Some(match schema.checks.format.as_str() {
            "byte" => Type::Bytes,
            "duration" => Type::Duration,
            "date" | "date-time" => Type::Timestamp,
            _ => Type::String,
        }),
        ["boolean"] => Some(Type::Bool),
        ["number"] => Some(Type::Double),
        ["integer"] => Some(Type::Int),
        _ => None,
    }
}

/// A value as its schema has it. What does not fit its format stays a text; the schema has complained of it already.
pub fn value_of(json: &Json, schema: &Schema, is_root: bool) -> Value {
    match json {
        Json::Object(fields) => match &schema.additional {
            Some(Additional::Of(of)) => {
                let entry = |(name, value): (&String, &Json)| (name.clone(), value_of(value, of, of.embedded));
                Value::object(fields.iter().map(entry))
            }
            _ => {
                let seen = fields.iter().filter_map(|(name, value)| match schema.properties.get(name) {
                    _ if is_root && name == "metadata" => Some((name.clone(), metadata_of(value))),
                    Some(of) if !value.is_null() || of.nullable => {
                        Some((escape(name)?, value_of(value, of, of.embedded)))
                    }
                    None if is_root && TYPE_META.contains(&name.as_str()) => {
                        Some((name.clone(), Value::of_json(value)))
                    }
                    _ => None,
                });
                Value::object(seen)
            }
        },
        Json::Array(items) => match schema.items.as_deref() {
            Some(of) => Value::list(items.iter().map(|item| value_of(item, of, of.embedded)).collect()),
            None => Value::of_json(json),
        },
        Json::Number(number) if schema.types == ["number"] => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        Json::Number(number) if schema.types == ["integer"] => {
            number.as_f64().filter(|_| number.is_f64()).map_or_else(|| Value::of_json(json), |n| Value::Int(n as i64))
        }
        Json::String(text) if schema.types == ["string"] => string_value(text, &schema.checks.format),
        other => Value::of_json(other),
    }
}

fn metadata_of(value: &Json) -> Value {
    let seen = OBJECT_META.iter().filter_map(|name| Some(((*name).to_owned(), Value::of_json(value.get(name)?))));
    Value::object(seen)
}

fn string_value(text: &str, format: &str) -> Value {
    let read = match format {
        "byte" => base64::decode(text).ok().map(|bytes| Value::Bytes(bytes.into())),
        "duration" => parse_duration(text).map(Value::Duration),
        "date" => format!("{text}T00:00:00Z").parse().ok().map(Value::Timestamp),
        "date-time" => text.parse().ok().map(Value::Timestamp),
        _ => None,
    };
    read.unwrap_or_else(|| Value::string(text))
}

/// The name of a field in CEL; none if it can have none.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let known = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    name.chars().all(known).then(|| {
        let text = name.replace("__", "__underscores__");
        text.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
    })
}

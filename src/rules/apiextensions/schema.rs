//! The structural schema of a version: what a definition says of the fields of its objects, made ready to be asked.
//!
//! Mirrors `pkg/apiserver/schema/structural.go` of apiextensions-apiserver. The schema that is read here has been
//! validated ([`super::structural`]); what a structural schema may not have is not looked at.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use regex::Regex;
use serde_json::Value;

use super::rules::rule::Rule;

/// What is known of one value.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// `integer`, `string` …; empty: any. An int-or-string has both.
    pub types: Vec<String>,
    /// Whether null is a value.
    pub nullable: bool,
    /// The fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// The values of a map.
    pub additional: Option<Additional>,
    /// The items of a list.
    pub items: Option<Box<Schema>>,
    /// What stands there if nothing was written.
    pub default: Option<Value>,
    /// Whether fields that the schema does not name are kept.
    pub preserves_unknown: bool,
    /// Whether it is a whole object with metadata of its own.
    pub embedded: bool,
    /// Whether the object has one owner, together with all that is in it.
    pub atomic: bool,
    /// Which items of the list are the same.
    pub list: ListType,
    /// What else must hold.
    pub checks: Checks,
    /// Rules in CEL about this value.
    pub rules: Vec<Rule>,
    /// Whether there are rules about this value, or about any in it.
    pub has_rules: bool,
}

/// `additionalProperties`.
#[derive(Clone, Debug)]
pub enum Additional {
    /// Any value.
    Any,
    /// Values like this.
    Of(Box<Schema>),
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, Default)]
pub enum ListType {
    /// Items may repeat.
    #[default]
    Atomic,
    /// No item twice.
    Set,
    /// No two items with equal values in these fields.
    Map(Vec<String>),
}

impl ListType {
    /// What an item of such a list was before: only lists with keys know.
    pub fn counterpart<'a>(&self, item: &Value, before: &'a [Value]) -> Option<&'a Value> {
        let ListType::Map(keys) = self else { return None };
        before.iter().find(|old| keys.iter().all(|key| old.get(key) == item.get(key)))
    }
}

/// What a value must be besides of the right type. Mirrors `ValueValidation`.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "they are named as in a schema")]
pub struct Checks {
    pub format: String,
    pub one_of_these: Vec<Value>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub multiple_of: Option<f64>,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: Option<Regex>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<String>,
    pub all_of: Vec<Schema>,
    pub any_of: Vec<Schema>,
    pub one_of: Vec<Schema>,
    pub not: Option<Box<Schema>>,
}

impl Schema {
    /// The schema that `props` describes, without its rules ([`super::rules::compile`]).
    pub fn of(props: &JSONSchemaProps) -> Schema {
        let all = |list: &Option<Vec<JSONSchemaProps>>| list.iter().flatten().map(Schema::of).collect();
        let types = match &props.type_ {
            _ if props.x_kubernetes_int_or_string == Some(true) => vec!["integer".to_owned(), "string".to_owned()],
            Some(name) if !name.is_empty() => vec![name.clone()],
            _ => Vec::new(),
        };
        Schema {
            types,
            nullable: props.nullable == Some(true),
            properties: props.properties.iter().flatten().map(|(name, of)| (name.clone(), Schema::of(of))).collect(),
            additional: match &props.additional_properties {
                Some(JSONSchemaPropsOrBool::Schema(of)) => Some(Additional::Of(Box::new(Schema::of(of)))),
                Some(JSONSchemaPropsOrBool::Bool(true)) => Some(Additional::Any),
                _ => None,
            },
            items: match &props.items {
                Some(JSONSchemaPropsOrArray::Schema(of)) => Some(Box::new(Schema::of(of))),
                _ => None,
            },
            default: props.default.as_ref().map(|JSON(value)| value.clone()),
            preserves_unknown: props.x_kubernetes_preserve_unknown_fields == Some(true),
            embedded: props.x_kubernetes_embedded_resource == Some(true),
            atomic: props.x_kubernetes_map_type.as_deref() == Some("atomic"),
            list: match props.x_kubernetes_list_type.as_deref() {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(props.x_kubernetes_list_map_keys.clone().unwrap_or_default()),
                _ => ListType::Atomic,
            },
            checks: Checks {
                format: props.format.clone().unwrap_or_default(),
                one_of_these: props.enum_.iter().flatten().map(|JSON(value)| value.clone()).collect(),
                maximum: props.maximum,
                exclusive_maximum: props.exclusive_maximum == Some(true),
                minimum: props.minimum,
                exclusive_minimum: props.exclusive_minimum == Some(true),
                multiple_of: props.multiple_of,
                max_length: props.max_length,
                min_length: props.min_length,
                pattern: props
                    .pattern
                    .as_deref()
                    .filter(|text| !text.is_empty())
                    .and_then(|text| Regex::new(text).ok()),
                max_items: props.max_items,
                min_items: props.min_items,
                max_properties: props.max_properties,
                min_properties: props.min_properties,
                required: props.required.clone().unwrap_or_default(),
                all_of: all(&props.all_of),
                any_of: all(&props.any_of),
                one_of: all(&props.one_of),
                not: props.not.as_deref().map(Schema::of).map(Box::new),
            },
            rules: Vec::new(),
            has_rules: false,
        }
    }

    /// What is known of a field of an object, by name or as a value of the map.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(match &self.additional {
            Some(Additional::Of(of)) => Some(of),
            _ => None,
        })
    }
}

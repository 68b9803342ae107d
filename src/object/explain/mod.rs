//! What kinds are made of: the fields at a path, their types, which of them are required, and what they mean.
//!
//! Mirrors what a client reads from the API server's OpenAPI documents. Nothing of it is a table here but the meaning:
//!
//! - [`built_in`]: the fields of a built-in kind, asked of the very types that its objects are read into.
//! - [`custom`]: those of a kind that users define, from its definition.
//! - [`notes`]: what types and fields mean, in our own words, and who writes them.
//!
//! Only the one path that is asked for is looked at, so types that contain themselves do no harm.

pub mod built_in;
pub mod custom;
pub mod notes;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{Kind, versions};

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// `replicas`.
    pub name: String,
    /// `integer`, `[]Container`, `map[string]string`.
    pub type_name: String,
    /// Whether an object without it is refused.
    pub required: bool,
    /// The only values that it may have; empty: any.
    pub values: Vec<String>,
    /// What it means; empty if there is no description.
    pub about: String,
    /// Who writes it, if that is not the writer of the fields around it.
    pub writer: Option<&'static str>,
}

/// What is at a path: an object, a struct in it, or a plain value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Its type: `DeploymentSpec`, `[]Container`, `integer`.
    pub type_name: String,
    /// What such a thing is; empty if there is no description.
    pub about: String,
    /// Who writes all of it, if that is known.
    pub writer: Option<&'static str>,
    /// Its fields, by name. Those of a list or a map are its items'.
    pub fields: Vec<Field>,
}

impl Explanation {
    /// The type of its items, or of itself: `Container` of `[]Container`.
    pub fn item_type(&self) -> &str {
        item_type(&self.type_name)
    }

    /// What is said of it as the value of `field`: what that means, and what such a thing is, each with who writes it. Where
    /// one says what the other says too, it is said once.
    pub fn said_as<'a>(&'a self, field: Option<&'a Field>) -> Vec<(&'a str, Option<&'static str>)> {
        let of_field = field.map(|field| (field.about.as_str(), field.writer));
        let both = of_field.into_iter().chain([(self.about.as_str(), self.writer)]);
        let said: Vec<_> = both.filter(|(about, _)| !about.is_empty()).collect();
        match said.as_slice() {
            [(of_field, a), (of_type, b)] if of_type.starts_with(of_field) => vec![(*of_type, a.or(*b))],
            [(of_field, a), (of_type, b)] if of_field.starts_with(of_type.trim_end_matches('.')) => {
                vec![(*of_field, a.or(*b))]
            }
            _ => said,
        }
    }

    /// One of its fields.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// What is at `path` of a kind. A custom kind needs its definition. None if there is no such field.
pub fn explain(kind: Kind, definition: Option<&CustomResourceDefinition>, path: &[&str]) -> Option<Explanation> {
    match (kind, definition) {
        (Kind::Custom(kind), Some(definition)) => custom::explain(definition, kind.info().version, path),
        (Kind::Custom(_), None) if versions::stored_as(kind) == kind => None,
        _ => built_in::explain(kind, path),
    }
}

/// `Container` of `[]Container` and of `map[string]Container`.
fn item_type(mut type_name: &str) -> &str {
    while let Some(rest) = type_name.strip_prefix("[]").or(type_name.strip_prefix("map[string]")) {
        type_name = rest;
    }
    type_name
}

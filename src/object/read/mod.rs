//! Typed objects read from JSON, with every complaint that Go's decoder would have.
//!
//! The trick: `k8s-openapi`'s types tell a `serde` deserializer their name and their fields before they take a value, so
//! the reader knows what is unknown, and finds in [`super::go_types`] how Go would name a wrong type:
//! `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`.
//!
//! - [`document`]: JSON as it was sent.
//! - [`omit`]: which zero values Go takes for nothing.
//! - [`text`]: times and base64.
//!
//! There is one [`Reader`], over any [`Source`]: what reads a type is compiled for each reader, and all of the API's types
//! are a third of this library.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json::Json;
use super::{Kind, Object};

mod document;
mod omit;
mod reader;
mod source;
mod text;

pub use text::check_time;

pub use reader::Reader;
pub use source::{Error, Shape, Source, Wrapped};

/// Why a field is not taken over, with the path to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The kind has no such field.
    Unknown(String),
    /// It has been there before.
    Duplicate(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unknown(path) => write!(f, "unknown field {path:?}"),
            Problem::Duplicate(path) => write!(f, "duplicate field {path:?}"),
        }
    }
}

/// The object in `json`, and its unknown and duplicate fields.
///
/// # Errors
/// What Go's decoder says of the first value that does not fit.
pub fn object(kind: Kind, json: &Json) -> Result<(Object, Vec<Problem>), Error> {
    read(json, |reader| kind.read(reader))
}

/// The same for any type that is read from JSON.
///
/// # Errors
/// As of [`object`].
pub fn value<T: DeserializeOwned>(json: &Json) -> Result<(T, Vec<Problem>), Error> {
    read(json, |reader| T::deserialize(reader))
}

/// The same of JSON that was parsed elsewhere, leniently.
///
/// # Errors
/// As of [`object`].
pub fn from_value<T: DeserializeOwned>(json: &Value) -> Result<T, Error> {
    value(&Json::of(json)).map(|(value, _)| value)
}

fn read<T>(json: &Json, read: impl for<'s> FnOnce(Reader<'s>) -> Result<T, Error>) -> Result<(T, Vec<Problem>), Error> {
    let mut document = document::Document::new(json);
    let value = read(Reader(&mut document))?;
    Ok((value, document.into_problems()))
}

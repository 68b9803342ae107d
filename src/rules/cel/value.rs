//! The values of the language: what they are, when two are equal, and which comes first.
//!
//! Numbers of different types compare by what they are worth. Maps are kept in the order of their keys, so that a loop over
//! one runs the same way in every run. Mirrors `common/types` of cel-go.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;

use object::quantity::Amount;

use super::format::Format;
use super::structs::Struct;
use super::types::{CIDR, FORMAT, IP, QUANTITY, URL};
use super::url::Url;

/// A value. Copying one copies no more than a pointer.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are named as in the language")]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    /// In nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    List(Arc<Vec<Value>>),
    /// A map, or an object with its fields.
    Map(Arc<BTreeMap<Key, Value>>),
    /// What an expression has made.
    Struct(Arc<Struct>),
    Type(Arc<str>),
    Optional(Option<Arc<Value>>),
    Quantity(Amount),
    Ip(IpAddr),
    /// An address and how many of its bits are the network's.
    Cidr(IpAddr, u8),
    Url(Arc<Url>),
    Format(&'static Format),
}

/// The key of an entry of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "they are named as in the language")]
pub enum Key {
    Bool(bool),
    Int(i64),
    /// Only what is too large for an int.
    Uint(u64),
    String(Arc<str>),
}

impl Value {
    /// A text.
    pub fn string(text: impl Into<Arc<str>>) -> Value {
        Value::String(text.into())
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Arc::new(items))
    }

    /// An object with these fields.
    pub fn object(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
        let entries = fields.into_iter().map(|(name, value)| (Key::String(name.into()), value));
        Value::Map(Arc::new(entries.collect()))
    }

    /// What JSON says, without a schema: whole numbers are ints.
    pub fn of_json(json: &Json) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => Value::Int(value),
                (None, Some(value)) => Value::Uint(value),
                (None, None) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::string(text.as_str()),
            Json::Array(items) => Value::list(items.iter().map(Value::of_json).collect()),
            Json::Object(fields) => {
                Value::object(fields.iter().map(|(name, value)| (name.clone(), Value::of_json(value))))
            }
        }
    }

    /// A field of an object, or the value of a key that is a text.
    pub fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Map(entries) => entries.get(&Key::String(name.into())),
            _ => None,
        }
    }

    /// The name of its type.
    pub fn type_name(&self) -> &str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Struct(of) => &of.name,
            Value::Type(_) => "type",
            Value::Optional(_) => "optional_type",
            Value::Quantity(_) => QUANTITY,
            Value::Ip(_) => IP,
            Value::Cidr(..) => CIDR,
            Value::Url(_) => URL,
            Value::Format(_) => FORMAT,
        }
    }

    /// The same as the key of a map, if it can be one.
    pub fn key(&self) -> Option<Key> {
        match self {
            Value::Bool(value) => Some(Key::Bool(*value)),
            Value::Int(value) => Some(Key::Int(*value)),
            Value::Uint(value) => Some(i64::try_from(*value).map_or(Key::Uint(*value), Key::Int)),
            Value::Double(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(Key::Int(*value as i64)),
            Value::String(text) => Some(Key::String(text.clone())),
            _ => None,
        }
    }

    /// Which of two is less, if they can be ordered.
    pub fn order(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
            (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
            _ => match (self.whole(), other.whole()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => self.number()?.partial_cmp(&other.number()?),
            },
        }
    }

    fn whole(&self) -> Option<i128> {
        match self {
            Value::Int(value) => Some(i128::from(*value)),
            Value::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Value::Double(value) => Some(*value),
            _ => self.whole().map(|value| value as f64),
        }
    }

    /// How large it is, in the units that reading it through costs.
    pub fn size(&self) -> u64 {
        match self {
            Value::String(text) => text.len() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(items) => items.len() as u64,
            Value::Map(entries) => entries.len() as u64,
            _ => 1,
        }
    }
}

impl Key {
    /// The key as a value.
    pub fn value(&self) -> Value {
        match self {
            Key::Bool(value) => Value::Bool(*value),
            Key::Int(value) => Value::Int(*value),
            Key::Uint(value) => Value::Uint(*value),
            Key::String(text) => Value::String(text.clone()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Bool(value) => value.fmt(f),
            Key::Int(value) => value.fmt(f),
            Key::Uint(value) => value.fmt(f),
            Key::String(text) => text.fmt(f),
        }
    }
}

impl PartialEq for Value {
    /// Values of different types are unequal, but for numbers; NaN is equal to nothing.
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            (Value::Struct(a), Value::Struct(b)) => a == b,
            (Value::Type(a), Value::Type(b)) => a == b,
            (Value::Optional(a), Value::Optional(b)) => a == b,
            (Value::Quantity(a), Value::Quantity(b)) => a == b,
            (Value::Ip(a), Value::Ip(b)) => a == b,
            (Value::Cidr(a, n), Value::Cidr(b, m)) => (a, n) == (b, m),
            (Value::Url(a), Value::Url(b)) => a == b,
            (Value::Format(a), Value::Format(b)) => a.name == b.name,
            _ => self.order(other) == Some(Ordering::Equal),
        }
    }
}

//! What a [`super::Reader`] reads from.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Expected, Unexpected};

/// A value, and all that is in it, read one after the other: the reader goes into a list or a struct, steps from one
/// value in it to the next, and leaves it again. At any time one value is the current one.
///
/// A value is asked for as the type that is to be read wants it; what is there may be something else, and it is the
/// source that says so.
pub trait Source {
    /// The current value as a boolean.
    fn boolean(&mut self) -> Result<bool, Error>;
    /// As an int32.
    fn int32(&mut self) -> Result<i32, Error>;
    /// As an int64.
    fn int64(&mut self) -> Result<i64, Error>;
    /// As a float64.
    fn float(&mut self) -> Result<f64, Error>;
    /// As a string.
    fn string(&mut self) -> Result<Cow<'_, str>, Error>;
    /// As bytes, in base64.
    fn base64(&mut self) -> Result<Cow<'_, str>, Error>;
    /// As what the struct `name` wraps: a time, a quantity, any JSON.
    fn wrapped(&mut self, name: &'static str) -> Result<Wrapped, Error>;
    /// As what takes several types, which complaints call `wanted`. A list or a map has been gone into.
    fn any(&mut self, wanted: &dyn Expected) -> Result<Shape, Error>;
    /// Whether an optional value is there.
    fn is_some(&mut self) -> bool;

    /// Goes into the current value as a list. False: it is none.
    fn enter_list(&mut self) -> bool;
    /// As a map.
    fn enter_map(&mut self) -> bool;
    /// As a struct of this name with these fields.
    fn enter_struct(&mut self, name: &'static str, fields: &'static [&'static str]) -> bool;
    /// Makes the next item of the list the current value. False: that was all.
    fn next_item(&mut self) -> bool;
    /// Makes the next field of the struct, or the next entry of the map, the current value, and gives its name.
    fn next_key(&mut self) -> Option<&str>;
    /// Leaves the list, the map or the struct.
    fn leave(&mut self);

    /// That the current value is not of its type, which Go calls so unless it is known of its field.
    fn wrong_type(&self, go_type: &str) -> Error;
    /// That the current value is none of those that what takes several types takes.
    fn refused(&self) -> Error;
}

/// What a struct that wraps one value is read from.
pub enum Wrapped {
    /// This text, which the source has understood already.
    Text(String),
    /// Nothing.
    Null,
    /// The current value itself.
    Value,
}

/// What the current value is.
pub enum Shape {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another one.
    Float(f64),
    /// A string.
    String(String),
    /// A list, which has been gone into.
    List,
    /// A map, which has been gone into.
    Map,
}

/// Why a value cannot be read.
#[derive(Debug)]
pub enum Error {
    /// What was to be read takes no value of this shape.
    Refused,
    /// The value is of another type than its field. Mirrors Go's `UnmarshalTypeError`.
    WrongType {
        /// The type that the value has in JSON, and the number if it does not fit: `string`, `number 1.5`.
        value: String,
        /// What it was to be read into: `Go struct field PodSpec.spec.containers`.
        place: String,
        /// Of this type: `[]v1.Container`.
        go_type: String,
    },
    /// In words.
    Told(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused => f.write_str("a value of another type is wanted"),
            Error::WrongType { value, place, go_type } => {
                write!(f, "json: cannot unmarshal {value} into {place} of type {go_type}")
            }
            Error::Told(why) => f.write_str(why),
        }
    }
}

impl From<String> for Error {
    fn from(why: String) -> Error {
        Error::Told(why)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Error {
        Error::Told(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> Error {
        Error::Refused
    }

    fn invalid_value(_: Unexpected<'_>, _: &dyn Expected) -> Error {
        Error::Refused
    }
}

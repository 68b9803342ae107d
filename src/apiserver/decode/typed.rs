//! Reads parsed JSON into the typed objects, noticing what Go's decoder would notice.
//!
//! The trick: `k8s-openapi`'s types tell a `serde` deserializer their name and their fields before they take a value,
//! so this deserializer knows, without any schema of its own, what is unknown, and how Go would name a wrong type:
//! `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::{Problem, omit, text};
use crate::object::json::Json;
use crate::object::quantity::Amount;
use crate::object::{Kind, Object};

mod go_type;

/// After so many unknown and duplicate fields the decoder stops to collect them.
const PROBLEMS_MAX: usize = 100;

/// The object in `json`, and its unknown and duplicate fields.
pub fn object(kind: Kind, json: &Json) -> Result<(Object, Vec<Problem>), String> {
    read(json, |node| kind.deserialize(node))
}

/// The same for any type that is read from JSON.
pub fn value<T: serde::de::DeserializeOwned>(json: &Json) -> Result<(T, Vec<Problem>), String> {
    read(json, |node| T::deserialize(node))
}

fn read<'a, T>(
    json: &'a Json,
    read: impl FnOnce(Node<'a, '_>) -> Result<T, Error>,
) -> Result<(T, Vec<Problem>), String> {
    let context = RefCell::new(Context::default());
    let value = read(Node { json, context: &context }).map_err(|error| error.0)?;
    Ok((value, context.into_inner().problems))
}

/// Why the object cannot be read.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Error {
        Error(message.to_string())
    }
}

/// Where the decoder stands, and what it has noticed so far.
#[derive(Default)]
struct Context<'a> {
    path: Vec<Step<'a>>,
    /// The structs around, innermost last.
    structs: Vec<&'static str>,
    problems: Vec<Problem>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    /// Into a field of a struct.
    Field(&'a str),
    /// Into an entry of a map; Go's type errors do not name these.
    Key(&'a str),
    /// Into an item of a list; Go's type errors do not name these either.
    Index(usize),
}

impl Context<'_> {
    fn note(&mut self, problem: fn(String) -> Problem, field: &str) {
        let mut path = String::new();
        for step in self.path.iter().copied().chain([Step::Field(field)]) {
            match step {
                Step::Field(name) | Step::Key(name) if path.is_empty() => path += name,
                Step::Field(name) | Step::Key(name) => path += &format!(".{name}"),
                Step::Index(i) => path += &format!("[{i}]"),
            }
        }
        let problem = problem(path);
        if self.problems.len() < PROBLEMS_MAX && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn field(&self) -> &str {
        let field = |step: &Step<'_>| matches!(step, Step::Field(_));
        match self.path.iter().rfind(|step| field(step)) {
            Some(Step::Field(name)) => name,
            _ => "",
        }
    }

    fn struct_name(&self) -> &'static str {
        self.structs.last().copied().unwrap_or_default()
    }

    /// Go's `UnmarshalTypeError`.
    fn wrong_type(&self, value: &str, go_type: &str) -> Error {
        let fields: Vec<&str> =
            self.path.iter().filter_map(|step| if let Step::Field(name) = step { Some(*name) } else { None }).collect();
        Error(match self.structs.last() {
            Some(name) if !fields.is_empty() => {
                let fields = fields.join(".");
                format!("json: cannot unmarshal {value} into Go struct field {name}.{fields} of type {go_type}")
            }
            _ => format!("json: cannot unmarshal {value} into Go value of type {go_type}"),
        })
    }
}

/// One value to read.
#[derive(Clone, Copy)]
struct Node<'a, 'c> {
    json: &'a Json,
    context: &'c RefCell<Context<'a>>,
}

impl<'a> Node<'a, '_> {
    fn wrong_type(&self, go_type: &str) -> Error {
        self.context.borrow().wrong_type(self.json.type_name(), go_type)
    }

    /// The value as an integer between `min` and `max`; null is zero.
    fn integer(&self, min: i64, max: i64, go_type: &str) -> Result<i64, Error> {
        match self.json {
            Json::Null => Ok(0),
            Json::Number(number) => match number.parse() {
                Ok(n) if min <= n && n <= max => Ok(n),
                _ => Err(self.context.borrow().wrong_type(&format!("number {number}"), go_type)),
            },
            _ => Err(self.wrong_type(go_type)),
        }
    }

    /// The value as a string; null is the empty one.
    fn string(&self) -> Result<&'a str, Error> {
        match self.json {
            Json::Null => Ok(""),
            Json::String(text) => Ok(text),
            _ => {
                let context = self.context.borrow();
                Err(self.wrong_type(go_type::of_string(context.struct_name(), context.field())))
            }
        }
    }

    /// A quantity in canonical form. Mirrors `Quantity.UnmarshalJSON`, which also takes a bare number.
    fn quantity(&self) -> Result<String, Error> {
        let text = match self.json {
            Json::Null => "0",
            Json::String(text) | Json::Number(text) => text.trim(),
            _ => "?",
        };
        Amount::parse(text).map(|amount| amount.to_string()).map_err(|why| Error(why.to_string()))
    }
}

impl<'de, 'a> Deserializer<'de> for Node<'a, '_> {
    type Error = Error;

    /// What takes any type: an `IntOrString`, or free-form JSON. Only the first can refuse, and Go reads that as an
    /// int32 unless it is a string.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let result: Result<_, Error> = match self.json {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => match number.parse() {
                Ok(n) => visitor.visit_i64(n),
                Err(_) => visitor.visit_f64(number.parse().unwrap_or_default()),
            },
            Json::String(text) => visitor.visit_str(text),
            Json::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate(), context: self.context }),
            Json::Object(fields) => visitor.visit_map(Fields::of_map(fields, self.context)),
        };
        result.map_err(|_| match self.json {
            Json::Number(number) => self.context.borrow().wrong_type(&format!("number {number}"), "int32"),
            _ => self.wrong_type("int32"),
        })
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.json {
            Json::Null => visitor.visit_bool(false),
            Json::Bool(value) => visitor.visit_bool(*value),
            _ => Err(self.wrong_type("bool")),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let n = self.integer(i32::MIN.into(), i32::MAX.into(), "int32")?;
        visitor.visit_i64(n)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(self.integer(i64::MIN, i64::MAX, "int64")?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.json {
            Json::Number(number) => visitor.visit_f64(number.parse().map_err(|_| self.wrong_type("float64"))?),
            Json::Null => visitor.visit_f64(0.0),
            _ => Err(self.wrong_type("float64")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.string()?)
    }

    /// Only base64 fields ask this way.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.json {
            Json::String(text) => visitor.visit_string(text::clean_base64(text).map_err(Error)?),
            Json::Null => visitor.visit_str(""),
            _ => Err(self.wrong_type("[]uint8")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let context = self.context.borrow();
        // Inside a map or a list a zero value is a value.
        let in_field = matches!(context.path.last(), Some(Step::Field(_)));
        let omitted = match in_field {
            true => omit::is_omitted(context.struct_name(), context.field(), self.json),
            false => *self.json == Json::Null,
        };
        drop(context);
        if omitted { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        let text = match name {
            "Quantity" => self.quantity()?,
            "Time" | "MicroTime" => match self.json {
                Json::String(text) => {
                    text::check_time(text).map_err(Error)?;
                    text.clone()
                }
                _ => return Err(self.wrong_type("string")),
            },
            _ => return visitor.visit_newtype_struct(self),
        };
        let text: StringDeserializer<Error> = text.into_deserializer();
        visitor.visit_newtype_struct(text)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.json {
            Json::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate(), context: self.context }),
            Json::Null => visitor.visit_seq(Items { items: [].iter().enumerate(), context: self.context }),
            _ => Err(self.wrong_type(&go_type::of_list(visitor))),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.json {
            Json::Object(fields) => visitor.visit_map(Fields::of_map(fields, self.context)),
            Json::Null => visitor.visit_map(Fields::of_map(&[], self.context)),
            _ => Err(self.wrong_type(&go_type::of_map(visitor))),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let fields: &[(String, Json)] = match self.json {
            Json::Object(fields) => fields,
            Json::Null => &[],
            _ => return Err(self.wrong_type(&go_type::of_struct(name))),
        };
        self.context.borrow_mut().structs.push(name);
        let value = visitor.visit_map(Fields { known: Some(known), ..Fields::of_map(fields, self.context) })?;
        self.context.borrow_mut().structs.pop();
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

/// The items of a list.
struct Items<'a, 'c> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Json>>,
    context: &'c RefCell<Context<'a>>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((i, json)) = self.items.next() else { return Ok(None) };
        self.context.borrow_mut().path.push(Step::Index(i));
        let value = seed.deserialize(Node { json, context: self.context })?;
        self.context.borrow_mut().path.pop();
        Ok(Some(value))
    }
}

/// The fields of a struct or the entries of a map.
struct Fields<'a, 'c> {
    fields: &'a [(String, Json)],
    /// How many of them have been read.
    read: usize,
    /// The fields the struct has; none for a map.
    known: Option<&'static [&'static str]>,
    context: &'c RefCell<Context<'a>>,
}

impl<'a, 'c> Fields<'a, 'c> {
    fn of_map(fields: &'a [(String, Json)], context: &'c RefCell<Context<'a>>) -> Fields<'a, 'c> {
        Fields { fields, read: 0, known: None, context }
    }
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        while let Some((name, _)) = self.fields.get(self.read) {
            self.read += 1;
            let mut context = self.context.borrow_mut();
            if self.known.is_some_and(|known| !known.contains(&name.as_str())) {
                context.note(Problem::Unknown, name);
                continue;
            }
            if self.fields[..self.read - 1].iter().any(|(earlier, _)| earlier == name) {
                context.note(Problem::Duplicate, name);
            }
            let at_top = context.path.is_empty() && self.known.is_some();
            // The caller has resolved the kind, and may have filled it in.
            if at_top && (name == "apiVersion" || name == "kind") {
                continue;
            }
            drop(context);
            let key: StringDeserializer<Error> = name.clone().into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((name, json)) = self.fields.get(self.read.saturating_sub(1)) else {
            return Err(Error("a value was asked for before its key".to_owned()));
        };
        let step = if self.known.is_some() { Step::Field(name) } else { Step::Key(name) };
        self.context.borrow_mut().path.push(step);
        let value = seed.deserialize(Node { json, context: self.context })?;
        self.context.borrow_mut().path.pop();
        Ok(value)
    }
}

//! The fields of built-in kinds, found by reading an object that is made up on the way.
//!
//! `k8s-openapi`'s types tell a `serde` deserializer their name and their fields before they take a value, and each field
//! says what kind of value it wants. So a deserializer that makes up the smallest value of whatever is asked for, and goes
//! into the fields of a path, sees the types on it. What is required is seen on the way back: a required field is always
//! written, an optional one only if it was read.
//!
//! Left out: an OpenAPI document of the whole API. The types would have to be walked through from each kind.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::{StrDeserializer, UnitDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Visitor};

use super::{Field, Place, item_type, notes};
use crate::object::Kind;

/// The one struct, and its field, that cannot be read without it.
const NEEDS: (&str, &str) = ("Condition", "lastTransitionTime");

/// What is at `path` of a built-in kind; None if there is no such field.
pub fn place(kind: Kind, path: &[&str]) -> Option<Place> {
    let seen = Seen::default();
    // What was made up need not fit in the end: by then all has been seen.
    let _ = kind.deserialize(Walk { rest: path, with_fields: true, seen: &seen });
    let seen = seen.into_inner();
    if !seen.arrived {
        return None;
    }
    let of_type = item_type(&seen.type_name);
    let required = required(kind, path);
    let field = |(name, type_name): (&'static str, String)| {
        let note = notes::field(of_type, name);
        Field {
            name: name.to_owned(),
            type_name,
            required: required.iter().any(|there| there == name),
            values: note.map_or(Vec::new(), |note| note.values.iter().map(|value| (*value).to_owned()).collect()),
            about: note.map_or("", |note| note.text).to_owned(),
            writer: note.and_then(|note| note.writer),
        }
    };
    let mut fields: Vec<Field> = seen.fields.into_iter().map(field).collect();
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    let note = notes::of_type(of_type);
    let (about, writer) = note.map_or(("", None), |note| (note.text, note.writer));
    Some(Place { about: about.to_owned(), writer, fields, type_name: seen.type_name })
}

/// The fields that are written even if none was read.
fn required(kind: Kind, path: &[&str]) -> Vec<String> {
    let seen = Seen::default();
    let Ok(object) = kind.deserialize(Walk { rest: path, with_fields: false, seen: &seen }) else { return Vec::new() };
    let json = object.to_json();
    let at = seen.borrow().pointer.iter().map(|step| format!("/{step}")).collect::<String>();
    let written = json.pointer(&at).and_then(serde_json::Value::as_object);
    let names = written.into_iter().flatten().map(|(name, _)| name.clone());
    // The API server would fill these in. Of all kinds only Events insist.
    let given = |name: &str| {
        path.is_empty() && (matches!(name, "apiVersion" | "kind") || name == "metadata" && kind != Kind::Event)
    };
    names.filter(|name| !given(name)).collect()
}

/// What a walk has seen.
type Seen = RefCell<Notes>;

#[derive(Default)]
struct Notes {
    /// Where it stands in the object that it makes up.
    pointer: Vec<&'static str>,
    /// The type of what is at the end of the path.
    type_name: String,
    /// Whether it came to the end of the path.
    arrived: bool,
    /// The fields there, and their types.
    fields: Vec<(&'static str, String)>,
}

/// Why an object that was made up cannot be read.
#[derive(Debug)]
struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was made up does not fit")
    }
}

impl std::error::Error for Unreadable {}

impl serde::de::Error for Unreadable {
    fn custom<T: fmt::Display>(_: T) -> Unreadable {
        Unreadable
    }
}

/// Makes up a value on the way to the end of a path.
#[derive(Clone, Copy)]
struct Walk<'w> {
    /// The fields still to go into.
    rest: &'w [&'w str],
    /// Whether the struct at the end is to have all its fields, or none.
    with_fields: bool,
    seen: &'w Seen,
}

impl Walk<'_> {
    /// Takes down a part of the type.
    fn is(self, part: &str) {
        self.seen.borrow_mut().type_name += part;
    }

    /// Takes down the type of what has no fields: the path ends here, or leads nowhere.
    fn is_plain(self, type_name: &str) {
        self.is(type_name);
        self.seen.borrow_mut().arrived = self.rest.is_empty();
    }
}

impl<'de> Deserializer<'de> for Walk<'_> {
    type Error = Unreadable;

    /// What takes values of several types. It is known by the name that it has in complaints.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let name = (&visitor as &dyn Expected).to_string();
        self.is_plain(&name);
        match name.as_str() {
            "IntOrString" => visitor.visit_i64(0),
            name if name.starts_with("JSONSchemaProps") => {
                visitor.visit_map(Entries { names: &[], step: Step::Field, walk: self })
            }
            _ => visitor.visit_unit(),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.is_plain("boolean");
        visitor.visit_bool(false)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.is_plain("integer");
        visitor.visit_i32(0)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.is_plain("integer");
        visitor.visit_i64(0)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.is_plain("number");
        visitor.visit_f64(0.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.is_plain("string");
        visitor.visit_str("")
    }

    /// Only base64 fields ask this way.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        let (type_name, text) = match name {
            "Time" | "MicroTime" => ("string", Some("1970-01-01T00:00:00.000000Z")),
            "Quantity" => (name, Some("0")),
            // Any JSON.
            _ => (name, None),
        };
        self.is_plain(type_name);
        match text {
            Some(text) => visitor.visit_newtype_struct(StrDeserializer::new(text)),
            None => visitor.visit_newtype_struct(UnitDeserializer::new()),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.is("[]");
        self.seen.borrow_mut().pointer.push("0");
        visitor.visit_seq(One(Some(self)))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.is("map[string]");
        visitor.visit_map(Entries { names: &["key"], step: Step::Key, walk: self })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.is(name);
        let is_wanted = |field: &&str| match self.rest.first() {
            Some(first) => field == first,
            None => (name, *field) == NEEDS,
        };
        let one = fields.iter().position(is_wanted).map_or(&[][..], |place| &fields[place..=place]);
        let at_end = self.rest.is_empty();
        self.seen.borrow_mut().arrived = at_end;
        let names = if at_end && self.with_fields { fields } else { one };
        visitor.visit_map(Entries { names, step: if at_end { Step::Aside } else { Step::Field }, walk: self })
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
        ignored_any
    }
}

/// A list of one item.
struct One<'w>(Option<Walk<'w>>);

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Unreadable> {
        self.0.take().map(|walk| seed.deserialize(walk)).transpose()
    }
}

/// Fields of a struct, or an entry of a map.
struct Entries<'w> {
    names: &'static [&'static str],
    step: Step,
    walk: Walk<'w>,
}

/// How a walk goes into a value.
#[derive(Clone, Copy)]
enum Step {
    /// It is the next field of the path.
    Field,
    /// It is an entry of a map, which a path does not name.
    Key,
    /// It is a field of the struct where the path ends: its type is taken down, and that is all.
    Aside,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unreadable> {
        while let (Step::Aside, [name @ ("apiVersion" | "kind"), rest @ ..]) = (self.step, self.names)
            && self.walk.seen.borrow().pointer.is_empty()
        {
            // Only the right values would do.
            self.walk.seen.borrow_mut().fields.push((name, "string".to_owned()));
            self.names = rest;
        }
        let Some(name) = self.names.first() else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Unreadable> {
        let (walk, name) = (self.walk, self.names[0]);
        self.names = &self.names[1..];
        match self.step {
            Step::Field => {
                let mut seen = walk.seen.borrow_mut();
                seen.pointer.push(name);
                seen.type_name.clear();
                drop(seen);
                seed.deserialize(Walk { rest: &walk.rest[1..], ..walk })
            }
            Step::Key => {
                walk.seen.borrow_mut().pointer.push(name);
                seed.deserialize(walk)
            }
            Step::Aside => {
                let aside = Seen::default();
                let value = seed.deserialize(Walk { rest: &[], with_fields: false, seen: &aside })?;
                walk.seen.borrow_mut().fields.push((name, aside.into_inner().type_name));
                Ok(value)
            }
        }
    }
}

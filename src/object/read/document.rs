//! JSON as it was sent: what Go's decoder would notice is noticed.

use std::borrow::Cow;

use serde::de::Expected;

use super::source::{Error, Shape, Source, Wrapped};
use super::{Problem, omit, text};
use crate::go_types::{self, Field, GoType};
use crate::json::Json;
use crate::quantity::Amount;

/// After so many unknown and duplicate fields the decoder stops to collect them.
const PROBLEMS_MAX: usize = 100;

/// A document, where in it the reader is, and what has been noticed so far.
pub(super) struct Document<'a> {
    /// The current value.
    json: &'a Json,
    /// What has been gone into, innermost last.
    around: Vec<Frame<'a>>,
    problems: Vec<Problem>,
}

/// A list, a map or a struct that is being read. `read` counts what has been the current value, with the current one.
enum Frame<'a> {
    List { items: &'a [Json], read: usize },
    Fields { fields: &'a [(String, Json)], read: usize, of: Option<Struct> },
}

/// A struct, and the fields that it has.
#[derive(Clone, Copy)]
struct Struct {
    name: &'static str,
    known: &'static [&'static str],
}

/// The way into a value.
enum Step<'a> {
    /// A field of a struct.
    Field(&'a str),
    /// An entry of a map; Go's type errors do not name these.
    Key(&'a str),
    /// An item of a list; Go's type errors do not name these either.
    Index(usize),
}

impl<'a> Frame<'a> {
    /// The way from it to the value in it that is being read.
    fn step(&self) -> Step<'a> {
        match self {
            Frame::List { read, .. } => Step::Index(read.saturating_sub(1)),
            Frame::Fields { fields, read, of } => {
                let name = fields.get(read.saturating_sub(1)).map_or("", |(name, _)| name.as_str());
                if of.is_some() { Step::Field(name) } else { Step::Key(name) }
            }
        }
    }

    fn struct_name(&self) -> Option<&'static str> {
        match self {
            Frame::Fields { of, .. } => of.map(|of| of.name),
            Frame::List { .. } => None,
        }
    }
}

impl<'a> Document<'a> {
    /// A document from its beginning.
    pub fn new(json: &'a Json) -> Document<'a> {
        Document { json, around: Vec::new(), problems: Vec::new() }
    }

    /// What has been noticed.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Takes down what is wrong with a field of the innermost struct or map.
    fn note(&mut self, problem: fn(String) -> Problem, field: &str) {
        let outer = &self.around[..self.around.len().saturating_sub(1)];
        let mut path = String::new();
        for step in outer.iter().map(Frame::step).chain([Step::Field(field)]) {
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

    /// The fields on the way to the current value, from the outside.
    fn fields(&self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.around.iter().filter_map(|frame| match frame.step() {
            Step::Field(name) => Some(name),
            Step::Key(_) | Step::Index(_) => None,
        })
    }

    /// The innermost field.
    fn field(&self) -> &'a str {
        self.fields().next_back().unwrap_or_default()
    }

    /// The innermost struct; empty if there is none.
    fn struct_name(&self) -> &'static str {
        self.around.iter().rev().find_map(Frame::struct_name).unwrap_or_default()
    }

    /// The outermost one.
    fn outermost(&self) -> &'static str {
        self.around.iter().find_map(Frame::struct_name).unwrap_or_default()
    }

    /// How Go declares the innermost field.
    fn declared(&self) -> Option<&'static Field> {
        go_types::field(self.outermost(), self.struct_name(), self.field())
    }

    /// The Go type of the current value, if it is in a field of a struct.
    fn go_type(&self) -> Option<String> {
        let depth = self.around.iter().rev().take_while(|frame| frame.struct_name().is_none()).count();
        let mut go_type = self.declared()?.go_type;
        for _ in 0..depth {
            go_type = match go_types::resolve(go_type) {
                GoType::List(inner) | GoType::Map(inner) => inner,
                _ => return None,
            };
        }
        Some(go_types::printed(go_type.trim_start_matches('*')))
    }

    /// Go's `UnmarshalTypeError`.
    fn cannot_unmarshal(&self, value: &str, go_type: &str) -> Error {
        let (name, fields) = (self.struct_name(), self.fields().collect::<Vec<_>>().join("."));
        let place = if fields.is_empty() { "Go value".to_owned() } else { format!("Go struct field {name}.{fields}") };
        Error::WrongType { value: value.to_owned(), place, go_type: go_type.to_owned() }
    }

    /// The value as an integer; null is zero.
    fn integer<N: TryFrom<i64> + Default>(&self, go_type: &str) -> Result<N, Error> {
        match self.json {
            Json::Null => Ok(N::default()),
            Json::Number(number) => {
                let n = number.parse().ok().and_then(|n: i64| N::try_from(n).ok());
                n.ok_or_else(|| self.cannot_unmarshal(&format!("number {number}"), go_type))
            }
            _ => Err(self.wrong_type(go_type)),
        }
    }

    /// A quantity in canonical form. Mirrors `Quantity.UnmarshalJSON`, which also takes a bare number.
    fn quantity(&self) -> Result<String, Error> {
        let text = match self.json {
            Json::Null => "0",
            Json::String(text) | Json::Number(text) => text.trim(),
            _ => "?",
        };
        Amount::parse(text).map(|amount| amount.to_string()).map_err(|why| Error::Told(why.to_string()))
    }

    /// The fields of the current value; null has none.
    fn enter_fields(&mut self, of: Option<Struct>) -> bool {
        let fields: &[(String, Json)] = match self.json {
            Json::Object(fields) => fields,
            Json::Null => &[],
            _ => return false,
        };
        self.around.push(Frame::Fields { fields, read: 0, of });
        true
    }
}

impl Source for Document<'_> {
    fn boolean(&mut self) -> Result<bool, Error> {
        match self.json {
            Json::Null => Ok(false),
            Json::Bool(value) => Ok(*value),
            _ => Err(self.wrong_type("bool")),
        }
    }

    fn int32(&mut self) -> Result<i32, Error> {
        self.integer("int32")
    }

    fn int64(&mut self) -> Result<i64, Error> {
        self.integer("int64")
    }

    fn float(&mut self) -> Result<f64, Error> {
        match self.json {
            Json::Number(number) => number.parse().map_err(|_| self.wrong_type("float64")),
            Json::Null => Ok(0.0),
            _ => Err(self.wrong_type("float64")),
        }
    }

    fn string(&mut self) -> Result<Cow<'_, str>, Error> {
        match self.json {
            Json::Null => Ok("".into()),
            Json::String(text) => Ok(text.into()),
            _ => Err(self.wrong_type("string")),
        }
    }

    fn base64(&mut self) -> Result<Cow<'_, str>, Error> {
        match self.json {
            Json::String(text) => text::clean_base64(text).map(Cow::Owned).map_err(Error::Told),
            Json::Null => Ok("".into()),
            _ => Err(self.wrong_type("[]uint8")),
        }
    }

    fn wrapped(&mut self, name: &'static str) -> Result<Wrapped, Error> {
        match (name, self.json) {
            ("Quantity", _) => self.quantity().map(Wrapped::Text),
            ("Time" | "MicroTime", Json::String(text)) => {
                let check = if name == "Time" { text::check_time } else { text::check_micro_time };
                check(text).map_err(Error::Told)?;
                Ok(Wrapped::Text(text.clone()))
            }
            ("Time" | "MicroTime", _) => Err(self.cannot_unmarshal(self.json.type_name(), "string")),
            _ => Ok(Wrapped::Value),
        }
    }

    fn any(&mut self, _: &dyn Expected) -> Result<Shape, Error> {
        Ok(match self.json {
            Json::Null => Shape::Null,
            Json::Bool(value) => Shape::Bool(*value),
            Json::Number(number) => match number.parse() {
                Ok(n) => Shape::Integer(n),
                Err(_) => Shape::Float(number.parse().unwrap_or_default()),
            },
            Json::String(text) => Shape::String(text.clone()),
            Json::Array(_) => {
                self.enter_list();
                Shape::List
            }
            Json::Object(_) => {
                self.enter_map();
                Shape::Map
            }
        })
    }

    fn is_some(&mut self) -> bool {
        // Inside a map or a list a zero value is a value.
        let in_struct = matches!(self.around.last(), Some(Frame::Fields { of: Some(_), .. }));
        let omitted = || self.declared().is_some_and(|field| omit::is_omitted(field, self.json));
        *self.json != Json::Null && !(in_struct && self.json.is_empty() && omitted())
    }

    fn enter_list(&mut self) -> bool {
        let items: &[Json] = match self.json {
            Json::Array(items) => items,
            Json::Null => &[],
            _ => return false,
        };
        self.around.push(Frame::List { items, read: 0 });
        true
    }

    fn enter_map(&mut self) -> bool {
        self.enter_fields(None)
    }

    fn enter_struct(&mut self, name: &'static str, known: &'static [&'static str]) -> bool {
        self.enter_fields(Some(Struct { name, known }))
    }

    fn next_item(&mut self) -> bool {
        let Some(Frame::List { items, read }) = self.around.last_mut() else { return false };
        let Some(item) = items.get(*read) else { return false };
        *read += 1;
        self.json = item;
        true
    }

    fn next_key(&mut self) -> Option<&str> {
        let at_top = self.around.len() == 1;
        loop {
            let Frame::Fields { fields, read, of } = self.around.last_mut()? else { return None };
            let (fields, of, place) = (*fields, *of, *read);
            let (name, value) = fields.get(place)?;
            *read += 1;
            if of.is_some_and(|of| !of.known.contains(&name.as_str())) {
                self.note(Problem::Unknown, name);
                continue;
            }
            if fields[..place].iter().any(|(earlier, _)| earlier == name) {
                self.note(Problem::Duplicate, name);
            }
            // The caller has resolved the kind, and may have filled it in.
            if at_top && of.is_some() && (name == "apiVersion" || name == "kind") {
                continue;
            }
            self.json = value;
            return Some(name);
        }
    }

    fn leave(&mut self) {
        self.around.pop();
    }

    fn wrong_type(&self, go_type: &str) -> Error {
        self.cannot_unmarshal(self.json.type_name(), self.go_type().as_deref().unwrap_or(go_type))
    }

    /// Go reads an `IntOrString` as an int32 unless it is a string.
    fn refused(&self) -> Error {
        match self.json {
            Json::Number(number) => self.cannot_unmarshal(&format!("number {number}"), "int32"),
            _ => self.cannot_unmarshal(self.json.type_name(), "int32"),
        }
    }
}

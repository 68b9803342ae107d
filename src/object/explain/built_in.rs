//! The fields of built-in kinds, found by reading an object that is made up on the way.
//!
//! `k8s-openapi`'s types tell a `serde` deserializer their name and their fields before they take a value, and each field
//! says what kind of value it wants. So a deserializer that makes up the smallest value of each type asked for, and goes
//! into the fields of a path, sees the types on it. What is required is seen on the way back: a required field is always
//! written, an optional one only if it was read.
//!
//! Left out: an OpenAPI document of the whole API. The types would have to be walked through from each kind.

use std::borrow::Cow;

use k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler;
use k8s_openapi::api::events::v1 as events;
use serde::Deserialize as _;
use serde::de::Expected;
use serde_json::Value;

use super::{Explanation, Field, item_type, notes};
use crate::read::{Error, Reader, Shape, Source, Wrapped};
use crate::{Kind, versions};

/// The one struct, and its field, that cannot be read without it.
const NEEDS: (&str, &str) = ("Condition", "lastTransitionTime");

/// The type of bytes, which are written in base64.
const BYTES: &str = "ByteString";

/// What is at `path` of a built-in kind; None if there is no such field.
pub fn explain(kind: Kind, path: &[&str]) -> Option<Explanation> {
    let seen = seen(kind, path)?;
    let type_name = shown(&seen.type_name);
    let of_type = item_type(&type_name);
    let required = required(kind, path);
    let field = |(name, type_name): (&'static str, String)| {
        let note = notes::field(of_type, name);
        Field {
            name: name.to_owned(),
            type_name: shown(&type_name),
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
    Some(Explanation { about: about.to_owned(), writer, fields, type_name })
}

/// The name of the struct at `path`, or of the items there, and its fields with the names of their types. Of what is written
/// as a string these tell more than [`explain`] does: it may be a `Time`, a `MicroTime` or a `ByteString`.
pub fn fields(kind: Kind, path: &[&str]) -> Option<(String, Vec<(&'static str, String)>)> {
    let seen = seen(kind, path)?;
    Some((item_type(&seen.type_name).to_owned(), seen.fields))
}

/// What a walk to the end of `path` has seen.
fn seen(kind: Kind, path: &[&str]) -> Option<Seen> {
    let mut walk = Walk::new(path, true);
    // What was made up need not fit in the end: by then all has been seen.
    let _ = read(kind, Reader(&mut walk));
    Some(walk.seen).filter(|seen| seen.arrived)
}

/// Reads an object as the type of its kind. Another version of a kind is read as the type that it has in Kubernetes.
fn read(kind: Kind, reader: Reader<'_>) -> Result<Value, Error> {
    match kind {
        Kind::Custom(_) if versions::stored_as(kind) == Kind::Event => {
            Ok(serde_json::to_value(events::Event::deserialize(reader)?).unwrap_or_default())
        }
        Kind::Custom(_) => Ok(serde_json::to_value(HorizontalPodAutoscaler::deserialize(reader)?).unwrap_or_default()),
        kind => Ok(kind.read(reader)?.to_json()),
    }
}

/// The name of a type as a person sees it.
fn shown(type_name: &str) -> String {
    let item = item_type(type_name);
    let around = &type_name[..type_name.len() - item.len()];
    if ["Time", "MicroTime", BYTES].contains(&item) { format!("{around}string") } else { type_name.to_owned() }
}

/// The fields that are written even if none was read.
fn required(kind: Kind, path: &[&str]) -> Vec<String> {
    let mut walk = Walk::new(path, false);
    let Ok(json) = read(kind, Reader(&mut walk)) else { return Vec::new() };
    let at = walk.seen.pointer.iter().map(|step| format!("/{step}")).collect::<String>();
    let written = json.pointer(&at).and_then(Value::as_object);
    let names = written.into_iter().flatten().map(|(name, _)| name.clone());
    // The API server would fill these in. Of all kinds only Events insist.
    let given = |name: &str| {
        path.is_empty() && (matches!(name, "apiVersion" | "kind") || name == "metadata" && kind != Kind::Event)
    };
    names.filter(|name| !given(name)).collect()
}

/// What a walk has seen.
#[derive(Default)]
struct Seen {
    /// Where it stands in the object that it makes up.
    pointer: Vec<&'static str>,
    /// The type of what is at the end of the path.
    type_name: String,
    /// Whether it came to the end of the path.
    arrived: bool,
    /// The fields there, and their types.
    fields: Vec<(&'static str, String)>,
}

/// Makes up a value on the way to the end of a path.
struct Walk<'w> {
    /// The fields still to go into from the current value.
    rest: &'w [&'w str],
    /// Whether the struct at the end is to have all its fields, or none.
    with_fields: bool,
    /// What has been gone into, innermost last.
    around: Vec<Frame<'w>>,
    /// What has been seen on the way.
    seen: Seen,
    /// What has been seen of fields that are looked at aside, innermost last.
    aside: Vec<Seen>,
}

/// What has been gone into: a list of one item, an entry of a map, or fields of a struct.
struct Frame<'w> {
    /// The names still to come.
    names: &'static [&'static str],
    step: Step,
    /// The fields still to go into from here.
    rest: &'w [&'w str],
    /// The field that is being looked at aside.
    aside: Option<&'static str>,
}

/// How a walk goes into a value.
#[derive(Clone, Copy)]
enum Step {
    /// It is the next field of the path.
    Field,
    /// It is an item of a list or an entry of a map, which a path does not name.
    Inside,
    /// It is a field of the struct where the path ends: its type is taken down, and that is all.
    Aside,
}

impl<'w> Walk<'w> {
    fn new(path: &'w [&'w str], with_fields: bool) -> Walk<'w> {
        Walk { rest: path, with_fields, around: Vec::new(), seen: Seen::default(), aside: Vec::new() }
    }

    /// What is taken down now.
    fn seen(&mut self) -> &mut Seen {
        self.aside.last_mut().unwrap_or(&mut self.seen)
    }

    /// Takes down a part of the type.
    fn is(&mut self, part: &str) {
        self.seen().type_name += part;
    }

    /// Takes down the type of what has no fields: the path ends here, or leads nowhere.
    fn is_plain(&mut self, type_name: &str) {
        self.is(type_name);
        self.seen().arrived = self.rest.is_empty();
    }

    fn enter(&mut self, names: &'static [&'static str], step: Step) -> bool {
        self.around.push(Frame { names, step, rest: self.rest, aside: None });
        true
    }

    /// The field that was looked at aside has been seen whole.
    fn end_aside(&mut self) {
        if let Some(name) = self.around.last_mut().and_then(|frame| frame.aside.take())
            && let Some(Seen { type_name, .. }) = self.aside.pop()
        {
            self.seen().fields.push((name, type_name));
        }
    }
}

impl Source for Walk<'_> {
    fn boolean(&mut self) -> Result<bool, Error> {
        self.is_plain("boolean");
        Ok(false)
    }

    fn int32(&mut self) -> Result<i32, Error> {
        self.is_plain("integer");
        Ok(0)
    }

    fn int64(&mut self) -> Result<i64, Error> {
        self.is_plain("integer");
        Ok(0)
    }

    fn float(&mut self) -> Result<f64, Error> {
        self.is_plain("number");
        Ok(0.0)
    }

    fn string(&mut self) -> Result<Cow<'_, str>, Error> {
        self.is_plain("string");
        Ok("".into())
    }

    fn base64(&mut self) -> Result<Cow<'_, str>, Error> {
        self.is_plain(BYTES);
        Ok("".into())
    }

    fn wrapped(&mut self, name: &'static str) -> Result<Wrapped, Error> {
        self.is_plain(name);
        Ok(match name {
            "Time" | "MicroTime" => Wrapped::Text("1970-01-01T00:00:00.000000Z".into()),
            "Quantity" => Wrapped::Text("0".into()),
            // Any JSON.
            _ => Wrapped::Null,
        })
    }

    /// What takes values of several types is known by the name that it has in complaints.
    fn any(&mut self, wanted: &dyn Expected) -> Result<Shape, Error> {
        let name = wanted.to_string();
        self.is_plain(&name);
        Ok(match name.as_str() {
            "IntOrString" => Shape::Integer(0),
            name if name.starts_with("JSONSchemaProps") => {
                self.enter(&[], Step::Field);
                Shape::Map
            }
            _ => Shape::Null,
        })
    }

    fn is_some(&mut self) -> bool {
        true
    }

    fn enter_list(&mut self) -> bool {
        self.is("[]");
        self.enter(&["0"], Step::Inside)
    }

    fn enter_map(&mut self) -> bool {
        self.is("map[string]");
        self.enter(&["key"], Step::Inside)
    }

    fn enter_struct(&mut self, name: &'static str, fields: &'static [&'static str]) -> bool {
        self.is(name);
        let is_wanted = |field: &&str| match self.rest.first() {
            Some(first) => field == first,
            None => (name, *field) == NEEDS,
        };
        let one = fields.iter().position(is_wanted).map_or(&[][..], |explained| &fields[explained..=explained]);
        let at_end = self.rest.is_empty();
        self.seen().arrived = at_end;
        let names = if at_end && self.with_fields && self.aside.is_empty() { fields } else { one };
        self.enter(names, if at_end { Step::Aside } else { Step::Field })
    }

    fn next_item(&mut self) -> bool {
        self.next_key().is_some()
    }

    fn next_key(&mut self) -> Option<&str> {
        self.end_aside();
        let at_top = self.around.len() == 1;
        let frame = self.around.last_mut()?;
        while let (true, Step::Aside, [name @ ("apiVersion" | "kind"), rest @ ..]) = (at_top, frame.step, frame.names) {
            // Only the right values would do.
            self.seen.fields.push((name, "string".to_owned()));
            frame.names = rest;
        }
        let (name, names) = frame.names.split_first()?;
        frame.names = names;
        match frame.step {
            Step::Field => {
                self.rest = &frame.rest[1..];
                let seen = self.seen();
                seen.pointer.push(name);
                seen.type_name.clear();
            }
            Step::Inside => {
                self.rest = frame.rest;
                self.seen().pointer.push(name);
            }
            Step::Aside => {
                frame.aside = Some(name);
                self.rest = &[];
                self.aside.push(Seen::default());
            }
        }
        Some(name)
    }

    fn leave(&mut self) {
        self.end_aside();
        self.around.pop();
    }

    /// What is made up is always of the type that is asked for.
    fn wrong_type(&self, _: &str) -> Error {
        Error::Refused
    }

    fn refused(&self) -> Error {
        Error::Refused
    }
}

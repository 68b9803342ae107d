//! Bodies in protobuf, which kubectl and Helm send of the built-in kinds: read into the value that the same object has in JSON.
//!
//! The table of Go's structs ([`go_types`]) has the number of each field beside its type. What it says of JSON decides the rest:
//! protobuf sends empty texts and zeros too, and Go's JSON leaves them out where a field says `omitempty`. A struct with nothing
//! in it is left out unless it is a pointer's. Structs that stand among their parent's fields in JSON are messages here.
//!
//! Mirrors `k8s.io/apimachinery/pkg/runtime/serializer/protobuf`, and the code that `go-to-protobuf` generates.
//!
//! Must hold:
//! - No bytes make it panic or go deeper than [`DEPTH_MAX`], and what they come to is no more than some times their length.
//!   Kept by `no_bytes_break_it`.
//!
//! Left out: groups, which Kubernetes has none of; kinds that users define, which have no messages.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use serde_json::{Map, Number, Value, json};

use object::go_types::{self, Field, GoType};
use object::{Discovery, Kind, base64, versions};

use message::{Held, Message};

mod message;

/// What a body begins with.
const PREFIX: &[u8] = b"k8s\0";
/// How deep messages may lie in one another. No kind needs more, but for schemas, which JSON takes no deeper either.
const DEPTH_MAX: usize = 100;
/// What has a message and no row in the table of kinds.
const PARTS: [&str; 5] = ["Binding", "DeleteOptions", "Eviction", "Scale", "TokenRequest"];
/// Lists that have a name in Go are messages, whose first field is repeated.
const NAMED_LISTS: [&str; 2] = ["ExtraValue", "Verbs"];

/// The JSON of an object that was sent as protobuf, with its version and kind if the body names them.
///
/// # Errors
/// What is wrong with it, in the words of the real decoder.
pub fn to_json(body: &[u8], default: Kind) -> Result<Value, String> {
    if body.is_empty() {
        return Err("empty data".to_owned());
    }
    let Some(envelope) = body.strip_prefix(PREFIX) else {
        let prefix = PREFIX.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
        return Err(format!("provided data does not appear to be a protobuf message, expected prefix [{prefix}]"));
    };
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut unknown = Message::new("Unknown", envelope);
    while let Some((number, held)) = unknown.field()? {
        match number {
            1 => {
                let mut type_meta = Message::new("TypeMeta", held.bytes("TypeMeta")?);
                while let Some((number, held)) = type_meta.field()? {
                    match number {
                        1 => api_version = held.text("APIVersion")?,
                        2 => kind = held.text("Kind")?,
                        _ => {}
                    }
                }
            }
            2 => raw = held.bytes("Raw")?,
            _ => {}
        }
    }
    let mut object = Map::new();
    if let Some(name) = struct_of(&api_version, &kind, default) {
        let fields = go_types::fields(name).unwrap_or_default();
        Decoder { outermost: name }.message(name, fields, raw, &mut object, 0)?;
    }
    for (field, said) in [("apiVersion", api_version), ("kind", kind)] {
        if !said.is_empty() {
            object.insert(field.to_owned(), said.into());
        }
    }
    Ok(Value::Object(object))
}

/// The struct in the table of what a body says that it is; None if there is none, which is told when it is read as JSON.
fn struct_of(api_version: &str, kind: &str, default: Kind) -> Option<&'static str> {
    if let Some(part) = PARTS.into_iter().find(|part| *part == kind) {
        return Some(part);
    }
    let info = default.info();
    let api_version = if api_version.is_empty() { info.api_version } else { api_version };
    let kind = if kind.is_empty() { info.kind } else { kind };
    match Discovery::default().from_manifest(api_version, kind)? {
        Kind::Custom(custom) if versions::stored_as(Kind::Custom(custom)) == Kind::HorizontalPodAutoscaler => {
            Some("HorizontalPodAutoscalerV1")
        }
        said => versions::go_type(said),
    }
}

/// What is read, by the kind's name in the table: some structs are different ones in different kinds.
struct Decoder {
    outermost: &'static str,
}

impl Decoder {
    /// Reads the fields of a struct. A message may come in pieces, so some may have been read before.
    fn message(
        &self,
        name: &str,
        fields: &'static [Field],
        bytes: &[u8],
        into: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        if depth >= DEPTH_MAX {
            return Err(format!("proto: {name}: messages lie more than {DEPTH_MAX} deep in one another"));
        }
        let mut message = Message::new(name, bytes);
        while let Some((number, held)) = message.field()? {
            // What later versions have is passed over.
            let Some(field) = fields.iter().find(|field| field.number == number) else { continue };
            if field.inline {
                let inner = go_types::fields_in(self.outermost, field.go_type).unwrap_or_default();
                self.message(field.go_type, inner, held.bytes(field.name)?, into, depth + 1)?;
            } else {
                self.field(field, &held, into, depth)?;
            }
        }
        Ok(())
    }

    fn field(&self, field: &Field, held: &Held, into: &mut Map<String, Value>, depth: usize) -> Result<(), String> {
        let before = into.remove(&*field.json);
        let value = match field.resolved() {
            GoType::List(item) if item != "uint8" && !NAMED_LISTS.contains(&field.go_type) => {
                let mut items = array(before);
                self.items(field, item, held, &mut items, depth)?;
                Some(Value::Array(items))
            }
            GoType::Map(of) => {
                let mut entries = object(before);
                let (key, value) = self.entry(field, of, held, depth)?;
                entries.insert(key, value);
                Some(Value::Object(entries))
            }
            GoType::Pointer(target) => {
                Some(self.value(field, target, held, before, depth)?).filter(|value| !value.is_null())
            }
            _ => {
                let value = self.value(field, field.go_type, held, before, depth)?;
                Some(value).filter(|value| !is_left_out(field, value))
            }
        };
        into.extend(value.map(|value| (field.json.to_string(), value)));
        Ok(())
    }

    /// One item of a list, or several numbers in one piece.
    fn items(
        &self,
        field: &Field,
        item: &str,
        held: &Held,
        items: &mut Vec<Value>,
        depth: usize,
    ) -> Result<(), String> {
        match (go_types::resolve(item), held) {
            (GoType::Number | GoType::Bool, Held::Bytes(packed)) => {
                let mut packed = Message::new(field.name, packed);
                while !packed.is_at_its_end() {
                    let one = Held::Varint(packed.varint()?);
                    items.push(self.value(field, item, &one, None, depth)?);
                }
            }
            _ => items.push(self.value(field, item, held, None, depth)?),
        }
        Ok(())
    }

    /// An entry of a map: a message of its key and its value. What it leaves out is empty.
    fn entry(&self, field: &Field, of: &str, held: &Held, depth: usize) -> Result<(String, Value), String> {
        let (mut key, mut value) = (String::new(), None);
        let mut entry = Message::new(field.name, held.bytes(field.name)?);
        while let Some((number, held)) = entry.field()? {
            match number {
                1 => key = held.text(field.name)?,
                2 => value = Some(self.value(field, of, &held, None, depth)?),
                _ => {}
            }
        }
        match value {
            Some(value) => Ok((key, value)),
            None => Ok((key, self.value(field, of, &Held::Bytes(&[]), None, depth)?)),
        }
    }

    /// A value of a type. `before` is what was read of the same struct.
    fn value(
        &self,
        field: &Field,
        go_type: &str,
        held: &Held,
        before: Option<Value>,
        depth: usize,
    ) -> Result<Value, String> {
        let name = field.name;
        Ok(match go_types::resolve(go_type) {
            GoType::Pointer(target) => self.value(field, target, held, before, depth)?,
            GoType::Text => held.text(name)?.into(),
            GoType::Bool => (held.varint(name)? != 0).into(),
            GoType::Number if go_type == "float64" => {
                Number::from_f64(f64::from_bits(held.fixed64(name)?)).map_or(json!(0), Value::Number)
            }
            // Protobuf sends integers with 64 bits; Go keeps as many as fit.
            GoType::Number if go_type == "int32" => (held.varint(name)? as i32).into(),
            GoType::Number => (held.varint(name)? as i64).into(),
            GoType::List("uint8") => base64::padded(held.bytes(name)?).into(),
            GoType::List(item) => {
                let (mut items, mut list) = (Vec::new(), Message::new(name, held.bytes(name)?));
                while let Some((number, held)) = list.field()? {
                    if number == 1 {
                        items.push(self.value(field, item, &held, None, depth + 1)?);
                    }
                }
                Value::Array(items)
            }
            GoType::Struct(plain) => {
                let fields = go_types::fields_in(self.outermost, go_type).unwrap_or(plain);
                let mut into = object(before);
                self.message(go_type, fields, held.bytes(name)?, &mut into, depth + 1)?;
                Value::Object(into)
            }
            GoType::Map(_) => return Err(format!("proto: wrong wireType for field {name}")),
            GoType::Opaque => self.opaque(field, go_type, held.bytes(name)?, depth)?,
        })
    }

    /// What reads and prints itself in JSON.
    fn opaque(&self, field: &Field, go_type: &str, bytes: &[u8], depth: usize) -> Result<Value, String> {
        let name = field.name;
        let mut message = Message::new(go_type, bytes);
        // The fields of all of these, by their numbers.
        let (mut first, mut second, mut third) = (None, None, Vec::new());
        while let Some((number, held)) = message.field()? {
            match number {
                1 => first = Some(held),
                2 if go_type == "JSONSchemaPropsOrStringArray" => third.push(held.text(name)?.into()),
                2 if go_type == "JSONSchemaPropsOrArray" => third.push(self.schema(field, &held, depth)?),
                2 => second = Some(held),
                3 if go_type == "intstr.IntOrString" => third = vec![held.text(name)?.into()],
                _ => {}
            }
        }
        let whole = |held: &Option<Held>| held.as_ref().map_or(Ok(0), |held| held.varint(name)).map(|of| of as i64);
        Ok(match go_type {
            "resource.Quantity" => match first.map_or(Ok(String::new()), |held| held.text(name))? {
                text if text.is_empty() => "0".into(),
                text => text.into(),
            },
            "intstr.IntOrString" if whole(&first)? == 1 => third.pop().unwrap_or_else(|| "".into()),
            "intstr.IntOrString" => (whole(&second)? as i32).into(),
            "Time" | "MicroTime" => time(go_type, whole(&first)?, whole(&second)?)?,
            "runtime.RawExtension" | "FieldsV1" | "JSON" => match first.map_or(Ok(&[][..]), |held| held.bytes(name))? {
                [] => Value::Null,
                text => serde_json::from_slice(text).map_err(|why| format!("{name}: {why}"))?,
            },
            "JSONSchemaPropsOrBool" => match second {
                Some(schema) => self.schema(field, &schema, depth)?,
                None => (whole(&first)? != 0).into(),
            },
            "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrStringArray" => match first {
                Some(schema) => self.schema(field, &schema, depth)?,
                None => Value::Array(third),
            },
            _ => json!({}),
        })
    }

    fn schema(&self, field: &Field, held: &Held, depth: usize) -> Result<Value, String> {
        self.value(field, "JSONSchemaProps", held, None, depth + 1)
    }
}

/// Whether Go's JSON would not have it: it is empty, and says `omitempty`, or is a struct in which nothing is.
fn is_left_out(field: &Field, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => !field.always && text.is_empty(),
        Value::Bool(on) => !field.always && !on,
        // An IntOrString of 0 is there.
        Value::Number(number) => {
            !field.always && matches!(field.resolved(), GoType::Number) && number.as_f64() == Some(0.0)
        }
        _ => false,
    }
}

/// A moment as JSON has it. What was never set has no field.
fn time(go_type: &str, seconds: i64, nanos: i64) -> Result<Value, String> {
    if (seconds, nanos) == (0, 0) {
        return Ok(Value::Null);
    }
    let at = i32::try_from(nanos).ok().and_then(|nanos| Timestamp::new(seconds, nanos).ok());
    let at = at.ok_or_else(|| format!("{seconds} seconds are no time"))?;
    let text = match go_type {
        "Time" => serde_json::to_value(meta::Time(at)),
        _ => serde_json::to_value(meta::MicroTime(at)),
    };
    text.map_err(|why| why.to_string())
}

fn array(before: Option<Value>) -> Vec<Value> {
    if let Some(Value::Array(items)) = before { items } else { Vec::new() }
}

fn object(before: Option<Value>) -> Map<String, Value> {
    if let Some(Value::Object(fields)) = before { fields } else { Map::new() }
}

#[cfg(test)]
mod tests;

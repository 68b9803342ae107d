//! Functions of named formats: `format.dns1123Label().validate(self)` tells what is wrong with a text, if anything is. Mirrors
//! `pkg/cel/library/format.go`.

use std::sync::Arc;

use super::found::{Found, ok};
use crate::cel::format::Format;
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "static format.named(string) optional(format)",
    "static format.dns1123Label() format",
    "static format.dns1123Subdomain() format",
    "static format.dns1035Label() format",
    "static format.qualifiedName() format",
    "static format.dns1123LabelPrefix() format",
    "static format.dns1123SubdomainPrefix() format",
    "static format.dns1035LabelPrefix() format",
    "static format.labelValue() format",
    "static format.uri() format",
    "static format.uuid() format",
    "static format.byte() format",
    "static format.date() format",
    "static format.datetime() format",
    "format.validate(string) optional(list(string))",
];

pub fn call(name: &str, args: &[Value]) -> Found {
    let optional = |value: Option<Value>| ok(Value::Optional(value.map(Arc::new)));
    match (name, args) {
        ("format.named", [Value::String(name)]) => optional(Format::named(name).map(Value::Format)),
        ("validate", [Value::Format(format), Value::String(text)]) => {
            let wrong = format.check(text);
            optional((!wrong.is_empty()).then(|| Value::list(wrong.into_iter().map(Value::string).collect())))
        }
        (name, []) => Format::named(name.strip_prefix("format.")?).map(|format| Ok(Value::Format(format))),
        _ => None,
    }
}

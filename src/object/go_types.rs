//! How Go declares the API's structs: what `k8s-openapi`'s types do not tell.
//!
//! A cluster behaves as its Go types do where they differ from JSON's: which zero values are left out of an answer, how
//! an error names the type of a field, in which order a struct is hashed and printed, which number a field has in protobuf. The
//! table beside this file has them all.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value};

mod ordered;

pub use ordered::{Ordered, Tree};

/// A field of a Go struct.
pub struct Field {
    /// As Go spells it.
    pub name: &'static str,
    /// Its number in protobuf; 0: it is not sent so.
    pub number: u32,
    /// As JSON spells it.
    pub json: Cow<'static, str>,
    /// Embedded: its fields stand among its parent's in JSON.
    pub inline: bool,
    /// It is printed even if it is empty: it does not say `omitempty`.
    pub always: bool,
    /// An object without it is refused.
    pub required: bool,
    /// Its type, as in the table: `*int32`, `[]Container`, `map[string]string`.
    pub go_type: &'static str,
    /// What that is made of, once it was asked for. Types are made of one another in circles: no field is compared.
    resolved: OnceLock<GoType<'static>>,
}

/// What a Go type is made of.
#[derive(Clone, Copy)]
pub enum GoType<'t> {
    /// Of a type.
    Pointer(&'t str),
    /// Of values of a type.
    List(&'t str),
    /// From names to values of a type.
    Map(&'t str),
    /// A string type, under any name.
    Text,
    /// A boolean.
    Bool,
    /// An integer or a float.
    Number,
    /// A struct of the table.
    Struct(&'static [Field]),
    /// One that reads and prints itself.
    Opaque,
}

/// A row of the table: the text after its name, and what that says.
enum Row {
    Struct(&'static str, OnceLock<Vec<Field>>),
    Name(&'static str),
}

/// The text of the table.
pub const TABLE: &str = include_str!("go_types.txt");

static ROWS: LazyLock<BTreeMap<&'static str, Row>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| match line.split_once(": ") {
        Some((name, fields)) => Some((name, Row::Struct(fields, OnceLock::new()))),
        None => line.split_once(" = ").map(|(name, other)| (name, Row::Name(other))),
    };
    lines.filter_map(row).collect()
});

/// The structs that a kind may have of its own: `EndpointPort`, since there is a row `EndpointSlice.EndpointPort`.
static OF_A_KIND: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| ROWS.keys().filter_map(|name| Some(name.split_once('.')?.1)).collect());

/// The fields of the struct `name` of a `v1` package; none if the table does not have it.
pub fn fields(name: &str) -> Option<&'static [Field]> {
    match ROWS.get(bare(name))? {
        Row::Struct(text, fields) => Some(fields.get_or_init(|| text.split(", ").filter_map(Field::parse).collect())),
        Row::Name(_) => None,
    }
}

/// The field that JSON calls so of the struct `name`, somewhere in an `outermost`.
pub fn field(outermost: &str, name: &str, json: &str) -> Option<&'static Field> {
    find(fields_in(outermost, name)?, json)
}

/// The fields of the struct `name`, as they are somewhere in an `outermost`.
pub fn fields_in(outermost: &str, name: &str) -> Option<&'static [Field]> {
    own_fields(outermost, name).or_else(|| fields(name))
}

/// Those of a struct that the kind has of its own.
fn own_fields(outermost: &str, name: &str) -> Option<&'static [Field]> {
    OF_A_KIND.contains(name).then(|| fields(&format!("{outermost}.{name}"))).flatten()
}

fn find(fields: &'static [Field], json: &str) -> Option<&'static Field> {
    let own = fields.iter().find(|field| field.json == json && !field.inline);
    let inlined =
        || fields.iter().filter(|field| field.inline).find_map(|field| find(self::fields(field.go_type)?, json));
    own.or_else(inlined)
}

/// The name of a type without its package.
fn bare(go_type: &str) -> &str {
    go_type.strip_prefix("v2.").unwrap_or(go_type)
}

/// What the type is made of.
pub fn resolve(go_type: &str) -> GoType<'_> {
    if let Some(target) = go_type.strip_prefix('*') {
        return GoType::Pointer(target);
    }
    if let Some(item) = go_type.strip_prefix("[]") {
        return GoType::List(item);
    }
    if let Some((_, value)) = go_type.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return GoType::Map(value);
    }
    let name = bare(go_type);
    match (name, ROWS.get(name)) {
        ("bool", _) => GoType::Bool,
        ("int32" | "int64" | "float64" | "uint8", _) => GoType::Number,
        ("any", _) => GoType::Opaque,
        (_, Some(Row::Name(other))) => resolve(other),
        (_, Some(Row::Struct(..))) => GoType::Struct(fields(name).unwrap_or_default()),
        (_, None) => GoType::Text,
    }
}

/// What Go prints of a struct into which nothing was written: structs and what does not say `omitempty`. Nothing of one
/// that the table does not have.
pub fn printed_empty(name: &str) -> Map<String, Value> {
    let mut empty = Map::new();
    complete(Printed { kind: name, is_kept: false }, name, &mut empty);
    empty
}

/// Puts into an object of a kind what Go prints even where it is unset, on every level. `is_kept`: it comes from etcd,
/// which keeps protobuf, in which an empty list is none.
pub fn complete_object(kind: &str, is_kept: bool, object: &mut Map<String, Value>) {
    complete(Printed { kind, is_kept }, kind, object);
}

/// The object that is printed: its kind, and whether it comes from etcd.
#[derive(Clone, Copy)]
struct Printed<'a> {
    kind: &'a str,
    is_kept: bool,
}

fn complete(outermost: Printed<'_>, name: &str, written: &mut Map<String, Value>) {
    complete_fields(outermost, fields_in(outermost.kind, name).unwrap_or_default(), written);
}

fn complete_fields(outermost: Printed<'_>, fields: &[Field], written: &mut Map<String, Value>) {
    for field in fields {
        if field.inline {
            complete(outermost, field.go_type, written);
        } else if let Some(value) = written.get_mut(&*field.json).filter(|value| !value.is_null()) {
            complete_value(outermost, field.go_type, field.resolved(), value);
            if outermost.is_kept
                && field.always
                && value.as_array().is_some_and(Vec::is_empty)
                && matches!(field.resolved(), GoType::List(_))
            {
                *value = Value::Null;
            }
        } else if let Some(zero) = field.zero(outermost) {
            written.insert(field.json.to_string(), zero);
        }
    }
}

fn complete_value(outermost: Printed<'_>, go_type: &str, resolved: GoType, value: &mut Value) {
    match (resolved, value) {
        (GoType::Pointer(target), value) => complete_value(outermost, target, resolve(target), value),
        (GoType::List(item), Value::Array(items)) => {
            let resolved = resolve(item);
            items.iter_mut().for_each(|value| complete_value(outermost, item, resolved, value));
        }
        (GoType::Map(of), Value::Object(values)) => {
            let resolved = resolve(of);
            values.values_mut().for_each(|value| complete_value(outermost, of, resolved, value));
        }
        (GoType::Struct(fields), Value::Object(written)) => {
            complete_fields(outermost, own_fields(outermost.kind, go_type).unwrap_or(fields), written);
        }
        _ => {}
    }
}

/// What Go calls a value that it has read without knowing its type: `map[string]interface {}`.
pub fn untyped(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The type as Go prints it, with its package: `[]v1.Container`.
pub fn printed(go_type: &str) -> String {
    if let Some(target) = go_type.strip_prefix('*') {
        return format!("*{}", printed(target));
    }
    if let Some(item) = go_type.strip_prefix("[]") {
        return format!("[]{}", printed(item));
    }
    if let Some((key, value)) = go_type.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return format!("map[{}]{}", printed(key), printed(value));
    }
    match go_type {
        "string" | "bool" | "int32" | "int64" | "float64" | "uint8" => go_type.to_owned(),
        "interface{}" => "interface {}".to_owned(),
        packaged if packaged.contains('.') => packaged.to_owned(),
        name => format!("v1.{name}"),
    }
}

impl Field {
    /// What its type is made of.
    pub fn resolved(&self) -> GoType<'static> {
        *self.resolved.get_or_init(|| resolve(self.go_type))
    }

    /// What is printed of it if nothing was written; none: nothing.
    fn zero(&self, outermost: Printed<'_>) -> Option<Value> {
        Some(match self.resolved() {
            GoType::Struct(fields) => {
                let mut empty = Map::new();
                complete_fields(outermost, own_fields(outermost.kind, self.go_type).unwrap_or(fields), &mut empty);
                Value::Object(empty)
            }
            // The only field that says `omitzero`.
            GoType::Opaque if self.json == "creationTimestamp" => return None,
            // Structs in Go that print themselves.
            GoType::Opaque => match self.go_type {
                "resource.Quantity" => "0".into(),
                "intstr.IntOrString" => 0.into(),
                "Duration" => "0s".into(),
                _ => Value::Null,
            },
            _ if !self.always => return None,
            GoType::Pointer(_) | GoType::List(_) | GoType::Map(_) => Value::Null,
            GoType::Text => "".into(),
            GoType::Bool => false.into(),
            GoType::Number => 0.into(),
        })
    }

    /// `1 VolumeID=volumeID string!`
    fn parse(text: &'static str) -> Option<Field> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, text) = text.split_at(digits);
        let number = number.parse().unwrap_or_default();
        let (name, go_type) = text.trim_start().split_once(' ')?;
        let (inline, name) = name.strip_prefix('+').map_or((false, name), |name| (true, name));
        let (name, json) = match name.split_once('=') {
            Some((name, json)) => (name, Cow::Borrowed(json)),
            None => (name, Cow::Owned(name[..1].to_ascii_lowercase() + &name[1..])),
        };
        let bare = go_type.trim_end_matches(['!', '?', '+']);
        let (always, required) = match &go_type[bare.len()..] {
            "!" => (true, true),
            "?" => (true, false),
            "+" => (false, true),
            _ => (false, false),
        };
        Some(Field { name, number, json, inline, always, required, go_type: bare, resolved: OnceLock::new() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_struct_that_a_field_has_is_in_the_table() {
        let mut structs = 0;
        for (name, row) in ROWS.iter().filter(|(_, row)| matches!(row, Row::Struct(..))) {
            let Row::Struct(text, _) = row else { continue };
            let fields = fields(name).expect("it is a struct");
            assert_eq!(fields.len(), text.split(", ").count(), "{name}: {text}");
            let numbers = fields.iter().map(|field| field.number).filter(|number| *number > 0);
            let different: BTreeSet<u32> = numbers.clone().collect();
            assert_eq!(numbers.count(), different.len(), "{name} has a number twice");
            for field in fields.iter().filter(|field| field.inline) {
                assert!(matches!(resolve(field.go_type), GoType::Struct(_)), "{name} embeds {}", field.go_type);
            }
            structs += 1;
        }
        assert!(structs > 400, "{structs}");
    }

    #[test]
    fn a_type_is_told_from_others_of_its_name_by_its_kind() {
        let name = |kind: &str| field(kind, "EndpointPort", "name").expect("it is there").go_type;
        assert_eq!((name("Endpoints"), name("EndpointSlice")), ("string", "*string"));
    }

    #[test]
    fn an_empty_struct_is_printed_with_what_is_always_there() {
        let empty = |name| Value::Object(printed_empty(name));
        let template = json!({"metadata": {}, "spec": {"containers": null}});
        assert_eq!(empty("Pod"), json!({"metadata": {}, "spec": {"containers": null}, "status": {}}));
        let spec = json!({"selector": null, "template": template, "serviceName": "", "updateStrategy": {}});
        let status = json!({"replicas": 0, "availableReplicas": 0});
        assert_eq!(empty("StatefulSet"), json!({"metadata": {}, "spec": spec, "status": status}));
        assert_eq!(empty("Service")["status"], json!({"loadBalancer": {}}));
        assert_eq!(empty("Event")["eventTime"], json!(null));
        assert_eq!(empty("Nothing"), json!({}));
        let mut slice = json!({"ports": [{"port": 80}], "endpoints": null});
        complete_object("EndpointSlice", true, slice.as_object_mut().expect("it is one"));
        assert_eq!(slice, json!({"metadata": {}, "addressType": "", "endpoints": null, "ports": [{"port": 80}]}));
        for (is_kept, want) in [(true, json!(null)), (false, json!([]))] {
            let mut node = json!({"spec": {"drivers": []}});
            complete_object("CSINode", is_kept, node.as_object_mut().expect("it is one"));
            assert_eq!(node["spec"]["drivers"], want);
        }
        let mut pod = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        complete_object("Pod", true, pod.as_object_mut().expect("it is one"));
        let condition = json!({"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": null});
        assert_eq!(pod["status"]["conditions"], json!([condition]));
    }

    #[test]
    fn types_are_printed_with_their_packages() {
        for (kind, name, json, want) in [
            ("Pod", "PodSpec", "containers", "[]v1.Container"),
            ("Pod", "EphemeralContainer", "restartPolicy", "*v1.ContainerRestartPolicy"),
            ("Pod", "ResourceRequirements", "limits", "v1.ResourceList"),
            ("Pod", "ObjectMeta", "uid", "types.UID"),
            ("Job", "JobSpec", "completionMode", "*v1.CompletionMode"),
            ("HorizontalPodAutoscaler", "MetricSpec", "type", "v2.MetricSourceType"),
        ] {
            assert_eq!(printed(field(kind, name, json).expect("it is there").go_type), want, "{name}.{json}");
        }
        assert!(matches!(resolve("ResourceList"), GoType::Map("resource.Quantity")));
        assert!(matches!(resolve("v2.MetricSourceType"), GoType::Text));
        assert!(matches!(resolve("resource.Quantity"), GoType::Opaque));
    }
}

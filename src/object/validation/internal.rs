//! Objects as the API server's own Go structs print: what its sentences show of an object is not what the API shows.
//!
//! The server validates structs of its own (`pkg/apis/*/types.go`), which have no names for JSON. Printed, their fields
//! have Go's names, stand in the order of their declaration, and are all there: what is missing is `null`, `""`, `0`. The
//! structs of `apimachinery` within them have names for JSON, and leave out what is empty.
//!
//! Mirrors `encoding/json` on those structs. [`go_types`] has their fields: those of the API, and, with `internal` before
//! the name, those that are declared otherwise here.

use serde::Serialize;
use serde_json::{Value, json};

use super::field::Shown;
use crate::go_types::{self, Field, GoType};
use crate::text::go_json;

/// The structs of `apimachinery` that others have.
const META: &[&str] =
    &["LabelSelector", "LabelSelectorRequirement", "ManagedFieldsEntry", "ObjectMeta", "OwnerReference"];
/// Before the names of structs that the API server declares otherwise than the API.
const INTERNAL: &str = "internal";

/// A value of the Go type of this name: `PodSpec`, `[]NodeSelectorTerm`.
pub struct Internal<'a, T: ?Sized>(pub &'a str, pub &'a T);

impl<T: Serialize + ?Sized> Shown for Internal<'_, T> {
    fn shown(&self) -> String {
        let mut text = String::new();
        self.printed().write(&mut text);
        text
    }
}

impl<T: Serialize + ?Sized> Internal<'_, T> {
    /// One field or value a line, one space a level.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.printed().lay_out(0, "", "", &mut lines);
        lines
    }

    fn printed(&self) -> Printed {
        print(self.0, Some(&serde_json::to_value(self.1).unwrap_or_default()))
    }
}

/// What a Pod shares with its host is a part of its security context.
fn with_shared_host(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let Some(fields) = spec.as_object_mut() else { return spec };
    let names = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];
    let shared: Vec<_> = names.iter().filter_map(|name| fields.remove_entry(*name)).collect();
    let context = fields.entry("securityContext").or_insert_with(|| json!({}));
    context.as_object_mut().into_iter().for_each(|context| context.extend(shared.clone()));
    spec
}

/// A value as it is printed.
enum Printed {
    Text(String),
    List(Vec<Printed>),
    Fields(Vec<(String, Printed)>),
}

impl Printed {
    fn write(&self, text: &mut String) {
        let comma = |i: usize| if i > 0 { "," } else { "" };
        match self {
            Printed::Text(value) => text.push_str(value),
            Printed::List(items) => {
                text.push('[');
                for (i, item) in items.iter().enumerate() {
                    text.push_str(comma(i));
                    item.write(text);
                }
                text.push(']');
            }
            Printed::Fields(fields) => {
                text.push('{');
                for (i, (name, value)) in fields.iter().enumerate() {
                    text.push_str(&format!("{}{}:", comma(i), json!(name)));
                    value.write(text);
                }
                text.push('}');
            }
        }
    }

    /// `before` is the name, `after` the comma behind it.
    fn lay_out(&self, depth: usize, before: &str, after: &str, lines: &mut Vec<String>) {
        let space = " ".repeat(depth);
        let comma = |i: usize, len: usize| if i + 1 < len { "," } else { "" };
        match self {
            Printed::List(items) if !items.is_empty() => {
                lines.push(format!("{space}{before}["));
                for (i, item) in items.iter().enumerate() {
                    item.lay_out(depth + 1, "", comma(i, items.len()), lines);
                }
                lines.push(format!("{space}]{after}"));
            }
            Printed::Fields(fields) if !fields.is_empty() => {
                lines.push(format!("{space}{before}{{"));
                for (i, (name, value)) in fields.iter().enumerate() {
                    value.lay_out(depth + 1, &format!("{}: ", json!(name)), comma(i, fields.len()), lines);
                }
                lines.push(format!("{space}}}{after}"));
            }
            value => {
                let mut text = String::new();
                value.write(&mut text);
                lines.push(format!("{space}{before}{text}{after}"));
            }
        }
    }
}

/// A value of a Go type; none: nothing was written.
fn print(go_type: &str, value: Option<&Value>) -> Printed {
    let value = value.filter(|value| !value.is_null());
    let empty = match (go_types::resolve(go_type), value) {
        (GoType::Pointer(target), Some(value)) => return print(target, Some(value)),
        (GoType::Struct(_), Some(value)) if go_type == "PodSpec" => {
            return Printed::Fields(fields(go_type, Some(&with_shared_host(value))));
        }
        (GoType::Struct(_), value) => return Printed::Fields(fields(go_type, value)),
        (GoType::List(item), Some(Value::Array(items))) => {
            return Printed::List(items.iter().map(|value| print(item, Some(value))).collect());
        }
        (GoType::Map(of), Some(Value::Object(values))) => {
            return Printed::Fields(values.iter().map(|(key, value)| (key.clone(), print(of, Some(value)))).collect());
        }
        (_, Some(value)) => return Printed::Text(escaped(value)),
        (GoType::Pointer(_) | GoType::List(_) | GoType::Map(_), None) => "null",
        (GoType::Text, None) => "\"\"",
        (GoType::Bool, None) => "false",
        (GoType::Number, None) => "0",
        (GoType::Opaque, None) => match go_type {
            "resource.Quantity" => "\"0\"",
            "intstr.IntOrString" => "0",
            _ => "null",
        },
    };
    Printed::Text(empty.to_owned())
}

fn fields(name: &str, value: Option<&Value>) -> Vec<(String, Printed)> {
    let of = |field: &Field| value.and_then(|value| value.get(&*field.json)).filter(|value| !value.is_null());
    let own = go_types::fields_in(INTERNAL, name).unwrap_or_default();
    if META.contains(&name) {
        let there = |field: &&Field| field.always || of(field).is_some_and(|value| !is_empty(value));
        return own
            .iter()
            .filter(there)
            .map(|field| (field.json.to_string(), print(field.go_type, of(field))))
            .collect();
    }
    let printed = |field: &Field| match field {
        // Embedded without a name: the metadata of an object stands among its own fields.
        Field { go_type: "ObjectMeta", .. } => fields("ObjectMeta", of(field)),
        Field { inline: true, .. } => fields(field.go_type, value),
        _ => vec![(field.name.to_owned(), print(field.go_type, of(field)))],
    };
    own.iter().flat_map(printed).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn escaped(value: &Value) -> String {
    go_json(&value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_are_printed_as_they_are_declared() {
        let port = json!({"port": 80, "protocol": "TCP"});
        let want = r#"{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#;
        assert_eq!(Internal("ServicePort", &port).shown(), want);
        let terms = json!([{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]);
        let want = r#"[{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}]"#;
        assert_eq!(Internal("[]NodeSelectorTerm", &terms).shown(), want);
    }

    #[test]
    fn what_comes_from_apimachinery_is_printed_as_the_api_has_it() {
        let budget = json!({"minAvailable": "50%", "selector": {"matchLabels": {"a": "<b>"}, "matchExpressions": []}});
        let want = r#"{"MinAvailable":"50%","Selector":{"matchLabels":{"a":"\u003cb\u003e"}},"MaxUnavailable":null,"UnhealthyPodEvictionPolicy":null}"#;
        assert_eq!(Internal("PodDisruptionBudgetSpec", &budget).shown(), want);
    }

    #[test]
    fn metadata_stands_among_the_fields_of_its_object() {
        let template =
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "j"}], "hostPID": true}});
        let shown = Internal("PodTemplateSpec", &template).shown();
        const BEGIN: &str =
            r#"{"labels":{"a":"b"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"j","Image":"","#;
        assert!(shown.starts_with(BEGIN) && shown.contains(r#""HostPID":true"#), "{shown}");
        assert_eq!(Internal("*SuccessPolicy", &json!(null)).shown(), "null");
    }

    #[test]
    fn the_security_context_says_what_a_pod_shares_with_its_host() {
        let lines = Internal("PodSpec", &json!({"hostNetwork": true, "containers": []})).lines();
        let at = lines.iter().position(|line| line == " \"SecurityContext\": {").expect("it is there");
        assert_eq!(lines[at + 1..at + 3], ["  \"HostNetwork\": true,", "  \"HostPID\": false,"]);
        assert_eq!(lines[1..4], [" \"Volumes\": null,", " \"InitContainers\": null,", " \"Containers\": [],"]);
        assert_eq!(lines.last().map(String::as_str), Some("}"));
    }
}

//! Answers as bytes.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::message::{Call, Encoding, Format, upgrade_required};
use super::path::is_served_group;
use kinds::printers::{META, View, metrics_table, partial, scale_table, table};
use object::go_types;
use object::metrics::{self, Metrics};
use object::status::Reason;
use object::{Kind, Object, Status, versions};
use wire::{Answer, Request, Response, Verb, WatchEvent};

/// The media type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// What is said where nothing is served.
pub const NOT_FOUND: &str = "404 page not found\n";

/// A raw answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The HTTP status.
    pub code: u16,
    /// The `Content-Type` header.
    pub content_type: &'static str,
    /// Other headers: `Warning`, `Retry-After`.
    pub headers: Vec<(&'static str, String)>,
    /// What is sent.
    pub body: String,
}

impl HttpAnswer {
    /// A `Status` as the body, under its own code; with `Retry-After` if it says when to come again.
    pub fn status(status: &Status, encoding: Encoding) -> HttpAnswer {
        let status_json = status.to_json();
        let mut answer = HttpAnswer::value(status.code, &status_json, in_order(&status_json), encoding);
        let retry_after = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        if retry_after > 0 {
            answer.headers.push(("Retry-After", retry_after.to_string()));
        }
        answer
    }

    /// A value, which as JSON is written as this text.
    fn value(code: u16, value: &Value, json: String, encoding: Encoding) -> HttpAnswer {
        let (content_type, body) = match encoding {
            Encoding::Yaml => ("application/yaml", serde_yaml::to_string(value).unwrap_or_default()),
            Encoding::Json => ("application/json", json + "\n"),
        };
        HttpAnswer { code, content_type, headers: Vec::new(), body }
    }
}

/// As JSON, with what an object is and is called before what it holds, as Go writes the fields of its types; the others
/// go by their names. In a list that is true of its items too. Of a Status all fields have their places.
fn in_order(value: &Value) -> String {
    match value["kind"] == "Status" && value["apiVersion"] == "v1" {
        true => ordered(value, STATUS, status_part),
        false => ordered(value, &["kind", "apiVersion", "metadata"], |key, value| match value {
            Value::Array(items) if key == "items" => format!("[{}]", joined(items.iter().map(in_order))),
            value => value.to_string(),
        }),
    }
}

/// The fields of `metav1.Status`.
const STATUS: &[&str] = &["kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code"];

fn status_part(key: &str, value: &Value) -> String {
    match (key, value) {
        ("details", details) => {
            let fields = &["name", "group", "kind", "uid", "causes", "retryAfterSeconds"];
            ordered(details, fields, status_part)
        }
        ("causes", Value::Array(causes)) => {
            let fields = &["reason", "message", "field"];
            format!("[{}]", joined(causes.iter().map(|cause| ordered(cause, fields, status_part))))
        }
        (_, value) => value.to_string(),
    }
}

/// As JSON, with these fields first, each written by `part`.
fn ordered(value: &Value, first: &[&str], part: impl Fn(&str, &Value) -> String) -> String {
    let Value::Object(fields) = value else { return value.to_string() };
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| first.iter().position(|first| first == key).unwrap_or(first.len()));
    let field = |(key, value): (&String, &Value)| format!("{}:{}", Value::from(key.as_str()), part(key, value));
    format!("{{{}}}", joined(fields.into_iter().map(field)))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

/// An answer as JSON. What users have defined has no type in Go, and goes by names alone.
fn json_of(call: &Call, value: &Value) -> String {
    let kind = call.request.kind;
    match matches!(kind, Kind::Custom(_)) && value["apiVersion"] == kind.info().api_version {
        true => value.to_string(),
        false => in_order(value),
    }
}

/// One event of a watch as JSON.
pub(super) fn event_json(call: &Call, event: &Value) -> String {
    format!("{{\"type\":{},\"object\":{}}}", event["type"], json_of(call, &event["object"]))
}

/// The answer to a call.
pub(super) fn answer(call: &Call, answer: &Answer, view: View) -> HttpAnswer {
    let mut http = match &answer.result {
        Ok(Response::Page { content_type, body }) => {
            HttpAnswer { code: answer.code, content_type, headers: Vec::new(), body: body.clone() }
        }
        Ok(Response::PassedOn { .. }) if call.is_connection() => HttpAnswer::status(&upgrade_required(), call.encoding),
        Ok(response) => {
            let made = match (response, call.format) {
                (Response::Metrics(all), Format::Table(_)) => Ok(metrics_table(call.request.kind, all)),
                _ => as_asked(call, body(&call.request, answer.code, response), view),
            };
            match made {
                Ok(value) => HttpAnswer::value(answer.code, &value, json_of(call, &value), call.encoding),
                Err(status) => HttpAnswer::status(&status, call.encoding),
            }
        }
        // A watch of the forgotten past, or from a state that is not there yet, begins like any other, and its only event says
        // so. Mirrors `newErrWatcher`.
        Err(error)
            if call.request.verb == Verb::Watch && matches!(error.reason(), Reason::Expired | Reason::Timeout) =>
        {
            let event = watch_event(call, &WatchEvent::Error(error.clone()), true, view);
            HttpAnswer::value(200, &event, event_json(call, &event), Encoding::Json)
        }
        Err(error) => HttpAnswer::status(&error.clone().into_status(), call.encoding),
    };
    if let Ok(Response::Watching) = answer.result {
        http.body.clear();
    }
    let warnings = answer.warnings.iter().map(|text| ("Warning", format!("299 - {text:?}")));
    http.headers.splice(0..0, warnings);
    http
}

/// An object or a list of them in the form that was asked for; anything else as it is. Mirrors `doTransformObject`.
///
/// # Errors
/// An object was asked for in the form of a list, or a list in that of an object.
fn as_asked(call: &Call, plain: Value, view: View) -> Result<Value, Status> {
    let kind = call.request.kind;
    let (items, is_list) = match plain["items"].as_array() {
        Some(items) => (items.as_slice(), true),
        None if plain["kind"] == kind.info().kind => (std::slice::from_ref(&plain), false),
        None if plain["kind"] == "Scale" => {
            return Ok(match call.format {
                Format::Table(include) => scale_table(&plain, list_metadata(&plain), include, view.now),
                Format::Metadata => partial(&plain),
                _ => plain,
            });
        }
        None => return Ok(plain),
    };
    match call.format {
        Format::Table(include) => {
            // A kind shows as it is stored, in any version that was wanted.
            let stored = versions::stored_as(kind);
            let items: Cow<[Value]> = match stored == kind {
                true => Cow::Borrowed(items),
                false => items.iter().map(|item| in_version(stored, item)).collect(),
            };
            Ok(table(stored, &items, list_metadata(&plain), include, view))
        }
        Format::Metadata if is_list => Err(other_form("PartialObjectMetadata", "a list", kind, "List")),
        Format::Metadata => Ok(partial(&plain)),
        Format::MetadataList if !is_list => Err(other_form("PartialObjectMetadataList", "not a list", kind, "")),
        Format::MetadataList => Ok(json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": META,
            "metadata": list_metadata(&plain),
            "items": items.iter().map(partial).collect::<Vec<Value>>(),
        })),
        Format::Plain | Format::Discovery | Format::OpenApi { .. } => Ok(plain),
    }
}

/// An object as it is stored. Its metadata, with who manages which fields, are the same.
fn in_version(stored: Kind, other: &Value) -> Value {
    let mut object = versions::to_stored(stored, other).map(|object| object.to_json()).unwrap_or_default();
    object["metadata"] = other["metadata"].clone();
    object
}

/// What a list says of itself; these have a type in Go, which leaves out what is empty.
fn list_metadata(list: &Value) -> Value {
    let known = ["resourceVersion", "continue", "remainingItemCount"];
    let own = list["metadata"].as_object().into_iter().flatten();
    own.filter(|(key, value)| known.contains(&key.as_str()) && *value != "")
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn other_form(asked: &str, is: &str, kind: Kind, list: &str) -> Status {
    let (info, custom) = (kind.info(), matches!(kind, Kind::Custom(_)));
    let package = match info.group.split('.').next().unwrap_or_default() {
        _ if custom => "unstructured",
        "" => "core",
        group => group,
    };
    let name = if custom { "Unstructured" } else { info.kind };
    let message = format!("you requested {asked}, but the requested object is {is} (*{package}.{name}{list})");
    Status::new(Reason::NotAcceptable, message)
}

fn body(request: &Request, code: u16, response: &Response) -> Value {
    match response {
        Response::Object(object) => object.printed(),
        Response::List { items, revision, continue_token, remaining } => {
            let info = request.kind.info();
            let mut metadata = json!({});
            if *revision > 0 {
                metadata["resourceVersion"] = json!(revision.to_string());
            }
            // A list without a type in Go says so even at its end.
            if !continue_token.is_empty() || has_no_type(request.kind) {
                metadata["continue"] = json!(continue_token);
            }
            if let Some(remaining) = remaining {
                metadata["remainingItemCount"] = json!(remaining);
            }
            let items: Vec<Value> = items.iter().map(item).collect();
            json!({"kind": format!("{}List", info.kind), "apiVersion": info.api_version, "metadata": metadata, "items": items})
        }
        Response::Success { uid } => success(request, code, uid),
        Response::Scale(scale) => serde_json::to_value(scale).unwrap_or_default(),
        Response::Token(issued) => serde_json::to_value(issued.whole()).unwrap_or_default(),
        Response::Metrics(all) => metrics(request, all),
        Response::Watching | Response::PassedOn { .. } | Response::Proxied { .. } | Response::Page { .. } => {
            Value::Null
        }
    }
}

/// One PodMetrics or NodeMetrics, or a list of them.
fn metrics(request: &Request, all: &[Metrics]) -> Value {
    if request.verb == Verb::Get {
        return all.first().map_or(Value::Null, |one| one.to_json(request.kind));
    }
    let items: Vec<Value> = all.iter().map(|one| one.to_json(request.kind)).collect();
    let kind = format!("{}MetricsList", request.kind);
    json!({"kind": kind, "apiVersion": metrics::API_VERSION, "metadata": {}, "items": items})
}

/// Whether a kind has no type in Go: users have defined it.
fn has_no_type(kind: Kind) -> bool {
    matches!(kind, Kind::Custom(_)) && !is_served_group(kind.info().group)
}

/// An object in a list does not repeat its kind, unless it is of a kind that has no type in Go.
fn item(object: &Object) -> Value {
    let mut value = object.printed();
    if has_no_type(object.kind()) {
        return value;
    }
    if let Some(fields) = value.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    value
}

fn success(request: &Request, code: u16, uid: &str) -> Value {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    if request.verb == Verb::Create {
        status["code"] = json!(code);
        return status;
    }
    let info = request.kind.info();
    let mut details = json!({"name": request.name, "kind": info.plural, "uid": uid});
    if !info.group.is_empty() {
        details["group"] = json!(info.group);
    }
    status["details"] = details;
    status
}

/// One event of a watch.
pub(super) fn watch_event(call: &Call, event: &WatchEvent, first: bool, view: View) -> Value {
    let object = match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => object.printed(),
        WatchEvent::Bookmark { kind, revision, initial_events_end } => bookmark(*kind, *revision, *initial_events_end),
        WatchEvent::Error(error) => {
            return json!({"type": event.type_str(), "object": error.clone().into_status().to_json()});
        }
    };
    let mut object = match as_asked(call, object, view) {
        Ok(object) => object,
        Err(status) => return json!({"type": "ERROR", "object": status.to_json()}),
    };
    if !first && matches!(call.format, Format::Table(_)) {
        object["columnDefinitions"] = Value::Null;
    }
    json!({"type": event.type_str(), "object": object})
}

/// An object with nothing but a resourceVersion, printed with all that Go prints of an empty one.
fn bookmark(kind: Kind, revision: u64, initial_events_end: bool) -> Value {
    let info = kind.info();
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if initial_events_end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let mut object = json!({"kind": info.kind, "apiVersion": info.api_version});
    let fields = object.as_object_mut().into_iter();
    fields.for_each(|fields| fields.extend(go_types::printed_empty(info.kind)));
    object["metadata"] = metadata;
    object
}

#[cfg(test)]
mod tests {
    use object::status::Reason;

    use super::*;

    #[test]
    fn a_status_is_written_as_go_writes_it() {
        let status = Status::already_exists(Kind::ConfigMap, "a");
        assert_eq!(
            HttpAnswer::status(&status, Encoding::Json).body,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"configmaps \\\"a\\\" already \
             exists\",\"reason\":\"AlreadyExists\",\"details\":{\"name\":\"a\",\"kind\":\"configmaps\"},\"code\":409}\n"
        );
        let plain = Status::new(Reason::Unauthorized, "Unauthorized");
        assert!(
            HttpAnswer::status(&plain, Encoding::Json).body.ends_with("\"reason\":\"Unauthorized\",\"code\":401}\n")
        );
    }
}

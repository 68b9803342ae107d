//! The API over HTTP: raw requests to [`Request`]s, and [`Answer`]s to raw answers.
//!
//! Everything that the real server decides before and after the request handlers is here: which path is which kind,
//! which method is which verb, what may be sent and accepted, and how an answer looks as bytes. No socket is: who has a
//! connection, or `kubectl --raw`, calls [`call`], hands the request to the API server, and sends what [`respond`] makes of
//! the answer. A watch goes on with one [`watch_line`] an event.
//!
//! - [`message`]: a raw request, and what it came to mean.
//! - [`path`]: which kind, object and part `/apis/apps/v1/namespaces/default/deployments/web/scale` is.
//! - [`options`]: what follows the question mark.
//! - [`body`]: objects, patches, and the bodies of subresources.
//! - [`encode`]: answers as bytes.
//! - [`headers`]: as whom a client asks.
//!
//! Mirrors `k8s.io/apiserver/pkg/endpoints`: `request/requestinfo.go`, `installer.go`, `handlers/negotiation`.
//!
//! Left out: OpenAPI documents, protobuf, aggregation, proxies of Pods, Services and nodes, and connections that go on with
//! another protocol (`pods/exec`). A request that is refused here for its media type is refused before
//! it is authorised, the other way round than in a real server.

use object::status::Reason;
use object::{Discovery, Kind, Status};
use wire::{Answer, Request, Verb, WatchEvent};

use kinds::printers::{Include, View};

pub mod body;
pub mod encode;
pub mod headers;
mod message;
pub mod options;
pub mod path;
pub mod uri;

pub use encode::HttpAnswer;
pub(super) use encode::{NOT_FOUND, TEXT};
use message::with_empty_details;
pub use message::{Call, Format, HttpRequest, upgrade_required};

/// What the raw request asks for, or the answer that ends it at once. `known` are the kinds that users have defined.
pub fn call(http: &HttpRequest, known: &Discovery) -> Result<Call, HttpAnswer> {
    let Some(user) = &http.user else { return Err(refuse(Status::new(Reason::Unauthorized, "Unauthorized"))) };
    let (path, query) = http.target.split_once('?').unwrap_or((http.target, ""));
    let query = options::Query::parse(query);
    let Some(shape) = path::Shape::parse(path, known) else {
        let request = Request { connection: http.connection.clone(), ..Request::path(user.clone(), http.target) };
        let format = Format::Json;
        return match http.method {
            "GET" => Ok(Call { request, format }),
            _ => Err(HttpAnswer::page_not_found()),
        };
    };
    let verb = shape.verb(http.method, &query).ok_or_else(|| {
        refuse(with_empty_details(
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        ))
    })?;
    let format = accepted(http.accept, verb, &query).map_err(refuse)?;
    let mut options = options::parse(&query, verb, body::applies(http)).map_err(refuse)?;
    let body = body::parse(http, &shape, verb, &query, &mut options).map_err(refuse)?;
    let mut request = Request {
        user: user.clone(),
        connection: http.connection.clone(),
        verb,
        kind: shape.kind,
        subresource: shape.subresource,
        namespace: shape.namespace,
        name: shape.name,
        body,
        options,
    };
    name_from_selector(&mut request);
    Ok(Call { request, format })
}

/// Whether a path leads to a kind that is built in, or to none: then nobody has to know those that users have defined.
pub fn is_built_in(target: &str) -> bool {
    let group = target.strip_prefix("/apis/").and_then(|path| path.split(['/', '?']).next()).unwrap_or_default();
    Kind::built_in().any(|kind| kind.info().group == group)
}

/// The answer as bytes. A watch that is open begins with status 200 and no body.
pub fn respond(call: &Call, answer: &Answer, view: View) -> HttpAnswer {
    encode::answer(call, answer, view)
}

/// One event of a watch as a line, if this client is told of it. Of tables only the `first` has heads.
pub fn watch_line(call: &Call, event: &WatchEvent, first: bool, view: View) -> Option<String> {
    let bookmark = matches!(event, WatchEvent::Bookmark { .. });
    let told = !bookmark || call.request.options.allow_watch_bookmarks;
    told.then(|| encode::event_json(call, &encode::watch_event(call, event, first, view)) + "\n")
}

fn refuse(status: Status) -> HttpAnswer {
    HttpAnswer::status(&status, Format::Json)
}

/// A list or watch by `metadata.name` is authorised like a request for that object.
fn name_from_selector(request: &mut Request) {
    if !matches!(request.verb, Verb::List | Verb::Watch) || !request.name.is_empty() {
        return;
    }
    let fields = object::selector::FieldSelector::parse(request.kind, &request.options.field_selector);
    if let Some(name) = fields.ok().as_ref().and_then(|fields| fields.exact("metadata.name")) {
        request.name = name.to_owned();
    }
}

/// The best format that both sides know.
fn accepted(accept: &str, verb: Verb, query: &options::Query) -> Result<Format, Status> {
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parts.filter_map(|parameter| parameter.split_once('=')).collect();
        let is = |key: &str, value: &str| parameters.contains(&(key, value));
        let asked = parameters.iter().find(|(key, _)| *key == "as").map(|(_, kind)| *kind);
        let known = is("g", "meta.k8s.io") && (is("v", "v1") || is("v", "v1beta1"));
        match (media_type, asked) {
            ("application/json", Some("Table")) if known => return included(query).map(Format::Table),
            ("application/json", Some("PartialObjectMetadata")) if known => return Ok(Format::Metadata),
            ("application/json", Some("PartialObjectMetadataList")) if known => return Ok(Format::MetadataList),
            // What cannot be had: the next choice may be something else.
            (_, Some(_)) => continue,
            (_, None) => {}
        }
        match media_type {
            "" | "*/*" | "application/*" | "application/json" => return Ok(Format::Json),
            "application/yaml" => return Ok(Format::Yaml),
            _ => {}
        }
    }
    let mut available = "application/json, application/yaml, application/vnd.kubernetes.protobuf".to_owned();
    if matches!(verb, Verb::List | Verb::Watch) {
        available += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
    Err(with_empty_details(Reason::NotAcceptable, message))
}

/// What shall come with each row of a table.
fn included(query: &options::Query) -> Result<Include, Status> {
    let wanted = query.get("includeObject").unwrap_or_default();
    Include::parse(wanted).ok_or_else(|| {
        let must = "must be 'Metadata', 'Object', 'None', or empty";
        let why = format!("includeObject: Invalid value: {wanted:?}: {must}");
        Status::new(Reason::BadRequest, format!("Unable to convert to Table as requested: {why}"))
    })
}

#[cfg(test)]
mod tests;

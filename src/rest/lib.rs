//! The API over HTTP: raw requests to [`Request`]s, and [`Answer`]s to raw answers.
//!
//! Everything that the real server decides before and after the request handlers is here: which path is which kind,
//! which method is which verb, what may be sent and accepted, and how an answer looks as bytes. No socket is, and no
//! server: a front end that has a connection hands over to [`mod@exchange`] what came by it, with a way to ask the API server, and
//! sends what that gives back. `kubectl --raw` calls the two halves of it, [`call`] and [`respond`]. A watch goes on with one
//! [`watch_line`] an event.
//!
//! - [`mod@exchange`]: a request and its answer, from bytes to bytes.
//! - [`message`]: a raw request, and what it came to mean.
//! - [`path`]: which kind, object and part `/apis/apps/v1/namespaces/default/deployments/web/scale` is.
//! - [`options`]: what follows the question mark.
//! - [`body`]: objects, patches, and the bodies of subresources. [`protobuf`]: those that are sent so. [`mod@decode`]: from a
//!   body's text to an object.
//! - `accept`: which form of an answer a client accepts. [`encode`]: answers as bytes.
//! - [`headers`]: the user that a client acts as.
//! - [`uri`]: the way back, from a request to its URL. [`discovery`]: what clients learn of a kind. [`openapi`]: and of its fields.
//!
//! Mirrors `k8s.io/apiserver/pkg/endpoints`: `request/requestinfo.go`, `installer.go`, `handlers/negotiation`.
//!
//! Left out: answers in protobuf, aggregation. Where a request goes on to a kubelet or through a proxy, the caller has the network
//! for that.

use object::status::Reason;
use object::validation::names::check_path_segment;
use object::{Discovery, Kind, Status};
use wire::{About, Answer, Body, Options, Refused, Request, Response, Verb, WatchEvent};

use kinds::printers::View;

mod accept;
pub mod body;
pub mod decode;
pub mod discovery;
pub mod encode;
pub mod exchange;
pub mod headers;
mod message;
pub mod openapi;
pub mod options;
pub mod path;
pub mod protobuf;
pub mod uri;

pub use encode::HttpAnswer;
pub use encode::{NOT_FOUND, TEXT};
use message::with_empty_details;
pub use message::{Call, Encoding, Format, HttpRequest, upgrade_required};

/// What the raw request asks for, or the answer that ends it at once: the 401. `known` are the kinds that users have defined.
///
/// What makes no sense is a request too ([`Refused`]): only a client that may send it is told why.
pub fn call(http: &HttpRequest, known: &Discovery) -> Result<Call, HttpAnswer> {
    let Some(user) = &http.user else {
        return Err(HttpAnswer::status(&Status::new(Reason::Unauthorized, "Unauthorized"), Encoding::Json));
    };
    let (path, query) = http.target.split_once('?').unwrap_or((http.target, ""));
    let mut query = options::Query::parse(query);
    let watched = path::watched(path);
    if let Some((_, name)) = &watched {
        query.watch(name);
    }
    let path = watched.as_ref().map_or(path, |(collection, _)| collection);
    let mut call = Call {
        request: Request { connection: http.connection.clone(), ..Request::path(user.clone(), http.target) },
        encoding: accept::encoding_of_errors(http.accept),
        format: Format::Plain,
    };
    let refused = |about: About, why: Option<Status>| {
        Body::Refused(Box::new(Refused { target: http.target.to_owned(), about, why }))
    };
    let Some(shape) = path::Shape::parse(path, known) else {
        call.request.verb = verb_of(http.method);
        let unserved = path::Unserved::parse(path);
        let not_served = || Some(Status::not_served());
        call.request.body = match unserved {
            path::Unserved::Resource { group, resource, namespace, name } => {
                if http.method == "GET" && name.is_empty() {
                    call.request.verb = if query.flag("watch") { Verb::Watch } else { Verb::List };
                }
                let why = path::is_served_group(&group).then(not_served).flatten();
                (call.request.namespace, call.request.name) = (namespace, name);
                refused(About::Resource(group, resource), why)
            }
            path::Unserved::Discovery if http.method != "GET" => {
                refused(About::Path(path.to_owned()), Some(method_not_allowed()))
            }
            path::Unserved::Discovery
                if let Err(why) = accept::check_page(http.accept, !path.starts_with("/version")) =>
            {
                refused(About::Path(path.to_owned()), Some(why))
            }
            path::Unserved::Discovery | path::Unserved::Page => {
                call.request.verb = Verb::Get;
                match form_of_page(http, path) {
                    Ok(format) => {
                        call.format = format;
                        return Ok(call);
                    }
                    Err(why) => refused(About::Path(path.to_owned()), Some(why)),
                }
            }
        };
        return Ok(call);
    };
    let (kind, subresource) = (shape.kind, shape.subresource);
    let (namespace, name) = (shape.namespace.clone(), shape.name.clone());
    let verb = shape.verb(http.method, &query).filter(|_| watched.is_none() || http.method == "GET");
    let read = read(http, &shape, verb, &query).map(|(encoding, format, options, body)| {
        (call.encoding, call.format) = (encoding, format);
        (options, body)
    });
    let verb = verb.unwrap_or_else(|| match verb_of(http.method) {
        Verb::Get if name.is_empty() => Verb::List,
        verb => verb,
    });
    let (options, body) = read.unwrap_or_else(|why| (Options::default(), refused(About::Kind, Some(why))));
    let request = Request { verb, kind, subresource, namespace, name, body, options, ..call.request };
    call.request = request;
    name_from_selector(&mut call.request);
    Ok(call)
}

/// All that a request says beside its path: how the answer shall look, options, and a body.
fn read(
    http: &HttpRequest,
    shape: &path::Shape,
    verb: Option<Verb>,
    query: &options::Query,
) -> Result<(Encoding, Format, Options, Body), Status> {
    let verb = verb.ok_or_else(method_not_allowed)?;
    if let wrong @ [_, ..] = &check_path_segment(&shape.name)[..] {
        let (name, wrong) = (&shape.name, wrong.join(","));
        return Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {wrong}")));
    }
    let (encoding, format) = accept::accepted(http.accept, verb, query)?;
    let mut options = options::parse(query, verb, body::applies(http))?;
    let body = body::parse(http, shape, verb, query, &mut options)?;
    Ok((encoding, format, options, body))
}

/// In which form the page at a path is wanted.
fn form_of_page(http: &HttpRequest, path: &str) -> Result<Format, Status> {
    let path = path.trim_end_matches('/');
    if path == "/openapi" || path.starts_with("/openapi/") {
        return Ok(Format::OpenApi { json: accept::accepts_any_of(http.accept, &["application/json"]) });
    }
    if path == "/openid/v1/jwks" {
        return accept::check_keys(http.accept).map(|()| Format::Plain);
    }
    match path.strip_prefix("/api") {
        Some("") | Some("s") => accept::discovery(http.accept, true),
        Some(below) if below.starts_with('/') || below.starts_with("s/") => accept::discovery(http.accept, false),
        _ => Ok(Format::Plain),
    }
}

fn method_not_allowed() -> Status {
    const WHY: &str = "the server does not allow this method on the requested resource";
    with_empty_details(Reason::MethodNotAllowed, WHY)
}

/// The verb of a method where no kind says more.
fn verb_of(method: &str) -> Verb {
    match method {
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" => Verb::Delete,
        _ => Verb::Get,
    }
}

/// Whether a path leads to a kind that is built in, or to none: then the kinds that users have defined need not be known.
pub fn is_built_in(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or(target);
    match path.split('/').collect::<Vec<_>>()[..] {
        // All kinds are told of there.
        ["", "apis"] | ["", "apis", ""] | ["", "openapi", ..] => false,
        ["", "apis", group, ..] => Kind::built_in().any(|kind| kind.info().group == group),
        _ => true,
    }
}

/// The answer as bytes. A watch that is open begins with status 200 and no body.
pub fn respond(call: &Call, answer: &Answer, view: View) -> HttpAnswer {
    let target = call.request.target().unwrap_or_default();
    match (&answer.result, call.format) {
        (Ok(Response::Page { .. }), Format::OpenApi { json }) => openapi::page(target, json, view.known),
        (Ok(Response::Page { body, .. }), Format::Discovery) => discovery::page(target, body, view.known),
        _ => encode::answer(call, answer, view),
    }
}

/// One event of a watch as a line, if this client is told of it. Of tables only the `first` has heads.
pub fn watch_line(call: &Call, event: &WatchEvent, first: bool, view: View) -> Option<String> {
    let options = &call.request.options;
    let told = match event {
        WatchEvent::Bookmark { initial_events_end: true, .. } if options.send_initial_events != Some(true) => false,
        WatchEvent::Bookmark { .. } => options.allow_watch_bookmarks,
        _ => true,
    };
    told.then(|| encode::event_json(call, &encode::watch_event(call, event, first, view)) + "\n")
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

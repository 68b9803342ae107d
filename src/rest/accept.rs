//! Which form of an answer a client accepts. Mirrors `endpoints/handlers/negotiation`, behind go-restful's own look at the
//! header.
//!
//! Two parts of the server look at it. The router compares it with what a route can write at all, without parameters;
//! then the handler looks for the first that it can write just so. Each has its own words for finding none.

use kinds::printers::Include;
use object::Status;
use object::status::Reason;
use wire::Verb;

use super::message::{Encoding, Format, with_empty_details};
use super::options::Query;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The first form that both sides know.
pub fn accepted(accept: &str, verb: Verb, query: &Query) -> Result<(Encoding, Format), Status> {
    let ranges = Range::all(accept);
    if !ranges.iter().any(|range| matches!(range.media_type, "*/*" | JSON | YAML | PROTOBUF)) {
        let mut available = [JSON, YAML, PROTOBUF].join(", ");
        if matches!(verb, Verb::List | Verb::Watch) {
            available += &format!(", {JSON};stream=watch, {PROTOBUF};stream=watch");
        }
        return Err(not_available(&available));
    }
    for range in &ranges {
        let encoding = match range.media_type {
            "*/*" | JSON => Encoding::Json,
            YAML => Encoding::Yaml,
            _ => continue,
        };
        if (encoding, verb) == (Encoding::Yaml, Verb::Watch) && range.parameter("as").is_none() {
            // A client cannot tell in a stream of YAML where one document ends and the next begins.
            return Err(not_among(&[&format!("{JSON};stream=watch"), &format!("{PROTOBUF};stream=watch")]));
        }
        match (range.parameter("as"), range.is_of_meta()) {
            (None, _) => return Ok((encoding, Format::Plain)),
            (Some("Table"), true) => return included(query).map(|include| (encoding, Format::Table(include))),
            (Some("PartialObjectMetadata"), true) => return Ok((encoding, Format::Metadata)),
            (Some("PartialObjectMetadataList"), true) => return Ok((encoding, Format::MetadataList)),
            // What cannot be had: the next choice may be something else.
            _ => continue,
        }
    }
    Err(not_among(&[JSON, YAML, PROTOBUF]))
}

/// Whether a client accepts one of these media types.
pub fn accepts_any_of(accept: &str, known: &[&str]) -> bool {
    Range::all(accept).iter().any(|range| range.media_type == "*/*" || known.contains(&range.media_type))
}

/// Whether a client accepts what a page is written in that is no object's. Discovery is written as objects are, all else
/// as JSON.
pub fn check_page(accept: &str, is_discovery: bool) -> Result<(), Status> {
    let written: &[&str] = if is_discovery { &[JSON, YAML, PROTOBUF] } else { &[JSON] };
    if accepts_any_of(accept, written) { Ok(()) } else { Err(not_available(&written.join(", "))) }
}

/// Whether a client accepts the keys by which tokens are checked.
pub fn check_keys(accept: &str) -> Result<(), Status> {
    const KEYS: &str = "application/jwk-set+json";
    if accepts_any_of(accept, &[KEYS]) { Ok(()) } else { Err(not_available(KEYS)) }
}

/// In which form a client wants a page of discovery: only one that `is_whole` has them all at once. Mirrors
/// `WrapAggregatedDiscoveryToHandler`.
pub fn discovery(accept: &str, is_whole: bool) -> Result<Format, Status> {
    for range in Range::all(accept).iter().filter(|range| matches!(range.media_type, "*/*" | JSON | YAML | PROTOBUF)) {
        match range.parameter("as") {
            None => return Ok(Format::Plain),
            Some("APIGroupDiscoveryList")
                if is_whole
                    && range.parameter("g") == Some("apidiscovery.k8s.io")
                    && range.parameter("v") == Some("v2") =>
            {
                return Ok(Format::Discovery);
            }
            Some(_) => {}
        }
    }
    Err(not_among(&[JSON, YAML, PROTOBUF]))
}

/// The router's words.
fn not_available(available: &str) -> Status {
    let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
    with_empty_details(Reason::NotAcceptable, message)
}

/// The handler's words.
fn not_among(known: &[&str]) -> Status {
    let message = format!("only the following media types are accepted: {}", known.join(", "));
    Status::new(Reason::NotAcceptable, message)
}

/// The encoding of an error: the first known one that the client accepts, in whichever one the answer would have been.
pub fn encoding_of_errors(accept: &str) -> Encoding {
    let known = Range::all(accept).into_iter().find_map(|range| match range.media_type {
        "*/*" | JSON => Some(Encoding::Json),
        YAML => Some(Encoding::Yaml),
        _ => None,
    });
    known.unwrap_or_default()
}

/// One of the media types that are accepted, with its parameters.
struct Range<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Range<'a> {
    /// All that a header names, the most wanted first; a header that is missing wants anything. Mirrors `goautoneg`.
    fn all(accept: &'a str) -> Vec<Range<'a>> {
        let accept = if accept.trim().is_empty() { "*/*" } else { accept };
        let mut ranges: Vec<Range> = accept.split(',').map(Range::read).collect();
        ranges.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
        ranges
    }

    fn read(text: &'a str) -> Range<'a> {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        Range { media_type, parameters: parts.filter_map(|parameter| parameter.split_once('=')).collect() }
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn weight(&self) -> f64 {
        self.parameter("q").and_then(|q| q.parse().ok()).unwrap_or(1.0)
    }

    /// Whether the form is one of those that every resource has.
    fn is_of_meta(&self) -> bool {
        self.parameter("g") == Some("meta.k8s.io") && matches!(self.parameter("v"), Some("v1" | "v1beta1"))
    }
}

/// What shall come with each row of a table.
fn included(query: &Query) -> Result<Include, Status> {
    let wanted = query.get("includeObject").unwrap_or_default();
    Include::parse(wanted).ok_or_else(|| {
        let must = "must be 'Metadata', 'Object', 'None', or empty";
        let why = format!("includeObject: Invalid value: {wanted:?}: {must}");
        Status::new(Reason::BadRequest, format!("Unable to convert to Table as requested: {why}"))
    })
}

//! OpenAPI documents, by which clients check and explain what they send: an index at `/openapi/v3`, and a document for each
//! group-version below it.
//!
//! A document has the operations ([`operations`]) of the kinds that are served, and the schemas ([`object::schemas`]) of all
//! that these take and give. It is written when it is asked for, and no client asks twice: its URL in the index carries a hash of what
//! it is made from, and under that URL it never changes.
//!
//! Mirrors `k8s.io/kube-openapi/pkg/{handler,handler3}` and `k8s.io/apiserver/pkg/server/routes/openapi.go`.
//!
//! Left out: documents in protobuf; operations and definitions in the one document of version 2, which kubectl asks for when it
//! finds a kind in none of version 3.

mod operations;
mod parameters;
mod words;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use object::schemas::{Schemas, Writer};
use object::{Discovery, Kind, sha256, versions};

use super::encode::TEXT;
use super::options::Query;
use super::{HttpAnswer, discovery};
use operations::Operations;

const JSON: &str = "application/json";
/// When what is built in changed last: with the release that this server behaves as.
const RELEASED: &str = "Wed, 22 Apr 2026 18:00:00 GMT";
/// What the one document of version 2 is in protobuf.
const V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The answer to a GET of a path at or below `/openapi`, from a client that accepts JSON or does not.
pub fn page(target: &str, json: bool, known: &Discovery) -> HttpAnswer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.trim_end_matches('/');
    let empty = |code| HttpAnswer { code, content_type: "", headers: Vec::new(), body: String::new() };
    match path.strip_prefix("/openapi/") {
        Some("v3") => {
            let index = index(known);
            // It has none in a real server, whose clients go by the date. Here the date may go back.
            let tag = ("Etag", format!("{:?}", hash_of(&[&index])));
            HttpAnswer { content_type: TEXT, headers: vec![tag, modified()], body: index, ..empty(200) }
        }
        Some("v2") => v2(json),
        Some(below) => match below.strip_prefix("v3/") {
            Some(name) => document_page(name, &Query::parse(query), json, known).unwrap_or_else(|| empty(404)),
            None => empty(404),
        },
        None => empty(404),
    }
}

/// When a document with this hash is another one. A real server says in a year, by a clock on the wall.
const NEVER: &str = "Fri, 31 Dec 9999 23:59:59 GMT";

fn document_page(name: &str, query: &Query, json: bool, known: &Discovery) -> Option<HttpAnswer> {
    let of = Document::all(known).into_iter().find(|document| document.name() == name)?;
    let hash = of.hash(known);
    let vary = ("Vary", "Accept".to_owned());
    let mut headers = vec![vary, ("Etag", format!("{hash:?}"))];
    let answer = |code, headers, body| HttpAnswer { code, content_type: JSON, headers, body };
    if !json {
        return Some(HttpAnswer { content_type: "", ..answer(406, headers, String::new()) });
    }
    match query.get("hash") {
        Some(wanted) if wanted != hash => {
            headers.push(("Location", format!("/openapi/v3/{name}?hash={hash}")));
            return Some(answer(301, headers, String::new()));
        }
        Some(_) => {
            headers.push(("Cache-Control", "public, immutable".to_owned()));
            headers.push(("Expires", NEVER.to_owned()));
        }
        None => {}
    }
    headers.push(modified());
    Some(answer(200, headers, of.write(known)))
}

fn modified() -> (&'static str, String) {
    ("Last-Modified", RELEASED.to_owned())
}

/// Whether there is a page at this path.
pub fn is_served(path: &str, known: &Discovery) -> bool {
    match path.trim_end_matches('/').strip_prefix("/openapi/") {
        Some("v2" | "v3") => true,
        Some(below) => below
            .strip_prefix("v3/")
            .is_some_and(|name| Document::all(known).iter().any(|document| document.name() == name)),
        None => false,
    }
}

/// Where each document is.
fn index(known: &Discovery) -> String {
    let mut json = Writer::default();
    json.object(|json| {
        json.key("paths").object(|json| {
            let mut documents: Vec<(String, String)> =
                Document::all(known).iter().map(|document| (document.name(), document.hash(known))).collect();
            documents.sort();
            for (name, hash) in documents {
                json.key(&name).object(|json| {
                    json.field("serverRelativeURL", &format!("/openapi/v3/{name}?hash={hash}"));
                });
            }
        });
    });
    json.finish()
}

/// The document of version 2, in which nothing stands but what it is about.
fn v2(json: bool) -> HttpAnswer {
    // swagger, info and paths of `openapi.v2.Document`.
    let (content_type, body) = match json {
        true => {
            (JSON, r#"{"swagger":"2.0","info":{"title":"Kubernetes","version":"1.36"},"paths":{},"definitions":{}}"#)
        }
        false => (V2, "\n\u{3}2.0\u{12}\u{12}\n\nKubernetes\u{12}\u{4}1.36B\u{0}"),
    };
    let headers = vec![("Vary", "Accept".to_owned()), ("Etag", format!("{:?}", hash_of(&[body]))), modified()];
    HttpAnswer { code: 200, content_type, headers, body: body.to_owned() }
}

/// A document of version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Document {
    /// What stands at one path, which is no kind: `api`, `apis/apps`, `version`.
    Page(&'static str, operations::Page),
    /// A group-version.
    Kinds(&'static str, &'static str),
}

impl Document {
    /// All that are served.
    fn all(known: &Discovery) -> Vec<Document> {
        use operations::Page;
        let mut all = vec![
            Document::Page("", Page::Versions),
            Document::Page("", Page::Groups),
            Document::Page("", Page::Version),
            Document::Page("", Page::Keys),
            Document::Page("", Page::Issuer),
        ];
        let of_server = Kind::built_in().chain(versions::others()).map(Kind::info);
        let groups: BTreeSet<&'static str> =
            of_server.map(|info| info.group).filter(|group| !group.is_empty()).collect();
        all.extend(groups.into_iter().map(|group| Document::Page(group, Page::Group)));
        let kinds: BTreeSet<Document> = discovery::kinds(known)
            .into_iter()
            .map(|kind| Document::Kinds(kind.info().group, kind.info().version))
            .collect();
        all.extend(kinds);
        all
    }

    /// As the index calls it: the path without the slash before it.
    fn name(self) -> String {
        match self {
            Document::Page(group, page) => page.path(group).trim_matches('/').to_owned(),
            Document::Kinds("", version) => format!("api/{version}"),
            Document::Kinds(group, version) => format!("apis/{group}/{version}"),
        }
    }

    /// The kinds that it tells of.
    fn kinds(self, known: &Discovery) -> Vec<Kind> {
        let Document::Kinds(group, version) = self else { return Vec::new() };
        discovery::kinds(known)
            .into_iter()
            .filter(|kind| (kind.info().group, kind.info().version) == (group, version))
            .collect()
    }

    /// A hash of all that it is made from.
    fn hash(self, known: &Discovery) -> String {
        static SOURCES: LazyLock<String> =
            LazyLock::new(|| hash_of(&[&object::schemas::sources(), env!("CARGO_PKG_VERSION")]));
        let custom = self.kinds(known).into_iter().filter_map(|kind| known.definition(kind));
        let custom: Vec<String> =
            custom.map(|definition| serde_json::to_string(&definition.spec).unwrap_or_default()).collect();
        hash_of(&[&SOURCES, &self.name(), &custom.concat()])
    }

    fn write(self, known: &Discovery) -> String {
        let kinds = self.kinds(known);
        let is_custom = kinds.iter().any(|kind| known.definition(*kind).is_some());
        let mut schemas = Schemas::default();
        let mut operations = Operations::new(known, &mut schemas);
        match self {
            Document::Page(group, page) => operations.page(group, page),
            Document::Kinds(group, version) => {
                if !is_custom {
                    operations.resources(group, version);
                }
                kinds.into_iter().for_each(|kind| operations.kind(kind));
            }
        }
        let paths = operations.finish();
        let mut json = Writer::default();
        json.object(|json| {
            json.field("openapi", "3.0.0");
            json.raw(match is_custom {
                true => r#""info":{"title":"Kubernetes CRD Swagger","version":"v0.1.0"}"#,
                false => r#""info":{"title":"Kubernetes","version":"1.36"}"#,
            });
            json.key("paths").raw(&paths);
            json.key("components").object(|json| {
                if !schemas.is_empty() {
                    schemas.write_to(json.key("schemas"));
                }
                if !is_custom {
                    json.raw(concat!(
                        r#""securitySchemes":{"BearerToken":{"type":"apiKey","description":"Bearer Token authentication","#,
                        r#""name":"authorization","in":"header"}}"#
                    ));
                }
            });
        });
        json.finish()
    }
}

/// As a server writes a hash: in capitals.
fn hash_of(texts: &[&str]) -> String {
    sha256::hex(&texts.join("\n")).to_uppercase()
}

#[cfg(test)]
mod tests;

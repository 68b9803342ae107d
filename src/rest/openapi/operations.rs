//! The operations of a document: for each path, what each method does there, what it takes, and what it gives.
//!
//! What is allowed follows from which paths are served ([`crate::path`]). Proxies, and the paths of old watches, stand in documents
//! alone.

use std::collections::BTreeMap;

use object::schemas::{HERE, Schemas, Writer};
use object::{Discovery, Kind, versions};
use wire::Subresource;

use super::parameters::{NAME, PRETTY, Parameters};
use super::words::{article, capital, group_words, tag_word, words_of};
use crate::discovery;
use crate::options::Query;
use crate::path::Shape;

const PLAIN: &[&str] = &["application/json", "application/yaml"];
const STREAMED: &[&str] = &["application/json", "application/json;stream=watch", "application/yaml"];
const ANYTHING: &[&str] = &["*/*"];

/// A path that no kind stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    /// `/api/`
    Versions,
    /// `/apis/`
    Groups,
    /// `/apis/apps/`
    Group,
    /// `/version/`
    Version,
    /// Those with which tokens are checked.
    Keys,
    /// Whose tokens they are.
    Issuer,
}

impl Page {
    /// Where it is.
    pub fn path(self, group: &str) -> String {
        match self {
            Page::Versions => "/api/".to_owned(),
            Page::Groups => "/apis/".to_owned(),
            Page::Group => format!("/apis/{group}/"),
            Page::Version => "/version/".to_owned(),
            Page::Keys => "/openid/v1/jwks/".to_owned(),
            Page::Issuer => "/.well-known/openid-configuration/".to_owned(),
        }
    }
}

/// One operation.
struct Operation<'o> {
    method: &'static str,
    /// What it is called, before the words of its kind: `readNamespaced`.
    id: String,
    about: String,
    /// `x-kubernetes-action`
    action: &'static str,
    /// Group, version and kind of what it is about.
    of: (&'o str, &'o str, &'o str),
    parameters: Parameters,
    /// The media types and the schema of what is sent; none: nothing is.
    takes: Option<(&'static [&'static str], String)>,
    /// The media types and the schema of the answer; no schema: text.
    gives: (&'static [&'static str], String),
    /// The codes of success.
    codes: &'static [&'static str],
}

/// The paths of a document.
pub struct Operations<'d> {
    known: &'d Discovery,
    schemas: &'d mut Schemas,
    paths: BTreeMap<String, Writer>,
    written: BTreeMap<Parameters, String>,
}

impl<'d> Operations<'d> {
    /// None yet. The schemas that they name are written to `schemas`.
    pub fn new(known: &'d Discovery, schemas: &'d mut Schemas) -> Operations<'d> {
        Operations { known, schemas, paths: BTreeMap::new(), written: BTreeMap::new() }
    }

    /// All paths as an object.
    pub fn finish(self) -> String {
        let mut json = Writer::default();
        json.object(|json| {
            for (path, operations) in self.paths {
                let parameters = path_parameters(&path);
                json.key(&path).object(|json| {
                    json.raw(operations.as_str());
                    if !parameters.is_empty() {
                        json.key("parameters").list(|json| json.raw(&parameters));
                    }
                });
            }
        });
        json.finish()
    }

    /// A path that no kind stands at.
    pub fn page(&mut self, group: &str, page: Page) {
        let beside = Kind::Namespace;
        let (schema, about) = match page {
            Page::Versions => (self.schemas.meta("APIVersions", beside), "get available API versions"),
            Page::Groups => (self.schemas.meta("APIGroupList", beside), "get available API versions"),
            Page::Group => (self.schemas.meta("APIGroup", beside), "get information of a group"),
            Page::Version => (self.schemas.version(), "get the version information for this server"),
            Page::Keys => (
                String::new(),
                "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
            ),
            Page::Issuer => (
                String::new(),
                "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
            ),
        };
        let media = if page == Page::Version { &PLAIN[..1] } else { PLAIN };
        self.plain(page.path(group), about, media, schema);
    }

    /// The list of the kinds of a group-version.
    pub fn resources(&mut self, group: &str, version: &str) {
        let path = if group.is_empty() { format!("/api/{version}/") } else { format!("/apis/{group}/{version}/") };
        let schema = self.schemas.meta("APIResourceList", Kind::Namespace);
        self.plain(path, "get available resources", PLAIN, schema);
    }

    fn plain(&mut self, path: String, about: &str, media: &[&str], schema: String) {
        let (tag, id) = match path.trim_matches('/').split('/').collect::<Vec<_>>()[..] {
            ["version"] => ("version".to_owned(), "CodeVersion".to_owned()),
            ["api"] => ("core".to_owned(), "CoreAPIVersions".to_owned()),
            ["apis"] => ("apis".to_owned(), "APIVersions".to_owned()),
            ["api", version] => (format!("core_{version}"), format!("Core{}APIResources", capital(version))),
            ["apis", group] => (tag_word(group), format!("{}APIGroup", words_of(group))),
            ["apis", group, version] => (
                format!("{}_{version}", tag_word(group)),
                format!("{}{}APIResources", words_of(group), capital(version)),
            ),
            ["openid", ..] => ("openid".to_owned(), "ServiceAccountIssuerOpenIDKeyset".to_owned()),
            _ => ("WellKnown".to_owned(), "ServiceAccountIssuerOpenIDConfiguration".to_owned()),
        };
        let mut json = Writer::default();
        json.key("get").object(|json| {
            json.key("tags").texts([tag.as_str()]);
            json.field("description", about);
            json.field("operationId", &format!("get{id}"));
            json.key("responses").object(|json| answers(json, &["200"], media, &schema));
        });
        self.paths.insert(path, json);
    }

    /// All that can be done with a kind.
    pub fn kind(&mut self, kind: Kind) {
        let info = kind.info();
        let is_custom = self.known.definition(kind).is_some();
        let root = if info.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", info.group) };
        let root = format!("{root}/{}", info.version);
        let within = if info.namespaced { format!("{root}/namespaces/{{namespace}}") } else { root.clone() };
        let (all, one) = (format!("{within}/{}", info.plural), format!("{within}/{}/{{name}}", info.plural));
        self.object(kind, &all, None, false);
        if kind.is_kept() || kind == Kind::ComponentStatus {
            self.object(kind, &one, None, true);
        }
        if kind.is_kept() && info.namespaced {
            self.everywhere(kind, &format!("{root}/{}", info.plural));
        }
        if kind.is_kept() && !is_custom {
            self.watches(kind, &root);
        }
        for part in discovery::parts(self.known, kind) {
            self.object(kind, &format!("{one}/{}", part.as_str()), Some(part), true);
        }
        if matches!(kind, Kind::Pod | Kind::Service | Kind::Node) {
            self.proxies(kind, &format!("{one}/proxy"));
            self.proxies(kind, &format!("{one}/proxy/{{path}}"));
        }
    }

    /// The methods at a path of all objects in a place, of one, or of a part of it.
    fn object(&mut self, kind: Kind, path: &str, part: Option<Subresource>, is_one: bool) {
        let info = kind.info();
        let namespace = if info.namespaced { "default" } else { "" };
        let name = if is_one { "one" } else { "" };
        let shape = Shape { kind, namespace: namespace.to_owned(), name: name.to_owned(), subresource: part };
        for method in ["GET", "PUT", "POST", "DELETE", "PATCH"] {
            let Some(verb) = shape.verb(method, &Query::default()) else { continue };
            self.operation(kind, path, part, method, verb);
        }
    }

    fn operation(&mut self, kind: Kind, path: &str, part: Option<Subresource>, method: &'static str, verb: wire::Verb) {
        use wire::Verb;
        let info = kind.info();
        let (of, schema) = self.subject(kind, part);
        let scope = if info.namespaced { "Namespaced" } else { "" };
        let sub = part.map_or(String::new(), |part| capital(part.as_str()));
        let id = |verb: &str| format!("{verb}{}{scope}{}{sub}", group_words(kind), info.kind);
        let part_words = part.map_or(String::new(), |part| format!("{} of ", part.as_str()));
        let connects = part.filter(|part| part.is_connection());
        let parameters = |otherwise| match part {
            Some(Subresource::Exec) => Parameters::Exec,
            Some(Subresource::Attach) => Parameters::Attach,
            Some(Subresource::PortForward) => Parameters::PortForward,
            Some(Subresource::Log) => Parameters::Log,
            _ => otherwise,
        };
        let operation = |id, about: String, action, parameters, takes, gives, codes| Operation {
            method,
            id,
            about,
            action,
            of,
            parameters,
            takes,
            gives,
            codes,
        };
        let operation = match verb {
            _ if connects.is_some() => {
                let about = format!(
                    "connect {method} requests to {} of {}",
                    connects.map_or("", Subresource::as_str),
                    info.kind
                );
                let id =
                    format!("connect{}{}{scope}{}{sub}", group_words(kind), capital(&method.to_lowercase()), info.kind);
                operation(id, about, "connect", parameters(Parameters::None), None, (ANYTHING, String::new()), &["200"])
            }
            Verb::Get => {
                let media = if part == Some(Subresource::Log) { &["text/plain"] } else { PLAIN };
                let given = if part == Some(Subresource::Log) { String::new() } else { schema };
                let about = format!("read {part_words}the specified {}", info.kind);
                operation(id("read"), about, "get", parameters(Parameters::Get), None, (media, given), &["200"])
            }
            Verb::List | Verb::Watch => {
                let list = self.schemas.list(kind, self.known);
                let about = format!("list or watch objects of kind {}", info.kind);
                operation(id("list"), about, "list", Parameters::List, None, (STREAMED, list), &["200"])
            }
            Verb::Create => {
                let about = match part {
                    Some(part) => format!("create {} of {}", part.as_str(), article(info.kind)),
                    None => format!("create {}", article(info.kind)),
                };
                let takes = Some((ANYTHING, schema.clone()));
                operation(
                    id("create"),
                    about,
                    "post",
                    Parameters::Write,
                    takes,
                    (PLAIN, schema),
                    &["200", "201", "202"],
                )
            }
            Verb::Update => {
                let about = format!("replace {part_words}the specified {}", info.kind);
                let takes = Some((ANYTHING, schema.clone()));
                operation(id("replace"), about, "put", Parameters::Write, takes, (PLAIN, schema), &["200", "201"])
            }
            Verb::Patch => {
                let patch = self.schemas.meta("Patch", kind);
                let media: &[&str] = match self.known.definition(kind) {
                    None => &[
                        "application/apply-patch+yaml",
                        "application/json-patch+json",
                        "application/merge-patch+json",
                        "application/strategic-merge-patch+json",
                    ],
                    Some(_) => {
                        &["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]
                    }
                };
                let about = format!("partially update {part_words}the specified {}", info.kind);
                operation(
                    id("patch"),
                    about,
                    "patch",
                    Parameters::Patch,
                    Some((media, patch)),
                    (PLAIN, schema),
                    &["200", "201"],
                )
            }
            Verb::Delete => {
                let takes = Some((ANYTHING, self.schemas.meta("DeleteOptions", kind)));
                let given = match is_answered_with_object(kind) {
                    true => schema,
                    false => self.schemas.meta("Status", kind),
                };
                let about = format!("delete {}", article(info.kind));
                operation(id("delete"), about, "delete", Parameters::Delete, takes, (PLAIN, given), &["200", "202"])
            }
            Verb::DeleteCollection => {
                let takes = Some((ANYTHING, self.schemas.meta("DeleteOptions", kind)));
                let given = self.schemas.meta("Status", kind);
                let about = format!("delete collection of {}", info.kind);
                let id = format!("delete{}Collection{scope}{}", group_words(kind), info.kind);
                operation(id, about, "deletecollection", Parameters::DeleteMany, takes, (PLAIN, given), &["200"])
            }
        };
        self.add(path, &operation);
    }

    /// As what an object, or a part of it, is known, and its schema.
    fn subject(
        &mut self,
        kind: Kind,
        part: Option<Subresource>,
    ) -> ((&'static str, &'static str, &'static str), String) {
        let info = kind.info();
        let mut of_part = |group, name| ((group, "v1", name), self.schemas.part(group, name, kind));
        match part {
            Some(Subresource::Scale) => of_part("autoscaling", "Scale"),
            Some(Subresource::Binding) => of_part("", "Binding"),
            Some(Subresource::Eviction) => of_part("policy", "Eviction"),
            Some(Subresource::Token) => of_part("authentication.k8s.io", "TokenRequest"),
            Some(Subresource::Exec) => (("", "v1", "PodExecOptions"), String::new()),
            Some(Subresource::Attach) => (("", "v1", "PodAttachOptions"), String::new()),
            Some(Subresource::PortForward) => (("", "v1", "PodPortForwardOptions"), String::new()),
            _ => ((info.group, info.version, info.kind), self.schemas.kind(kind, self.known)),
        }
    }

    /// The list of a namespaced kind in all namespaces.
    fn everywhere(&mut self, kind: Kind, path: &str) {
        let info = kind.info();
        let list = self.schemas.list(kind, self.known);
        self.add(
            path,
            &Operation {
                method: "GET",
                id: format!("list{}{}ForAllNamespaces", group_words(kind), info.kind),
                about: format!("list or watch objects of kind {}", info.kind),
                action: "list",
                of: (info.group, info.version, info.kind),
                parameters: Parameters::List,
                takes: None,
                gives: (STREAMED, list),
                codes: &["200"],
            },
        );
    }

    /// The paths of watches as they once were.
    fn watches(&mut self, kind: Kind, root: &str) {
        let info = kind.info();
        let event = self.schemas.meta("WatchEvent", kind);
        let (all, within) = (format!("{root}/watch"), format!("{root}/watch/namespaces/{{namespace}}"));
        let mut watch = |path: String, action: &'static str, id: String| {
            let about = match action {
                "watch" => format!("watch changes to an object of kind {}", info.kind),
                _ => format!("watch individual changes to a list of {}", info.kind),
            };
            let about = format!("{about}. deprecated: use the 'watch' parameter with a list operation instead.");
            let gives = (&STREAMED[..2], event.clone());
            let of = (info.group, info.version, info.kind);
            let parameters = Parameters::List;
            self.add(
                &path,
                &Operation { method: "GET", id, about, action, of, parameters, takes: None, gives, codes: &["200"] },
            );
        };
        let words = group_words(kind);
        if info.namespaced {
            watch(
                format!("{all}/{}", info.plural),
                "watchlist",
                format!("watch{words}{}ListForAllNamespaces", info.kind),
            );
            watch(format!("{within}/{}", info.plural), "watchlist", format!("watch{words}Namespaced{}List", info.kind));
            watch(
                format!("{within}/{}/{{name}}", info.plural),
                "watch",
                format!("watch{words}Namespaced{}", info.kind),
            );
        } else {
            watch(format!("{all}/{}", info.plural), "watchlist", format!("watch{words}{}List", info.kind));
            watch(format!("{all}/{}/{{name}}", info.plural), "watch", format!("watch{words}{}", info.kind));
        }
    }

    /// Every method goes on to what is behind a proxy.
    fn proxies(&mut self, kind: Kind, path: &str) {
        let info = kind.info();
        let scope = if info.namespaced { "Namespaced" } else { "" };
        let with_path = if path.ends_with('}') { "WithPath" } else { "" };
        let options = format!("{}ProxyOptions", info.kind);
        for method in ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH"] {
            let word = capital(&method.to_lowercase());
            self.add(
                path,
                &Operation {
                    method,
                    id: format!("connect{}{word}{scope}{}Proxy{with_path}", group_words(kind), info.kind),
                    about: format!("connect {method} requests to proxy of {}", info.kind),
                    action: "connect",
                    of: (info.group, info.version, &options),
                    parameters: Parameters::Proxy,
                    takes: None,
                    gives: (ANYTHING, String::new()),
                    codes: &["200"],
                },
            );
        }
    }

    fn add(&mut self, path: &str, operation: &Operation) {
        let parameters = operation.parameters;
        let parameters = self.written.entry(parameters).or_insert_with(|| parameters.json());
        let json = self.paths.entry(path.to_owned()).or_default();
        json.key(&operation.method.to_lowercase()).object(|json| {
            let (group, version, _) = operation.of;
            let tag = if path.starts_with("/api/") { "core" } else { path.split('/').nth(2).unwrap_or(group) };
            json.key("tags").texts([format!("{}_{version}", tag_word(tag)).as_str()]);
            json.field("description", &operation.about);
            json.field("operationId", &operation.id);
            if !parameters.is_empty() {
                json.key("parameters").list(|json| json.raw(parameters));
            }
            if let Some((media, schema)) = &operation.takes {
                json.key("requestBody").object(|json| {
                    content(json, media, schema);
                    if operation.action != "delete" && operation.action != "deletecollection" {
                        json.raw("\"required\":true");
                    }
                });
            }
            let (media, schema) = &operation.gives;
            json.key("responses").object(|json| answers(json, operation.codes, media, schema));
            json.field("x-kubernetes-action", operation.action);
            json.key("x-kubernetes-group-version-kind").object(|json| {
                let (group, version, kind) = operation.of;
                json.field("group", group);
                json.field("version", version);
                json.field("kind", kind);
            });
        });
    }
}

/// What an operation answers when it succeeds, and what a stranger is answered. Without a schema it is text.
fn answers(json: &mut Writer, codes: &[&str], media: &[&str], schema: &str) {
    for code in codes {
        let about = match *code {
            "201" => "Created",
            "202" => "Accepted",
            _ => "OK",
        };
        json.key(code).object(|json| {
            json.field("description", about);
            content(json, media, schema);
        });
    }
    json.raw(r#""401":{"description":"Unauthorized"}"#);
}

/// The media types of a body, each with its schema.
fn content(json: &mut Writer, media: &[&str], schema: &str) {
    json.key("content").object(|json| {
        for media in media {
            json.key(media).object(|json| {
                json.key("schema").object(|json| match schema {
                    "" => json.field("type", "string"),
                    schema => json.field("$ref", &format!("{HERE}{schema}")),
                });
            });
        }
    });
}

/// What is left open in a path, and what every operation at it may be asked.
fn path_parameters(path: &str) -> String {
    let mut json = Writer::default();
    for (name, about) in [
        ("name", "The object's name."),
        ("namespace", "The namespace that it is in."),
        ("path", "The path behind the proxy."),
    ] {
        if path.contains(&format!("{{{name}}}")) {
            json.raw(&format!("{{\"name\":\"{name}\",\"in\":\"path\",\"description\":\"{about}\"{NAME}"));
        }
    }
    // Neither lists of kinds nor connections are laid out.
    let connects = ["/attach", "/exec", "/portforward", "/proxy", "/proxy/{path}"];
    if !path.ends_with('/') && !connects.iter().any(|end| path.ends_with(end)) {
        json.raw(PRETTY);
    }
    json.finish()
}

/// Whether a client that deletes such an object is given the object: of the others it gets a Status.
fn is_answered_with_object(kind: Kind) -> bool {
    use Kind::{PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate, ResourceQuota, Service, ServiceAccount};
    matches!(
        versions::stored_as(kind),
        Pod | Service | ServiceAccount | PersistentVolume | PersistentVolumeClaim | PodTemplate | ResourceQuota
    )
}

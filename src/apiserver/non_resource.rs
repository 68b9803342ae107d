//! What stands at paths that are no object's: the server's health ([`super::health`]), its version, and which kinds it
//! serves, a row of [`rest::discovery`] each.
//!
//! Requests are authenticated and authorized as everywhere; the rules that allow them name URLs. Authenticated users may
//! read discovery, all users may ask for the health and the version: see the ClusterRoles `system:discovery` and
//! `system:public-info-viewer`. `kubectl get --raw` reaches these paths.
//!
//! Mirrors `k8s.io/apiserver/pkg/server/{healthz,routes}` and `pkg/endpoints/discovery`.
//!
//! The aggregated form of discovery and OpenAPI documents are written by [`rest`], from the kinds that are served.
//!
//! Left out: profiles.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{ApiServer, Outcome, health, registry};
use object::go_types::Ordered;
use object::well_known::API_SERVER_ADDRESS;
use object::{Discovery, Kind, Status, metrics};
use rest::discovery::{build, part_of, parts, proxy_of, resource};
use rest::openapi;
use rest::path::is_served_group;
use rest::{NOT_FOUND, TEXT};
use wire::Response;

impl ApiServer {
    /// What stands there, or the 404.
    pub(super) fn page(&self, target: &str) -> Outcome {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if let Some(page) = health::page(path, query) {
            return Ok(page);
        }
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        if let Some(page) = self.side_page(&segments) {
            return Ok((200, page));
        }
        let found = match segments[..] {
            [""] | ["index.html"] => return Ok((200, self.index())),
            ["version"] => return Ok((200, version())),
            ["openapi", ..] => {
                // Its text is written where the answer leaves, by the same row of kinds.
                let code = if openapi::is_served(path, &self.discovery()) { 200 } else { 404 };
                return Ok((code, Response::Page { content_type: "", body: String::new() }));
            }
            ["api"] => Some(core_versions()),
            ["apis"] => Some(self.groups()),
            ["apis", group] => self.group(group),
            ["api", "v1"] => self.resources("", "v1"),
            ["apis", group, version] => self.resources(group, version),
            _ => None,
        };
        match found {
            Some(found) => Ok((200, Response::Page { content_type: "application/json", body: found.to_string() })),
            // Below a group of the server's own each path is answered in words for programs.
            None => match segments[..] {
                ["api", _] => Err(Status::not_served()),
                ["apis", group, _] if is_served_group(group) => Err(Status::not_served()),
                _ => Ok(self.nothing_at(path)),
            },
        }
    }

    /// The page for a path at which this server has nothing: it may be another server's, and none of those can be asked.
    pub(super) fn nothing_at(&self, path: &str) -> (u16, Response) {
        let segments: Vec<&str> = path.split('?').next().unwrap_or(path).trim_matches('/').split('/').collect();
        let page = |code, body: &str| (code, Response::Page { content_type: TEXT, body: body.to_owned() });
        match segments[..] {
            ["apis", group, version, ..] if self.remotes.serve(group, version) => page(503, "service unavailable\n"),
            _ => page(404, NOT_FOUND),
        }
    }

    /// All paths that are no object's. Mirrors `IndexLister` of `k8s.io/apiserver/pkg/server/routes`.
    fn index(&self) -> Response {
        let plain = PAGES.map(str::to_owned);
        let kinds = self.kinds();
        let groups = kinds.iter().map(|kind| kind.info()).filter(|info| !info.group.is_empty());
        let groups = groups.flat_map(|info| [format!("/apis/{}", info.group), format!("/apis/{}", info.api_version)]);
        let paths: BTreeSet<String> = plain.into_iter().chain(groups).chain(health::paths()).collect();
        let body = serde_json::to_string_pretty(&json!({"paths": paths})).unwrap_or_default();
        Response::Page { content_type: "application/json", body }
    }

    /// What clients learn of the kinds that users have defined.
    pub fn discovery(&self) -> Discovery {
        let definitions = self.store.prefix(registry::prefix(Kind::CustomResourceDefinition));
        let definitions: Vec<_> = definitions.map(|(_, entry)| entry.value.clone()).collect();
        Discovery::of(&definitions)
    }

    /// All that is served, in every version.
    fn kinds(&self) -> Vec<Kind> {
        rest::discovery::kinds(&self.discovery())
    }

    fn groups(&self) -> Value {
        let mut names: Vec<String> = Vec::new();
        let own = self.kinds().into_iter().map(|kind| kind.info().group.to_owned());
        for group in own.chain(self.of_others().map(|(group, _)| group.to_owned())) {
            if !group.is_empty() && !names.contains(&group) {
                names.push(group);
            }
        }
        let groups: Vec<Value> = names.iter().filter_map(|name| self.group(name)).map(without_type).collect();
        json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    }

    /// The groups and versions that other servers answer for, or should.
    fn of_others(&self) -> impl Iterator<Item = (&str, &str)> {
        let metrics = self.metrics.is_installed().then_some((metrics::GROUP, metrics::VERSION));
        metrics.into_iter().chain(self.remotes.served().filter(move |other| Some(*other) != metrics))
    }

    fn group(&self, name: &str) -> Option<Value> {
        let mut served: Vec<Value> = Vec::new();
        let kinds = self.kinds();
        let own = kinds.iter().map(|kind| (kind.info().group, kind.info().version));
        for (group, version) in own.chain(self.of_others()).filter(|(group, _)| *group == name && !name.is_empty()) {
            let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
            if !served.contains(&version) {
                served.push(version);
            }
        }
        let preferred = served.first()?.clone();
        Some(json!({"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": served,
            "preferredVersion": preferred}))
    }

    fn resources(&self, group: &str, version: &str) -> Option<Value> {
        if self.metrics.is_installed() && (group, version) == (metrics::GROUP, metrics::VERSION) {
            return Some(metrics_resources());
        }
        let known = self.discovery();
        let kinds =
            self.kinds().into_iter().filter(|kind| (kind.info().group, kind.info().version) == (group, version));
        let mut resources: Vec<Value> = Vec::new();
        for kind in kinds {
            resources.push(resource(&known, kind));
            resources.extend(parts(&known, kind).into_iter().map(|part| part_of(kind, part)));
            resources.extend(proxy_of(kind));
        }
        resources.sort_by_key(|resource| resource["name"].to_string());
        let of = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let list = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": of, "resources": resources});
        (!resources.is_empty()).then_some(list)
    }
}

/// What metrics-server says that it serves.
fn metrics_resources() -> Value {
    let row = |(name, kind, namespaced): (&str, &str, bool)| json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]});
    let resources = [("nodes", "NodeMetrics", false), ("pods", "PodMetrics", true)].map(row);
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": metrics::API_VERSION, "resources": resources})
}

/// The pages that are none of a group and none about the server's health.
const PAGES: [&str; 12] = [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/openid/v1/jwks",
    "/version",
];

/// Which versions of the group without a name there are, and where. Mirrors `legacyRootAPIHandler`.
fn core_versions() -> Value {
    let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": API_SERVER_ADDRESS}]);
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})
}

/// The page `/version`, which is indented for every client: the program, and the versions that it behaves as. Mirrors
/// `k8s.io/apiserver/pkg/server/routes.Version`.
fn version() -> Response {
    let mut version = build();
    for (field, number) in [("emulation", "36"), ("minCompatibility", "35")] {
        version[format!("{field}Major")] = json!("1");
        version[format!("{field}Minor")] = json!(number);
    }
    let body = serde_json::to_string_pretty(&Ordered::object("Info", &version)).unwrap_or_default();
    Response::Page { content_type: "application/json", body }
}

/// A group in a list does not repeat its kind.
fn without_type(mut group: Value) -> Value {
    if let Some(fields) = group.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    group
}

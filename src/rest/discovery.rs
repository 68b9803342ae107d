//! What clients learn of a kind: the rows of discovery. A row follows from which paths are served ([`super::path`]).
//!
//! Mirrors `k8s.io/apiserver/pkg/endpoints/installer.go`.

use serde_json::{Value, json};

use super::HttpAnswer;
use super::options::Query;
use super::path::{Shape, served_subresource};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion;
use object::discovery::group_rank;
use object::{Discovery, Kind, base64, metrics, sha256, versions};
use wire::{Subresource, Verb};

/// What may be done with kinds that users define, in the order that their server has.
const OF_CUSTOM: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// All kinds at once.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Every kind in every version that is served, in order of groups, and in a group of versions, the preferred one first.
pub fn kinds(known: &Discovery) -> Vec<Kind> {
    let custom = known.custom().flat_map(|kind| known.versions(kind));
    let mut kinds: Vec<Kind> = Kind::built_in().chain(versions::others()).chain(custom).collect();
    kinds.sort_by_key(|kind| (group_rank(kind.info().group), kind.info().group));
    kinds
}

/// The parts of a kind's objects that are served.
pub fn parts(known: &Discovery, kind: Kind) -> Vec<Subresource> {
    let declared = known.definition(kind).map(|definition| {
        let version = definition.spec.versions.iter().find(|version| version.name == kind.info().version);
        version.and_then(|version| version.subresources.as_ref())
    });
    let is_there = |part: &Subresource| match declared {
        None => served_subresource(kind, part.as_str()) == Some(*part),
        Some(parts) => match part {
            Subresource::Status => parts.is_some_and(|parts| parts.status.is_some()),
            Subresource::Scale => parts.is_some_and(|parts| parts.scale.is_some()),
            _ => false,
        },
    };
    Subresource::ALL.into_iter().filter(is_there).collect()
}

/// The page `/api` or `/apis` with all kinds of all groups, for clients that accept an `APIGroupDiscoveryList`. `plain` is
/// the page that lists groups alone.
///
/// Mirrors `k8s.io/apiserver/pkg/endpoints/discovery/aggregated`.
pub fn page(target: &str, plain: &str, known: &Discovery) -> HttpAnswer {
    let of_core = target.split('?').next().unwrap_or(target).trim_end_matches('/') == "/api";
    let plain: Value = serde_json::from_str(plain).unwrap_or_default();
    let groups: Vec<(&str, Vec<&str>)> = match of_core {
        true => vec![("", vec!["v1"])],
        false => plain["groups"].as_array().into_iter().flatten().map(group_of).collect(),
    };
    let kinds = kinds(known);
    let version = |group: &str, version: &str| {
        let here = kinds.iter().filter(|kind| (kind.info().group, kind.info().version) == (group, version));
        let mut resources: Vec<Value> = here.map(|kind| aggregated(known, *kind)).collect();
        if (group, version) == (metrics::GROUP, metrics::VERSION) {
            resources = [Kind::Node, Kind::Pod].into_iter().map(of_metrics).collect();
        }
        if resources.is_empty() {
            // Another server should answer for it, and does not.
            return json!({"version": version, "freshness": "Stale"});
        }
        resources.sort_by(|a, b| a["resource"].as_str().cmp(&b["resource"].as_str()));
        json!({"version": version, "resources": resources, "freshness": "Current"})
    };
    let group = |(group, versions): (&str, Vec<&str>)| {
        let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
        json!({"metadata": metadata, "versions": versions.into_iter().map(|name| version(group, name)).collect::<Vec<_>>()})
    };
    let items: Vec<Value> = groups.into_iter().map(group).collect();
    let items = Value::from(items).to_string();
    let body = format!(
        "{{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{{}},\"items\":{items}}}\n"
    );
    let tag = format!("\"{}\"", sha256::hex(&body).to_uppercase());
    let headers = vec![("Cache-Control", "public".to_owned()), ("Vary", "Accept".to_owned()), ("Etag", tag)];
    HttpAnswer { code: 200, content_type: AGGREGATED, headers, body }
}

/// The name and the versions of a group.
fn group_of(group: &Value) -> (&str, Vec<&str>) {
    let versions = group["versions"].as_array().into_iter().flatten();
    (group["name"].as_str().unwrap_or_default(), versions.filter_map(|one| one["version"].as_str()).collect())
}

/// A kind as such a page has it.
fn aggregated(known: &Discovery, kind: Kind) -> Value {
    let (row, info) = (resource(known, kind), kind.info());
    // Of its own kinds a server does not repeat in which group they are.
    let own = if known.definition(kind).is_some() { (info.group, info.version) } else { ("", "") };
    let kind_of = |row: &Value| {
        let (group, version) = match (row["group"].as_str(), row["version"].as_str()) {
            (None, None) => own,
            (group, version) => (group.unwrap_or_default(), version.unwrap_or_default()),
        };
        json!({"group": group, "version": version, "kind": row["kind"]})
    };
    let scope = if info.namespaced { "Namespaced" } else { "Cluster" };
    let mut all = json!({"resource": row["name"], "responseKind": kind_of(&row), "scope": scope,
        "singularResource": row["singularName"], "verbs": row["verbs"]});
    for field in ["shortNames", "categories"] {
        if !row[field].is_null() {
            all[field] = row[field].clone();
        }
    }
    let part = |row: Value| {
        let name = row["name"].as_str().and_then(|name| name.split_once('/')).map_or("", |(_, part)| part);
        json!({"subresource": name, "responseKind": kind_of(&row), "verbs": row["verbs"]})
    };
    let rows = parts(known, kind).into_iter().map(|part| part_of(kind, part)).chain(proxy_of(kind));
    let mut parts: Vec<Value> = rows.map(part).collect();
    if known.definition(kind).is_none() {
        parts.sort_by(|a, b| a["subresource"].as_str().cmp(&b["subresource"].as_str()));
    }
    if !parts.is_empty() {
        all["subresources"] = parts.into();
    }
    all
}

/// What Pods or nodes use, as metrics-server tells of it.
fn of_metrics(kind: Kind) -> Value {
    let info = kind.info();
    let scope = if info.namespaced { "Namespaced" } else { "Cluster" };
    let of = json!({"group": "", "version": "", "kind": format!("{}Metrics", info.kind)});
    json!({"resource": info.plural, "responseKind": of, "scope": scope, "singularResource": "", "verbs": ["get", "list"]})
}

/// The row of what is behind a proxy at an object of this kind; none, if there is no way to it.
pub fn proxy_of(kind: Kind) -> Option<Value> {
    let info = kind.info();
    let has_one = matches!(kind, Kind::Pod | Kind::Service | Kind::Node);
    has_one.then(|| {
        json!({"name": format!("{}/proxy", info.plural), "singularName": "", "namespaced": info.namespaced,
            "kind": format!("{}ProxyOptions", info.kind), "verbs": ["create", "delete", "get", "patch", "update"]})
    })
}

/// By what a client tells whether objects of a kind are stored as before: a hash of the version in which they are.
fn storage_version(known: &Discovery, kind: Kind) -> Option<String> {
    let stored = versions::stored_as(kind);
    if !stored.is_kept() {
        return None;
    }
    let info = stored.info();
    if let Some(definition) = known.definition(kind) {
        let is_stored = |version: &&_| -> bool {
            let version: &CustomResourceDefinitionVersion = version;
            version.name == info.version && version.storage
        };
        definition.spec.versions.iter().find(is_stored)?;
    }
    let digest = sha256::digest(format!("{}/{}/{}", info.group, info.version, info.kind).as_bytes());
    Some(base64::padded(&digest[..8]))
}

/// What clients learn of a kind: one row of an APIResourceList.
pub fn resource(known: &Discovery, kind: Kind) -> Value {
    let info = kind.info();
    let mut row = json!({"name": info.plural, "singularName": known.singular(kind), "namespaced": info.namespaced,
        "kind": info.kind, "verbs": if known.definition(kind).is_some() { OF_CUSTOM.to_vec() } else { verbs(kind, None) }});
    for (field, words) in
        [("shortNames", known.short_names(kind)), ("categories", known.categories(versions::stored_as(kind)))]
    {
        if !words.is_empty() {
            row[field] = json!(words);
        }
    }
    if let Some(hash) = storage_version(known, kind) {
        row["storageVersionHash"] = hash.into();
    }
    row
}

/// The row of a part of a kind's objects.
pub fn part_of(kind: Kind, part: Subresource) -> Value {
    let info = kind.info();
    let (of, group, version) = match part {
        Subresource::Scale => ("Scale", "autoscaling", "v1"),
        Subresource::Binding => ("Binding", "", ""),
        Subresource::Eviction => ("Eviction", "policy", "v1"),
        Subresource::Token => ("TokenRequest", "authentication.k8s.io", "v1"),
        Subresource::Exec => ("PodExecOptions", "", ""),
        Subresource::Attach => ("PodAttachOptions", "", ""),
        Subresource::PortForward => ("PodPortForwardOptions", "", ""),
        _ => (info.kind, "", ""),
    };
    let mut row = json!({"name": format!("{}/{}", info.plural, part.as_str()), "singularName": "",
        "namespaced": info.namespaced, "kind": of, "verbs": verbs(kind, Some(part))});
    for (field, value) in [("group", group), ("version", version)] {
        if !value.is_empty() {
            row[field] = value.into();
        }
    }
    row
}

/// What may be done with all of a kind, or with one.
pub fn verbs(kind: Kind, subresource: Option<Subresource>) -> Vec<&'static str> {
    let namespace = if kind.info().namespaced { "default" } else { "" };
    let shape = |name: &str| Shape { kind, namespace: namespace.to_owned(), name: name.to_owned(), subresource };
    let (all, one) = (shape(""), shape("one"));
    let mut verbs: Vec<Verb> = Vec::new();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let on_all = if subresource.is_none() { all.verb(method, &Query::default()) } else { None };
        let on_one = one.verb(method, &Query::default());
        for verb in on_all.into_iter().chain(on_one) {
            verbs.push(verb);
            if verb == Verb::List && kind.is_kept() {
                verbs.push(Verb::Watch);
            }
        }
    }
    let mut words: Vec<&str> = verbs.into_iter().map(Verb::as_str).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// What a program of this version says of itself.
pub fn build() -> Value {
    json!({"major": "1", "minor": "36", "gitVersion": "v1.36.2", "gitCommit": "0".repeat(40), "gitTreeState": "clean",
        "buildDate": "2026-06-01T00:00:00Z", "goVersion": "go1.26.6", "compiler": "gc", "platform": "linux/amd64"})
}

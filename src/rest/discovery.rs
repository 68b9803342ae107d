//! What clients learn of a kind: the rows of discovery. A row follows from which paths are served ([`super::path`]).
//!
//! Mirrors `k8s.io/apiserver/pkg/endpoints/installer.go`.

use serde_json::{Value, json};

use super::options::Query;
use super::path::Shape;
use object::{Discovery, Kind};
use wire::{Subresource, Verb};

/// What clients learn of a kind: one row of an APIResourceList.
pub fn resource(known: &Discovery, kind: Kind) -> Value {
    let info = kind.info();
    let mut row = json!({"name": info.plural, "singularName": known.singular(kind), "namespaced": info.namespaced,
        "kind": info.kind, "verbs": verbs(kind, None)});
    for (field, words) in [("shortNames", known.short_names(kind)), ("categories", known.categories(kind))] {
        if !words.is_empty() {
            row[field] = json!(words);
        }
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

/// What a program of this version says of itself. Left out: the commit and the date of a build.
pub fn build() -> Value {
    json!({"major": "1", "minor": "36", "gitVersion": "v1.36.2", "gitTreeState": "clean", "goVersion": "go1.26.6",
        "compiler": "gc", "platform": "linux/amd64"})
}

//! Where objects live in the store. Mirrors `pkg/registry` and `storage/etcd3`.

use crate::table::facts;
use object::Kind;

/// The etcd path of a kind: `/registry/pods/`, `/registry/minions/` …
pub fn prefix(kind: Kind) -> &'static str {
    match kind {
        Kind::Custom(kind) => kind.prefix(),
        _ => facts(kind).etcd,
    }
}

/// The etcd key of one object: `/registry/pods/default/web`.
pub fn key(kind: Kind, namespace: &str, name: &str) -> String {
    if kind.info().namespaced { [prefix(kind), namespace, "/", name].concat() } else { [prefix(kind), name].concat() }
}

/// The key prefix of all objects of a kind, in one namespace or (empty) in all.
pub fn list_prefix(kind: Kind, namespace: &str) -> String {
    if namespace.is_empty() || !kind.info().namespaced {
        prefix(kind).to_owned()
    } else {
        format!("{}{namespace}/", prefix(kind))
    }
}

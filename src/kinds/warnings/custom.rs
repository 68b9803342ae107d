//! What is said of custom objects. Mirrors `generateWarningsFromObj` of apiextensions' `pkg/registry/customresource`.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::validation::metadata::is_standard_finalizer;
use object::selector::names::check_label_key;

/// Finalizers that have come and that another author could use too, because they name no domain.
pub fn of_finalizers(told: &mut Vec<String>, new: &ObjectMeta, old: Option<&ObjectMeta>) {
    let of = |meta: &ObjectMeta| meta.finalizers.iter().flatten().cloned().collect::<BTreeSet<_>>();
    let before = old.map(of).unwrap_or_default();
    for name in of(new).difference(&before) {
        let warn = |what: &str| format!("metadata.finalizers: {name:?}: {what}");
        told.extend(check_label_key(name).iter().map(|what| warn(what)));
        if name.contains('/') || is_standard_finalizer(name) {
            continue;
        }
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        told.push(warn(&format!(
            "prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        )));
    }
}

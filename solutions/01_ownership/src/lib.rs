//! Exercise 01: which Pods are mine?
//!
//! Suppose that a ReplicaSet is shown every Pod of the cluster. Labels say which ones it selects; owner references say whose
//! they are. Both can change at any time. Say what the ReplicaSet does with one Pod: keep it, adopt it, release it or leave it
//! alone.
//!
//! If these types are new to you: `src/exercise/reading.rs` shows how to read fields that may be absent.

#![allow(unused_imports)]

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use kubestep_exercise::ownership::Claim;

// Yours from here.

/// What a ReplicaSet that sees a Pod does with it.
pub fn claim(replica_set: &ReplicaSet, pod: &Pod) -> Claim {
    let (mine, its) = (&replica_set.metadata, &pod.metadata);
    let selector = replica_set.spec.as_ref().map(|spec| &spec.selector);
    let selected = selector.is_some_and(|selector| selects(selector, its.labels.as_ref()));
    let leaving = mine.deletion_timestamp.is_some();
    let owners = its.owner_references.iter().flatten();
    match { owners }.find(|owner| owner.controller == Some(true)) {
        Some(owner) if Some(&owner.uid) != mine.uid.as_ref() => Claim::Leave,
        Some(_) if selected => Claim::Keep,
        Some(_) if leaving => Claim::Leave,
        Some(_) => Claim::Release,
        None if !selected || leaving || its.deletion_timestamp.is_some() => Claim::Leave,
        None if its.namespace != mine.namespace => Claim::Leave,
        None => Claim::Adopt,
    }
}

/// Whether labels satisfy every part of a selector.
fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let label = |key: &String| labels.and_then(|labels| labels.get(key));
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| label(key) == Some(value));
    let mut parts = selector.match_expressions.iter().flatten();
    equal
        && parts.all(|part| {
            let value = label(&part.key);
            let listed = value.is_some_and(|value| part.values.iter().flatten().any(|one| one == value));
            match part.operator.as_str() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                _ => value.is_none(),
            }
        })
}

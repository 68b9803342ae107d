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

/// By tables: what is so in words, and what follows.
pub fn claim(replica_set: &ReplicaSet, pod: &Pod) -> Claim {
    let (set, pod) = (&replica_set.metadata, &pod.metadata);
    let selector = &replica_set.spec.as_ref().expect("a ReplicaSet has a spec").selector;
    let selected = selects(selector, pod.labels.as_ref());
    let controller = pod.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let mine = controller.map(|owner| Some(&owner.uid) == set.uid.as_ref());
    let gone = |time: bool, other: Claim| if time { Claim::Leave } else { other };
    let dying = set.deletion_timestamp.is_some();
    match (mine, selected) {
        (Some(false), _) | (None, false) => Claim::Leave,
        (Some(true), true) => Claim::Keep,
        (Some(true), false) => gone(dying, Claim::Release),
        (None, true) => gone(dying || pod.deletion_timestamp.is_some() || pod.namespace != set.namespace, Claim::Adopt),
    }
}

/// Whether no requirement is without what it asks for.
fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let label = |key: &String| labels.and_then(|labels| labels.get(key));
    let no_pair = selector.match_labels.iter().flatten().all(|(key, value)| label(key) == Some(value));
    let expressions = selector.match_expressions.iter().flatten();
    no_pair
        && !expressions.into_iter().any(|one| {
            let among = |value: &String| one.values.iter().flatten().any(|other| other == value);
            match &*one.operator {
                "In" => !label(&one.key).is_some_and(among),
                "NotIn" => label(&one.key).is_some_and(among),
                "Exists" => label(&one.key).is_none(),
                "DoesNotExist" => label(&one.key).is_some(),
                _ => true,
            }
        })
}

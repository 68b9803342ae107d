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

/// By folding the selector's demands into one list.
pub fn claim(replica_set: &ReplicaSet, pod: &Pod) -> Claim {
    let none = BTreeMap::new();
    let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
    let selector = replica_set.spec.as_ref().map(|spec| spec.selector.clone()).unwrap_or_default();
    let mut demands: Vec<bool> = Vec::new();
    demands.extend(selector.match_labels.unwrap_or_default().iter().map(|(k, v)| labels.get(k) == Some(v)));
    demands.extend(selector.match_expressions.unwrap_or_default().iter().map(|part| {
        let there = labels.contains_key(&part.key);
        let among = part.values.as_ref().is_some_and(|values| values.iter().any(|v| labels.get(&part.key) == Some(v)));
        [("In", among), ("NotIn", !among), ("Exists", there), ("DoesNotExist", !there)]
            .into_iter()
            .any(|(operator, holds)| operator == part.operator && holds)
    }));
    let selected = demands.into_iter().all(|demand| demand);
    let alive = replica_set.metadata.deletion_timestamp.is_none();
    for owner in pod.metadata.owner_references.as_deref().unwrap_or(&[]) {
        if owner.controller != Some(true) {
            continue;
        }
        let mine = replica_set.metadata.uid.as_deref() == Some(&owner.uid);
        return match mine {
            true if selected => Claim::Keep,
            true if alive => Claim::Release,
            _ => Claim::Leave,
        };
    }
    let same = replica_set.metadata.namespace == pod.metadata.namespace;
    let may = alive && same && pod.metadata.deletion_timestamp.is_none();
    if selected && may { Claim::Adopt } else { Claim::Leave }
}

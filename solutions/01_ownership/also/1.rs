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

/// A ladder of ifs.
pub fn claim(replica_set: &ReplicaSet, pod: &Pod) -> Claim {
    let controller: Option<OwnerReference> = pod
        .metadata
        .owner_references
        .clone()
        .unwrap_or_default()
        .into_iter()
        .filter(|owner| owner.controller.unwrap_or(false))
        .next();
    let deleted = replica_set.metadata.deletion_timestamp.is_some();
    if let Some(owner) = controller {
        if owner.uid != replica_set.metadata.uid.clone().unwrap_or_default() {
            return Claim::Leave;
        }
        if matches(replica_set, pod) {
            return Claim::Keep;
        }
        return if deleted { Claim::Leave } else { Claim::Release };
    }
    if deleted || pod.metadata.deletion_timestamp.is_some() {
        return Claim::Leave;
    }
    if pod.metadata.namespace == replica_set.metadata.namespace && matches(replica_set, pod) {
        return Claim::Adopt;
    }
    Claim::Leave
}

fn matches(replica_set: &ReplicaSet, pod: &Pod) -> bool {
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    let selector = replica_set.spec.clone().unwrap_or_default().selector;
    for (key, value) in selector.match_labels.unwrap_or_default() {
        if labels.get(&key) != Some(&value) {
            return false;
        }
    }
    for part in selector.match_expressions.unwrap_or_default() {
        let values = part.values.unwrap_or_default();
        let holds = match (part.operator.as_str(), labels.get(&part.key)) {
            ("In", Some(value)) => values.contains(value),
            ("In", None) => false,
            ("NotIn", Some(value)) => !values.contains(value),
            ("NotIn", None) => true,
            ("Exists", found) => found.is_some(),
            (_, found) => found.is_none(),
        };
        if !holds {
            return false;
        }
    }
    true
}

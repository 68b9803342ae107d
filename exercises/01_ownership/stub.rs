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
    let _ = (replica_set, pod);
    kubestep_exercise::not_started()
}

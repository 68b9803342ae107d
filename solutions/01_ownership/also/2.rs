//! Exercise 01: which Pods are mine?
//!
//! A ReplicaSet sees every Pod of the cluster. Labels say which ones it selects; owner references say whose they are. Both
//! can change at any time. Say what the ReplicaSet does with one Pod: keep it, adopt it, release it or leave it alone.

#![allow(unused_imports)]

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use kubestep_exercise::ownership::Claim;

// Yours from here.

/// With the crate's own selector.
pub fn claim(replica_set: &ReplicaSet, pod: &Pod) -> Claim {
    use kubestep::object::meta::controller_of;
    let selector = &replica_set.spec.as_ref().expect("a ReplicaSet has a spec").selector;
    let selected = kubestep::object::selector::selects(selector, pod.metadata.labels.as_ref());
    let mine = controller_of(&pod.metadata).map(|owner| Some(owner.uid.clone()) == replica_set.metadata.uid);
    let gone = |time: bool, other: Claim| if time { Claim::Leave } else { other };
    let dying = replica_set.metadata.deletion_timestamp.is_some();
    match (mine, selected) {
        (Some(false), _) | (None, false) => Claim::Leave,
        (Some(true), true) => Claim::Keep,
        (Some(true), false) => gone(dying, Claim::Release),
        (None, true) => gone(
            dying
                || pod.metadata.deletion_timestamp.is_some()
                || pod.metadata.namespace != replica_set.metadata.namespace,
            Claim::Adopt,
        ),
    }
}

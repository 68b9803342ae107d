//! Exercise 07: a ReplicaSet and its Pods, seen through a cache that is behind.

use std::future::Future;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;

use crate::host::Host;
use crate::kube::{Action, Context, Error};
use crate::process;

/// Answers with these functions: one is called for each change of a Pod.
pub fn answer<F>(
    observe: impl Fn(Option<Pod>, Option<Pod>, &Context) + 'static,
    reconcile: impl Fn(Arc<ReplicaSet>, Arc<Context>) -> F + 'static,
) where
    F: Future<Output = Result<Action, Error>> + 'static,
{
    process::control(|read| Host::new(read, reconcile).observing(observe));
}

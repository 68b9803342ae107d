//! Duplicate Pods from a stale cache (ray-project/kuberay#715, ai-dynamo/grove#122, and most controllers in their first
//! week; suspected in #41675 and #88851).
//!
//! A controller counts the Pods in its cache and creates what is missing. Its cache is fed by a watch, so it lags behind
//! by some milliseconds, or by seconds when the API server is busy. If anything wakes the controller within that time,
//! it counts again, does not find what it has just created, and creates it again.
//!
//! Right: to write down before each creation that one is expected, and to do nothing for this object until the watch has
//! shown it. That is what [`controllers::expectations`] does for the shipped controller.

use std::sync::LazyLock;

use client::Registration;
use cluster::Parts;
use object::Kind;

use super::replicas::{Guard, Replicas};
use super::shipped_with;

/// In the place of the ReplicaSet controller.
const ROW: Registration = Registration {
    watches: &[Kind::ReplicaSet, Kind::Pod],
    workers: 5,
    ..Registration::new("replicaset-controller", &|context| Replicas::with(Guard::None, context))
};

static CONTROLLERS: LazyLock<Vec<Registration>> = LazyLock::new(|| shipped_with(&ROW));

/// A cluster with the wrong controller.
pub fn parts() -> Parts {
    Parts { controllers: &CONTROLLERS, ..Parts::default() }
}

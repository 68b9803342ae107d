//! Expectations that expire while the watch lags behind (#129795).
//!
//! Expectations end after five minutes, so that an event that never comes does not stop a controller for ever. But if the
//! watch of Pods hangs for longer than that, the cache is as old as before, nothing keeps the controller from counting,
//! and it creates everything a second time.
//!
//! Right, since Kubernetes 1.36: besides, to remember at which revision one has written, and not to work on a cache that
//! has not come as far, however long that takes: [`controllers::consistency`].

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
    ..Registration::new("replicaset-controller", &|context| Replicas::with(Guard::CheckThenCount, context))
};

static CONTROLLERS: LazyLock<Vec<Registration>> = LazyLock::new(|| shipped_with(&ROW));

/// A cluster with the wrong controller.
pub fn parts() -> Parts {
    Parts { controllers: &CONTROLLERS, ..Parts::default() }
}

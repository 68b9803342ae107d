//! To count first, and to ask then whether the count was good (pull request #8138, 2015).
//!
//! The controller has expectations, and looks at them; but it lists the Pods before that. If the last Pod that it waits
//! for shows between the two, the list is without it, and the expectations say that all was seen. It creates one more.
//!
//! Right: to look at the expectations first. What the cache shows after that can only be newer than what they say.

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
    ..Registration::new("replicaset-controller", &|context| Replicas::with(Guard::CountThenCheck, context))
};

static CONTROLLERS: LazyLock<Vec<Registration>> = LazyLock::new(|| shipped_with(&ROW));

/// A cluster with the wrong controller.
pub fn parts() -> Parts {
    Parts { controllers: &CONTROLLERS, ..Parts::default() }
}

//! Controllers: each watches some kinds and brings the cluster, one object at a time, closer to what is asked for.
//!
//! They all run in one process, kube-controller-manager, and share its informers; each has a work queue, a service
//! account and a rate limit of its own. None knows of another: the Deployment controller writes ReplicaSets, and the
//! ReplicaSet controller finds out by its watch.
//!
//! Adding a controller takes one file and one row in [`TABLE`].

pub mod manager;

pub use manager::ControllerManager;

use crate::client::Registration;

/// The controllers of kube-controller-manager.
pub static TABLE: &[Registration] = &[];

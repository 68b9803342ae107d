//! Controllers: each watches some kinds and brings the cluster, one object at a time, closer to what is asked for.
//!
//! They all run in one process, kube-controller-manager, and share its informers; each has a work queue, a service
//! account and a rate limit of its own. None knows of another: the Deployment controller writes ReplicaSets, and the
//! ReplicaSet controller finds out by its watch.
//!
//! Adding a controller takes one file and one row in [`TABLE`].
//!
//! Those in [`apiextensions`] belong to the API server, and run in a process of their own.
//!
//! What several of them need:
//!
//! - [`claim`]: who owns what a selector selects.
//! - [`expectations`] and [`consistency`]: guards against acting on an old cache.
//! - [`pods`]: which Pods count, and making them from a template.
//! - [`service_pods`]: which Pods stand behind a Service.
//! - [`history`]: the templates that a DaemonSet or a StatefulSet had before.
//! - [`volumes`]: who uses which claim.
//! - [`node_taints`]: comparing and writing the taints of nodes.
//! - [`disruption_target`]: saying of a Pod that it did not end by itself.

pub mod manager;

pub mod cronjob;
pub mod daemon;
pub mod deployment;
pub mod job;
pub mod podautoscaler;
pub mod replicaset;
pub mod statefulset;
pub mod ttl_after_finished;

pub mod endpoint_slice;
pub mod endpoint_slice_mirroring;
pub mod endpoints;
pub mod garbage_collector;

pub mod certificates;
pub mod clusterrole_aggregation;
pub mod namespace;
pub mod root_ca;
pub mod service_account;
pub mod tokens;
pub mod validating_admission_policy_status;

pub mod apiextensions;

pub mod attach_detach;
pub mod attributes_protection;
pub mod ephemeral_volume;
pub mod persistent_volume;
pub mod storage_protection;
pub mod volume_expand;

pub mod disruption;
pub mod node_ipam;
pub mod node_lifecycle;
pub mod pod_gc;
pub mod resource_quota;
pub mod taint_eviction;
pub mod ttl;

pub mod claim;
pub mod consistency;
pub mod disruption_target;
pub mod expectations;
pub mod history;
pub mod node_taints;
pub mod pods;
pub mod service_pods;
pub mod volumes;

pub use manager::ControllerManager;

use client::Registration;

/// The controllers of kube-controller-manager.
pub static TABLE: &[Registration] = &[
    deployment::REGISTRATION,
    replicaset::REGISTRATION,
    replicaset::REPLICATION,
    cronjob::REGISTRATION,
    daemon::REGISTRATION,
    statefulset::REGISTRATION,
    job::REGISTRATION,
    job::orphans::REGISTRATION,
    ttl_after_finished::REGISTRATION,
    podautoscaler::REGISTRATION,
    disruption::REGISTRATION,
    disruption::stale::REGISTRATION,
    endpoints::REGISTRATION,
    endpoint_slice::REGISTRATION,
    endpoint_slice_mirroring::REGISTRATION,
    garbage_collector::REGISTRATION,
    node_ipam::REGISTRATION,
    node_lifecycle::REGISTRATION,
    persistent_volume::REGISTRATION,
    pod_gc::REGISTRATION,
    resource_quota::REGISTRATION,
    storage_protection::CLAIMS,
    attach_detach::REGISTRATION,
    volume_expand::REGISTRATION,
    storage_protection::VOLUMES,
    clusterrole_aggregation::REGISTRATION,
    namespace::REGISTRATION,
    root_ca::REGISTRATION,
    ephemeral_volume::REGISTRATION,
    service_account::REGISTRATION,
    taint_eviction::REGISTRATION,
    tokens::REGISTRATION,
    ttl::REGISTRATION,
    validating_admission_policy_status::REGISTRATION,
    attributes_protection::REGISTRATION,
    certificates::approving::REGISTRATION,
    certificates::signing::REGISTRATION,
    certificates::cleaner::REGISTRATION,
];

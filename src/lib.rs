//! kubestep: Kubernetes, one event at a time.
//!
//! The modules in reading order, from the floor up; each may use only those before it.

pub use kubestep_machinery::{apiserver, client, engine, kinds, object, rules, store, wire};

pub use kubestep_controllers::controllers;

pub use kubestep_scheduler::scheduler;

pub use kubestep_network as network;

pub use kubestep_userland as userland;

pub use kubestep_kubelet as kubelet;

pub use kubestep_kubectl as kubectl;

pub use kubestep_cluster::cluster;

pub use kubestep_bugs as bugs;

pub use kubestep_debugger as debugger;

pub use kubestep_stepper as stepper;

pub use kubestep_exercise as exercise;

pub mod lab;

pub mod cli;

/// Every step makes and drops some hundred small values; the system's allocator took a third of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

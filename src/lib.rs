//! kubestep: Kubernetes, one event at a time.
//!
//! The modules in reading order, from the floor up; each may use only those before it.

pub mod object;

pub mod store;

pub mod apiserver;

pub mod engine;

pub mod client;

pub mod controllers;

pub mod scheduler;

pub mod node;

pub mod cluster;

pub mod bugs;

pub mod debugger;

pub mod lab;

#[cfg(feature = "book")]
pub mod book;

#[cfg(feature = "book")]
pub mod serve;

pub mod cli;

/// Every step makes and drops some hundred small values; the system's allocator took a third of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

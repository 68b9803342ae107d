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

pub mod debugger;

pub mod cli;

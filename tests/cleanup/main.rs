//! What happens after things die: garbage collection, namespaces, Pods of lost nodes.

mod accounts;
mod custom;
mod garbage_collector;
mod namespace;
mod pod_gc;
mod replication_controller;
mod world;

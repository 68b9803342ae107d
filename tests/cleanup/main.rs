//! What happens after things die: garbage collection, namespaces, Pods of lost nodes.

mod garbage_collector;
mod replication_controller;
mod world;

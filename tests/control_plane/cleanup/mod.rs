//! What happens after things die: garbage collection, namespaces, Pods of lost nodes, Pods that their owners make again.

mod accounts;
mod cron_job;
mod custom;
mod events;
mod garbage_collector;
mod harness;
mod namespace;
mod own_service;
mod pod_gc;
mod replication_controller;
mod workloads;

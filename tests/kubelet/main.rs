//! The kubelet: alone on its node, and in a whole cluster.

mod cluster;
mod harness;
mod node;
mod probes;
mod runtime;
mod scripts;
mod static_pods;
#[path = "../world/mod.rs"]
mod world;

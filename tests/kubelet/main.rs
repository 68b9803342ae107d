//! The kubelet: alone on its node, in a whole cluster, and on five hundred nodes.

mod cluster;
mod harness;
mod node;
mod probes;
mod runtime;
mod scale;
mod scripts;
mod static_pods;
#[path = "../world/mod.rs"]
mod world;

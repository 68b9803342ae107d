//! The kubelet: alone on its node, and in a whole cluster.

mod alone;
mod cluster;
mod probes;
mod runtime;
#[path = "../scenario/mod.rs"]
mod scenario;
mod scripts;
mod static_pods;
#[path = "../world/mod.rs"]
mod world;

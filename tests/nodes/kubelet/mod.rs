//! The kubelet: alone on its node, and in a whole cluster.

mod alone;
mod cluster;
mod probes;
mod runtime;
mod scripts;
mod static_pods;

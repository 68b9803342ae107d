//! The kubelet.
pub mod actions;
pub mod admission;
pub mod backoff;
pub mod images;
pub mod node_status;
pub mod params;
pub mod probes;
pub mod restart;
pub mod runtime_pod;
pub mod status;
#[cfg(test)]
pub(crate) mod testing;

//! Nodes.
pub mod kubelet;

//! Nodes: where Pods really run.
//!
//! A node is a handful of processes that meet at narrow interfaces: the kubelet, which follows the API server; the
//! container runtime, which it calls through CRI; and the network plugins, which the runtime calls through CNI. What they
//! share is the machine ([`host`]): its disk and its kernel.

/// The release of the machines' kernel: that of the machine the recordings ran on, as a fake cAdvisor says it.
pub const KERNEL: &str = "3.16.0-0.bpo.4-amd64";

pub mod cni;
pub mod coredns;
pub mod cri;
pub mod csi;
pub mod disk;
pub mod host;
pub mod install;
pub mod kubelet;
pub mod netfilter;
pub mod network;
pub mod policy;
pub mod proxy;
pub mod runtime;
pub mod shell;
pub mod small_map;

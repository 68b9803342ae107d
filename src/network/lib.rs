//! Nodes: where Pods really run.
//!
//! A node is a handful of processes that meet at narrow interfaces: the kubelet, which follows the API server; the
//! container runtime, which it calls through CRI; and the network plugins, which the runtime calls through CNI. What they
//! share is the machine ([`host`]): its disk and its kernel.
//!
//! - [`kubelet`]: makes Pods of the API server, and of files, run. [`runtime`]: runs their containers, behind [`cri`].
//! - [`cni`]: network plugins, behind CNI. [`csi`]: storage, behind CSI. [`disk`]: the machine's files.
//! - [`network`], [`netfilter`]: the kernel's part, packets and the rules that they meet.
//! - [`proxy`]: kube-proxy, which writes such rules. [`policy`]: the agent that enforces NetworkPolicies.
//! - [`coredns`]: the cluster's DNS server, in Pods of its own.
//! - [`install`]: what an installer leaves on a machine. [`shell`]: a line of a shell, read; [`small_map`]: a map for a few
//!   things.

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

//! Nodes: kubelet and runtime, CNI and packets, Services and policies, storage.

mod cni;
mod dns;
mod kubeadm;
mod kubelet;
mod machines;
mod mistakes;
mod packets;
mod policies;
mod real_network;
mod services;
mod sites;
mod storage;
#[path = "../world/mod.rs"]
mod world;

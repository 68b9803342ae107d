//! The network of one node, as data: links, addresses, routes, rules.

use std::collections::BTreeMap;

use super::ipam::HostLocal;

/// One end of a veth pair on the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// `veth1a2b3c4d`.
    pub name: String,
    /// The namespace that holds the other end.
    pub netns: String,
    /// The other end's name.
    pub peer: String,
    /// The Pod's address.
    pub address: String,
}

/// A node's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeNetwork {
    /// Whether `cni0` is there; the first ADD makes it.
    pub bridge_up: bool,
    /// The bridge's ports by sandbox.
    pub ports: BTreeMap<String, Port>,
    /// Sandboxes with masquerade rules, by chain name.
    pub masquerade: BTreeMap<String, String>,
    /// Addresses.
    pub ipam: HostLocal,
}

impl NodeNetwork {
    /// The network of a node whose Pods get addresses of `subnet`.
    pub fn new(subnet: &str) -> NodeNetwork {
        NodeNetwork {
            bridge_up: false,
            ports: BTreeMap::new(),
            masquerade: BTreeMap::new(),
            ipam: HostLocal::new(subnet),
        }
    }
}

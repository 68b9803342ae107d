//! The network of one node, as data: links, addresses, routes, rules.

use std::collections::BTreeMap;

use super::config::NetworkConfig;
use super::ipam::HostLocal;

/// A veth pair: one end is a port of the node's bridge, the other is in a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// `veth1a2b3c4d`, on the node.
    pub name: String,
    /// The namespace that holds the other end.
    pub netns: String,
    /// The other end's name.
    pub peer: String,
    /// The Pod's address; empty until the address plugin has given one.
    pub address: String,
}

/// A node's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeNetwork {
    /// What the plugins are configured with.
    pub config: NetworkConfig,
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
            config: NetworkConfig::new(subnet),
            bridge_up: false,
            ports: BTreeMap::new(),
            masquerade: BTreeMap::new(),
            ipam: HostLocal::new(subnet),
        }
    }

    /// What `ip address` on the node would list, shortened: a link a line, with its address or its master.
    pub fn links(&self) -> Vec<String> {
        let mut lines = vec!["lo 127.0.0.1/8".to_owned()];
        if self.bridge_up {
            let (bridge, gateway, prefix) = (&self.config.bridge, self.ipam.gateway(), self.ipam.prefix);
            lines.push(format!("{bridge} {gateway}/{prefix}"));
        }
        let bridge = &self.config.bridge;
        lines.extend(self.ports.values().map(|port| format!("{} master {bridge} peer {}", port.name, port.netns)));
        lines
    }

    /// What `ip address` and `ip route` in a sandbox's namespace would list, shortened. Empty if it has no network.
    pub fn inside(&self, sandbox: &str) -> Vec<String> {
        let Some(port) = self.ports.get(sandbox).filter(|port| !port.address.is_empty()) else { return Vec::new() };
        let (prefix, subnet, gateway) = (self.ipam.prefix, &self.config.subnet, self.ipam.gateway());
        vec![
            "lo 127.0.0.1/8".to_owned(),
            format!("{} {}/{prefix}", port.peer, port.address),
            format!("default via {gateway} dev {}", port.peer),
            format!("{subnet} dev {} src {}", port.peer, port.address),
        ]
    }
}

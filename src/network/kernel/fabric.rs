//! What lies between the machines: a switch that all nodes hang on, and the routes that the network add-on keeps.
//!
//! A real add-on is a daemon on every node that watches Nodes and writes a route for each Pod range: through the other
//! node itself where all nodes share a switch (host-gw), or into a tunnel (VXLAN). Here those routes are one table that
//! all nodes share, kept by the code that assembles the cluster; `ip route` on a node shows it with the node's own.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::netfilter::Cidr;
use engine::{ActorId, Hub, Memory};

/// How packets get from a Pod of one node to a Pod of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nodes are one another's routers.
    #[default]
    HostGateway,
    /// Nodes wrap packets in UDP and send them to one another.
    Vxlan,
}

/// The port that VXLAN packets go to: Linux' old one, which flannel keeps.
pub const VXLAN_PORT: u16 = 8472;
/// The device of the overlay on a node.
pub const VXLAN_DEVICE: &str = "flannel.1";
/// The machine outside the cluster, which is also the nodes' way to everywhere.
pub const OUTSIDE: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 1);
/// The control plane's machine, on which the API server listens. It is no node.
pub const CONTROL_PLANE: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 2);
/// A web server somewhere on the internet; the machine outside answers for it.
pub const EXAMPLE: (&str, Ipv4Addr) = ("example.com", Ipv4Addr::new(203, 0, 113, 80));

/// The switch and the shared routes. Cloning copies a pointer.
#[derive(Clone)]
pub struct Fabric(Memory<Wires>);

#[derive(Clone, Default)]
struct Wires {
    mode: Mode,
    machines: BTreeMap<Ipv4Addr, (ActorId, String)>,
    ranges: BTreeMap<Cidr, Ipv4Addr>,
    /// The same by node.
    range_of: BTreeMap<Ipv4Addr, Cidr>,
    dns: Option<ActorId>,
    proxied: bool,
    kubelets: BTreeMap<String, ActorId>,
}

/// A way to another node's Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The Pods' range.
    pub range: Cidr,
    /// The node.
    pub node: Ipv4Addr,
    /// Through a tunnel, or straight.
    pub mode: Mode,
}

impl Fabric {
    /// A switch with nothing on it.
    pub fn new(hub: &Hub, mode: Mode) -> Fabric {
        Fabric(hub.memory(Wires { mode, ..Wires::default() }))
    }

    /// How packets cross nodes.
    pub fn mode(&self) -> Mode {
        self.0.borrow().mode
    }

    /// Plugs a machine in: from now on it answers for its address.
    pub fn plug(&self, address: Ipv4Addr, kernel: ActorId, name: &str) {
        self.0.borrow_mut().machines.insert(address, (kernel, name.to_owned()));
    }

    /// A machine is gone; what it was remembered for stays.
    pub fn unplug(&self, name: &str) {
        self.0.borrow_mut().machines.retain(|_, (_, there)| there != name);
    }

    /// The add-on learns which Pods a node has. What it had before is forgotten.
    pub fn assign(&self, range: Cidr, node: Ipv4Addr) {
        self.release(node);
        let wires = &mut *self.0.borrow_mut();
        wires.range_of.insert(node, range.network());
        wires.ranges.insert(range.network(), node);
    }

    /// The range of a node's Pods.
    pub fn range_of(&self, node: Ipv4Addr) -> Option<Cidr> {
        self.0.borrow().range_of.get(&node).copied()
    }

    /// Whether no node has this range.
    pub fn is_free(&self, range: Cidr) -> bool {
        !self.0.borrow().ranges.contains_key(&range.network())
    }

    /// A node has no Pods any more.
    pub fn release(&self, node: Ipv4Addr) {
        let wires = &mut *self.0.borrow_mut();
        if let Some(range) = wires.range_of.remove(&node).filter(|range| wires.ranges.get(range) == Some(&node)) {
            wires.ranges.remove(&range);
        }
    }

    /// Who answers for an address on the switch.
    pub fn machine_at(&self, address: Ipv4Addr) -> Option<ActorId> {
        self.0.borrow().machines.get(&address).map(|(kernel, _)| *kernel)
    }

    /// The name of the machine with this address; the address itself if there is none.
    pub fn name_of(&self, address: Ipv4Addr) -> String {
        self.0.borrow().machines.get(&address).map_or_else(|| address.to_string(), |(_, name)| name.clone())
    }

    /// The kernel of a machine by the machine's name.
    pub fn machine(&self, name: &str) -> Option<ActorId> {
        self.0.borrow().machines.values().find(|(_, there)| there == name).map(|(kernel, _)| *kernel)
    }

    /// The first node that is up, in the order of addresses.
    pub fn first_node(&self) -> Option<String> {
        let is_node = |address: &Ipv4Addr| ![OUTSIDE, CONTROL_PLANE].contains(address);
        self.0.borrow().machines.iter().find(|(address, _)| is_node(address)).map(|(_, (_, name))| name.clone())
    }

    /// The add-on's route for an address, if it is some node's Pod's.
    pub fn way_to(&self, address: Ipv4Addr) -> Option<Way> {
        let wires = self.0.borrow();
        (0..=32).rev().find_map(|prefix| {
            let range = Cidr::new(address, prefix).network();
            wires.ranges.get(&range).map(|node| Way { range, node: *node, mode: wires.mode })
        })
    }

    /// All of the add-on's routes, in the order of ranges.
    pub fn ways(&self) -> Vec<Way> {
        let wires = self.0.borrow();
        wires.ranges.iter().map(|(range, node)| Way { range: *range, node: *node, mode: wires.mode }).collect()
    }

    /// The kubelet that listens on a node, if one does.
    pub fn kubelet(&self, node: &str) -> Option<ActorId> {
        self.0.borrow().kubelets.get(node).copied()
    }

    /// A node's kubelet begins to listen, or, if None, stops.
    pub fn set_kubelet(&self, node: &str, kubelet: Option<ActorId>) {
        let kubelets = &mut self.0.borrow_mut().kubelets;
        match kubelet {
            Some(kubelet) => kubelets.insert(node.to_owned(), kubelet),
            None => kubelets.remove(node),
        };
    }

    /// The DNS server's process, if the cluster has one.
    pub fn dns(&self) -> Option<ActorId> {
        self.0.borrow().dns
    }

    /// The cluster has this DNS server.
    pub fn set_dns(&self, server: ActorId) {
        self.0.borrow_mut().dns = Some(server);
    }

    /// Whether kube-proxy runs on the nodes: without it the addresses of Services lead nowhere.
    pub fn is_proxied(&self) -> bool {
        self.0.borrow().proxied
    }

    /// kube-proxy runs on the nodes.
    pub fn set_proxied(&self) {
        self.0.borrow_mut().proxied = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_range_wins() {
        let fabric = Fabric::new(&Hub::new(0), Mode::HostGateway);
        for (range, node) in [("10.244.0.0/16", "172.18.0.10"), ("10.244.1.0/24", "172.18.0.11")] {
            fabric.assign(range.parse().unwrap(), node.parse().unwrap());
        }
        let node = |address: &str| fabric.way_to(address.parse().unwrap()).map(|way| way.node.to_string());
        assert_eq!(node("10.244.1.9").as_deref(), Some("172.18.0.11"));
        assert_eq!(node("10.244.2.9").as_deref(), Some("172.18.0.10"));
        assert_eq!(node("10.96.0.10"), None);
    }

    #[test]
    fn an_unplugged_machine_answers_for_nothing() {
        let fabric = Fabric::new(&Hub::new(0), Mode::HostGateway);
        fabric.plug(OUTSIDE, ActorId(7), "outside");
        fabric.plug(Ipv4Addr::new(172, 18, 0, 10), ActorId(8), "node-1");
        assert_eq!((fabric.machine("node-1"), fabric.first_node().as_deref()), (Some(ActorId(8)), Some("node-1")));
        fabric.unplug("node-1");
        assert_eq!((fabric.machine("node-1"), fabric.first_node()), (None, None));
        assert_eq!(fabric.machine_at(OUTSIDE), Some(ActorId(7)));
    }
}

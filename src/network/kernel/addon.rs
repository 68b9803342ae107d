//! What stands on a machine before the first Pod comes: the network add-on's part, and the machine outside.

use super::fabric::{EXAMPLE, Mode, OUTSIDE, VXLAN_DEVICE};
use super::sockets::{Listener, Speaks};
use crate::cni::ipnet::IpNet;
use crate::cni::netns::{LinkKind, NodeNetwork, mac};
use crate::disk::Disk;
use crate::host::Host;
use crate::netfilter::{Cidr, Protocol, Rule, Table, Target};
use engine::Hub;
use object::time::Instant;

/// What the add-on does on a node as it joins: packets from Pod to Pod keep their source, and the overlay has its
/// device. `cluster` are all Pods' addresses.
pub fn prepare(network: &mut NodeNetwork, cluster: Cidr, mode: Mode) {
    let keep = Rule::new(Target::Accept).source(cluster).destination(cluster).comment("Pods reach Pods without NAT");
    network.root.netfilter.rules.append(Table::Nat, "POSTROUTING", keep).expect("POSTROUTING is always there");
    // kubeadm takes no machine without: a node must pass on what comes to a node port and goes to another node's Pod.
    network.root.ip_forward = true;
    if mode == Mode::Vxlan {
        let seed = network.root.links.get("eth0").map(|eth0| eth0.mac.clone()).unwrap_or_default();
        let device = network.root.add_link(VXLAN_DEVICE, LinkKind::Device, mac(seed.as_bytes()));
        device.mtu = 1450;
        network.root.set_up(VXLAN_DEVICE);
    }
}

/// The overlay's device, if there is one, gets the address that goes with the range of the node's Pods, in the place of any
/// other.
pub fn tunnel(network: &mut NodeNetwork, range: Cidr) {
    let before = network.root.links.get(VXLAN_DEVICE).map(|device| device.addresses.clone()).unwrap_or_default();
    for address in before {
        network.root.remove_address(VXLAN_DEVICE, address);
    }
    network.root.add_address(VXLAN_DEVICE, IpNet::v4(range.network().address, 32));
}

/// The machine outside the cluster: the nodes' router, and a web server somewhere on the internet. It knows no way to
/// Pods or ClusterIPs.
pub fn outside(hub: &Hub) -> Host {
    let host = Host::new(hub, OUTSIDE, Disk::new(hub, "outside"));
    let (name, address) = EXAMPLE;
    {
        let root = &mut host.network.borrow_mut().root;
        root.routes.retain(|route| route.destination.prefix != 0);
        root.add_link("internet", LinkKind::Device, mac(name.as_bytes()));
        root.set_up("internet");
        root.add_address("internet", IpNet::v4(address, 32));
    }
    let since = Instant::default();
    let (container, name, speaks) = (String::new(), name.to_owned(), Speaks::Http);
    let listener = Listener { container, name, speaks, since, address: Some(address) };
    host.sockets.borrow_mut().listen("", Protocol::Tcp, 80, listener);
    host
}

//! Which way a packet goes: the routes of a namespace, and those that the network add-on keeps on a node.

use std::net::{IpAddr, Ipv4Addr};

use super::Kernel;
use crate::cni::netns::{Link, Links};
use crate::kernel::fabric::{Mode, VXLAN_DEVICE, Way};
use crate::netfilter::Packet;

/// A route that was found.
pub(super) struct Found {
    /// The device that it leaves by.
    pub(super) device: String,
    /// Whose hardware address is asked for: a gateway's, or the destination's.
    pub(super) next_hop: Ipv4Addr,
    /// What a process of this machine gives as its own address.
    pub(super) source: Option<Ipv4Addr>,
    /// Through the network of Pods, and how.
    pub(super) way: Option<Way>,
    /// As `ip route` prints it.
    pub(super) text: String,
}

impl Kernel<'_> {
    /// The most specific route of a namespace for an address: its own, or on a node one of the add-on's.
    pub(super) fn route(&self, namespace: &str, destination: Ipv4Addr) -> Option<Found> {
        let there = self.network.namespace(namespace)?;
        if self.is_local(namespace, destination) {
            let text = format!("local {destination} dev lo");
            let source = Some(destination);
            return Some(Found { device: "lo".into(), next_hop: destination, source, way: None, text });
        }
        let fits = there.routes.iter().filter(|route| route.destination.contains(IpAddr::V4(destination)));
        // Of two equally specific ones the first wins.
        let own = fits.rev().max_by_key(|route| route.destination.prefix);
        let way = if namespace.is_empty() && self.is_node { self.fabric.way_to(destination) } else { None };
        if let Some(way) = way.filter(|way| own.is_none_or(|own| own.destination.prefix < way.range.prefix)) {
            let Way { range, node, mode } = way;
            let text = match mode {
                Mode::HostGateway => format!("{range} via {node} dev eth0"),
                Mode::Vxlan => format!("{range} via {} dev {VXLAN_DEVICE} onlink, tunnel to {node}", range.address),
            };
            let device = if mode == Mode::Vxlan { VXLAN_DEVICE } else { "eth0" };
            let source = first_address(there.links.get(device)?);
            return Some(Found { device: device.into(), next_hop: node, source, way: Some(way), text });
        }
        let own = own?;
        let gateway = own.gateway.and_then(v4);
        let source = own.source.and_then(v4).or_else(|| there.links.get(&own.device).and_then(first_address));
        let to = if own.destination.prefix == 0 { "default".to_owned() } else { own.destination.to_string() };
        let via = gateway.map_or(String::new(), |gateway| format!(" via {gateway}"));
        let text = format!("{to}{via} dev {}", own.device);
        let next_hop = gateway.unwrap_or(destination);
        Some(Found { device: own.device.clone(), next_hop, source, way: None, text })
    }

    /// The address that this machine speaks from when it tells the sender of a packet something.
    pub(super) fn router(&self, namespace: &str, packet: &Packet) -> Ipv4Addr {
        let back = self.route(namespace, packet.tuple.source).and_then(|route| route.source);
        back.unwrap_or(Ipv4Addr::LOCALHOST)
    }

    pub(super) fn is_local(&self, namespace: &str, address: Ipv4Addr) -> bool {
        self.network.namespace(namespace).is_some_and(|there| is_local(&there.links, address))
    }

    /// The source address of what a process sends to `destination`; None: there is no route.
    pub fn source_for(&self, namespace: &str, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        self.route(namespace, destination)?.source
    }
}

/// Whether an address is one of these links'.
pub(super) fn is_local(links: &Links, address: Ipv4Addr) -> bool {
    let mut own = links.values().flat_map(|link| &link.addresses);
    address.is_loopback() || own.any(|own| own.address == IpAddr::V4(address))
}

/// The first IPv4 address of a link.
pub(super) fn first_address(link: &Link) -> Option<Ipv4Addr> {
    link.addresses.iter().find_map(|there| v4(there.address))
}

fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

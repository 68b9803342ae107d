//! The network of one node, as data: its own namespace and those of its Pods, each with links, addresses and routes.
//!
//! Mirrors what the kernel tells through netlink.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::ipnet::IpNet;
use crate::netfilter::Netfilter;
use object::small_map::SmallMap;

/// All network namespaces of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeNetwork {
    /// The node's own.
    pub root: Namespace,
    /// Those with a name, by the path at which they are mounted. They are beside the map, whose nodes are half empty.
    pub named: BTreeMap<String, Box<Namespace>>,
}

/// Links by name.
pub type Links = SmallMap<String, Link>;

/// One network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// By name.
    pub links: Links,
    /// In the order in which they were added.
    pub routes: Vec<Route>,
    /// iptables and conntrack.
    pub netfilter: Netfilter,
    /// `net.ipv4.ip_forward`.
    pub ip_forward: bool,
    /// Links are numbered in the order of their making.
    next_index: u32,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number in its namespace.
    pub index: u32,
    /// What sort it is.
    pub kind: LinkKind,
    /// Hardware address: `0a:58:0a:f4:00:01`.
    pub mac: String,
    /// Bytes.
    pub mtu: u32,
    /// Whether it was set up.
    pub up: bool,
    /// The bridge that it is a port of.
    pub master: Option<String>,
    /// A bridge port may send back where a frame came from.
    pub hairpin: bool,
    /// It takes frames for others.
    pub promiscuous: bool,
    /// In the order in which they were added.
    pub addresses: Vec<IpNet>,
}

/// What sort of link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// `lo`.
    Loopback,
    /// A real card.
    Device,
    /// A bridge.
    Bridge,
    /// One end of a pair.
    Veth {
        /// The path of the namespace with the other end; empty: the node's own.
        namespace: String,
        /// The other end's name.
        name: String,
    },
}

/// A route of the main table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where to.
    pub destination: IpNet,
    /// The next router; None: the destination is on the link itself.
    pub gateway: Option<IpAddr>,
    /// The link.
    pub device: String,
    /// The source address that packets get; None: the link's first.
    pub source: Option<IpAddr>,
    /// The kernel made it when the address was added.
    pub from_address: bool,
}

impl Default for Namespace {
    /// With `lo`, down, as a new namespace has it.
    fn default() -> Namespace {
        let mut namespace = Namespace {
            links: Links::default(),
            routes: Vec::new(),
            netfilter: Netfilter::default(),
            ip_forward: false,
            next_index: 1,
        };
        let lo = namespace.add_link("lo", LinkKind::Loopback, "00:00:00:00:00:00".into());
        lo.mtu = 65536;
        namespace
    }
}

impl NodeNetwork {
    /// The network of a machine that has just been switched on: `lo`, and `eth0` with this address.
    pub fn new(address: IpNet) -> NodeNetwork {
        let mut root = Namespace::default();
        root.set_up("lo");
        root.add_link("eth0", LinkKind::Device, mac(address.to_string().as_bytes()));
        root.set_up("eth0");
        root.add_address("eth0", address);
        let gateway = Some(super::ipnet::next(address.network()));
        root.routes
            .insert(0, Route { destination: ALL, gateway, device: "eth0".into(), source: None, from_address: false });
        NodeNetwork { root, named: BTreeMap::new() }
    }

    /// Takes a link away, and the other end of its pair with it. None if it is not there.
    pub fn delete_link(&mut self, namespace: &str, name: &str) -> Option<Link> {
        let link = self.namespace_mut(namespace)?.remove_link(name)?;
        if let LinkKind::Veth { namespace, name } = &link.kind {
            let (namespace, name) = (namespace.clone(), name.clone());
            self.namespace_mut(&namespace).and_then(|other| other.remove_link(&name));
        }
        Some(link)
    }

    /// Takes a namespace away with all that is in it.
    pub fn delete_namespace(&mut self, path: &str) {
        let names: Vec<String> = self.named.get(path).into_iter().flat_map(|n| n.links.keys().cloned()).collect();
        for name in names {
            self.delete_link(path, &name);
        }
        self.named.remove(path);
    }

    /// A namespace by its path; the empty path is the node's own.
    pub fn namespace_mut(&mut self, path: &str) -> Option<&mut Namespace> {
        if path.is_empty() { Some(&mut self.root) } else { self.named.get_mut(path).map(|named| &mut **named) }
    }

    /// A namespace by its path; the empty path is the node's own.
    pub fn namespace(&self, path: &str) -> Option<&Namespace> {
        if path.is_empty() { Some(&self.root) } else { self.named.get(path).map(|named| &**named) }
    }
}

/// Every IPv4 address.
pub const ALL: IpNet = IpNet { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), prefix: 0 };

impl Namespace {
    /// Makes a link. One that is there under the name is replaced.
    pub fn add_link(&mut self, name: &str, kind: LinkKind, mac: String) -> &mut Link {
        let index = self.next_index;
        self.next_index += 1;
        let link = Link {
            index,
            kind,
            mac,
            mtu: 1500,
            up: false,
            master: None,
            hairpin: false,
            promiscuous: false,
            addresses: Vec::new(),
        };
        self.links.insert(name.to_owned(), link)
    }

    fn remove_link(&mut self, name: &str) -> Option<Link> {
        self.routes.retain(|route| route.device != name);
        self.links.remove(name)
    }

    /// Sets a link up. `lo` gets its address by that.
    pub fn set_up(&mut self, name: &str) {
        let Some(link) = self.links.get_mut(name) else { return };
        link.up = true;
        if link.kind == LinkKind::Loopback && link.addresses.is_empty() {
            link.addresses = vec![IpNet::v4(Ipv4Addr::LOCALHOST, 8)];
        }
    }

    /// Gives a link an address, and the namespace the route that follows from it.
    pub fn add_address(&mut self, name: &str, address: IpNet) {
        let Some(link) = self.links.get_mut(name) else { return };
        // Of most namespaces it is the only one.
        link.addresses.reserve_exact(1);
        link.addresses.push(address);
        let (destination, source) = (address.range(), Some(address.address));
        let route = Route { destination, gateway: None, device: name.into(), source, from_address: true };
        self.routes.reserve_exact(1);
        self.routes.push(route);
    }

    /// Takes an address away, and its route.
    pub fn remove_address(&mut self, name: &str, address: IpNet) {
        let Some(link) = self.links.get_mut(name) else { return };
        link.addresses.retain(|there| *there != address);
        self.routes.retain(|route| !(route.device == name && route.source == Some(address.address)));
    }
}

/// A locally administered hardware address made from `seed`.
pub fn mac(seed: &[u8]) -> String {
    let hash = seed
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let [_, _, first, second, third, fourth, fifth, sixth] = hash.to_be_bytes();
    let first = first & 0xfc | 0x02;
    format!("{first:02x}:{second:02x}:{third:02x}:{fourth:02x}:{fifth:02x}:{sixth:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_pair_go() {
        let mut network = NodeNetwork::new("172.18.0.10/16".parse().unwrap());
        let before = network.root.clone();
        let path = "/var/run/netns/cni-1";
        network.named.insert(path.into(), Box::default());
        let end = |namespace: &str, name: &str| LinkKind::Veth { namespace: namespace.into(), name: name.into() };
        network.root.add_link("veth1", end(path, "eth0"), mac(b"1"));
        network.named.get_mut(path).unwrap().add_link("eth0", end("", "veth1"), mac(b"2"));
        network.delete_namespace(path);
        assert_eq!(network.root.links, before.links);
        assert!(network.named.is_empty());
        assert_eq!(network.delete_link("", "veth1"), None);
    }
}

//! The network of a namespace as `ip` and `bridge` (iproute2) print it.
//!
//! Left out: queue lengths and disciplines other than the usual ones, IPv6 link-local addresses, routing tables other
//! than the main one, multicast entries of a bridge.

use std::net::IpAddr;

use super::ipnet::IpNet;
use super::netns::{Link, LinkKind, Namespace, NodeNetwork, Route};

/// Where named namespaces are mounted.
const NETNS: &str = "/var/run/netns/";

/// `ip …`, without the word `ip`. An error says what can be typed.
pub fn ip(network: &NodeNetwork, words: &[&str]) -> Result<String, String> {
    match words {
        ["netns"] | ["netns", "list" | "ls"] => {
            Ok(network.named.keys().map(|path| format!("{}\n", path.trim_start_matches(NETNS))).collect())
        }
        ["netns", "exec", name, "ip", rest @ ..] | ["-n" | "-netns", name, rest @ ..] => {
            inside(network, &format!("{NETNS}{}", name.trim_start_matches(NETNS)), rest)
        }
        _ => inside(network, "", words),
    }
}

fn inside(network: &NodeNetwork, path: &str, words: &[&str]) -> Result<String, String> {
    let Some(namespace) = network.namespace(path) else {
        return Err(format!(
            "Cannot open network namespace \"{}\": No such file or directory",
            path.trim_start_matches(NETNS)
        ));
    };
    let (object, rest) = words.split_first().ok_or("write for example: ip addr, ip route, ip link, ip netns")?;
    let device = match rest {
        [] | ["show" | "list" | "ls"] => None,
        [name] | ["dev", name] | ["show" | "list" | "ls", name] | ["show" | "list" | "ls", "dev", name] => Some(*name),
        [word, ..] => return Err(format!("Command \"{word}\" is unknown, try \"ip {object} help\".")),
    };
    if let Some(name) = device.filter(|name| !namespace.links.contains_key(name)) {
        return Err(format!("Device \"{name}\" does not exist."));
    }
    let links = || in_order(namespace).filter(|(name, _)| device.is_none_or(|device| device == *name));
    let head = |name: &str, link: &Link, mode: &str| describe(network, namespace, path, name, link, mode);
    match *object {
        "a" | "addr" | "address" => {
            Ok(links().map(|(name, link)| head(name, link, "") + &addresses(name, link)).collect())
        }
        "l" | "link" => Ok(links().map(|(name, link)| head(name, link, "mode DEFAULT ")).collect()),
        "r" | "route" => {
            let mut routes: Vec<&Route> = namespace.routes.iter().collect();
            routes.retain(|route| device.is_none_or(|device| device == route.device));
            routes.sort_by_key(|route| (route.destination.prefix > 0, route.destination));
            Ok(routes.into_iter().map(route_line).collect())
        }
        other => Err(format!("Object \"{other}\" is unknown, try \"ip help\".")),
    }
}

/// `bridge link`, `bridge fdb`, without the word `bridge`.
pub fn bridge(network: &NodeNetwork, words: &[&str]) -> Result<String, String> {
    let root = &network.root;
    let ports = in_order(root).filter_map(|(name, link)| Some((name, link, link.master.as_deref()?)));
    match words {
        ["link"] | ["link", "show"] => Ok(ports
            .map(|(name, link, master)| {
                let (index, at, mtu) = (link.index, peer(network, link), link.mtu);
                let flags = flags(root, name, link);
                format!(
                    "{index}: {name}{at}: <{flags}> mtu {mtu} master {master} state forwarding priority 32 cost 2 \n"
                )
            })
            .collect()),
        ["fdb"] | ["fdb", "show"] => Ok(ports
            .map(|(name, link, master)| {
                let far = other_end(network, link).map(|far| format!("{} dev {name} master {master} \n", far.mac));
                let own = &link.mac;
                far.unwrap_or_default()
                    + &format!("{own} dev {name} vlan 1 master {master} permanent\n")
                    + &format!("{own} dev {name} master {master} permanent\n")
            })
            .collect()),
        _ => Err("write: bridge link, or: bridge fdb".to_owned()),
    }
}

fn in_order(namespace: &Namespace) -> impl Iterator<Item = (&str, &Link)> {
    let mut links: Vec<_> = namespace.links.iter().map(|(name, link)| (name.as_str(), link)).collect();
    links.sort_by_key(|(_, link)| link.index);
    links.into_iter()
}

/// The lines of a link that `ip addr` and `ip link` both print.
fn describe(network: &NodeNetwork, namespace: &Namespace, path: &str, name: &str, link: &Link, mode: &str) -> String {
    let (index, at, mtu, mac) = (link.index, peer(network, link), link.mtu, &link.mac);
    let flags = flags(namespace, name, link);
    let discipline = if link.kind == LinkKind::Device { "fq_codel" } else { "noqueue" };
    let master = link.master.as_ref().map(|master| format!("master {master} ")).unwrap_or_default();
    let state = match (&link.kind, link.up && has_carrier(namespace, name, link)) {
        (LinkKind::Loopback, true) => "UNKNOWN",
        (_, true) => "UP",
        (_, false) => "DOWN",
    };
    let (family, broadcast) = match link.kind {
        LinkKind::Loopback => ("loopback", "00:00:00:00:00:00"),
        _ => ("ether", "ff:ff:ff:ff:ff:ff"),
    };
    let elsewhere = match &link.kind {
        LinkKind::Veth { namespace, .. } if namespace.is_empty() && !path.is_empty() => " link-netnsid 0".to_owned(),
        LinkKind::Veth { namespace, .. } if !namespace.is_empty() => {
            format!(" link-netns {}", namespace.trim_start_matches(NETNS))
        }
        _ => String::new(),
    };
    format!(
        "{index}: {name}{at}: <{flags}> mtu {mtu} qdisc {discipline} {master}state {state} {mode}group default qlen 1000\n    \
         link/{family} {mac} brd {broadcast}{elsewhere}\n"
    )
}

/// A bridge has a carrier as long as one of its ports has.
fn has_carrier(namespace: &Namespace, name: &str, link: &Link) -> bool {
    let mut ports = namespace.links.values().filter(|port| port.master.as_deref() == Some(name));
    link.kind != LinkKind::Bridge || ports.any(|port| port.up)
}

fn flags(namespace: &Namespace, name: &str, link: &Link) -> String {
    let carrier = has_carrier(namespace, name, link);
    let mut flags = Vec::new();
    flags.extend((!carrier).then_some("NO-CARRIER"));
    flags.extend(if link.kind == LinkKind::Loopback { vec!["LOOPBACK"] } else { vec!["BROADCAST", "MULTICAST"] });
    flags.extend(link.promiscuous.then_some("PROMISC"));
    flags.extend(link.up.then_some("UP"));
    flags.extend((link.up && carrier).then_some("LOWER_UP"));
    flags.join(",")
}

/// `@if2`: the number of a pair's other end.
fn peer(network: &NodeNetwork, link: &Link) -> String {
    other_end(network, link).map(|other| format!("@if{}", other.index)).unwrap_or_default()
}

fn other_end<'a>(network: &'a NodeNetwork, link: &Link) -> Option<&'a Link> {
    match &link.kind {
        LinkKind::Veth { namespace, name } => network.namespace(namespace)?.links.get(name),
        _ => None,
    }
}

fn addresses(name: &str, link: &Link) -> String {
    let line = |address: &IpNet| {
        let lifetime = "       valid_lft forever preferred_lft forever\n";
        match (address.address, &link.kind) {
            (IpAddr::V4(_), LinkKind::Loopback) => format!("    inet {address} scope host {name}\n{lifetime}"),
            (IpAddr::V4(_), _) => {
                format!("    inet {address} brd {} scope global {name}\n{lifetime}", address.last())
            }
            (IpAddr::V6(_), LinkKind::Loopback) => format!("    inet6 {address} scope host\n{lifetime}"),
            (IpAddr::V6(_), _) => format!("    inet6 {address} scope global\n{lifetime}"),
        }
    };
    link.addresses.iter().map(line).collect()
}

/// With a blank at its end, as the real tool prints it.
fn route_line(route: &Route) -> String {
    let destination = match route.destination.prefix {
        0 => "default".to_owned(),
        prefix if prefix == route.destination.bits() => route.destination.address.to_string(),
        _ => route.destination.to_string(),
    };
    let via = route.gateway.map(|gateway| format!("via {gateway} ")).unwrap_or_default();
    let kernel = if route.from_address { "proto kernel " } else { "" };
    let scope = if route.gateway.is_none() { "scope link " } else { "" };
    let source = route.source.map(|source| format!("src {source} ")).unwrap_or_default();
    format!("{destination} {via}dev {} {kernel}{scope}{source}\n", route.device)
}

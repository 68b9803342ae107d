//! The bridge plugin: a veth pair, one end in the container, the other on the node's bridge. Mirrors
//! `plugins/main/bridge`.
//!
//! Left out: VLANs, the check of hardware addresses (`macspoofchk`), isolated ports, layer 2 alone, waiting for the
//! port to come up (here it is up at once), and masquerading of IPv6.

use std::net::IpAddr;

use serde::Deserialize;

use super::frame::{Machine, Plugin, Run};
use super::loopback::no_namespace;
use crate::cni::exec::{CniError, Command};
use crate::cni::hash::chain_name;
use crate::cni::ipnet::{IpNet, next};
use crate::cni::netns::{ALL, Link, LinkKind, Namespace, Route as KernelRoute, mac};
use crate::cni::result::{CniResult, Dns, Interface, IpConfig, Route};
use crate::netfilter::{Cidr, Rule, Ruleset, Table, Target};
use object::text::Text;

/// The row of this plugin.
pub(super) const PLUGIN: Plugin = Plugin { name: "bridge", since: "0.1.0", add, del, check, status: Some(status) };

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    name: String,
    bridge: Option<String>,
    is_gateway: bool,
    is_default_gateway: bool,
    force_address: bool,
    ip_masq: bool,
    mtu: u32,
    hairpin_mode: bool,
    promisc_mode: bool,
    vlan: i64,
    ipam: Ipam,
    dns: Dns,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ipam {
    #[serde(rename = "type")]
    plugin: String,
}

impl Config {
    fn load(run: &Run) -> Result<Config, CniError> {
        let config: Config = run.config().map_err(|error| format!("failed to load netconf: {error}"))?;
        if !(0..=4094).contains(&config.vlan) {
            let vlan = config.vlan;
            return Err(format!("invalid VLAN ID {vlan} (must be between 0 and 4094)").into());
        }
        Ok(Config { is_gateway: config.is_gateway || config.is_default_gateway, ..config })
    }

    fn bridge(&self) -> &str {
        self.bridge.as_deref().unwrap_or("cni0")
    }
}

/// Connects a container. The pair is there before the address: if none is left, the DEL that follows takes it away.
fn add(machine: &mut Machine, run: &Run) -> Result<CniResult, CniError> {
    let config = Config::load(run)?;
    if config.hairpin_mode && config.promisc_mode {
        return Err("cannot set hairpin mode and promiscuous mode at the same time".into());
    }
    let bridge = config.bridge();
    ensure_bridge(machine, &config).map_err(|why| format!("failed to create bridge {bridge:?}: {why}"))?;
    let (netns, ifname) = (&run.environment.netns, &run.environment.ifname);
    if machine.network.namespace(netns).is_none() {
        return Err(format!("failed to open netns {netns:?}: {}", no_namespace(netns)).into());
    }
    let host_end = make_pair(machine, &config, netns, ifname)?;
    let mut result = CniResult::default();
    if config.ipam.plugin.is_empty() {
        // A network without addresses: frames are passed on, and that is all.
        let inside = machine.network.named.get_mut(netns).ok_or_else(|| no_namespace(netns))?;
        inside.set_up(ifname);
    } else {
        result = machine
            .delegate(Command::Add, &config.ipam.plugin, run)
            .and_then(|printed| CniResult::from_json(&printed).map_err(CniError::from))?;
        if let Err(error) = configure(machine, &config, run, &mut result) {
            let _ = machine.delegate(Command::Del, &config.ipam.plugin, run);
            return Err(error);
        }
    }
    if !config.dns.is_empty() {
        result.dns = config.dns.clone();
    }
    let network = &machine.network;
    let interface = |netns: &str, name: &str| Interface {
        name: name.to_owned(),
        mac: network.namespace(netns).and_then(|n| n.links.get(name)).map(|l| l.mac.clone()).unwrap_or_default(),
        sandbox: netns.to_owned(),
        ..Interface::default()
    };
    result.interfaces = vec![interface("", bridge), interface("", &host_end), interface(netns, ifname)];
    Ok(result)
}

/// The bridge is made by the first ADD, and stays.
fn ensure_bridge(machine: &mut Machine, config: &Config) -> Result<(), String> {
    let name = config.bridge();
    match machine.network.root.links.get(name) {
        Some(link) if link.kind != LinkKind::Bridge => {
            return Err(format!("{name:?} already exists but is not a bridge"));
        }
        Some(_) => {}
        None => {
            let seed = own_mac(&machine.network.root) + name;
            let link = machine.network.root.add_link(name, LinkKind::Bridge, mac(seed.as_bytes()));
            set_mtu(link, config.mtu);
            machine.network.root.set_up(name);
            machine.did(format_args!("bridge {name} is made and set up"));
        }
    }
    if let Some(link) = machine.network.root.links.get_mut(name) {
        link.promiscuous |= config.promisc_mode;
    }
    Ok(())
}

/// Makes the pair, and the node's end of it a port of the bridge. Gives that end's name.
fn make_pair(machine: &mut Machine, config: &Config, netns: &str, ifname: &str) -> Result<String, CniError> {
    let host_end = format!("veth{:08x}", (machine.random)() as u32);
    let seed = own_mac(&machine.network.root) + &host_end;
    let inside = machine.network.named.get_mut(netns).ok_or_else(|| no_namespace(netns))?;
    if inside.links.contains_key(ifname) {
        return Err(format!("container veth name ({ifname:?}) peer provided ({host_end:?}) already exists").into());
    }
    let kind = LinkKind::Veth { namespace: String::new(), name: host_end.clone() };
    set_mtu(inside.add_link(ifname, kind, mac((seed.clone() + ifname).as_bytes())), config.mtu);
    let kind = LinkKind::Veth { namespace: netns.to_owned(), name: ifname.to_owned() };
    let link = machine.network.root.add_link(&host_end, kind, mac(seed.as_bytes()));
    set_mtu(link, config.mtu);
    link.master = Some(config.bridge().to_owned());
    link.hairpin = config.hairpin_mode;
    machine.network.root.set_up(&host_end);
    machine.did(format_args!("veth pair: {ifname} inside {netns}, {host_end} on the node"));
    machine.did(format_args!("{host_end} becomes a port of {}", config.bridge()));
    Ok(host_end)
}

/// What follows from the address: routes inside, the gateway on the bridge, masquerading.
fn configure(machine: &mut Machine, config: &Config, run: &Run, result: &mut CniResult) -> Result<(), CniError> {
    if result.ips.is_empty() {
        return Err("IPAM plugin returned missing IP config".into());
    }
    let (netns, ifname) = (&run.environment.netns, &run.environment.ifname);
    let gateways = gateways(config, result);
    let inside = machine.network.named.get_mut(netns).ok_or_else(|| no_namespace(netns))?;
    inside.set_up(ifname);
    for ip in &result.ips {
        inside.add_address(ifname, ip.address);
    }
    for route in &result.routes {
        let gateway = gateway_of(route, result);
        let device = ifname.clone();
        let (destination, source, from_address) = (route.dst, None, false);
        inside.routes.reserve_exact(1);
        inside.routes.push(KernelRoute { destination, gateway, device, source, from_address });
    }
    tell_inside(machine, ifname, result);
    for gateway in gateways {
        ensure_address(machine, config, gateway).map_err(|why| format!("failed to set bridge addr: {why}"))?;
    }
    if config.ip_masq {
        for ip in &result.ips {
            masquerade(machine, config, &run.environment.container_id, ip.address)?;
        }
    }
    Ok(())
}

fn tell_inside(machine: &mut Machine, ifname: &str, result: &CniResult) {
    let Some(steps) = &mut machine.steps else { return };
    let addresses: Vec<String> = result.ips.iter().map(|ip| ip.address.to_string()).collect();
    steps.push(format!("{ifname} gets {}", addresses.join(", ")));
    for route in &result.routes {
        let via = gateway_of(route, result).map(|gateway| format!(" via {gateway}")).unwrap_or_default();
        steps.push(format!("inside: route to {}{via}", route.dst));
    }
}

/// Through whom a route leads: its own gateway, or that of the address of its family.
fn gateway_of(route: &Route, result: &CniResult) -> Option<IpAddr> {
    let same_family = |ip: &&IpConfig| ip.address.bits() == route.dst.bits();
    route.gw.or_else(|| result.ips.iter().find(same_family)?.gateway)
}

/// Fills in gateways and the default route, and gives the addresses that the bridge must have (`calcGateways`).
fn gateways(config: &Config, result: &mut CniResult) -> Vec<IpNet> {
    let mut gateways = Vec::new();
    for ip in &mut result.ips {
        ip.interface = Some(2);
        if !config.is_gateway {
            continue;
        }
        let gateway = *ip.gateway.get_or_insert(next(ip.address.network()));
        gateways.push(IpNet { address: gateway, prefix: ip.address.prefix });
        let all = if ip.address.address.is_ipv4() { ALL } else { ALL_V6 };
        if config.is_default_gateway && !result.routes.iter().any(|route| route.dst == all && route.gw.is_some()) {
            result.routes.push(Route { dst: all, gw: Some(gateway), more: Default::default() });
        }
    }
    gateways
}

/// Every IPv6 address.
const ALL_V6: IpNet = IpNet { address: IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED), prefix: 0 };

/// The gateway's address is the bridge's; from then on the node forwards (`ensureAddr`).
fn ensure_address(machine: &mut Machine, config: &Config, address: IpNet) -> Result<(), String> {
    let name = config.bridge();
    let there = machine.network.root.links.get(name).map(|link| link.addresses.clone()).unwrap_or_default();
    machine.network.root.ip_forward = true;
    if there.contains(&address) {
        return Ok(());
    }
    let v4 = address.address.is_ipv4();
    let conflicts = |other: &&IpNet| {
        let overlap = other.contains(address.address) || address.contains(other.address);
        other.address.is_ipv4() == v4 && (v4 || overlap)
    };
    for other in there.iter().filter(conflicts) {
        if !config.force_address {
            return Err(format!("{name:?} already has an IP address different from {address}"));
        }
        machine.network.root.remove_address(name, *other);
    }
    machine.network.root.add_address(name, address);
    machine.did(format_args!("{name} gets {address}; ip_forward is on"));
    Ok(())
}

/// Packets from the container to anywhere outside its network leave with the node's address (`SetupIPMasq`).
fn masquerade(machine: &mut Machine, config: &Config, id: &str, address: IpNet) -> Result<(), CniError> {
    let IpAddr::V4(own) = address.address else { return Ok(()) };
    let (chain, comment) = (chain_name(&config.name, id, ""), comment(&config.name, id));
    let rules = &mut machine.network.root.netfilter.rules;
    let multicast = Cidr::new([224, 0, 0, 0].into(), 4);
    rules.make_chain(Table::Nat, &chain);
    let subnet = Cidr::new(own, address.prefix);
    let stay = Rule::new(Target::Accept).destination(subnet).comment(comment.clone());
    let leave =
        Rule::new(Target::Masquerade { random_fully: false }).not_destination(multicast).comment(comment.clone());
    let jump = jump_for(own, &chain, comment);
    for (chain, rule) in [(&*chain, stay), (&*chain, leave), ("POSTROUTING", jump)] {
        rules.append(Table::Nat, chain, rule).map_err(|error| error.to_string())?;
    }
    machine.did(format_args!(
        "iptables: POSTROUTING -s {own} -j {chain}, which masquerades what leaves {}",
        subnet.network()
    ));
    Ok(())
}

fn jump_for(own: std::net::Ipv4Addr, chain: &str, comment: Text) -> Rule {
    Rule::jump(chain).source(Cidr::host(own)).comment(comment)
}

fn comment(network: &str, id: &str) -> Text {
    format!("name: {network:?} id: {id:?}").into()
}

/// Undoes an ADD. What is not there any more is no error.
fn del(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let config = Config::load(run)?;
    let (netns, ifname) = (&run.environment.netns, &run.environment.ifname);
    let link = if netns.is_empty() { None } else { machine.network.delete_link(netns, ifname) };
    if let Some(Link { kind: LinkKind::Veth { name, .. }, .. }) = &link {
        machine.did(format_args!("{ifname} is deleted inside {netns}; {name} goes with it"));
    }
    if !config.ipam.plugin.is_empty() {
        machine.delegate(Command::Del, &config.ipam.plugin, run)?;
    }
    let addresses = link.map(|link| link.addresses).unwrap_or_default();
    if config.ip_masq {
        let rules = &mut machine.network.root.netfilter.rules;
        if stop_masquerading(rules, &config.name, &run.environment.container_id, &addresses) {
            machine.did(format_args!("masquerade rules are removed"));
        }
    }
    Ok(())
}

fn stop_masquerading(rules: &mut Ruleset, network: &str, id: &str, addresses: &[IpNet]) -> bool {
    let (chain, comment) = (chain_name(network, id, ""), comment(network, id));
    for address in addresses {
        if let IpAddr::V4(own) = address.address {
            rules.delete_rule(Table::Nat, "POSTROUTING", &jump_for(own, &chain, comment.clone()));
        }
    }
    // A chain that is jumped to from an address no longer known stays, as it does on a real node.
    rules.chain(Table::Nat, &chain).is_some() && rules.delete_chain(Table::Nat, &chain).is_ok()
}

/// Looks whether an ADD still holds.
fn check(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let config = Config::load(run)?;
    let (netns, ifname) = (&run.environment.netns, &run.environment.ifname);
    let Some(inside) = machine.network.namespace(netns).cloned() else {
        return Err(format!("failed to open netns {netns:?}: {}", no_namespace(netns)).into());
    };
    machine.delegate(Command::Check, &config.ipam.plugin, run)?;
    let previous = run.previous()?.ok_or("Required prevResult missing")?;
    let bridge = config.bridge();
    match machine.network.root.links.get(bridge) {
        None => return Err(format!("Interface name {bridge} not found").into()),
        Some(link) if link.kind != LinkKind::Bridge => {
            return Err(format!("Interface {bridge} does not have link type of bridge").into());
        }
        Some(_) => {}
    }
    let ours = |interface: &&Interface| interface.name == *ifname && !interface.sandbox.is_empty();
    let sandbox = previous.interfaces.iter().find(ours).map(|i| i.sandbox.as_str()).unwrap_or_default();
    if sandbox != netns {
        return Err(format!("Sandbox in prevResult {sandbox} doesn't match configured netns: {netns}").into());
    }
    let link = inside.links.get(ifname).ok_or_else(|| format!("Interface name {ifname} not found"))?;
    let LinkKind::Veth { name: host_end, .. } = &link.kind else {
        return Err(format!("Error: Container interface {ifname} not of type veth").into());
    };
    let port = machine.network.root.links.get(host_end);
    if port.is_none_or(|port| port.master.as_deref() != Some(bridge)) {
        return Err(format!("CNI veth created for bridge {bridge} was not found").into());
    }
    match previous.ips.iter().find(|ip| !link.addresses.contains(&ip.address)) {
        Some(ip) => Err(format!("Failed to match addr {} on interface {ifname}", ip.address).into()),
        None => check_routes(&inside, &previous),
    }
}

fn check_routes(inside: &Namespace, previous: &CniResult) -> Result<(), CniError> {
    let there = |route: &Route| inside.routes.iter().any(|kernel| kernel.destination == route.dst);
    match previous.routes.iter().find(|route| !there(route)) {
        Some(route) => Err(format!("Expected Route {} not found in routing table", route.dst).into()),
        None => Ok(()),
    }
}

/// Ready if the address plugin is.
fn status(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let config = Config::load(run)?;
    if config.ipam.plugin.is_empty() {
        return Ok(());
    }
    machine.delegate(Command::Status, &config.ipam.plugin, run).map(|_| ())
}

fn set_mtu(link: &mut Link, mtu: u32) {
    if mtu > 0 {
        link.mtu = mtu;
    }
}

/// What makes the hardware addresses of one node differ from those of another.
fn own_mac(root: &Namespace) -> String {
    root.links.get("eth0").map(|link| link.mac.clone()).unwrap_or_default()
}

//! The portmap plugin: a port of the node leads to the container (`hostPort`). Mirrors the iptables back end of
//! `plugins/meta/portmap`.
//!
//! Left out: the nftables back end, conditions, chains of others for marking, IPv6.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::Deserialize;

use super::frame::{Machine, Plugin, Run};
use crate::cni::exec::CniError;
use crate::cni::hash::chain_name;
use crate::cni::ipnet::IpNet;
use crate::cni::result::CniResult;
use crate::netfilter::{Cidr, Conntrack, Invertible, Match, Protocol, Rule, Ruleset, RulesetError, Table, Target};

/// The row of this plugin.
pub(super) const PLUGIN: Plugin = Plugin { name: "portmap", since: "0.1.0", add, del, check, status: None };

/// Where every packet to an address of the node looks for a forwarded port.
const DNAT: &str = "CNI-HOSTPORT-DNAT";
/// Marks packets whose source must change, too.
const SET_MARK: &str = "CNI-HOSTPORT-SETMARK";
/// Changes the source of marked packets.
const MASQUERADE: &str = "CNI-HOSTPORT-MASQ";
/// Ports that one multiport match takes.
const PORTS_MAX: usize = 15;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    name: String,
    snat: Option<bool>,
    masq_all: Option<bool>,
    mark_masq_bit: Option<u32>,
    #[serde(default)]
    runtime_config: RuntimeConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RuntimeConfig {
    port_mappings: Vec<Mapping>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mapping {
    host_port: i64,
    container_port: i64,
    protocol: String,
    #[serde(default, rename = "hostIP")]
    host_ip: String,
}

/// A mapping whose numbers make sense.
struct Forward {
    host_port: u16,
    container_port: u16,
    protocol: Protocol,
    host_ip: Option<Ipv4Addr>,
}

impl Config {
    fn load(run: &Run) -> Result<(Config, Vec<Forward>), String> {
        let config: Config = run.config().map_err(|error| format!("failed to parse network configuration: {error}"))?;
        if config.mark_masq_bit.is_some_and(|bit| bit > 31) {
            return Err("MasqMarkBit must be between 0 and 31".into());
        }
        let forwards = config.runtime_config.port_mappings.iter().map(forward).collect::<Result<_, _>>()?;
        Ok((config, forwards))
    }

    /// 13 unless the configuration says otherwise: Kubernetes itself uses 14 and 15.
    fn mark(&self) -> u32 {
        1 << self.mark_masq_bit.unwrap_or(13)
    }
}

fn forward(mapping: &Mapping) -> Result<Forward, String> {
    let port = |which: &str, number: i64| match u16::try_from(number) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("Invalid {which} port number: {number}")),
    };
    Ok(Forward {
        container_port: port("container", mapping.container_port)?,
        host_port: port("host", mapping.host_port)?,
        protocol: Protocol::parse(&mapping.protocol)
            .ok_or_else(|| format!("unknown protocol {:?}", mapping.protocol))?,
        host_ip: mapping.host_ip.parse().ok().filter(|ip: &Ipv4Addr| !ip.is_unspecified()),
    })
}

fn add(machine: &mut Machine, run: &Run) -> Result<CniResult, CniError> {
    let (config, forwards) = Config::load(run).map_err(|error| format!("failed to parse config: {error}"))?;
    let previous = run.previous()?.ok_or("must be called as chained plugin")?;
    let address = previous.address_of(&run.environment.ifname);
    let Some(own) = address.filter(|address| address.address.is_ipv4() && !forwards.is_empty()) else {
        return Ok(previous);
    };
    let rules = &mut machine.network.root.netfilter.rules;
    let id = &run.environment.container_id;
    set_up(rules, &config, id, own, &forwards).map_err(|error| format!("unable to setup DNAT: {error}"))?;
    forget_stale(&mut machine.network.root.netfilter.conntrack, &forwards);
    for forward in &forwards {
        let (port, protocol, to) = (forward.host_port, forward.protocol.as_str(), forward.container_port);
        machine.did(format_args!("iptables: port {port}/{protocol} of the node leads to {}:{to}", own.address));
    }
    Ok(previous)
}

/// Chains that all containers share, then the container's own.
fn set_up(
    rules: &mut Ruleset,
    config: &Config,
    id: &str,
    own: IpNet,
    forwards: &[Forward],
) -> Result<(), RulesetError> {
    let mark = config.mark();
    if config.snat != Some(false) {
        let set = Rule::or_mark(mark).comment("CNI portfwd masquerade mark");
        rules.set_chain(Table::Nat, SET_MARK, vec![set])?;
        let marked = Match::Mark(Invertible::is((mark, mark)));
        let masquerade = Rule::new(Target::Masquerade { random_fully: false }).and(marked);
        rules.set_chain(Table::Nat, MASQUERADE, vec![masquerade])?;
        let jump = Rule::jump(MASQUERADE).comment("CNI portfwd requiring masquerade");
        rules.insert(Table::Nat, "POSTROUTING", jump)?;
    }
    rules.make_chain(Table::Nat, DNAT);
    for hook in ["PREROUTING", "OUTPUT"] {
        rules.append(Table::Nat, hook, Rule::jump(DNAT).to_local())?;
    }
    let chain = chain_name(&config.name, id, "DN-");
    rules.set_chain(Table::Nat, &chain, dnat_rules(config, own, forwards))?;
    for rule in entry_rules(&config.name, id, forwards) {
        rules.append(Table::Nat, DNAT, rule)?;
    }
    Ok(())
}

/// Who has sent UDP to one of these ports before would go on to where it went then, or nowhere: only the first packet of a
/// connection asks the rules. Mirrors `deletePortmapStaleConnections`.
fn forget_stale(conntrack: &mut Conntrack, forwards: &[Forward]) {
    let of_udp = forwards.iter().filter(|forward| forward.protocol == Protocol::Udp);
    let ports: Vec<u16> = of_udp.map(|forward| forward.host_port).collect();
    if !ports.is_empty() {
        conntrack.delete(|connection| {
            let to = &connection.original;
            to.protocol == Protocol::Udp && ports.contains(&to.destination_port)
        });
    }
}

/// Which packets are for this container: its ports, by protocol.
fn entry_rules(network: &str, id: &str, forwards: &[Forward]) -> Vec<Rule> {
    let mut ports: BTreeMap<&str, (Protocol, Vec<u16>)> = BTreeMap::new();
    for forward in forwards {
        let entry = ports.entry(forward.protocol.as_str()).or_insert((forward.protocol, Vec::new()));
        entry.1.push(forward.host_port);
    }
    let chain = chain_name(network, id, "DN-");
    let comment = format!("dnat name: {network:?} id: {id:?}");
    let rule = |protocol: Protocol, ports: &[u16]| {
        let several = Match::DestinationPorts(Invertible::is(ports.to_vec()));
        Rule::jump(&chain).protocol(protocol).comment(&comment).and(several)
    };
    ports.values().flat_map(|(protocol, ports)| ports.chunks(PORTS_MAX).map(|ports| rule(*protocol, ports))).collect()
}

/// For each port: the source must change too if the container calls itself, or a process of the node calls by
/// 127.0.0.1; then the destination changes.
fn dnat_rules(config: &Config, own: IpNet, forwards: &[Forward]) -> Vec<Rule> {
    let IpAddr::V4(address) = own.address else { return Vec::new() };
    let masq_all = config.masq_all == Some(true);
    let subnet = if masq_all { Cidr::ALL } else { Cidr::new(address, own.prefix) };
    let mut rules = Vec::new();
    for forward in forwards {
        let base = |target: Target| {
            let rule = Rule::new(target).protocol(forward.protocol).dport(forward.host_port);
            match forward.host_ip {
                Some(host_ip) => rule.destination(Cidr::host(host_ip)),
                None => rule,
            }
        };
        let mark = || base(Target::Jump(SET_MARK.into()));
        if config.snat != Some(false) {
            rules.push(mark().source(subnet));
            rules.extend((!masq_all).then(|| mark().source(Cidr::host(Ipv4Addr::LOCALHOST))));
        }
        rules.push(base(Target::Dnat(address, Some(forward.container_port))));
    }
    rules
}

fn del(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let (config, forwards) = Config::load(run).map_err(|error| format!("failed to parse config: {error}"))?;
    if forwards.is_empty() {
        return Ok(());
    }
    let rules = &mut machine.network.root.netfilter.rules;
    let id = &run.environment.container_id;
    let mut gone = false;
    for rule in entry_rules(&config.name, id, &forwards) {
        gone |= rules.delete_rule(Table::Nat, DNAT, &rule);
    }
    let chain = chain_name(&config.name, id, "DN-");
    rules.delete_chain(Table::Nat, &chain).map_err(|error| format!("could not teardown ipv4 dnat: {error}"))?;
    if gone {
        machine.did(format_args!("iptables: the container's forwarded ports are removed"));
    }
    Ok(())
}

fn check(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let (config, forwards) = Config::load(run)?;
    let previous = run.previous()?.ok_or("Required prevResult missing")?;
    let Some(own) = previous.address_of(&run.environment.ifname).filter(|_| !forwards.is_empty()) else {
        return Ok(());
    };
    let chain = chain_name(&config.name, &run.environment.container_id, "DN-");
    let rules = &machine.network.root.netfilter.rules;
    let there = rules.chain(Table::Nat, &chain).map(|chain| &chain.rules);
    match dnat_rules(&config, own, &forwards).iter().find(|rule| there.is_none_or(|there| !there.contains(rule))) {
        Some(rule) => Err(format!("could not check ipv4 dnat: expected rule [{rule}] not found").into()),
        None => Ok(()),
    }
}

//! The firewall plugin: lets packets of the container through a node whose firewall forwards nothing else. Mirrors
//! the iptables back end of `plugins/meta/firewall`.
//!
//! Left out: firewalld, `ingressPolicy`, IPv6.

use std::net::IpAddr;

use serde::Deserialize;

use super::frame::{Machine, Plugin, Run};
use crate::cni::exec::CniError;
use crate::cni::result::CniResult;
use crate::netfilter::{Cidr, Rule, State, Table, Target};

/// The row of this plugin.
pub(super) const PLUGIN: Plugin = Plugin { name: "firewall", since: "0.4.0", add, del, check, status: None };

/// The plugin's own chain.
const FORWARD: &str = "CNI-FORWARD";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    iptables_admin_chain_name: String,
}

fn add(machine: &mut Machine, run: &Run) -> Result<CniResult, CniError> {
    let admin = admin_chain(run)?;
    let previous = run.previous()?.ok_or("missing prevResult from earlier plugin")?;
    let rules = &mut machine.network.root.netfilter.rules;
    rules.make_chain(Table::Filter, FORWARD);
    rules.make_chain(Table::Filter, &admin);
    let jump = Rule::jump(FORWARD).comment("CNI firewall plugin rules");
    let first = Rule::jump(&admin).comment("CNI firewall plugin admin overrides");
    let refused = |error: crate::netfilter::RulesetError| error.to_string();
    rules.insert(Table::Filter, "FORWARD", jump).map_err(refused)?;
    rules.insert(Table::Filter, FORWARD, first).map_err(refused)?;
    for rule in rules_for(&previous) {
        rules.append(Table::Filter, FORWARD, rule).map_err(refused)?;
    }
    machine.did(format_args!("iptables: {FORWARD} lets packets from the container through, and answers to it"));
    Ok(previous)
}

fn del(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let Some(previous) = run.previous()? else { return Ok(()) };
    let mut gone = false;
    for rule in rules_for(&previous) {
        gone |= machine.network.root.netfilter.rules.delete_rule(Table::Filter, FORWARD, &rule);
    }
    if gone {
        machine.did(format_args!("iptables: the container's rules go from {FORWARD}"));
    }
    Ok(())
}

fn check(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let previous = run.previous()?.ok_or("missing prevResult from earlier plugin")?;
    let chain = machine.network.root.netfilter.rules.chain(Table::Filter, FORWARD);
    let there = |rule: &Rule| chain.is_some_and(|chain| chain.rules.contains(rule));
    match rules_for(&previous).into_iter().find(|rule| !there(rule)) {
        Some(rule) => Err(format!("expected rule [{rule}] not found").into()),
        None => Ok(()),
    }
}

fn admin_chain(run: &Run) -> Result<String, CniError> {
    let config: Config = run.config().map_err(|error| format!("failed to load netconf: {error}"))?;
    let name = config.iptables_admin_chain_name;
    Ok(if name.is_empty() { "CNI-ADMIN".into() } else { name })
}

/// Accept answers to the container, and everything that it sends.
fn rules_for(result: &CniResult) -> Vec<Rule> {
    let v4 = result.ips.iter().filter_map(|ip| match ip.address.address {
        IpAddr::V4(address) => Some(Cidr::host(address)),
        IpAddr::V6(_) => None,
    });
    let accept = || Rule::new(Target::Accept);
    v4.flat_map(|own| [accept().destination(own).state(&[State::Related, State::Established]), accept().source(own)])
        .collect()
}

//! host-local: addresses handed out from files. Mirrors `plugins/ipam/host-local`.
//!
//! Each address in use is a file named after it, in `/var/lib/cni/networks/NETWORK/`, that says whose it is. The search
//! for a free one starts after the address given last, so an address that was freed rests for a while. The files are
//! all there is: a file without a container is an address that is never freed.
//!
//! - [`ranges`]: which addresses there are.
//! - [`store`]: which of them are taken.
//!
//! Left out: name servers from a `resolv.conf`.

use std::net::IpAddr;

use serde::Deserialize;
use serde_json::Value;

use super::frame::{Machine, Plugin, Run};
use crate::cni::config::parse_version;
use crate::cni::exec::CniError;
use crate::cni::ipnet::IpNet;
use crate::cni::result::{CniResult, IpConfig, Route};

pub mod ranges;
pub mod store;

use ranges::{Range, RangeSet};
use store::Store;

/// The row of this plugin.
pub(super) const PLUGIN: Plugin = Plugin { name: "host-local", since: "0.1.0", add, del, check, status: None };

/// What the plugin reads of its configuration.
struct Config {
    ranges: Vec<RangeSet>,
    routes: Vec<Route>,
    requested: Vec<IpAddr>,
    store: Store,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Section {
    #[serde(flatten)]
    range: Option<Range>,
    ranges: Vec<RangeSet>,
    routes: Vec<Route>,
    data_dir: String,
}

/// Asks what stands in for the search here, if there is such a thing. It knows networks with one range only.
fn asked(machine: &mut Machine, run: &Run, config: &Config) -> Option<Result<Option<IpAddr>, String>> {
    let (Some(ipam), [RangeSet(set)]) = (machine.ipam, config.ranges.as_slice()) else { return None };
    let [range] = set.as_slice() else { return None };
    let before = config.store.files(machine.disk);
    let mut files = before.clone();
    let said = ipam(run, range, &mut files);
    for path in config.store.change(machine.disk, &before, &files) {
        machine.did(format_args!("file {path} is written or removed"));
    }
    Some(said)
}

fn add(machine: &mut Machine, run: &Run) -> Result<CniResult, CniError> {
    let config = Config::load(run)?;
    let (id, ifname) = (&run.environment.container_id, &run.environment.ifname);
    config.store.open(machine.disk)?;
    if let Some(said) = asked(machine, run, &config) {
        let range = &config.ranges[0].0[0];
        let prefix = range.subnet.map_or(0, |subnet| subnet.prefix);
        let ip = |address| IpConfig { interface: None, address: IpNet { address, prefix }, gateway: range.gateway };
        return Ok(CniResult {
            ips: said?.into_iter().map(ip).collect(),
            routes: config.routes,
            ..CniResult::default()
        });
    }
    let mut requested = config.requested;
    let mut ips = Vec::new();
    for (at, set) in config.ranges.iter().enumerate() {
        let wish = requested.iter().position(|ip| set.range_for(*ip).is_some()).map(|at| requested.remove(at));
        match config.store.allocate(machine.disk, set, at, (id, ifname), wish) {
            Ok((address, gateway)) => {
                machine.did(format_args!(
                    "{} is reserved: file {}",
                    address.address,
                    config.store.path(address.address)
                ));
                ips.push(IpConfig { interface: None, address, gateway });
            }
            Err(error) => {
                // What the sets before have given goes back; what the interface had before this run stays its own.
                if at > 0 {
                    config.store.release(machine.disk, id, ifname);
                }
                return Err(format!("failed to allocate for range {at}: {error}").into());
            }
        }
    }
    if !requested.is_empty() {
        config.store.release(machine.disk, id, ifname);
        let left: Vec<String> = requested.iter().map(|ip| format!(" {ip}")).collect();
        return Err(format!("failed to allocate all requested IPs:{}", left.concat()).into());
    }
    Ok(CniResult { ips, routes: config.routes, ..CniResult::default() })
}

fn del(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let config = Config::load(run)?;
    config.store.open(machine.disk)?;
    if let Some(said) = asked(machine, run, &config) {
        return said.map(|_| ()).map_err(CniError::from);
    }
    for path in config.store.release(machine.disk, &run.environment.container_id, &run.environment.ifname) {
        machine.did(format_args!("an address is given back: file {path} is removed"));
    }
    Ok(())
}

fn check(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let config = Config::load(run)?;
    let (id, ifname) = (&run.environment.container_id, &run.environment.ifname);
    if let Some(said) = asked(machine, run, &config) {
        return said.map(|_| ()).map_err(CniError::from);
    }
    if config.store.held(machine.disk, id, ifname).is_empty() {
        return Err(format!("host-local: Failed to find address added by container {id}").into());
    }
    Ok(())
}

impl Config {
    /// `LoadIPAMConfig`.
    fn load(run: &Run) -> Result<Config, CniError> {
        let stdin = &run.stdin;
        let ipam = stdin.get("ipam").ok_or("IPAM config missing 'ipam' key")?;
        let ipam = Section::deserialize(ipam).map_err(|error| error.to_string())?;
        let requested = requested(run)?;
        let own = ipam.range.filter(|range| range.subnet.is_some()).map(|range| RangeSet(vec![range]));
        let given = match stdin.pointer("/runtimeConfig/ipRanges") {
            Some(ranges) => Vec::deserialize(ranges).map_err(|error| error.to_string())?,
            None => Vec::new(),
        };
        let mut ranges: Vec<RangeSet> = given.into_iter().chain(own).chain(ipam.ranges).collect();
        if ranges.is_empty() {
            return Err("no IP ranges specified".into());
        }
        for (at, set) in ranges.iter_mut().enumerate() {
            set.complete().map_err(|error| format!("invalid range set {at}: {error}"))?;
        }
        let version = stdin.get("cniVersion").and_then(Value::as_str).unwrap_or_default();
        let families = |v4: bool| ranges.iter().filter(|set| set.is_v4() == v4).count();
        if families(true).max(families(false)) > 1 && parse_version(version)? < (0, 3, 0) {
            let message = format!("CNI version {version} does not support more than 1 address per family");
            return Err(message.into());
        }
        for (first, set) in ranges.iter().enumerate() {
            if let Some(second) = ranges[first + 1..].iter().position(|other| set.overlaps(other)) {
                return Err(format!("range set {first} overlaps with {}", first + second + 1).into());
            }
        }
        let network = stdin.get("name").and_then(Value::as_str).unwrap_or_default();
        Ok(Config { ranges, routes: ipam.routes, requested, store: Store::new(&ipam.data_dir, network) })
    }
}

/// Addresses that are requested: in `CNI_ARGS`, in the arguments of the network, from the runtime.
fn requested(run: &Run) -> Result<Vec<IpAddr>, CniError> {
    let listed = |pointer: &str| run.stdin.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let texts = run.argument("IP")?.into_iter().map(str::to_owned);
    let lists = listed("/args/cni/ips").chain(listed("/runtimeConfig/ips"));
    let texts = texts.chain(lists.map(|ip| ip.as_str().unwrap_or_default().to_owned()));
    let read = |text: String| match text.parse::<IpNet>() {
        Ok(net) => Ok(net.address),
        Err(_) => text.parse().map_err(|_| CniError::from(format!("invalid IP address: {text}"))),
    };
    texts.map(read).collect()
}

#[cfg(test)]
mod tests;

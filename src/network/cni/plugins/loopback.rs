//! The loopback plugin: sets `lo` up in the container. Mirrors `plugins/main/loopback`.

use super::frame::{Machine, Plugin, Run};
use crate::cni::exec::CniError;
use crate::cni::result::{CniResult, Interface, IpConfig};

/// The row of this plugin.
pub(super) const PLUGIN: Plugin = Plugin { name: "loopback", since: "0.1.0", add, del, check, status: None };

fn add(machine: &mut Machine, run: &Run) -> Result<CniResult, CniError> {
    let netns = &run.environment.netns;
    let namespace = machine.network.namespace_mut(netns).ok_or_else(|| no_namespace(netns))?;
    namespace.set_up("lo");
    let addresses = namespace.links.get("lo").map(|lo| lo.addresses.clone()).unwrap_or_default();
    machine.did(format_args!("lo is set up inside {netns}"));
    if let Some(previous) = run.previous()? {
        return Ok(previous);
    }
    let interface = Interface {
        name: "lo".into(),
        mac: "00:00:00:00:00:00".into(),
        sandbox: netns.clone(),
        ..Interface::default()
    };
    let ips = addresses.into_iter().map(|address| IpConfig { interface: Some(0), address, gateway: None });
    Ok(CniResult { interfaces: vec![interface], ips: ips.collect(), ..CniResult::default() })
}

fn del(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let namespace = machine.network.named.get_mut(&run.environment.netns);
    if let Some(lo) = namespace.and_then(|namespace| namespace.links.get_mut("lo")) {
        lo.up = false;
        machine.did(format_args!("lo is set down"));
    }
    Ok(())
}

fn check(machine: &mut Machine, run: &Run) -> Result<(), CniError> {
    let netns = &run.environment.netns;
    let namespace = machine.network.namespace(netns).ok_or_else(|| no_namespace(netns))?;
    match namespace.links.get("lo") {
        Some(lo) if lo.up => Ok(()),
        _ => Err("loopback interface is down".into()),
    }
}

/// A namespace that is not there, in the words of `pkg/ns`.
pub(super) fn no_namespace(path: &str) -> CniError {
    format!("failed to Statfs {path:?}: no such file or directory").into()
}

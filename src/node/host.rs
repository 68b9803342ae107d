//! A machine, as the processes on it share it: its disk, and the network that its kernel keeps.

use std::net::Ipv4Addr;

use crate::engine::{Hub, Memory};

use super::cni::config;
use super::cni::ipnet::IpNet;
use super::cni::netns::NodeNetwork;
use super::disk::Disk;
use super::network::sockets::Sockets;

/// Where network plugins are installed.
pub const PLUGINS: &str = "/opt/cni/bin";

/// One machine.
#[derive(Debug)]
pub struct Host {
    /// What an admin would look at.
    pub disk: Disk,
    /// Gone with the power.
    pub network: Memory<NodeNetwork>,
    /// Who listens; gone with the power too.
    pub sockets: Memory<Sockets>,
}

impl Host {
    /// A machine that has just been switched on, with the address `address` and this disk.
    pub fn new(hub: &Hub, address: Ipv4Addr, disk: Disk) -> Host {
        let network = hub.memory(NodeNetwork::new(IpNet::v4(address, 16)));
        Host { disk, network, sockets: hub.memory(Sockets::default()) }
    }

    /// A disk as an installer leaves it: network plugins, and a configuration that gives Pods addresses of `subnet`.
    pub fn installed(hub: &Hub, hostname: &str, subnet: &str) -> Disk {
        let disk = Disk::new(hub, hostname);
        let plugins = super::cni::plugins::NAMES.iter().map(|name| (format!("{PLUGINS}/{name}"), "ELF\n".to_owned()));
        let config = (config::DEFAULT_FILE.to_owned(), config::default_text(subnet));
        for (path, text) in plugins.chain([config]) {
            disk.put(&path, &text).unwrap_or_else(|error| unreachable!("an empty disk takes {path}: {error}"));
        }
        disk
    }
}

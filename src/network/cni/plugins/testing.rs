//! A machine to try plugins on.

use serde_json::{Value, json};

use super::{Machine, main};
use crate::cni::config::PLUGINS;
use crate::cni::exec::{CniError, Command, Environment};
use crate::cni::netns::{Namespace, NodeNetwork};
use crate::disk::Disk;
use crate::install;
use engine::Hub;

/// A machine with all plugins installed.
pub struct Bench {
    /// Its files: the plugins, and what they remember.
    pub disk: Disk,
    /// Its interfaces, routes and network namespaces.
    pub network: NodeNetwork,
    /// What the plugins did, a line each.
    pub steps: Vec<String>,
    drawn: u64,
}

impl Default for Bench {
    fn default() -> Bench {
        let network = NodeNetwork::new("172.18.0.10/16".parse().unwrap());
        Bench { disk: install::disk(&Hub::new(0), "node-1", "10.244.0.0/24"), network, steps: Vec::new(), drawn: 0 }
    }
}

impl Bench {
    /// One on which nothing ran yet.
    pub fn new() -> Bench {
        Bench::default()
    }

    /// Runs a plugin for the interface `eth0` of a container, whose namespace is made if need be.
    pub fn run(&mut self, plugin: &str, command: Command, id: &str, stdin: &Value) -> Result<Value, CniError> {
        let netns = format!("/var/run/netns/{id}");
        if command == Command::Add {
            self.network.named.entry(netns.clone()).or_default();
        }
        self.run_with(plugin, &environment(command, id, &netns), stdin)
    }

    /// Runs a plugin with an environment of the caller's.
    pub fn run_with(&mut self, plugin: &str, environment: &Environment, stdin: &Value) -> Result<Value, CniError> {
        let drawn = &mut self.drawn;
        let mut random = || {
            *drawn += 1;
            *drawn
        };
        let mut machine = Machine {
            disk: &self.disk,
            network: &mut self.network,
            random: &mut random,
            steps: Some(&mut self.steps),
            ipam: None,
        };
        main(&mut machine, &format!("{PLUGINS}/{plugin}"), environment, stdin)
    }

    /// The address that host-local gives a container.
    pub fn allocate(&mut self, id: &str, ipam: &Value) -> Result<Vec<String>, String> {
        let printed = self.run("host-local", Command::Add, id, &network(json!({"ipam": ipam})));
        let printed = printed.map_err(|error| error.to_string())?;
        let ips = printed["ips"].as_array().cloned().unwrap_or_default();
        Ok(ips.iter().map(|ip| ip["address"].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// The network namespace of a container that a plugin was run for.
    pub fn inside(&self, id: &str) -> &Namespace {
        &self.network.named[&format!("/var/run/netns/{id}")]
    }
}

/// The environment of a call, as a runtime sets it.
pub fn environment(command: Command, id: &str, netns: &str) -> Environment {
    Environment {
        command,
        container_id: id.into(),
        netns: netns.into(),
        ifname: "eth0".into(),
        args: "IgnoreUnknown=1;K8S_POD_NAME=web".into(),
        path: PLUGINS.into(),
    }
}

/// A plugin's standard input: a network's name and version, and `more`.
pub fn network(more: Value) -> Value {
    let mut value = json!({"cniVersion": "1.1.0", "name": "net"});
    for (key, field) in more.as_object().into_iter().flatten() {
        value[key] = field.clone();
    }
    value
}

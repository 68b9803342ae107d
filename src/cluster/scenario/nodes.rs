//! The machines of a scenario: nodes, the network between them, and how images behave on them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::NodeConfig;
use kubelet::runtime::state::ImageScript;
use network::kernel::Mode;

/// How packets get from a Pod of one node to a Pod of another.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Each node is a router for its Pods: `host-gw`.
    #[default]
    HostGw,
    /// Through tunnels: `vxlan`.
    Vxlan,
}

impl From<Network> for Mode {
    fn from(network: Network) -> Mode {
        match network {
            Network::HostGw => Mode::HostGateway,
            Network::Vxlan => Mode::Vxlan,
        }
    }
}

/// A number of nodes, or what each of them is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Nodes {
    /// So many, all alike.
    Count(u16),
    /// These.
    List(Vec<NodeDescription>),
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes::Count(3)
    }
}

/// A node in a scenario.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NodeDescription {
    /// `node-1`.
    pub name: String,
    /// Cores.
    #[serde(default = "four")]
    pub cpu: u32,
    /// Memory in GiB.
    #[serde(default = "eight", rename = "memoryGi")]
    pub memory_gi: u32,
    /// How many Pods it takes.
    #[serde(default = "hundred_ten")]
    pub pods: u32,
    /// Labels beside the usual ones.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

impl NodeDescription {
    /// The same, as the cluster starts it. It has no number yet.
    pub(super) fn config(&self) -> NodeConfig {
        let (name, labels) = (self.name.clone(), self.labels.clone());
        NodeConfig { name, cpu: self.cpu, memory_gi: self.memory_gi, pods: self.pods, labels, number: 0 }
    }
}

fn four() -> u32 {
    4
}

fn eight() -> u32 {
    8
}

fn hundred_ten() -> u32 {
    110
}

/// How an image behaves. Times are seconds.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ImageBehaviour {
    /// Pulling it fails with this text.
    pub pull_fails: Option<String>,
    /// Pulling it takes this long.
    pub pull_seconds: Option<f64>,
    /// Its process ends after so long.
    pub exits_after: Option<f64>,
    /// With this code.
    #[serde(default)]
    pub exit_code: i32,
    /// Probes succeed only after so long.
    pub ready_after: Option<f64>,
    /// What it prints when it starts.
    #[serde(default)]
    pub logs: Vec<String>,
}

impl ImageBehaviour {
    /// The same, as the runtime understands it.
    pub fn script(&self) -> ImageScript {
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        ImageScript {
            pull_error: self.pull_fails.clone(),
            pull_time: self.pull_seconds.map(time),
            exits: self.exits_after.map(|after| (time(after), self.exit_code)),
            ready_after: self.ready_after.map(time),
            logs: self.logs.clone(),
        }
    }
}

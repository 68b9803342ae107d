//! The sandboxes of pods: what they are made from, and what is said of them.

use serde::{Serialize, Serializer};

use super::nanos::nanos;
use network::kernel::sockets::DnsConfig;
use object::Shared;
use object::text::Text;
use object::time::Instant;

/// `PodSandboxMetadata`, with what else identifies a pod to the runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSandboxConfig {
    /// The Pod's name.
    pub name: String,
    /// The Pod's namespace.
    pub namespace: String,
    /// The Pod's uid.
    pub uid: Text,
    /// 0 for the Pod's first sandbox.
    pub attempt: u32,
    /// The hostname inside.
    pub hostname: String,
    /// The domain that makes the hostname a full one, which its `/etc/hosts` tells. In a real cluster the kubelet writes that
    /// file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// The Pod shares the node's network; no CNI call is made.
    pub host_network: bool,
    /// The Pod's labels, by key.
    #[serde(serialize_with = "as_map")]
    pub labels: Shared<Vec<(String, String)>>,
    /// Ports that the containers declare.
    pub port_mappings: Vec<PortMapping>,
    /// What its `/etc/hosts` says beside the usual: address and names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_aliases: Vec<(String, Vec<String>)>,
    /// Its `/etc/resolv.conf`.
    pub dns: Shared<DnsConfig>,
    /// The way to run it, of `RunPodSandboxRequest`; empty: the usual one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runtime_handler: String,
}

/// `PortMapping`: a port of a container, and the node's that leads to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PortMapping {
    /// `TCP`.
    pub protocol: String,
    /// The container's.
    pub container_port: i32,
    /// The node's; 0: none leads there.
    pub host_port: i32,
    /// At which of the node's addresses; empty: at all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
}

/// `PodSandboxStatus`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSandboxStatus {
    /// The runtime's id: 64 hex digits.
    pub id: Text,
    /// What it was made from.
    pub config: Shared<PodSandboxConfig>,
    /// `SANDBOX_READY`, or not any more.
    pub ready: bool,
    /// Nanoseconds since the run started.
    #[serde(serialize_with = "nanos")]
    pub created_at: Instant,
    /// The address that CNI gave; empty on the host's network and after the sandbox stopped.
    pub ip: String,
}

fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

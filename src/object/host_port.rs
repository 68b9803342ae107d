//! Ports of the node that pods want to listen on: no two on one node may want the same. The scheduler keeps such pods apart,
//! and the kubelet refuses what comes all the same.

use k8s_openapi::api::core::v1::PodSpec;

use super::pod::is_sidecar;

/// A port of the node itself: a pod with a `hostPort` takes it from all others there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// `0.0.0.0` stands for every address of the node.
    pub ip: String,
    /// The number.
    pub port: i32,
}

impl HostPort {
    /// Those that a pod's containers and sidecars want. Mirrors `GetHostPorts`.
    pub fn of(spec: &PodSpec) -> Vec<HostPort> {
        let sidecars = spec.init_containers.iter().flatten().filter(|init| is_sidecar(init));
        let ports = spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
        ports
            .filter_map(|port| {
                let number = port.host_port.filter(|number| *number > 0)?;
                let or = |text: &Option<String>, default: &str| match text.as_deref() {
                    None | Some("") => default.to_owned(),
                    Some(text) => text.to_owned(),
                };
                Some(HostPort { protocol: or(&port.protocol, "TCP"), ip: or(&port.host_ip, "0.0.0.0"), port: number })
            })
            .collect()
    }

    /// Whether both cannot be listened on at once. Mirrors `HostPortInfo.CheckConflict`.
    pub fn conflicts_with(&self, other: &HostPort) -> bool {
        const ANY: &str = "0.0.0.0";
        let same_ip = self.ip == other.ip || self.ip == ANY || other.ip == ANY;
        self.port == other.port && self.protocol == other.protocol && same_ip
    }
}

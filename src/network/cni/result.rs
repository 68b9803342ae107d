//! Results: what a plugin prints after ADD, and how older versions of the specification print it.
//!
//! Mirrors `pkg/types/100` and `pkg/types/040`. Left out: printing results of 0.1.0 and 0.2.0, from before chains.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ipnet::IpNet;

/// What a network looks like to a container: the newest form of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CniResult {
    /// The version it is printed in.
    pub cni_version: String,
    /// What was made, on the node and in the container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// The container's addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<IpConfig>,
    /// The container's routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Name servers.
    #[serde(skip_serializing_if = "Dns::is_empty")]
    pub dns: Dns,
}

/// A link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its hardware address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// Bytes; 0: not told.
    #[serde(skip_serializing_if = "is_zero")]
    pub mtu: u32,
    /// The namespace it is in; empty: the node's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IpConfig {
    /// Which of the interfaces has it. Address plugins do not know.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interface: Option<usize>,
    /// The address.
    pub address: IpNet,
    /// The router of its network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gateway: Option<IpAddr>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Where to.
    pub dst: IpNet,
    /// Through whom; None: through the gateway of the address.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gw: Option<IpAddr>,
    /// The fields that 1.1.0 added: `mtu`, `advmss`, `priority`, `table`, `scope`. Passed on as they are.
    #[serde(flatten)]
    pub more: serde_json::Map<String, Value>,
}

/// How names are looked up. Kubernetes does not use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dns {
    /// Their addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    /// The local domain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// Domains to search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<String>,
    /// For the resolver.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Dns {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Dns::default()
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl CniResult {
    /// The first address of an interface of the container.
    pub fn address_of(&self, ifname: &str) -> Option<IpNet> {
        let inside = |ip: &&IpConfig| match ip.interface.and_then(|at| self.interfaces.get(at)) {
            Some(interface) => interface.name == ifname && !interface.sandbox.is_empty(),
            None => true,
        };
        self.ips.iter().find(inside).map(|ip| ip.address)
    }

    /// The result as `version` prints it. The error is libcni's.
    pub fn to_json(&self, version: &str) -> Result<Value, String> {
        let mut value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        value["cniVersion"] = json!(version);
        match version {
            "1.0.0" | "1.1.0" => {}
            "0.3.0" | "0.3.1" | "0.4.0" => {
                for (ip, config) in value["ips"].as_array_mut().into_iter().flatten().zip(&self.ips) {
                    ip["version"] = json!(if config.address.address.is_ipv4() { "4" } else { "6" });
                }
                for interface in value["interfaces"].as_array_mut().into_iter().flatten() {
                    if let Some(fields) = interface.as_object_mut() {
                        fields.remove("mtu");
                    }
                }
            }
            other => return Err(format!("unsupported CNI result version {other:?}")),
        }
        Ok(value)
    }

    /// Reads a result of any version since 0.3.0.
    pub fn from_json(value: &Value) -> Result<CniResult, String> {
        CniResult::deserialize(value).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_in_the_family_of_addresses() {
        let newest = json!({
            "cniVersion": "1.1.0",
            "interfaces": [{"name": "cni0", "mac": "00:11:22:33:44:55", "mtu": 1500}],
            "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0}, {"address": "fd00::2/64"}],
            "routes": [{"dst": "0.0.0.0/0", "priority": 5}],
            "dns": {"nameservers": ["10.1.0.1"]},
        });
        let result = CniResult::from_json(&newest).unwrap();
        assert_eq!(result.to_json("1.1.0").unwrap(), newest);
        let old = result.to_json("0.3.1").unwrap();
        assert_eq!(old["ips"][0]["version"], "4");
        assert_eq!(old["ips"][1]["version"], "6");
        assert_eq!(old["interfaces"][0].get("mtu"), None);
        let read = CniResult::from_json(&old).unwrap();
        assert_eq!(read.ips, result.ips);
        assert_eq!(result.to_json("0.2.0").unwrap_err(), "unsupported CNI result version \"0.2.0\"");
    }
}

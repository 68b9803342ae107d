//! The network's configuration: what an installer puts into `/etc/cni/net.d`, and what a plugin reads from its
//! standard input.

use serde_json::{Value, json};

use super::{CniRequest, Command, VERSION};

/// The one network of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Its name; host-local keeps its files in a directory of that name.
    pub name: String,
    /// The bridge on the node.
    pub bridge: String,
    /// The Pods' addresses on this node: `10.244.0.0/24`.
    pub subnet: String,
}

impl NetworkConfig {
    /// A network whose Pods get addresses of `subnet`.
    pub fn new(subnet: &str) -> NetworkConfig {
        NetworkConfig { name: "kubestep".into(), bridge: "cni0".into(), subnet: subnet.to_owned() }
    }

    /// `10-kubestep.conflist`: a list, since plugins can be chained.
    pub fn conflist(&self) -> Value {
        json!({"cniVersion": VERSION, "name": self.name, "plugins": [self.plugin()]})
    }

    /// What the runtime gives the plugin: its part of the list, with the list's name and version put in, and what
    /// this call adds. The plugin hands all of it on to its address plugin.
    pub fn stdin(&self, request: &CniRequest) -> Value {
        let mut value = self.plugin();
        value["cniVersion"] = json!(VERSION);
        value["name"] = json!(self.name);
        if request.command == Command::Gc {
            let valid = request.valid_attachments.iter();
            let valid: Vec<Value> = valid.map(|id| json!({"containerID": id, "ifname": "eth0"})).collect();
            value["cni.dev/valid-attachments"] = json!(valid);
        }
        value
    }

    /// Where host-local keeps an address's file.
    pub fn address_file(&self, address: impl std::fmt::Display) -> String {
        format!("/var/lib/cni/networks/{}/{address}", self.name)
    }

    fn plugin(&self) -> Value {
        json!({
            "type": "bridge",
            "bridge": self.bridge,
            "isGateway": true,
            "ipMasq": true,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": self.subnet}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        })
    }
}

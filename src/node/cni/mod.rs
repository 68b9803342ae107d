//! The Container Network Interface: how a runtime asks for a Pod's network.
//!
//! A network plugin is a program: it is run with a command in its environment and its configuration on standard input,
//! and prints a result. Here it is an actor that takes one such call as one event, and shows each step of its work:
//! the address it reserves, the veth pair it makes, the end it puts into the Pod's namespace, the bridge port, the
//! routes and the masquerade rules.
//!
//! - [`config`]: what the plugins are configured with.
//! - [`bridge`]: the bridge plugin.
//! - [`ipam`]: host-local, which hands out addresses from files.
//! - [`netns`]: the network of one node, as data.
//!
//! Must hold: one address has one owner; every ADD is undone by a DEL, which may come twice.
//!
//! Left out: chained plugins (portmap), `prevResult`, `disableCheck` and capabilities, versions other than 1.1.0, the
//! cached result on disk, and, until packets walk, packets themselves.

use std::any::Any;
use std::cell::Ref;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::engine::{Actor, ActorId, Delivery, Hub, Memory, Message, Note, RpcError, RpcResult};
use crate::node::cri;

pub mod bridge;
pub mod config;
pub mod ipam;
pub mod netns;

use netns::NodeNetwork;

/// The spec version that configuration and results carry.
pub const VERSION: &str = "1.1.0";

/// `CNI_COMMAND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Connect a namespace.
    Add,
    /// Undo it.
    Del,
    /// Look whether it is still as it was made.
    Check,
    /// Undo whatever is not named as valid.
    Gc,
    /// Say whether an ADD would work.
    Status,
    /// Say which versions of the spec are understood.
    Version,
}

/// One run of the plugin: its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CniRequest {
    /// `CNI_COMMAND`.
    pub command: Command,
    /// `CNI_CONTAINERID`: the sandbox.
    pub container_id: String,
    /// `CNI_NETNS`.
    pub netns: String,
    /// `CNI_IFNAME`.
    pub ifname: String,
    /// `K8S_POD_NAMESPACE` in `CNI_ARGS`.
    pub pod_namespace: String,
    /// `K8S_POD_NAME`.
    pub pod_name: String,
    /// `K8S_POD_UID`.
    pub pod_uid: String,
    /// For GC, on standard input: the sandboxes that are there.
    pub valid_attachments: Vec<String>,
}

/// What the plugin prints after ADD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CniResult {
    /// Name, hardware address, and the namespace it is in (empty: the node's).
    pub interfaces: Vec<(String, String, String)>,
    /// Address with prefix length, and its gateway.
    pub ips: Vec<(String, String)>,
    /// Destination and gateway.
    pub routes: Vec<(String, String)>,
    /// To VERSION, and nothing else.
    pub supported_versions: Option<Vec<&'static str>>,
}

impl CniResult {
    /// The first address, without its prefix length.
    pub fn address(&self) -> String {
        let first = self.ips.first().map(|(address, _)| address.as_str()).unwrap_or_default();
        first.split('/').next().unwrap_or_default().to_owned()
    }
}

impl Message for CniRequest {
    fn method(&self) -> &'static str {
        match self.command {
            Command::Add => "CNI ADD",
            Command::Del => "CNI DEL",
            Command::Check => "CNI CHECK",
            Command::Gc => "CNI GC",
            Command::Status => "CNI STATUS",
            Command::Version => "CNI VERSION",
        }
    }

    /// The environment.
    fn json(&self) -> Value {
        let (namespace, name, uid) = (&self.pod_namespace, &self.pod_name, &self.pod_uid);
        json!({
            "CNI_COMMAND": self.method().trim_start_matches("CNI "),
            "CNI_CONTAINERID": self.container_id,
            "CNI_NETNS": self.netns,
            "CNI_IFNAME": self.ifname,
            "CNI_PATH": "/opt/cni/bin",
            "CNI_ARGS": format!(
                "IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME={name};\
                 K8S_POD_INFRA_CONTAINER_ID={};K8S_POD_UID={uid}",
                self.container_id
            ),
        })
    }
}

impl Message for CniResult {
    fn method(&self) -> &'static str {
        "CNI result"
    }

    fn json(&self) -> Value {
        if let Some(versions) = &self.supported_versions {
            return json!({"cniVersion": VERSION, "supportedVersions": versions});
        }
        let interface = |(name, mac, sandbox): &(String, String, String)| {
            let mut value = json!({"name": name, "mac": mac});
            if !sandbox.is_empty() {
                value["sandbox"] = json!(sandbox);
            }
            value
        };
        json!({
            "cniVersion": VERSION,
            "interfaces": self.interfaces.iter().map(interface).collect::<Vec<_>>(),
            "ips": self.ips.iter().map(|(address, gateway)| {
                json!({"address": address, "gateway": gateway, "interface": 2})
            }).collect::<Vec<_>>(),
            "routes": self.routes.iter().map(|(dst, gw)| json!({"dst": dst, "gw": gw})).collect::<Vec<_>>(),
            "dns": {},
        })
    }
}

impl CniError {
    /// What the plugin prints on standard output before it exits with 1.
    pub fn json(&self) -> Value {
        json!({"cniVersion": VERSION, "code": self.code, "msg": self.message})
    }
}

/// A plugin's error: a code of the spec and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CniError {
    /// 3: container unknown, 4: bad environment, 7: bad configuration, 11: try again, 100 and up: the plugin's own.
    pub code: u32,
    /// What happened.
    pub message: String,
}

/// The network plugins of one node.
pub struct Plugins {
    name: String,
    hub: Hub,
    actor: ActorId,
    network: Memory<NodeNetwork>,
}

impl Plugins {
    /// The plugins of `node`, which hand out addresses of `subnet`: `10.244.0.0/24`.
    pub fn new(hub: Hub, actor: ActorId, node: &str, subnet: &str) -> Plugins {
        let network = hub.memory(NodeNetwork::new(subnet));
        Plugins { name: format!("cni/{node}"), hub, actor, network }
    }

    /// The node's network as it is.
    pub fn network(&self) -> Ref<'_, NodeNetwork> {
        self.network.borrow()
    }

    fn call(&self, request: &CniRequest) -> RpcResult {
        let mut steps = Vec::new();
        let network = &mut *self.network.borrow_mut();
        if self.hub.recording() {
            steps.push(format!("standard input: {}", network.config.stdin(request)));
        }
        let result = match request.command {
            Command::Add => {
                let host_end = format!("veth{:08x}", self.hub.random(|random| random.next_u64()) as u32);
                bridge::add(network, request, &host_end, &mut steps)
            }
            Command::Del => {
                bridge::del(network, request, &mut steps);
                Ok(CniResult::default())
            }
            Command::Check => bridge::check(network, request).map(|()| CniResult::default()),
            Command::Gc => {
                bridge::gc(network, request, &mut steps);
                Ok(CniResult::default())
            }
            Command::Status => Ok(CniResult::default()),
            Command::Version => Ok(CniResult { supported_versions: Some(vec![VERSION]), ..CniResult::default() }),
        };
        if let Err(error) = &result {
            steps.push(format!("standard output: {}", error.json()));
        }
        for text in steps {
            self.hub.note(|| Note::Text { topic: "cni", text });
        }
        let error = |error: CniError| -> RpcError {
            cri::error("Unknown", format!("plugin type=\"bridge\" failed ({}): {}", request.method(), error.message))
        };
        result.map(|result| Rc::new(result) as Rc<dyn Message>).map_err(error)
    }
}

impl Actor for Plugins {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) {
        let Delivery::Rpc { call, from, message } = delivery else { return };
        let any: &dyn Any = &*message;
        if let Some(request) = any.downcast_ref::<CniRequest>() {
            let method = request.method();
            let result = self.call(request);
            self.hub.reply(self.actor, from, call, method, result);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

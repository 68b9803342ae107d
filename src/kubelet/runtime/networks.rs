//! The runtime's networks: which configuration is in force, and attaching sandboxes to it.
//!
//! Mirrors `containerd/go-cni` and containerd's `cni_conf_syncer.go`. A sandbox is attached to two networks side by
//! side: a built-in one whose only plugin is loopback, and the first configuration in `/etc/cni/net.d` by name, which
//! makes `eth0`. The directory is watched, so that a change takes effect at once.
//!
//! Simplified: containerd itself finds its sandboxes again after a crash and deletes the networks of those that are
//! gone. This runtime forgets them, so it does at its start what CRI-O does: GC of every attachment that no sandbox of
//! its own has.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::cri::{PodSandboxConfig, PortMapping};
use client::join_all;
use engine::{ActorId, Hub, Memory};
use network::cni::config::{DIRECTORY, NetworkList};
use network::cni::libcni::{Libcni, RuntimeConf};
use network::cni::netns::Namespace;
use network::cni::result::CniResult;
use network::host::Host;

/// The interface that Kubernetes looks at.
const IFNAME: &str = "eth0";
/// `ErrCNINotInitialized`.
const NOT_INITIALIZED: &str = "cni plugin not initialized";
/// The network that every sandbox is attached to first.
const LOOPBACK: &str = r#"{"cniVersion": "0.3.1", "name": "cni-loopback", "plugins": [{"type": "loopback"}]}"#;

/// The networks of one runtime.
pub struct Networks {
    host: Rc<Host>,
    cni: Libcni,
    loopback: Rc<NetworkList>,
    /// A namespace as the kernel makes it; all of them share its empty tables until they change.
    fresh: Namespace,
    /// None: there is no configuration that can be read.
    default: Memory<Option<Rc<NetworkList>>>,
}

impl Networks {
    /// Before any configuration is loaded.
    pub fn new(hub: Hub, plugins: ActorId, host: Rc<Host>) -> Networks {
        let default = hub.memory(None);
        let cni = Libcni::new(hub, plugins, host.clone());
        let loopback = NetworkList::parse(LOOPBACK).unwrap_or_else(|error| unreachable!("a text of ours: {error}"));
        Networks { host, cni, loopback: Rc::new(loopback), fresh: Namespace::default(), default }
    }

    /// The machine whose namespaces they connect.
    pub fn host(&self) -> &Rc<Host> {
        &self.host
    }

    /// Loads the first configuration in [`DIRECTORY`]. Without one that can be read there is no network.
    pub fn load(&self) -> Result<(), String> {
        let loaded = first_of(&self.host);
        let outcome = loaded
            .as_ref()
            .map(|_| ())
            .map_err(|error| format!("cni config load failed: {error}: failed to load cni config"));
        self.default.set(loaded.ok());
        outcome
    }

    fn ready(&self) -> Result<Rc<NetworkList>, String> {
        self.default.get().ok_or_else(|| NOT_INITIALIZED.to_owned())
    }

    /// Whether Pods can be attached.
    pub async fn status(&self) -> Result<(), String> {
        self.cni.status(&*self.ready()?).await
    }

    /// ADD for both networks, side by side. The result is that of `eth0`.
    pub async fn attach(&self, id: &str, config: &PodSandboxConfig) -> Result<CniResult, String> {
        let default = self.ready()?;
        let confs = [conf(id, &netns(id), "lo", config), conf(id, &netns(id), IFNAME, config)];
        let adds = [&self.loopback, &default].into_iter().zip(&confs).map(|(list, conf)| self.cni.add(list, conf));
        let mut results: Vec<CniResult> = join_all(adds.collect()).await.into_iter().collect::<Result<_, _>>()?;
        results.pop().ok_or_else(|| NOT_INITIALIZED.to_owned())
    }

    /// DEL for both networks, one after the other. `netns` is empty if the namespace is gone.
    pub async fn detach(&self, id: &str, netns: &str, config: &PodSandboxConfig) -> Result<(), String> {
        let default = self.ready()?;
        for (list, ifname) in [(&self.loopback, "lo"), (&default, IFNAME)] {
            match self.cni.del(list, &conf(id, netns, ifname, config)).await {
                // A plugin with this error finds that it was deleted before.
                Err(error) if !error.contains("not found") => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether an earlier life of this runtime has left attachments behind.
    pub fn has_leftovers(&self) -> bool {
        let lists = [self.loopback.clone()].into_iter().chain(self.ready());
        { lists }.any(|list| !self.cni.attachments(&list.name).is_empty())
    }

    /// GC of every attachment of a sandbox that is not among `valid`.
    pub async fn collect(&self, valid: &[String]) -> Result<(), String> {
        for (list, ifname) in [(&self.loopback, "lo"), (&self.ready()?, IFNAME)] {
            let valid: Vec<(String, String)> = valid.iter().map(|id| (id.clone(), ifname.to_owned())).collect();
            self.cni.gc(list, &valid).await?;
        }
        Ok(())
    }

    /// Makes a sandbox's namespace. Gives the path at which it is mounted.
    pub fn make_namespace(&self, id: &str) -> String {
        let path = netns(id);
        self.host.network.borrow_mut().named.insert(path.clone(), self.fresh.clone().into());
        path
    }

    /// Unmounts and removes it.
    pub fn remove_namespace(&self, id: &str) {
        self.host.network.borrow_mut().delete_namespace(&netns(id));
    }
}

/// The first configuration by name (`loadFromConfDir`).
fn first_of(host: &Host) -> Result<Rc<NetworkList>, String> {
    let is_config = |name: &str| [".conf", ".conflist", ".json"].iter().any(|ending| name.ends_with(ending));
    let files = host.disk.files_in(DIRECTORY);
    let Some((name, text)) = files.iter().find(|(name, _)| is_config(name)) else {
        return Err(format!("no network config found in {DIRECTORY}: {NOT_INITIALIZED}"));
    };
    let (what, list) = match name.ends_with(".conflist") {
        true => ("CNI config list file", NetworkList::parse(text)),
        false => ("CNI config file", NetworkList::parse_single(text)),
    };
    list.map(Rc::new).map_err(|error| format!("failed to load {what} {DIRECTORY}/{name}: {error}: invalid cni config"))
}

/// Where a sandbox's network namespace is mounted.
pub fn netns(id: &str) -> String {
    let part = |from: usize, to: usize| id.get(from..to).unwrap_or_default();
    let (a, b, c, d, e) = (part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32));
    ["/var/run/netns/cni-", a, "-", b, "-", c, "-", d, "-", e].concat()
}

fn conf(id: &str, netns: &str, ifname: &str, config: &PodSandboxConfig) -> RuntimeConf {
    let args = [
        ("IgnoreUnknown", "1"),
        ("K8S_POD_NAMESPACE", &*config.namespace),
        ("K8S_POD_NAME", &config.name),
        ("K8S_POD_INFRA_CONTAINER_ID", id),
        ("K8S_POD_UID", &config.uid),
    ];
    let forwarded = config.port_mappings.iter().filter(|mapping| mapping.host_port > 0);
    let ports: Vec<Value> = forwarded.map(port_mapping).collect();
    let ports = (!ports.is_empty()).then(|| ("portMappings".to_owned(), Value::Array(ports)));
    RuntimeConf {
        container_id: id.to_owned(),
        netns: netns.to_owned(),
        ifname: ifname.to_owned(),
        args: args.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        capabilities: BTreeMap::from_iter(ports),
    }
}

/// `toCNIPortMappings`.
fn port_mapping(mapping: &PortMapping) -> Value {
    let PortMapping { protocol, container_port, host_port, host_ip } = mapping;
    let mut value = json!({
        "hostPort": host_port, "containerPort": container_port, "protocol": protocol.to_lowercase(),
    });
    if !host_ip.is_empty() {
        value["hostIP"] = json!(host_ip);
    }
    value
}

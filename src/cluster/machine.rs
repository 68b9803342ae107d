//! Commands on a node: an admin is logged in there, looks around, and puts files where they belong or takes them away.

use std::net::IpAddr;

use kubelet::runtime::Runtime;
use network::cni::ipnet::IpNet;
use network::cni::iproute;
use network::cni::netns::{NodeNetwork, Route};
use network::host::Host;
use network::kernel::Mode;
use network::kernel::fabric::VXLAN_DEVICE;
use network::proxy::KubeProxy;
use userland::admin;

use super::Cluster;

impl Cluster {
    /// Runs a command on a node: what [`admin::run`] knows, `cp FILE PATH` for a file of the scenario, and `rm PATH`.
    /// `nft list ruleset` shows the rules that kube-proxy would write in its other mode. Gives what it prints, or an error.
    pub fn on_node(&mut self, node: &str, words: &[String]) -> Result<String, String> {
        let Some(host) = self.host(node) else {
            let on = self.engine.actors().filter_map(|(_, actor)| actor.name().strip_prefix("cni/"));
            let on: Vec<&str> = on.collect();
            return Err(format!("there is no node {node:?} that is on; there are {}", on.join(", ")));
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["cp", file, path] => {
                let text = self.local_file(file)?;
                host.disk.put(path, &text).map_err(|error| format!("cp: cannot create '{path}': {error}"))?;
                self.tell_of_file(node, path);
                Ok(String::new())
            }
            ["rm", path] => {
                host.disk.remove(path).map_err(|error| format!("rm: cannot remove '{path}': {error}"))?;
                self.tell_of_file(node, path);
                Ok(String::new())
            }
            ["ip", words @ ..] => iproute::ip(&self.network_of(&host), words),
            ["nft", "list", "ruleset"] => Ok(self.proxy_of(node).map(KubeProxy::nft_list).unwrap_or_default()),
            words => admin::run(&host, words, self.engine.now()),
        }
    }

    /// kube-proxy of a node, if it runs there.
    fn proxy_of(&self, node: &str) -> Option<&KubeProxy> {
        let id = self.engine.find(&format!("kube-proxy/{node}"))?;
        self.engine.actor(id)?.as_any().downcast_ref()
    }

    /// A node's network with the routes that the add-on keeps there to the Pods of other nodes.
    fn network_of(&self, host: &Host) -> NodeNetwork {
        let mut network = host.network.borrow().clone();
        let own =
            |node: IpAddr| network.root.links.values().any(|link| link.addresses.iter().any(|a| a.address == node));
        let others: Vec<_> = self.fabric.ways().into_iter().filter(|way| !own(IpAddr::V4(way.node))).collect();
        network.root.routes.extend(others.into_iter().map(|way| {
            let (device, gateway) = match way.mode {
                Mode::HostGateway => ("eth0", way.node),
                Mode::Vxlan => (VXLAN_DEVICE, way.range.address),
            };
            Route {
                destination: IpNet::v4(way.range.address, way.range.prefix),
                gateway: Some(IpAddr::V4(gateway)),
                device: device.to_owned(),
                source: None,
                from_address: false,
            }
        }));
        network
    }

    /// A file of the scenario, or one beside it.
    fn local_file(&self, name: &str) -> Result<String, String> {
        self.kubectl.read_text(name).map_err(|why| format!("cp: cannot stat '{name}': {why}"))
    }

    /// The runtime and the kubelet watch directories of their node.
    fn tell_of_file(&mut self, node: &str, path: &str) {
        self.tell_runtime(node, path);
        // None may run there.
        let _ = self.with_kubelet(node, |kubelet| kubelet.file_changed(path));
    }

    pub(super) fn tell_runtime(&mut self, node: &str, path: &str) {
        if let Some(id) = self.runtime_on(node) {
            self.with_runtime(id, |runtime: &Runtime| runtime.file_changed(path));
        }
    }
}

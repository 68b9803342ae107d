//! The network that nodes share, and what an installer puts into a cluster beside the control plane.
//!
//! A node's machine is plugged into a switch. When its Node gets a range for its Pods, the range goes into the machine's
//! network configuration and becomes known to all others, which is what a network add-on does. With DNS, the cluster
//! gets CoreDNS as a Deployment, with its account, role and Service.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use network::coredns::CoreDns;
use network::disk::Disk;
use network::host::Host;
use network::kernel::fabric::{CONTROL_PLANE, OUTSIDE};
use network::kernel::sockets::{Listener, Speaks};
use network::kernel::{KernelActor, addon};
use network::netfilter::{Cidr, Protocol};

use engine::{Note, Step};
use network::cni::config;
use object::Object;
use userland::clients;

use super::https::{self, HttpsServer};
use super::{Cluster, ControlPlane, NodeConfig, kubectl};

/// All Pods' addresses. The controller manager's /16 is enough for 256 nodes, and those after it follow.
const CLUSTER_CIDR: &str = "10.244.0.0/16";
/// What is installed with DNS.
const DNS_MANIFEST: &str = include_str!("coredns.yaml");
/// What kubeadm installs: DNS and kube-proxy.
const KUBEADM_MANIFEST: &str = include_str!("kubeadm/addons.yaml");

impl Cluster {
    /// The machine outside, from which `--from outside` comes.
    pub(super) fn add_outside(&mut self) {
        let (hub, id, fabric) = (self.engine.hub().clone(), self.engine.next_actor(), self.fabric.clone());
        let host = Rc::new(addon::outside(&hub));
        let kernel = KernelActor::new(hub, id, "outside", false, host, fabric, clients::run);
        self.engine.add(Rc::new(kernel));
        self.fabric.plug(OUTSIDE, id, "outside");
    }

    /// The control plane's machine, with the port at which the API server listens.
    pub(super) fn add_api_port(&mut self) {
        let (hub, server) = (self.engine.hub().clone(), self.engine.next_actor());
        self.engine.add(Rc::new(HttpsServer::new(hub, server)));
        // It may be a node.
        let host = self.host(https::MACHINE).unwrap_or_else(|| self.add_api_machine());
        self.api_port = Some((host, server));
        self.tend_api_port();
    }

    fn add_api_machine(&mut self) -> Rc<Host> {
        let (hub, id, fabric) = (self.engine.hub().clone(), self.engine.next_actor(), self.fabric.clone());
        let host = Rc::new(Host::new(&hub, CONTROL_PLANE, Disk::new(&hub, https::MACHINE)));
        let kernel = KernelActor::new(hub, id, https::MACHINE, false, host.clone(), fabric, clients::run);
        self.engine.add(Rc::new(kernel));
        self.fabric.plug(CONTROL_PLANE, id, https::MACHINE);
        host
    }

    /// The port is open as long as an API server runs.
    pub(super) fn tend_api_port(&mut self) {
        let Some((host, server)) = &self.api_port else { return };
        let mut sockets = host.sockets.borrow_mut();
        if !self.engine.server.runs() {
            return sockets.close_port("", Protocol::Tcp, https::PORT);
        }
        let listener = Listener {
            container: String::new(),
            name: "kube-apiserver".to_owned(),
            speaks: Speaks::Process(*server),
            since: self.engine.now(),
            address: None,
        };
        sockets.listen("", Protocol::Tcp, https::PORT, listener);
    }

    /// Plugs a node's machine into the switch.
    pub(super) fn plug(&mut self, node: &NodeConfig, host: Rc<Host>) {
        let installed = || node.pod_subnet().parse::<Cidr>().ok().filter(|range| self.fabric.is_free(*range));
        let range = self.fabric.range_of(node.address()).or_else(installed);
        if let Ok(cluster) = CLUSTER_CIDR.parse() {
            addon::prepare(&mut host.network.borrow_mut(), cluster, self.config.network);
        }
        if let Some(range) = range {
            self.fabric.assign(range, node.address());
            addon::tunnel(&mut host.network.borrow_mut(), range);
        }
        let (hub, id, fabric) = (self.engine.hub().clone(), self.engine.next_actor(), self.fabric.clone());
        let kernel = KernelActor::new(hub, id, &node.name, true, host, fabric, clients::run);
        self.engine.add(Rc::new(kernel));
        self.fabric.plug(node.address(), id, &node.name);
    }

    /// The network add-on learns of the ranges that Nodes have got by now.
    pub(super) fn assign_all_ranges(&mut self) {
        let nodes = self.engine.server.api.store.prefix("/registry/minions/");
        let ranges: Vec<_> = nodes.filter_map(|(_, entry)| range_of(&entry.value)).collect();
        // Before any is taken, as nodes may have one another's.
        ranges.iter().for_each(|(_, address, _)| self.fabric.release(*address));
        for (node, address, range) in ranges {
            self.assign_range(&node, address, range);
        }
    }

    /// The network add-on watches Nodes: a new one, or one that comes back after its object was deleted, gets a range
    /// from the node IPAM controller, and its network is set up for that range. One that is deleted loses it.
    pub(super) fn follow_ranges(&mut self, step: &Step) {
        for note in &step.notes {
            let Note::Stored { old, new, .. } = note else { continue };
            let (before, after) = (old.as_ref().and_then(range_of), new.as_ref().and_then(range_of));
            match (before, after) {
                (before, after) if before == after => {}
                (Some((_, address, _)), None) => self.fabric.release(address),
                (_, Some((node, address, range))) => self.assign_range(&node, address, range),
                (None, None) => {}
            }
        }
    }

    /// Other nodes send what is for the range to this node, and the node's own network configuration names it. What is
    /// on the node already stays as it is: a bridge keeps its address, which the bridge plugin will complain of.
    fn assign_range(&mut self, node: &str, address: Ipv4Addr, range: Cidr) {
        self.fabric.assign(range, address);
        let text = config::default_text(&range.to_string());
        let Some(host) = self.host(node) else { return };
        addon::tunnel(&mut host.network.borrow_mut(), range);
        if host.disk.read(config::DEFAULT_FILE).as_deref() == Some(&text) {
            return;
        }
        if host.disk.put(config::DEFAULT_FILE, &text).is_ok() {
            self.tell_runtime(node, config::DEFAULT_FILE);
        }
    }

    /// An administrator runs kubectl with this input, and looks what comes of it.
    pub(super) fn administer(&mut self, input: &str, words: &[&str]) {
        let mut kubectl = self.kubectl.apart();
        input.clone_into(&mut kubectl.stdin);
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        self.run_command("install", async move {
            kubectl::run(&words, &kubectl).await;
        });
        self.settle(Duration::from_secs(10));
    }

    /// A node joins as the cluster comes up.
    pub(super) fn join(&mut self, node: &NodeConfig) {
        match node.number {
            0 => self.add_control_plane_node(node),
            _ => self.add_node(node),
        }
    }

    /// Installs CoreDNS and waits until it answers.
    pub(super) fn install_dns(&mut self) {
        let manifest = match self.config.control_plane {
            ControlPlane::Apart => DNS_MANIFEST,
            ControlPlane::Kubeadm => KUBEADM_MANIFEST,
        };
        self.administer(manifest, &["apply", "-f", "-"]);
        let (hub, id) = (self.engine.hub().clone(), self.engine.next_actor());
        self.engine.add(Rc::new(CoreDns::new(hub, id)));
        self.fabric.set_dns(id);
        self.settle(Duration::from_secs(60));
    }
}

/// A Node's name and address and the range of its Pods, if it has one.
fn range_of(object: &Object) -> Option<(String, Ipv4Addr, Cidr)> {
    let Object::Node(node) = object else { return None };
    let range = node.spec.as_ref()?.pod_cidr.as_deref()?.parse().ok()?;
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    let internal = { addresses }.find(|address| address.type_ == "InternalIP")?.address.parse().ok()?;
    Some((node.metadata.name.clone()?, internal, range))
}

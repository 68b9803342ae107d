//! The network that nodes share, and what an installer puts into a cluster beside the control plane.
//!
//! A node's machine is plugged into a switch, and its Pods' range becomes known to all others, which is what a network
//! add-on does. With DNS, the cluster gets what kubeadm gives it: CoreDNS as a Deployment, with its account, role and
//! Service.

use std::rc::Rc;
use std::time::Duration;

use crate::node::coredns::{self, CoreDns};
use crate::node::host::Host;
use crate::node::kubelet::dns::ClusterDns;
use crate::node::netfilter::Cidr;
use crate::node::network::fabric::OUTSIDE;
use crate::node::network::{KernelActor, addon};

use super::{Cluster, NodeConfig, kubectl};

/// All Pods' addresses. The controller manager's /16 is enough for 256 nodes, and those after it follow.
const CLUSTER_CIDR: &str = "10.244.0.0/16";
/// What is installed with DNS.
const DNS_MANIFEST: &str = include_str!("coredns.yaml");

/// What kubelets are told.
pub(super) fn cluster_dns() -> ClusterDns {
    ClusterDns { server: coredns::CLUSTER_IP.to_string(), domain: coredns::zone::ZONE.to_owned() }
}

impl Cluster {
    /// The machine outside, from which `--from outside` comes.
    pub(super) fn add_outside(&mut self) {
        let (hub, id, fabric) = (self.engine.hub().clone(), self.engine.next_actor(), self.fabric.clone());
        let host = Rc::new(addon::outside(&hub));
        let kernel = KernelActor::new(hub, id, "outside", false, host, fabric);
        self.engine.add(Rc::new(kernel));
        self.fabric.plug(OUTSIDE, id, "outside");
    }

    /// Plugs a node's machine into the switch.
    pub(super) fn plug(&mut self, node: &NodeConfig, host: Rc<Host>) {
        if let (Ok(range), Ok(cluster)) = (node.pod_subnet().parse::<Cidr>(), CLUSTER_CIDR.parse()) {
            self.fabric.assign(range, node.address());
            addon::prepare(&mut host.network.borrow_mut(), cluster, range, self.config.network);
        }
        let (hub, id, fabric) = (self.engine.hub().clone(), self.engine.next_actor(), self.fabric.clone());
        let kernel = KernelActor::new(hub, id, &node.name, true, host, fabric);
        self.engine.add(Rc::new(kernel));
        self.fabric.plug(node.address(), id, &node.name);
    }

    /// Installs CoreDNS and waits until it answers.
    pub(super) fn install_dns(&mut self) {
        let mut kubectl = self.kubectl.apart();
        kubectl.stdin = DNS_MANIFEST.to_owned();
        let words: Vec<String> = ["apply", "-f", "-"].map(str::to_owned).into();
        self.run_command("install", async move {
            kubectl::run(&words, &kubectl).await;
        });
        self.settle(Duration::from_secs(10));
        let (hub, id) = (self.engine.hub().clone(), self.engine.next_actor());
        self.engine.add(Rc::new(CoreDns::new(hub, id)));
        self.fabric.set_dns(id);
        self.settle(Duration::from_secs(60));
    }
}

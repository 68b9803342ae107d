//! What a cluster is made of: its nodes, and which optional parts are installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use apiserver::admission::elsewhere::PodPlugin;
use client::Registration;
use engine::{Actor, ActorId, Hub};
use kubelet::{self, actions::Compute, dns::ClusterDns, restart::Restarts};
use serde::{Deserialize, Serialize};

use network::cni::plugins::Ipam;
use network::coredns;
use network::kernel::Mode;
use network::kernel::fabric::CONTROL_PLANE;
use network::proxy::chooser::Chooser;
use object::time::Instant;
use object::well_known::{REGION, ZONE};
use scheduler::actor::KubeScheduler;
use scheduler::configuration::ProfileList;
use scheduler::profile::Profile;

use super::https;

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// The nodes it starts with.
    pub nodes: Vec<NodeConfig>,
    /// 0: every hop takes its plain time. Others make hops vary, and with them the order of events.
    pub seed: u64,
    /// When the run begins.
    pub start: Instant,
    /// Requests a second and burst of every component's client; the shipped limits unless given.
    pub client_limits: Option<(u32, u32)>,
    /// Which programs run in it.
    pub parts: Parts,
    /// Controllers whose requests take so much longer than usual.
    pub slow: BTreeMap<String, Duration>,
    /// Whether watch events arrive after the answers to the writes that they tell of.
    pub late_watches: bool,
    /// How packets get from node to node.
    pub network: Mode,
    /// Where its control plane runs. With kubeadm there are CoreDNS and kube-proxy in any case.
    pub control_plane: ControlPlane,
    /// Whether CoreDNS runs in it.
    pub dns: bool,
    /// A storage system, its CSI driver and the sidecars are installed.
    pub csi: bool,
    /// Claims that name no StorageClass get one of that driver.
    pub default_class: bool,
    /// Whether kube-proxy runs on the nodes.
    pub proxy: bool,
    /// Whether an agent on each node enforces NetworkPolicies.
    pub policies: bool,
    /// How many controller managers stand for election; 0: one runs, without election.
    pub managers: u16,
    /// The same of schedulers.
    pub schedulers: u16,
    /// The profiles that a scheduler serves; none: the default one.
    pub scheduler_profiles: ProfileList,
    /// How many API servers there are, each with a watch cache of its own; 0: one.
    pub api_servers: u16,
}

/// Where the processes of a control plane run.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlPlane {
    /// On a machine that is no node: nothing of it is to be seen in the API.
    #[default]
    Apart,
    /// On a node, in static Pods, as kubeadm sets it up.
    Kubeadm,
}

impl ControlPlane {
    /// Whether it is where it is unless something else is said.
    pub fn is_apart(&self) -> bool {
        *self == ControlPlane::Apart
    }
}

/// The programs of a cluster that can be others than those that are shipped: a learner's own, or one with a known bug.
#[derive(Clone, Copy)]
pub struct Parts {
    /// What kube-controller-manager runs.
    pub controllers: &'static [Registration],
    /// What runs as kube-scheduler.
    pub scheduler: &'static (dyn Fn(Hub, ActorId, Limits, Vec<Profile>) -> Rc<dyn Actor> + Sync),
    /// What the API server admits new Pods by, if it is not its own plugins.
    pub pod_plugin: Option<&'static (dyn Fn() -> Rc<PodPlugin> + Sync)>,
    /// What says in a kubelet what a sync has to do to a Pod, if it is not the kubelet's own.
    pub compute: Option<&'static (dyn Fn() -> Rc<Compute> + Sync)>,
    /// What says in a kubelet when a container is started again, if it is not the kubelet's own.
    pub restarts: Option<&'static (dyn Fn() -> Rc<Restarts> + Sync)>,
    /// What chooses in a kube-proxy among the endpoints of a Service, if it is not its own.
    pub chooser: Option<&'static (dyn Fn() -> Rc<Chooser> + Sync)>,
    /// What gives Pods their addresses on a node, if it is not host-local's own search.
    pub ipam: Option<&'static (dyn Fn() -> Rc<Ipam> + Sync)>,
    /// What runs beside: operators.
    pub programs: &'static [Program],
    /// The service accounts of operators.
    pub accounts: &'static [Account],
    /// Whether an informer's first list is the newest state, as with the WatchList feature of API server and clients.
    /// Without, it comes from the API server's watch cache, which may lag behind.
    pub watch_list: bool,
}

/// Requests a second of a client and how many at once, if not the shipped ones.
pub type Limits = Option<(u32, u32)>;

/// A process beside those of Kubernetes.
#[derive(Clone, Copy)]
pub struct Program {
    /// What it calls itself: the name of its [`Actor`].
    pub name: &'static str,
    /// Makes it.
    pub new: &'static (dyn Fn(Hub, ActorId) -> Rc<dyn Actor> + Sync),
}

/// The service account that an administrator creates in `default` for an operator, and what it may do. A ClusterRole and its
/// binding of the same name say so.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// The account's name.
    pub name: &'static str,
    /// Verbs, API groups and resources, each separated by commas; the core group is empty.
    pub rules: &'static [(&'static str, &'static str, &'static str)],
}

impl Account {
    /// One that may do everything, as `kubectl create clusterrolebinding NAME --clusterrole=cluster-admin` makes it.
    pub const fn of_admin(name: &'static str) -> Account {
        Account { name, rules: &[("*", "*", "*")] }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts {
            controllers,
            scheduler: _,
            pod_plugin: _,
            compute: _,
            restarts: _,
            chooser: _,
            ipam: _,
            programs,
            accounts: _,
            watch_list,
        } = self;
        let controllers: Vec<&str> = controllers.iter().map(|row| row.name).collect();
        write!(f, "{controllers:?} {programs:?} {watch_list}")
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Default for Parts {
    /// All that is shipped.
    fn default() -> Parts {
        Parts {
            controllers: controllers::TABLE,
            scheduler: &|hub, actor, limits, profiles| Rc::new(KubeScheduler::new(hub, actor, limits, profiles)),
            pod_plugin: None,
            compute: None,
            restarts: None,
            chooser: None,
            ipam: None,
            programs: &[],
            accounts: &[],
            watch_list: true,
        }
    }
}

/// One node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// `node-1`.
    pub name: String,
    /// Cores.
    pub cpu: u32,
    /// Memory in GiB.
    pub memory_gi: u32,
    /// How many Pods it takes.
    pub pods: u32,
    /// Its labels beside those every kubelet sets.
    pub labels: BTreeMap<String, String>,
    /// Its number among the machines, which its addresses follow from: no two have the same. 0: the control plane's.
    pub number: usize,
}

/// How many machines have numbers of nodes. What a node is called that has the number of another is its own affair.
pub(super) const NODES_MAX: usize = 5000;

/// The number at the end of a node's name, `node-2` or `n2`, if there is one.
pub(super) fn number_in(name: &str) -> Option<usize> {
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[before..].parse().ok().filter(|number| (1..=NODES_MAX).contains(number))
}

/// Gives each node the number in its name. Those without one, or whose number another has, get the next that are free.
pub(super) fn number(nodes: &mut [NodeConfig]) {
    let mut taken = BTreeSet::new();
    let mut rest = Vec::new();
    for node in nodes {
        match number_in(&node.name).filter(|number| taken.insert(*number)) {
            Some(number) => node.number = number,
            None => rest.push(node),
        }
    }
    let mut free = (1..).filter(|number| !taken.contains(number));
    rest.into_iter().zip(&mut free).for_each(|(node, number)| node.number = number);
}

impl NodeConfig {
    /// Node number `n`, counted from 1: 4 cores, 8 GiB, 110 Pods, in one of three zones.
    pub fn numbered(n: usize) -> NodeConfig {
        let zone = ["zone-a", "zone-b", "zone-c"][(n - 1) % 3];
        let labels = [(ZONE, zone), (REGION, "region-1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        NodeConfig { name: format!("node-{n}"), cpu: 4, memory_gi: 8, pods: 110, labels: labels.into(), number: n }
    }

    /// The machine on which the control plane runs, as a node.
    fn of_control_plane() -> NodeConfig {
        NodeConfig { name: https::MACHINE.to_owned(), labels: BTreeMap::new(), number: 0, ..NodeConfig::numbered(1) }
    }

    /// Where its Pods get their addresses, as an installer would write it into the network configuration.
    pub(super) fn pod_subnet(&self) -> String {
        controllers::node_ipam::cidr_of(u32::try_from(self.number.saturating_sub(1)).unwrap_or_default())
    }

    /// Its InternalIP: 172.18.0.10 for the first.
    pub(super) fn address(&self) -> Ipv4Addr {
        if self.number == 0 {
            return CONTROL_PLANE;
        }
        let number = self.number + 9;
        Ipv4Addr::new(172, 18, (number / 256) as u8, (number % 256) as u8)
    }

    pub(super) fn for_kubelet(&self, dns: bool) -> kubelet::NodeConfig {
        let mut config = kubelet::NodeConfig::new(&self.name, &self.address().to_string());
        config.labels.clone_from(&self.labels);
        config.cluster_dns =
            dns.then(|| ClusterDns { server: coredns::CLUSTER_IP.to_string(), domain: coredns::zone::ZONE.to_owned() });
        for (name, value) in [
            ("cpu", self.cpu.to_string()),
            ("memory", format!("{}Gi", self.memory_gi)),
            ("pods", self.pods.to_string()),
        ] {
            config.capacity.insert(name.to_owned(), Quantity(value));
        }
        config
    }
}

impl Config {
    /// The same with all that comes with the control plane.
    pub(super) fn completed(mut self) -> Config {
        if self.control_plane == ControlPlane::Kubeadm {
            (self.dns, self.proxy) = (true, true);
            self.nodes.insert(0, NodeConfig::of_control_plane());
        }
        self
    }
}

impl Default for Config {
    /// Three nodes, no chance, no DNS.
    fn default() -> Config {
        Config {
            nodes: (1..=3).map(NodeConfig::numbered).collect(),
            seed: 0,
            start: Instant::default(),
            client_limits: None,
            parts: Parts::default(),
            slow: BTreeMap::new(),
            late_watches: false,
            network: Mode::HostGateway,
            control_plane: ControlPlane::default(),
            dns: false,
            csi: false,
            default_class: false,
            proxy: false,
            policies: false,
            managers: 0,
            schedulers: 0,
            scheduler_profiles: ProfileList::default(),
            api_servers: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::cni::ipnet::IpNet;

    #[test]
    fn nodes_of_any_names_have_addresses_of_their_own() {
        let named = |name: &str| NodeConfig { name: name.to_owned(), ..NodeConfig::numbered(1) };
        let names = ["worker", "n2", "gpu-2", "db", "node-1", "ip-10-0-0-99999999999999999999", "rack-70000", "a0"];
        let mut nodes = names.map(named);
        number(&mut nodes);
        assert_eq!(nodes.clone().map(|node| node.number), [3, 2, 4, 5, 1, 6, 7, 8]);
        let addresses: BTreeSet<Ipv4Addr> = nodes.iter().map(NodeConfig::address).collect();
        assert_eq!(addresses.len(), nodes.len());
    }

    #[test]
    fn five_thousand_nodes_have_addresses_of_their_own() {
        let nodes: Vec<NodeConfig> = (1..=5000).map(NodeConfig::numbered).collect();
        let subnets: BTreeSet<IpNet> = nodes.iter().map(|node| node.pod_subnet().parse().unwrap()).collect();
        let addresses: BTreeSet<Ipv4Addr> = nodes.iter().map(NodeConfig::address).collect();
        assert_eq!((subnets.len(), addresses.len()), (5000, 5000));
        let services: IpNet = "10.96.0.0/16".parse().unwrap();
        assert!(subnets.iter().all(|subnet| !services.contains(subnet.address)));
        let last = |n: usize| (nodes[n - 1].pod_subnet(), nodes[n - 1].address().to_string());
        assert_eq!(last(1), ("10.244.0.0/24".into(), "172.18.0.10".into()));
        assert_eq!(last(3072), ("10.255.255.0/24".into(), "172.18.12.9".into()));
        assert_eq!(last(3073), ("10.128.0.0/24".into(), "172.18.12.10".into()));
        assert_eq!(last(5000), ("10.135.135.0/24".into(), "172.18.19.145".into()));
    }
}

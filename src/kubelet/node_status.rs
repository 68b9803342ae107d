//! The Node object: what the machine is, and that it is well.
//!
//! Mirrors `initialNode` (`pkg/kubelet/kubelet_node_status.go`) and the setters of `pkg/kubelet/nodestatus`. The
//! kubelet makes its Node already Ready; that nothing is scheduled on it at once is the doing of the admission
//! plugin TaintNodesByCondition, whose taint the node-lifecycle controller takes away.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ContainerImage, DaemonEndpoint, Node, NodeAddress, NodeCondition, NodeDaemonEndpoints, NodeSpec, NodeStatus,
    NodeSystemInfo,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::dns::ClusterDns;
use crate::params::{IMAGES_REPORTED_MAX, KUBELET_VERSION};
use network::disk::{KERNEL, OS_IMAGE};
use network::host::{Ids, Shortage};
use object::resources::is_extended;
use object::time::Instant;
use object::well_known::{ARCH, HOSTNAME, KUBELET_PORT, OS};

/// What a node is made of: the machine and the kubelet's flags.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// The node's name and hostname.
    pub name: String,
    /// Its InternalIP.
    pub ip: String,
    /// Labels on top of the ones every node has.
    pub labels: BTreeMap<String, String>,
    /// `cpu`, `memory`, `ephemeral-storage`, `pods`.
    pub capacity: BTreeMap<String, Quantity>,
    /// The cluster's DNS server, if it has one.
    pub cluster_dns: Option<ClusterDns>,
    /// What the machine calls itself.
    pub ids: Ids,
}

impl NodeConfig {
    /// A node like those of the recordings: 4 CPUs, 8Gi, 100Gi of disk, 110 pods.
    pub fn new(name: &str, ip: &str) -> NodeConfig {
        let capacity = [("cpu", "4"), ("ephemeral-storage", "100Gi"), ("memory", "8Gi"), ("pods", "110")];
        let capacity = capacity.map(|(key, value)| (key.to_owned(), Quantity(value.to_owned())));
        NodeConfig {
            name: name.into(),
            ip: ip.into(),
            labels: BTreeMap::new(),
            capacity: capacity.into(),
            cluster_dns: None,
            ids: Ids::default(),
        }
    }
}

/// How well the machine is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Why Pods cannot be connected, if they cannot.
    pub network: Option<String>,
    /// What it is short of.
    pub short_of: Vec<Shortage>,
    /// It is to be switched off.
    pub is_shutting_down: bool,
}

impl Health {
    /// Why the node is not Ready, if it is not: one reason, or a list of them as Go prints it.
    fn trouble(&self) -> Option<Cow<'_, str>> {
        const SHUTDOWN: &str = "node is shutting down";
        match (self.network.as_deref(), self.is_shutting_down) {
            (None, false) => None,
            (Some(error), false) => Some(error.into()),
            (None, true) => Some(SHUTDOWN.into()),
            (Some(error), true) => Some(format!("[{error}, {SHUTDOWN}]").into()),
        }
    }

    /// It becomes short of something, or no longer is. Says whether that is news.
    pub fn turn(&mut self, shortage: Shortage, is_short: bool) -> bool {
        if self.short_of.contains(&shortage) == is_short {
            return false;
        }
        match is_short {
            true => self.short_of.push(shortage),
            false => self.short_of.retain(|there| *there != shortage),
        }
        true
    }

    /// The conditions that say so: `DiskPressure`.
    pub fn pressures(&self) -> impl Iterator<Item = &'static str> {
        self.short_of.iter().map(|shortage| match shortage {
            Shortage::Memory => "MemoryPressure",
            Shortage::Disk => "DiskPressure",
            Shortage::Pids => "PIDPressure",
        })
    }
}

/// The Node the kubelet registers.
pub fn initial(config: &NodeConfig, runtime_version: &str, health: &Health, now: Instant) -> Node {
    let mut labels = config.labels.clone();
    for (key, value) in [(ARCH, "amd64"), (OS, "linux")] {
        labels.insert(key.into(), value.into());
        labels.insert(format!("beta.{key}"), value.into());
    }
    labels.insert(HOSTNAME.into(), config.name.clone());
    let annotation = ("volumes.kubernetes.io/controller-managed-attach-detach".to_owned(), "true".to_owned());
    Node {
        metadata: ObjectMeta {
            name: Some(config.name.clone()),
            labels: Some(labels),
            annotations: Some([annotation].into()),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec::default()),
        status: Some(status(config, runtime_version, &[], health, None, now)),
    }
}

/// The node's status now, with condition times carried over from `old`.
pub fn status(
    config: &NodeConfig,
    runtime_version: &str,
    images: &[ContainerImage],
    health: &Health,
    old: Option<&NodeStatus>,
    now: Instant,
) -> NodeStatus {
    let resources = resources(config, old);
    NodeStatus {
        capacity: Some(resources.clone()),
        allocatable: Some(resources),
        conditions: Some(conditions(old, health, now)),
        addresses: Some(vec![address("InternalIP", &config.ip), address("Hostname", &config.name)]),
        daemon_endpoints: Some(NodeDaemonEndpoints { kubelet_endpoint: Some(DaemonEndpoint { port: KUBELET_PORT }) }),
        node_info: Some(system_info(&config.ids, runtime_version)),
        images: (!images.is_empty()).then(|| images.iter().take(IMAGES_REPORTED_MAX).cloned().collect()),
        declared_features: Some(DECLARED_FEATURES.map(str::to_owned).to_vec()),
        volumes_attached: old.and_then(|o| o.volumes_attached.clone()),
        volumes_in_use: old.and_then(|o| o.volumes_in_use.clone()),
        ..NodeStatus::default()
    }
}

/// What the node has, and the resources that other clients have advertised and the kubelet does not know. None is reserved, so
/// Pods may have it all. Mirrors the setter `MachineInfo`.
fn resources(config: &NodeConfig, old: Option<&NodeStatus>) -> BTreeMap<String, Quantity> {
    let mut resources = old.and_then(|old| old.capacity.clone()).unwrap_or_default();
    resources.extend(config.capacity.clone());
    resources
}

/// The status of a node whose kubelet starts anew: what was advertised has to be advertised again. None if there is nothing
/// of the kind. Mirrors `reconcileExtendedResource`.
pub fn without_extended(old: &NodeStatus) -> Option<NodeStatus> {
    let zero = Quantity("0".into());
    let is_left = |(name, amount): (&String, &Quantity)| is_extended(name) && *amount != zero;
    old.capacity.iter().flatten().any(is_left).then(|| {
        let mut status = old.clone();
        for list in [&mut status.capacity, &mut status.allocatable].into_iter().flatten() {
            list.iter_mut().filter(|(name, _)| is_extended(name)).for_each(|(_, amount)| *amount = zero.clone());
        }
        status
    })
}

/// Whether this kubelet would say something else of its node than the API server does: others doubted that it is alive, or
/// have advertised a resource.
pub fn is_doubted(config: &NodeConfig, health: &Health, said: Option<&NodeStatus>) -> bool {
    let allocatable = said.and_then(|said| said.allocatable.as_ref());
    !turned(said, health).is_empty() || allocatable != Some(&resources(config, said))
}

/// Feature gates that pods may depend on (`NodeDeclaredFeatures`).
const DECLARED_FEATURES: [&str; 4] = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
];

/// A condition: type, status, reason, message, and the Event that says that it has turned to this.
struct Wanted<'a>(&'static str, &'static str, &'static str, Cow<'a, str>, &'static str);

/// The conditions of a node, in the kubelet's order.
fn wanted(health: &Health) -> [Wanted<'_>; 4] {
    let ready = match health.trouble() {
        None => Wanted("Ready", "True", "KubeletReady", "kubelet is posting ready status".into(), "NodeReady"),
        Some(trouble) => Wanted("Ready", "False", "KubeletNotReady", trouble, "NodeNotReady"),
    };
    [
        match health.short_of.contains(&Shortage::Memory) {
            false => Wanted(
                "MemoryPressure",
                "False",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available".into(),
                "NodeHasSufficientMemory",
            ),
            true => Wanted(
                "MemoryPressure",
                "True",
                "KubeletHasInsufficientMemory",
                "kubelet has insufficient memory available".into(),
                "NodeHasInsufficientMemory",
            ),
        },
        match health.short_of.contains(&Shortage::Disk) {
            false => Wanted(
                "DiskPressure",
                "False",
                "KubeletHasNoDiskPressure",
                "kubelet has no disk pressure".into(),
                "NodeHasNoDiskPressure",
            ),
            true => Wanted(
                "DiskPressure",
                "True",
                "KubeletHasDiskPressure",
                "kubelet has disk pressure".into(),
                "NodeHasDiskPressure",
            ),
        },
        match health.short_of.contains(&Shortage::Pids) {
            false => Wanted(
                "PIDPressure",
                "False",
                "KubeletHasSufficientPID",
                "kubelet has sufficient PID available".into(),
                "NodeHasSufficientPID",
            ),
            true => Wanted(
                "PIDPressure",
                "True",
                "KubeletHasInsufficientPID",
                "kubelet has insufficient PID available".into(),
                "NodeHasInsufficientPID",
            ),
        },
        ready,
    ]
}

fn conditions(old: Option<&NodeStatus>, health: &Health, now: Instant) -> Vec<NodeCondition> {
    let old = old.and_then(|o| o.conditions.as_deref()).unwrap_or_default();
    let wanted = wanted(health);
    let condition = |Wanted(type_, status, reason, message, _): &Wanted| {
        let before = old.iter().find(|c| c.type_ == *type_ && c.status == *status);
        NodeCondition {
            type_: (*type_).into(),
            status: (*status).into(),
            reason: Some((*reason).into()),
            message: Some(message.clone().into_owned()),
            last_heartbeat_time: Some(now.time()),
            last_transition_time: before.and_then(|c| c.last_transition_time.clone()).or_else(|| Some(now.time())),
        }
    };
    let ours = wanted.iter().map(condition);
    let others = old.iter().filter(|c| wanted.iter().all(|w| w.0 != c.type_)).cloned();
    ours.chain(others).collect()
}

/// Which Events say what this kubelet would change in a status: conditions that turn, in the kubelet's words.
pub fn turned(old: Option<&NodeStatus>, health: &Health) -> Vec<&'static str> {
    let old = old.and_then(|o| o.conditions.as_deref());
    let same = |w: &Wanted| old.is_some_and(|old| old.iter().any(|c| c.type_ == w.0 && c.status == w.1));
    wanted(health).iter().filter(|w| !same(w)).map(|w| w.4).collect()
}

/// What is said of a machine that was switched off and on since its status was written; None: it was not.
pub fn rebooted(name: &str, old: Option<&NodeStatus>, new: &NodeStatus) -> Option<String> {
    let boot_id = |status: &NodeStatus| status.node_info.as_ref().map(|info| info.boot_id.clone()).unwrap_or_default();
    let (before, now) = (old.map(boot_id).unwrap_or_default(), boot_id(new));
    (!before.is_empty() && before != now).then(|| format!("Node {name} has been rebooted, boot id: {now}"))
}

/// Whether two statuses differ in anything but heartbeats (`nodeStatusHasChanged`).
pub fn changed(old: &NodeStatus, new: &NodeStatus) -> bool {
    let still = |status: &NodeStatus| {
        let mut status = status.clone();
        for condition in status.conditions.iter_mut().flatten() {
            condition.last_heartbeat_time = None;
        }
        status
    };
    still(old) != still(new)
}

/// What the machine says of itself, and its runtime. In the recordings a fake cAdvisor says that it is of 2013 and has no ids.
fn system_info(ids: &Ids, runtime_version: &str) -> NodeSystemInfo {
    NodeSystemInfo {
        machine_id: ids.machine.clone(),
        system_uuid: ids.system.clone(),
        boot_id: ids.boot.clone(),
        kernel_version: KERNEL.into(),
        os_image: OS_IMAGE.into(),
        container_runtime_version: format!("containerd://{runtime_version}"),
        kubelet_version: KUBELET_VERSION.into(),
        operating_system: "linux".into(),
        architecture: "amd64".into(),
        ..NodeSystemInfo::default()
    }
}

fn address(type_: &str, address: &str) -> NodeAddress {
    NodeAddress { type_: type_.into(), address: address.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_registers_ready_and_only_heartbeats_change() {
        let config = NodeConfig::new("node-1", "172.18.0.11");
        let node = initial(&config, "0.1.0", &Health::default(), Instant(0));
        let first = node.status.unwrap();
        assert_eq!(first.conditions.as_ref().unwrap()[3].status, "True");
        assert_eq!(node.metadata.labels.unwrap().len(), 5);
        let later = status(&config, "0.1.0", &[], &Health::default(), Some(&first), Instant(10_000_000_000));
        assert!(!changed(&first, &later));
        assert_ne!(first, later);
        let image = ContainerImage { names: Some(vec!["nginx:1.27".into()]), size_bytes: Some(75_497_472) };
        let pulled = status(&config, "0.1.0", &[image], &Health::default(), Some(&first), Instant(10_000_000_000));
        assert!(changed(&first, &pulled), "an image that was pulled is reported at once");
    }

    #[test]
    fn a_machine_that_was_off_says_so() {
        let mut config = NodeConfig::new("node-1", "172.18.0.11");
        config.ids.boot = "b1".into();
        let status = |config: &NodeConfig| status(config, "2.1.4", &[], &Health::default(), None, Instant(0));
        let before = status(&config);
        assert_eq!(rebooted("node-1", None, &before), None);
        assert_eq!(rebooted("node-1", Some(&before), &status(&config)), None);
        config.ids.boot = "b2".into();
        let says = rebooted("node-1", Some(&before), &status(&config));
        assert_eq!(says.as_deref(), Some("Node node-1 has been rebooted, boot id: b2"));
    }

    #[test]
    fn what_others_advertise_stays_until_the_kubelet_starts_anew() {
        let (config, health) = (NodeConfig::new("node-1", "172.18.0.11"), Health::default());
        let mut before = status(&config, "0.1.0", &[], &health, None, Instant(0));
        assert!(!is_doubted(&config, &health, Some(&before)));
        assert_eq!(without_extended(&before), None);
        before.capacity.as_mut().unwrap().insert("example.com/dongle".into(), Quantity("4".into()));
        assert!(is_doubted(&config, &health, Some(&before)));
        let after = status(&config, "0.1.0", &[], &health, Some(&before), Instant(0));
        assert!(!is_doubted(&config, &health, Some(&after)));
        let dongles = |status: &NodeStatus| status.allocatable.as_ref().unwrap()["example.com/dongle"].0.clone();
        assert_eq!(dongles(&after), "4");
        assert_eq!(dongles(&without_extended(&after).unwrap()), "0");
    }

    #[test]
    fn a_node_without_a_network_is_not_ready() {
        let config = NodeConfig::new("node-1", "172.18.0.11");
        let before = status(&config, "0.1.0", &[], &Health::default(), None, Instant(0));
        let broken = Health { network: Some("broken".into()), ..Health::default() };
        assert_eq!(turned(Some(&before), &Health::default()), [""; 0]);
        assert_eq!(turned(Some(&before), &broken), ["NodeNotReady"]);
        let after = status(&config, "0.1.0", &[], &broken, Some(&before), Instant(1_000_000_000));
        let ready = &after.conditions.as_ref().unwrap()[3];
        assert_eq!((ready.status.as_str(), ready.message.as_deref()), ("False", Some("broken")));
        assert_eq!(turned(Some(&after), &Health::default()), ["NodeReady"]);
        assert_eq!(turned(None, &Health::default()).len(), 4);
        let going_down = Health { is_shutting_down: true, ..Health::default() };
        assert_eq!(going_down.trouble().as_deref(), Some("node is shutting down"));
        let both = Health { is_shutting_down: true, ..broken };
        assert_eq!(both.trouble().as_deref(), Some("[broken, node is shutting down]"));
    }
}

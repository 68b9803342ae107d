//! A cluster as kubeadm sets it up, for scenarios with `controlPlane: kubeadm`: the control plane has a node, and what runs it
//! is to be seen in the API.
//!
//! - etcd, API server, controller manager and scheduler are static Pods on `control-plane`, whose kubelet makes mirrors of
//!   them. The node has its role as a label, and a taint that keeps other Pods away.
//! - kube-proxy is a DaemonSet, and CoreDNS a Deployment of two.
//!
//! Mirrors `cmd/kubeadm/app/phases/{controlplane,etcd,markcontrolplane}` and `addons/{dns,proxy}`.
//!
//! Left out: probes of all of these, which would send packets every few seconds; certificates and kubeconfigs, which are
//! empty files; bootstrap tokens and ClusterInfo. The processes are not those in the Pods. One starts and ends with its
//! container, but a component that is stopped leaves the container as it is; of etcd and kube-proxy nothing follows.

use std::rc::Rc;
use std::time::Duration;

use super::fault::Fault;
use super::fault::processes::Process;
use super::{Cluster, NodeConfig, https};
use kubelet::static_pods::MANIFESTS;
use network::disk::Disk;

/// The label of such a node, and its taint.
const ROLE: &str = "node-role.kubernetes.io/control-plane";
/// The static Pods, by the names of their files.
const STATIC_PODS: [(&str, &str); 4] = [
    ("etcd", include_str!("etcd.yaml")),
    ("kube-apiserver", include_str!("kube-apiserver.yaml")),
    ("kube-controller-manager", include_str!("kube-controller-manager.yaml")),
    ("kube-scheduler", include_str!("kube-scheduler.yaml")),
];
/// Those that something here runs as.
const COMPONENTS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
/// Load balancers of a cloud send nothing to such a node.
const NOT_FOR_LOAD_BALANCERS: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

impl Cluster {
    /// The node joins that the control plane runs on: `kubeadm init`.
    pub(super) fn add_control_plane_node(&mut self, node: &NodeConfig) {
        put_manifests(&self.disk_of(node));
        self.add_node(node);
        self.settle(Duration::from_secs(60));
        self.follow_static_pods();
        let labels = [format!("{ROLE}="), format!("{NOT_FOR_LOAD_BALANCERS}=")];
        self.administer("", &["label", "node", https::MACHINE, &labels[0], &labels[1]]);
        let taint = format!("{ROLE}:NoSchedule");
        self.administer("", &["taint", "node", https::MACHINE, &taint]);
    }

    /// From now on a component runs as long as the container that it is to be seen in.
    fn follow_static_pods(&mut self) {
        let Some(id) = self.runtime_on(https::MACHINE) else { return };
        let (hub, user) = (self.engine.hub().clone(), self.user.actor());
        self.with_runtime(id, |runtime| {
            runtime.follow(Rc::new(move |config, runs| {
                if COMPONENTS.contains(&config.name.as_str()) {
                    hub.fault(user, Rc::new(Fault::of(Process::follows(&config.name, runs))));
                }
            }));
        });
    }
}

fn put_manifests(disk: &Disk) {
    for (name, manifest) in STATIC_PODS {
        let path = format!("{MANIFESTS}/{name}.yaml");
        disk.put(&path, manifest).unwrap_or_else(|error| unreachable!("the disk takes {path}: {error}"));
    }
}

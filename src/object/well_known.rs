//! Names that components know one another's marks by: labels, taints, finalizers and annotations that one writes and another
//! reads. What a single component uses, or one kind's readers, is declared there.
//!
//! Mirrors `core/v1/well_known_labels.go` and `well_known_taints.go` of k8s.io/api, `discovery/v1/well_known_labels.go`, and
//! of `core/v1/types.go` and `meta/v1/types.go` the names that belong beside them.

/// On a Node: its own name, as its host knows it.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// On a Node: its operating system.
pub const OS: &str = "kubernetes.io/os";
/// On a Node: the architecture of its processors.
pub const ARCH: &str = "kubernetes.io/arch";
/// On a Node or volume: the zone that it is in.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// On a Node or volume: the region that it is in.
pub const REGION: &str = "topology.kubernetes.io/region";
/// What [`ZONE`] once was called.
pub const ZONE_BETA: &str = "failure-domain.beta.kubernetes.io/zone";
/// What [`REGION`] once was called.
pub const REGION_BETA: &str = "failure-domain.beta.kubernetes.io/region";

/// On an EndpointSlice: the Service that it is of.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// A taint: the node answers, but says that it is not ready.
pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// A taint: nothing is heard of the node.
pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// A taint: the node is cordoned.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// A taint: the node is short of memory.
pub const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";
/// A taint: the node's disk is almost full.
pub const DISK_PRESSURE: &str = "node.kubernetes.io/disk-pressure";
/// A taint: the node is short of process ids.
pub const PID_PRESSURE: &str = "node.kubernetes.io/pid-pressure";
/// A taint: the node's network is not set up.
pub const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";
/// A taint: the node is off, people say, and what it held may be given to others.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// A finalizer: the garbage collector has yet to take the object out of its dependents' owners.
pub const ORPHAN: &str = "orphan";
/// A finalizer: the object stays until the dependents that block it are gone.
pub const FOREGROUND: &str = "foregroundDeletion";
/// A finalizer of a Namespace, in its spec: there may be something in it.
pub const KUBERNETES: &str = "kubernetes";
/// A finalizer of a claim: a Pod may be using it.
pub const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
/// A finalizer of a volume: a claim may be bound to it.
pub const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
/// Keeps a class of volume attributes that a claim or a volume names.
pub const ATTRIBUTES_PROTECTION: &str = "kubernetes.io/vac-protection";

/// An annotation: the manifest that `kubectl apply` was last given.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// An annotation of a StorageClass: `true` if it is that of claims which name none.
pub const DEFAULT_STORAGE_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// The type of a Secret that holds a service account's token.
pub const SERVICE_ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

/// The API group of roles and their bindings. Mirrors `rbacv1.GroupName`.
pub const RBAC: &str = "rbac.authorization.k8s.io";

/// Where the API server listens, on the network of the nodes: the address of the control plane's machine.
pub const API_SERVER_IP: &str = "172.18.0.2";
/// The address and the port of the API server, as it tells them.
pub const API_SERVER_ADDRESS: &str = "172.18.0.2:6443";
/// Where a kubelet listens on its machine. Mirrors `ports.KubeletPort`.
pub const KUBELET_PORT: i32 = 10250;

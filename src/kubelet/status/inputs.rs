//! What a status is computed from.

use std::collections::BTreeMap;

use super::sizes::Sizes;
use crate::resize::pending::Resize;
use crate::runtime_pod::RuntimePod;
use object::Pod;
use object::pod::status::{ContainerStatus, PodStatus};

/// Why the last attempt to start a container failed: an entry of the kubelet's reason cache
/// (`pkg/kubelet/reason_cache.go`). It becomes the container's waiting reason in the *next* status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingReason {
    /// `CrashLoopBackOff`, `ErrImagePull`, …
    pub reason: String,
    /// The error's text.
    pub message: String,
}

/// Reasons by container name.
pub type Reasons = BTreeMap<String, WaitingReason>;

/// What the probes say of one running container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The startup probe succeeded, or there is none.
    pub started: bool,
    /// The readiness probe's last result is success, or there is none.
    pub ready: bool,
}

/// Everything a status is computed from.
pub struct Inputs<'a> {
    /// The pod as the API server has it, but as large as is allocated.
    pub pod: &'a Pod,
    /// The pod as the runtime has it.
    pub runtime: &'a RuntimePod,
    /// The status last computed, or the API server's if there is none.
    pub old: &'a PodStatus,
    /// Why containers wait.
    pub reasons: &'a Reasons,
    /// The pod is being torn down: no container will be started again.
    pub terminal: bool,
    /// It has been active for longer than it may.
    pub overdue: bool,
    /// All its containers are being started anew.
    pub restarting: bool,
    /// What is known of its being made larger or smaller, if it is.
    pub resize: Option<&'a Resize>,
    /// Its sizes.
    pub sizes: &'a Sizes,
    /// The node's address.
    pub host_ip: &'a str,
    /// The probes' opinion of a running container; with it what the last status said of the same one.
    pub probed: &'a dyn Fn(&ContainerStatus, Option<&ContainerStatus>) -> Probed,
}

//! What the runtime last said of one pod: the kubelet's own picture, made from CRI answers.
//!
//! Mirrors `kubecontainer.PodStatus` (`pkg/kubelet/container/runtime.go`). Everything the kubelet decides is
//! decided from a pod's spec and this, never from what it remembers having started: that is why a kubelet can
//! be restarted at any moment.

use k8s_openapi::api::core::v1::PodSpec;

use object::text::Text;
use object::time::Instant;

/// A pod's sandboxes and containers, dead ones included, each newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuntimePod {
    /// Addresses of the newest sandbox, if it is ready; of the last that was, once there is no ready one any more.
    pub ips: Vec<String>,
    /// Newest first.
    pub sandboxes: Vec<RuntimeSandbox>,
    /// Newest first.
    pub containers: Vec<RuntimeContainer>,
    /// When the runtime was asked.
    pub seen_at: Instant,
}

/// One pod sandbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuntimeSandbox {
    /// The runtime's id.
    pub id: Text,
    /// 0 for a pod's first sandbox.
    pub attempt: u32,
    /// `SANDBOX_READY`.
    pub ready: bool,
    /// The address that CNI gave; empty on the host's network.
    pub ip: String,
    /// When it was made.
    pub created_at: Instant,
}

/// `kubecontainer.State`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunState {
    /// Made, not started.
    Created,
    /// Its process runs.
    Running,
    /// Its process is gone.
    Exited,
    /// The runtime does not know.
    #[default]
    Unknown,
}

/// One container, running or dead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuntimeContainer {
    /// The runtime's id, without `containerd://`.
    pub id: Text,
    /// The sandbox that it is, or was, in.
    pub sandbox_id: Text,
    /// Its name in the pod's spec.
    pub name: Text,
    /// Where it is in its life.
    pub state: RunState,
    /// How many came before it: the CRI attempt.
    pub restart_count: i32,
    /// The image as the spec names it.
    pub image: Text,
    /// The image as the runtime knows it.
    pub image_id: Text,
    /// When it was made.
    pub created_at: Instant,
    /// When its process began; meaningless in state Created.
    pub started_at: Instant,
    /// When its process ended; meaningful in state Exited.
    pub finished_at: Instant,
    /// The process's exit code.
    pub exit_code: i32,
    /// Why it ended, in the runtime's word: `Completed`, `Error`, `OOMKilled`.
    pub reason: Text,
    /// What the runtime has to say about the end.
    pub message: Text,
}

impl RuntimePod {
    /// The newest container of that name (`FindContainerStatusByName`).
    pub fn container(&self, name: &str) -> Option<&RuntimeContainer> {
        self.containers.iter().find(|c| c.name == name)
    }

    /// Whether a container of the pod proper has been made in the sandbox that stands, so that initialization there is over.
    /// What was made in an earlier one does not count. Mirrors `HasAnyActiveRegularContainerStarted`.
    pub fn has_initialized(&self, spec: &PodSpec) -> bool {
        let Some(active) = self.sandboxes.iter().find(|sandbox| sandbox.ready) else { return false };
        let mut there = self.containers.iter().filter(|container| container.sandbox_id == active.id);
        there.any(|container| spec.containers.iter().any(|own| own.name == container.name))
    }

    /// The dead containers that another of the same name has died after.
    pub fn superseded(&self) -> Vec<Text> {
        let dead = || self.containers.iter().filter(|c| c.state == RunState::Exited);
        let newest = |dead_one: &&RuntimeContainer| dead().find(|c| c.name == dead_one.name).map(|c| &c.id);
        dead().filter(|c| newest(c) != Some(&c.id)).map(|c| c.id.clone()).collect()
    }

    /// The sandboxes that nothing is in any more, but for the newest. `is_there`: the runtime has this container still.
    pub fn old_sandboxes(&self, is_there: impl Fn(&str) -> bool) -> Vec<Text> {
        let all = self.containers.iter().filter(|container| is_there(&container.id));
        let is_used = |id: &str| all.clone().any(|container| container.sandbox_id == id);
        let old = self.sandboxes.iter().skip(1).filter(|sandbox| !sandbox.ready && !is_used(&sandbox.id));
        old.map(|sandbox| sandbox.id.clone()).collect()
    }

    /// The pod's addresses: its own, or those it had in the picture before, unless another sandbox stands.
    /// Mirrors `getPodIPs`.
    pub fn addresses(&self, before: &RuntimePod) -> Vec<String> {
        let lost = self.ips.is_empty() && !self.sandboxes.iter().any(|s| s.ready);
        if lost { before.ips.clone() } else { self.ips.clone() }
    }

    /// Whether any container still runs.
    pub fn any_running(&self) -> bool {
        self.containers.iter().any(|c| c.state == RunState::Running)
    }

    /// Whether the next sync has to make a sandbox, and as which attempt.
    /// Mirrors `runtimeutil.PodSandboxChanged`.
    pub fn sandbox_needed(&self, host_network: bool) -> Option<u32> {
        let Some(newest) = self.sandboxes.first() else { return Some(0) };
        let ready = self.sandboxes.iter().filter(|s| s.ready).count();
        let no_address = !host_network && newest.ip.is_empty();
        (ready > 1 || !newest.ready || no_address).then_some(newest.attempt + 1)
    }
}

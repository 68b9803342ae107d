//! The Container Runtime Interface: what a kubelet asks of a container runtime, and what it is told.
//!
//! Mirrors `k8s.io/cri-api/pkg/apis/runtime/v1`: the runtime service and the image service, with the fields that this
//! cluster uses. The types travel as they are; they are printed as JSON only when a user looks.
//!
//! Left out: streams of bytes, for which Exec, Attach and PortForward give a URL, metrics, checkpoints, user namespaces.

use serde::Serialize;
use serde_json::Value;

use engine::event::printed;
use engine::{Message, RpcError};
use object::Shared;
use object::text::Text;

mod container;
mod nanos;
mod notices;
mod sandbox;

pub use container::{
    ContainerConfig, ContainerState, ContainerStatus, Image, LinuxContainerResources, LinuxContainerSecurityContext,
    Task,
};
pub use network::kernel::sockets::DnsConfig;
pub use notices::{ConditionsMayDiffer, Interrupt, RelistWouldFind, StreamEnded};
pub use sandbox::{PodSandboxConfig, PodSandboxStatus, PortMapping};

/// What a kubelet asks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum CriRequest {
    /// Which runtime are you?
    Version,
    /// Are you, and the Pods' network, ready?
    Status,
    /// Make a Pod's network and keep it alive.
    RunPodSandbox(Shared<PodSandboxConfig>),
    /// How is a sandbox?
    PodSandboxStatus {
        /// The sandbox.
        id: Text,
    },
    /// The sandboxes of a Pod, or (empty) all of them.
    ListPodSandbox {
        /// The Pod's uid.
        pod_uid: String,
    },
    /// Stop what runs in a sandbox and give its network back.
    StopPodSandbox {
        /// The sandbox.
        id: Text,
    },
    /// Forget a sandbox.
    RemovePodSandbox {
        /// The sandbox.
        id: Text,
    },
    /// Make a container in a sandbox.
    CreateContainer {
        /// The sandbox.
        sandbox_id: Text,
        /// What to make.
        config: Shared<ContainerConfig>,
    },
    /// Start a container's process.
    StartContainer {
        /// The container.
        id: Text,
    },
    /// SIGTERM, and SIGKILL after the timeout.
    StopContainer {
        /// The container.
        id: Text,
        /// Seconds.
        timeout: i64,
    },
    /// Make a container larger or smaller while it runs.
    UpdateContainerResources {
        /// The container.
        id: Text,
        /// How much of the machine it may use from now on.
        linux: LinuxContainerResources,
    },
    /// Forget a container.
    RemoveContainer {
        /// The container.
        id: Text,
    },
    /// The containers of a Pod, or (empty) all of them.
    ListContainers {
        /// The Pod's uid.
        pod_uid: String,
    },
    /// How is a container?
    ContainerStatus {
        /// The container.
        id: Text,
    },
    /// Run a command in a container for a client outside. In the real interface the answer is a URL at which what the
    /// command prints can be read as it comes; here it is all that it prints.
    Exec {
        /// The container.
        id: Text,
        /// The command.
        command: Vec<String>,
        /// What it reads.
        input: String,
    },
    /// Run a command in a container and wait for it: probes and hooks.
    ExecSync {
        /// The container.
        id: Text,
        /// The command.
        command: Vec<String>,
        /// Seconds after which it is given up; 0: never.
        timeout: i64,
    },
    /// Connect a client that types: to a shell that begins in a container, or to the container's own process. In the real
    /// interface these are Exec and Attach.
    Open {
        /// The container.
        id: Text,
        /// The shell; empty: the process.
        command: Vec<String>,
        /// In a terminal: a shell says there that it waits.
        tty: bool,
    },
    /// What is typed there, a line or a key.
    Type {
        /// The connection.
        stream: u64,
        /// The line; `^C` and `^D` are keys.
        text: String,
    },
    /// Connect to a port in the network of a sandbox. In the real interface the answer is a URL at which bytes go to and fro;
    /// here it is what the server at that port answers to these.
    PortForward {
        /// The sandbox.
        id: Text,
        /// The port.
        port: u16,
        /// What is sent there.
        data: String,
    },
    /// Is an image there?
    ImageStatus {
        /// Its name.
        image: String,
    },
    /// All images.
    ListImages,
    /// Fetch an image.
    PullImage {
        /// Its name.
        image: String,
    },
}

/// What the runtime answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum CriResponse {
    /// Done, with nothing to say.
    Done,
    /// To Version: name and version.
    Version {
        /// `containerd`.
        runtime_name: String,
        /// `2.1.4`.
        runtime_version: String,
    },
    /// To Status.
    Status {
        /// `RuntimeReady` and `NetworkReady`.
        conditions: Vec<RuntimeCondition>,
    },
    /// To RunPodSandbox and CreateContainer: the new id.
    Id(Text),
    /// To PodSandboxStatus.
    Sandbox(Shared<PodSandboxStatus>),
    /// To ListPodSandbox, newest first.
    Sandboxes(Vec<Shared<PodSandboxStatus>>),
    /// To ContainerStatus.
    Container(Shared<ContainerStatus>),
    /// To ListContainers, newest first.
    Containers(Vec<Shared<ContainerStatus>>),
    /// To ExecSync.
    Exec {
        /// What it printed on standard output.
        output: String,
        /// And on standard error.
        errors: String,
        /// Its exit code.
        exit_code: i32,
    },
    /// To Exec.
    Ran {
        /// What it printed, in order; true: on standard error.
        printed: Vec<(bool, String)>,
        /// Its exit code.
        exit_code: i32,
    },
    /// To Open and Type. To Open of a process that reads nothing it is its container.
    Stream(Stream),
    /// To PortForward: what came back; None: the server has closed the connection.
    Forwarded(Option<String>),
    /// To ImageStatus.
    Image(Option<Image>),
    /// To ListImages.
    Images(Vec<Image>),
    /// To PullImage: the image as the runtime knows it.
    Pulled {
        /// `docker.io/library/nginx@sha256:…`.
        image_ref: String,
    },
}

/// The state of a connection to a shell that a user types into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stream {
    /// Its number at this runtime.
    pub id: u64,
    /// What was printed there, in order; true: on standard error, which a terminal does not tell apart.
    pub printed: Vec<(bool, String)>,
    /// What the shell says when it waits for a line; empty without a terminal.
    pub prompt: String,
    /// The shell has ended with this code.
    pub ended: Option<i32>,
}

/// `RuntimeCondition`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuntimeCondition {
    /// `RuntimeReady`: whether the runtime is up. `NetworkReady`: whether its network is.
    #[serde(rename = "type")]
    pub name: &'static str,
    /// Whether it is so.
    pub status: bool,
    /// Why not, in a word.
    pub reason: &'static str,
    /// Why not.
    pub message: String,
}

impl std::fmt::Display for RuntimeCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={} reason:{} message:{}", self.name, self.status, self.reason, self.message)
    }
}

/// Why a call failed: gRPC code and description.
pub fn error(code: &'static str, message: impl Into<String>) -> RpcError {
    RpcError { code, message: message.into() }
}

impl Message for CriRequest {
    fn method(&self) -> &'static str {
        match self {
            CriRequest::Version => "Version",
            CriRequest::Status => "Status",
            CriRequest::RunPodSandbox(_) => "RunPodSandbox",
            CriRequest::PodSandboxStatus { .. } => "PodSandboxStatus",
            CriRequest::ListPodSandbox { .. } => "ListPodSandbox",
            CriRequest::StopPodSandbox { .. } => "StopPodSandbox",
            CriRequest::RemovePodSandbox { .. } => "RemovePodSandbox",
            CriRequest::CreateContainer { .. } => "CreateContainer",
            CriRequest::StartContainer { .. } => "StartContainer",
            CriRequest::StopContainer { .. } => "StopContainer",
            CriRequest::UpdateContainerResources { .. } => "UpdateContainerResources",
            CriRequest::RemoveContainer { .. } => "RemoveContainer",
            CriRequest::ListContainers { .. } => "ListContainers",
            CriRequest::ContainerStatus { .. } => "ContainerStatus",
            CriRequest::Exec { .. } => "Exec",
            CriRequest::ExecSync { .. } => "ExecSync",
            CriRequest::Open { command, .. } if command.is_empty() => "Attach",
            CriRequest::Open { .. } => "Exec",
            CriRequest::Type { .. } => "Type",
            CriRequest::PortForward { .. } => "PortForward",
            CriRequest::ImageStatus { .. } => "ImageStatus",
            CriRequest::ListImages => "ListImages",
            CriRequest::PullImage { .. } => "PullImage",
        }
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

impl Message for CriResponse {
    fn method(&self) -> &'static str {
        "response"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

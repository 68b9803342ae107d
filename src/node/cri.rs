//! The Container Runtime Interface: what a kubelet asks of a container runtime, and what it is told.
//!
//! Mirrors `k8s.io/cri-api/pkg/apis/runtime/v1`: the runtime service and the image service, with the fields that this
//! cluster uses. The types travel as they are; they are printed as JSON only when somebody looks.
//!
//! Left out: streams of bytes, for which Exec, Attach and PortForward give a URL, metrics, checkpoints, user namespaces.

use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::event::printed;
use crate::engine::{Message, RpcError};
use crate::object::Shared;
use crate::object::text::Text;
use crate::object::time::Instant;

/// `PodSandboxMetadata`, with what else identifies a pod to the runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSandboxConfig {
    /// The Pod's name.
    pub name: String,
    /// The Pod's namespace.
    pub namespace: String,
    /// The Pod's uid.
    pub uid: Text,
    /// 0 for the Pod's first sandbox.
    pub attempt: u32,
    /// The hostname inside.
    pub hostname: String,
    /// The domain that makes the hostname a full one, which its `/etc/hosts` tells. In a real cluster the kubelet writes that
    /// file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// The Pod shares the node's network; no CNI call is made.
    pub host_network: bool,
    /// The Pod's labels, by key.
    #[serde(serialize_with = "as_map")]
    pub labels: Shared<Vec<(String, String)>>,
    /// Ports that the containers declare.
    pub port_mappings: Vec<PortMapping>,
    /// What its `/etc/hosts` says beside the usual: address and names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_aliases: Vec<(String, Vec<String>)>,
    /// Its `/etc/resolv.conf`.
    pub dns: Shared<DnsConfig>,
    /// The way to run it, of `RunPodSandboxRequest`; empty: the usual one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runtime_handler: String,
}

/// `PortMapping`: a port of a container, and the node's that leads to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PortMapping {
    /// `TCP`.
    pub protocol: String,
    /// The container's.
    pub container_port: i32,
    /// The node's; 0: none leads there.
    pub host_port: i32,
    /// At which of the node's addresses; empty: at all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
}

/// `DNSConfig`: what a Pod's `/etc/resolv.conf` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DnsConfig {
    /// `nameserver`.
    pub servers: Vec<String>,
    /// `search`.
    pub searches: Vec<String>,
    /// `options`.
    pub options: Vec<String>,
}

/// `PodSandboxStatus`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSandboxStatus {
    /// The runtime's id: 64 hex digits.
    pub id: Text,
    /// What it was made from.
    pub config: Shared<PodSandboxConfig>,
    /// `SANDBOX_READY`, or not any more.
    pub ready: bool,
    /// Nanoseconds since the run started.
    #[serde(serialize_with = "nanos")]
    pub created_at: Instant,
    /// The address that CNI gave; empty on the host's network and after the sandbox stopped.
    pub ip: String,
}

/// `ContainerConfig`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerConfig {
    /// Its name in the Pod's spec.
    pub name: String,
    /// How many came before it.
    pub attempt: u32,
    /// The image as the spec names it.
    pub image: String,
    /// Replaces the image's entrypoint, if not empty.
    pub command: Vec<String>,
    /// Replaces the image's arguments, if not empty.
    pub args: Vec<String>,
    /// Where its process begins; empty: where the image says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    /// Environment variables, resolved.
    pub envs: Shared<Vec<(String, String)>>,
    /// Where files are mounted: container path, host path.
    pub mounts: Vec<(String, String)>,
    /// Not CRI: the ports that its spec declares, with protocol. A simulated process may listen there.
    pub ports: Vec<(i32, String)>,
    /// Its standard input stays open, whether anybody writes to it or not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stdin: bool,
    /// How much of the machine it may use.
    pub linux: LinuxContainerResources,
    /// As whom its process runs, and where it may write.
    #[serde(skip)]
    pub security: LinuxContainerSecurityContext,
    /// Not CRI: the file in which the process may say why it ended. A real kubelet mounts one there, and reads it.
    #[serde(skip)]
    pub termination_message_path: String,
    /// Not CRI: if it says nothing and ended badly, the end of what it printed will do (`FallbackToLogsOnError`).
    #[serde(skip)]
    pub falls_back_to_logs: bool,
}

/// `LinuxContainerResources`: what becomes of requests and limits in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinuxContainerResources {
    /// Microseconds of CPU time in each tenth of a second; 0: as many as there are.
    pub cpu_quota: i64,
    /// Its part of the CPU where several want it: 1024 for each whole one that it asks for.
    pub cpu_shares: i64,
    /// Bytes; 0: no limit.
    pub memory_limit_in_bytes: i64,
    /// How soon the kernel kills it when memory runs out: 1000 among the first, -997 after almost all others.
    pub oom_score_adj: i64,
}

/// `LinuxContainerSecurityContext`: what it is told of users, and of what others see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinuxContainerSecurityContext {
    /// By number; None: whoever the image says.
    pub run_as_user: Option<i64>,
    /// The first of its groups.
    pub run_as_group: Option<i64>,
    /// The others.
    pub supplemental_groups: Vec<i64>,
    /// Its own files cannot be written.
    pub readonly_rootfs: bool,
    /// Mount points that it cannot write to. In CRI each mount says it.
    pub read_only_mounts: Vec<String>,
    /// The containers of its Pod see each other's processes (`NamespaceOption`).
    pub share_processes: bool,
}

/// `ContainerState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ContainerState {
    /// Made, not started.
    ContainerCreated,
    /// Its process runs.
    ContainerRunning,
    /// Its process is gone.
    ContainerExited,
}

/// `ContainerStatus`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    /// The runtime's id, without `containerd://`.
    pub id: Text,
    /// Its sandbox.
    pub sandbox_id: Text,
    /// The Pod's uid, from the sandbox.
    pub pod_uid: Text,
    /// Its name in the Pod's spec.
    pub name: Text,
    /// How many came before it.
    pub attempt: u32,
    /// Where it is in its life.
    pub state: ContainerState,
    /// The image as the spec names it.
    pub image: Text,
    /// The image as the runtime knows it: `docker.io/library/nginx@sha256:…`.
    pub image_ref: Text,
    /// When it was made.
    #[serde(serialize_with = "nanos")]
    pub created_at: Instant,
    /// When its process began; the start of the run before that.
    #[serde(serialize_with = "nanos")]
    pub started_at: Instant,
    /// When its process ended; the start of the run before that.
    #[serde(serialize_with = "nanos")]
    pub finished_at: Instant,
    /// The process's exit code.
    pub exit_code: i32,
    /// `Completed`, `Error`, `OOMKilled`; empty while it runs.
    pub reason: Text,
    /// What there is to say about its end.
    pub message: Text,
}

/// `Image`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// `docker.io/library/nginx@sha256:…`.
    pub id: Text,
    /// The names it was pulled by.
    pub repo_tags: Vec<String>,
    /// Bytes.
    pub size: u64,
    /// As whom its process runs, if the image says so with a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<i64>,
    /// The same, if it says so with a name. If it says nothing: root.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub username: String,
}

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
    /// Run a command in a container for somebody outside. In the real interface the answer is a URL at which what the
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
    /// Connect somebody who types: to a shell that begins in a container, or to the container's own process. In the real
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
    /// To Exec and ExecSync.
    Exec {
        /// What it printed on standard output.
        output: String,
        /// And on standard error.
        errors: String,
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

/// A process has ended, and the kubelet's next relist would find something. No runtime says this to a kubelet of 1.36, unless
/// somebody switches EventedPLEG on: it stands for the relists that find nothing, which are left out here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelistWouldFind {
    /// The container.
    pub id: Text,
}

/// How a connection is to a shell that somebody types into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stream {
    /// Its number at this runtime.
    pub id: u64,
    /// What was printed there, standard output and standard error as they came.
    pub printed: String,
    /// What the shell says when it waits for a line; empty without a terminal.
    pub prompt: String,
    /// The shell has ended with this code.
    pub ended: Option<i32>,
}

/// Ctrl-C for the line that runs. No reply is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    /// The connection.
    pub stream: u64,
}

/// The shell at the other end is gone, and nobody has typed that it should. No reply is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StreamEnded {
    /// The connection.
    pub stream: u64,
    /// How it has ended.
    pub code: i32,
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

/// What a runtime that is asked for its Status may have to say has changed. Not CRI: a real kubelet asks every five
/// seconds, and this one when there may be news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionsMayDiffer;

impl Message for ConditionsMayDiffer {
    fn method(&self) -> &'static str {
        "ConditionsMayDiffer"
    }

    fn json(&self) -> Value {
        json!({})
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

impl Message for RelistWouldFind {
    fn method(&self) -> &'static str {
        "a relist would find something"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

impl Message for Interrupt {
    fn method(&self) -> &'static str {
        "Ctrl-C"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

impl Message for StreamEnded {
    fn method(&self) -> &'static str {
        "StreamEnded"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

fn as_map<S: serde::Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

fn nanos<S: serde::Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(at.0)
}

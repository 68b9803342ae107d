//! Containers and their images: what they are made from, and what is said of them.

use serde::Serialize;

use super::nanos::nanos;
use object::Shared;
use object::text::Text;
use object::time::Instant;

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
    /// Not CRI: the ports of its probes. A program that is not known is assumed to listen there.
    #[serde(skip)]
    pub probed: Vec<u16>,
    /// Not CRI: whether the container is meant to end. A program that is not known is then assumed to end.
    #[serde(skip)]
    pub task: Option<Task>,
    /// Not CRI: whether it is the first of its Pod's spec. What is said of a Pod's load is about that one.
    #[serde(skip)]
    pub is_first: bool,
    /// Its standard input stays open, even if no client writes to it.
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

/// What a container is there for that comes to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// It is an init container.
    Init,
    /// Its Pod is a Job's.
    Job,
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

/// `LinuxContainerSecurityContext`: its users, what it may write, and whether containers see each other's processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinuxContainerSecurityContext {
    /// By number; None: the user that the image names.
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

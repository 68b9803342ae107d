//! The kubelet's side of CRI: one method a call, and the picture of a pod made from the answers.
//!
//! Mirrors `k8s.io/cri-client` and the conversions of `pkg/kubelet/kuberuntime/helpers.go`.

use std::any::Any;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Container, ContainerImage, ContainerPort, Probe, ResourceRequirements, VolumeMount};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::cri::{
    self, ContainerConfig, ContainerState, ContainerStatus, CriRequest, CriResponse, LinuxContainerResources,
    PodSandboxStatus, RuntimeCondition, Task,
};
use crate::dns;
use crate::expansion;
use crate::linux;
use crate::pleg::records::{Record, Seen};
use crate::runtime_pod::{RunState, RuntimeContainer, RuntimePod, RuntimeSandbox};
use crate::sandbox_config::sandbox_config;
use crate::security;
use crate::shared::Shared;
use crate::volumes::slots::Slot;
use crate::volumes::sources::volumes_of;
use crate::volumes::{host_path, payload};
use client::recorder::EventType;
use engine::RpcError;
use object::pod::Spec;
use object::quantity::Amount;
use object::text::Text;
use object::{self, Accessor, Pod, Shared as Part};

/// A command that was run in a container.
pub(super) struct Ran {
    /// 0: all went well.
    pub code: i32,
    output: String,
    /// What it printed as errors.
    pub errors: String,
}

impl Ran {
    /// All that was printed.
    pub fn all(&self) -> String {
        format!("{}{}", self.output, self.errors)
    }
}

impl Shared {
    /// One call. It is sent at once, not when it is awaited, so that the step shows the line of the caller.
    #[track_caller]
    pub(super) fn cri(&self, request: CriRequest) -> impl Future<Output = Result<CriResponse, RpcError>> + use<> {
        let call = self.hub.rpc(self.runtime, Rc::new(request));
        async move {
            let reply: Rc<dyn Any> = call.await?;
            reply.downcast::<CriResponse>().map(|r| (*r).clone()).map_err(|_| unexpected(&"no CRI response at all"))
        }
    }

    /// The runtime's version, for the node's status.
    pub(super) async fn runtime_version(&self) -> String {
        match self.cri(CriRequest::Version).await {
            Ok(CriResponse::Version { runtime_version, .. }) => runtime_version,
            _ => String::new(),
        }
    }

    /// Status.
    pub(super) async fn runtime_conditions(&self) -> Result<Vec<RuntimeCondition>, RpcError> {
        match self.cri(CriRequest::Status).await? {
            CriResponse::Status { conditions } => Ok(conditions),
            other => Err(unexpected(&other)),
        }
    }

    /// RunPodSandbox.
    pub(super) async fn run_sandbox(&self, pod: &Pod, attempt: u32) -> Result<String, String> {
        let mut config = sandbox_config(pod, attempt, &self.config.name, self.config.cluster_dns.as_ref())?;
        for message in dns::fit(&mut config.dns) {
            self.recorder.event(pod, EventType::Warning, "DNSConfigForming", message);
        }
        config.dns = self.resolver.share(config.dns.into_inner());
        config.labels = self.labels.share(config.labels.into_inner());
        config.runtime_handler = self.runtime_handler(pod).await?;
        let request = CriRequest::RunPodSandbox(config.into());
        self.cri(request).await.and_then(id).map_err(|error| error.to_string())
    }

    /// What the runtime calls the way that the pod wants to be run. A real kubelet reads RuntimeClasses from a cache, which
    /// names them in the singular (`LookupRuntimeHandler`).
    async fn runtime_handler(&self, pod: &Pod) -> Result<String, String> {
        let name = pod.spec.as_ref().and_then(|spec| spec.runtime_class_name.as_deref());
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(String::new()) };
        let class = self.client.get::<RuntimeClass>("", name).await;
        class.map(|class| class.handler.clone()).map_err(|error| match error.is_not_found() {
            true => format!("runtimeclass.node.k8s.io {name:?} not found"),
            false => format!("failed to lookup RuntimeClass {name}: {error}"),
        })
    }

    /// PodSandboxStatus.
    pub(super) async fn sandbox_status(&self, id: &str) -> Result<RuntimeSandbox, RpcError> {
        match self.cri(CriRequest::PodSandboxStatus { id: id.into() }).await? {
            CriResponse::Sandbox(status) => Ok(sandbox(&status)),
            other => Err(unexpected(&other)),
        }
    }

    /// StopPodSandbox.
    pub(super) async fn stop_sandbox(&self, id: &str) -> Result<(), RpcError> {
        self.cri(CriRequest::StopPodSandbox { id: id.into() }).await.map(|_| ())
    }

    /// RemovePodSandbox.
    pub(super) async fn remove_sandbox(&self, id: &str) {
        let _ = self.cri(CriRequest::RemovePodSandbox { id: id.into() }).await;
    }

    /// UpdateContainerResources.
    pub(super) async fn update_container_resources(
        &self,
        pod: &Pod,
        container: &Container,
        id: &str,
        size: Option<&ResourceRequirements>,
    ) -> Result<(), RpcError> {
        let (id, linux) = (id.into(), linux::resources(pod, container, size, self.memory()));
        self.cri(CriRequest::UpdateContainerResources { id, linux }).await.map(|_| ())
    }

    /// How much memory the machine has.
    fn memory(&self) -> i64 {
        self.config.capacity.get("memory").map_or(0, |memory| Amount::of(memory).value())
    }

    /// CreateContainer.
    pub(super) async fn create_container(
        &self,
        pod: &Pod,
        container: &Container,
        envs: Part<Vec<(String, String)>>,
        sandbox: &str,
        attempt: u32,
    ) -> Result<String, RpcError> {
        let uid = pod.metadata.uid();
        let slots = self.state.borrow().workers.get(uid).map(|w| w.volumes.slots.clone()).unwrap_or_default();
        let linux = linux::resources(pod, container, container.resources.as_ref(), self.memory());
        let config = ContainerConfig { linux, ..self.container_config(pod, container, envs, &slots, attempt) };
        let request = CriRequest::CreateContainer { sandbox_id: sandbox.into(), config: config.into() };
        id(self.cri(request).await?)
    }

    /// StartContainer.
    pub(super) async fn start_created(&self, id: &str) -> Result<(), RpcError> {
        self.cri(CriRequest::StartContainer { id: id.into() }).await.map(|_| ())
    }

    /// StopContainer: SIGTERM, and SIGKILL after `timeout` seconds.
    pub(super) async fn stop_container(&self, id: &str, timeout: i64) {
        let _ = self.cri(CriRequest::StopContainer { id: id.into(), timeout }).await;
    }

    /// RemoveContainer.
    pub(super) async fn remove_container(&self, id: &str) {
        let _ = self.cri(CriRequest::RemoveContainer { id: id.into() }).await;
    }

    /// ExecSync. A timeout of 0 seconds is none.
    pub(super) async fn exec(&self, id: &str, command: &[String], timeout: i64) -> Result<Ran, RpcError> {
        match self.cri(CriRequest::ExecSync { id: id.into(), command: command.to_vec(), timeout }).await? {
            CriResponse::Exec { output, errors, exit_code } => Ok(Ran { code: exit_code, output, errors }),
            other => Err(unexpected(&other)),
        }
    }

    /// ImageStatus: the image's size, if it is there.
    pub(super) async fn image_size(&self, image: &str) -> Option<u64> {
        match self.cri(CriRequest::ImageStatus { image: image.into() }).await {
            Ok(CriResponse::Image(found)) => found.map(|image| image.size),
            _ => None,
        }
    }

    /// PullImage.
    pub(super) async fn pull_image(&self, image: &str) -> Result<(), RpcError> {
        self.cri(CriRequest::PullImage { image: image.into() }).await.map(|_| ())
    }

    /// ListImages, largest first, for the node's status.
    pub(super) async fn images(&self) -> Vec<ContainerImage> {
        let Ok(CriResponse::Images(mut images)) = self.cri(CriRequest::ListImages).await else { return Vec::new() };
        images.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.repo_tags.cmp(&b.repo_tags)));
        let image = |image: cri::Image| {
            let digest = image.id.contains('@').then(|| image.id.to_string());
            let names = digest.into_iter().chain(image.repo_tags).collect();
            ContainerImage { names: Some(names), size_bytes: i64::try_from(image.size).ok() }
        };
        images.into_iter().map(image).collect()
    }

    /// ListPodSandbox and ListContainers, of one pod or of all: every id and its state, by pod uid.
    pub(super) async fn list_runtime(&self, uid: Option<&str>) -> Result<BTreeMap<Text, Record>, RpcError> {
        let mut list: BTreeMap<Text, Record> = BTreeMap::new();
        for sandbox in self.list_sandboxes(uid).await? {
            let seen = Seen::Sandbox(sandbox.ready);
            list.entry(sandbox.config.uid.clone()).or_default().insert(sandbox.id.clone(), seen);
        }
        for container in self.list_containers(uid).await? {
            let seen = Seen::Container(run_state(container.state));
            list.entry(container.pod_uid.clone()).or_default().insert(container.id.clone(), seen);
        }
        Ok(list)
    }

    async fn list_sandboxes(&self, uid: Option<&str>) -> Result<Vec<object::Shared<PodSandboxStatus>>, RpcError> {
        let pod_uid = uid.unwrap_or_default().to_owned();
        match self.cri(CriRequest::ListPodSandbox { pod_uid }).await? {
            CriResponse::Sandboxes(list) => Ok(list),
            other => Err(unexpected(&other)),
        }
    }

    async fn list_containers(&self, uid: Option<&str>) -> Result<Vec<object::Shared<ContainerStatus>>, RpcError> {
        let pod_uid = uid.unwrap_or_default().to_owned();
        match self.cri(CriRequest::ListContainers { pod_uid }).await? {
            CriResponse::Containers(list) => Ok(list),
            other => Err(unexpected(&other)),
        }
    }

    /// One pod looked at closely: PodSandboxStatus of its newest sandbox, ContainerStatus of each container of
    /// `record`. The ids come from a list made just before.
    pub(super) async fn read_runtime_pod(&self, record: &Record) -> RuntimePod {
        let of_containers = record.values().filter(|seen| matches!(seen, Seen::Container(_))).count();
        let mut pod = RuntimePod {
            sandboxes: Vec::with_capacity(record.len() - of_containers),
            containers: Vec::with_capacity(of_containers),
            ..RuntimePod::default()
        };
        for (id, seen) in record.iter() {
            match seen {
                Seen::Sandbox(_) => pod.sandboxes.extend(self.sandbox_status(id).await),
                Seen::Container(_) => {
                    if let Ok(CriResponse::Container(status)) =
                        self.cri(CriRequest::ContainerStatus { id: id.clone() }).await
                    {
                        pod.containers.push(container(&status));
                    }
                }
            }
        }
        pod.sandboxes.sort_by_key(|s| Reverse((s.created_at, s.attempt)));
        pod.containers
            .sort_by(|a, b| (b.created_at, b.restart_count, &b.id).cmp(&(a.created_at, a.restart_count, &a.id)));
        let newest = pod.sandboxes.first().filter(|s| s.ready && !s.ip.is_empty());
        pod.ips = newest.map(|s| s.ip.clone()).into_iter().collect();
        pod
    }
}

impl Shared {
    /// What the runtime has to know to make a container (`generateContainerConfig`).
    fn container_config(
        &self,
        pod: &Pod,
        container: &Container,
        envs: Part<Vec<(String, String)>>,
        volumes: &[Slot],
        attempt: u32,
    ) -> ContainerConfig {
        let mounts = container.volume_mounts.iter().flatten().enumerate();
        let port = |p: &ContainerPort| (p.container_port, p.protocol.clone().unwrap_or_else(|| "TCP".into()));
        ContainerConfig {
            name: container.name.clone(),
            attempt,
            image: container.image.clone().unwrap_or_default(),
            command: expansion::with(&envs, container.command.as_ref()),
            args: expansion::with(&envs, container.args.as_ref()),
            working_dir: container.working_dir.clone().unwrap_or_default(),
            mounts: mounts
                .filter_map(|(at, mount)| self.host_mount(pod, container, (at, mount), &envs, volumes))
                .collect(),
            envs,
            ports: container.ports.iter().flatten().map(port).collect(),
            probed: probed(container),
            task: task(pod, container),
            is_first: pod
                .spec
                .as_ref()
                .and_then(|spec| spec.containers.first())
                .is_some_and(|c| c.name == container.name),
            // With stdinOnce it is closed when the first client detaches, and here no client attaches.
            stdin: container.stdin == Some(true),
            linux: LinuxContainerResources::default(),
            security: security::context(pod, container),
            termination_message_path: container.termination_message_path.clone().unwrap_or_default(),
            falls_back_to_logs: container.termination_message_policy.as_deref() == Some("FallbackToLogsOnError"),
        }
    }

    /// Where in the container and where on the host (`makeMounts`). A sub-path of files that the kubelet writes is bound
    /// to the files that are there now (`PrepareSafeSubpath`): those that are written later the container does not see.
    fn host_mount(
        &self,
        pod: &Pod,
        container: &Container,
        (at, mount): (usize, &VolumeMount),
        variables: &[(String, String)],
        volumes: &[Slot],
    ) -> Option<(String, String)> {
        let name = pod.spec.as_ref()?.name_of(&mount.name);
        let (index, volume) = volumes_of(pod).enumerate().find(|(_, volume)| volume.name == name)?;
        let mut path = volumes.get(index)?.path.clone();
        let part = expansion::sub_path(mount, variables).ok()?;
        if !part.is_empty() {
            path = format!("{path}/{part}");
            let place = host_path::of_sub_paths(pod.metadata.uid());
            let bound = format!("{place}/{name}/{}/{at}", container.name);
            if payload::is_written_here(&volume) && self.disk.bind(&bound, &path) {
                path = bound;
            }
        }
        Some((mount.mount_path.clone(), path))
    }
}

/// The ports at which a container's probes ask, but for those that are ports of its spec by name.
fn probed(container: &Container) -> Vec<u16> {
    let probes = [&container.startup_probe, &container.liveness_probe, &container.readiness_probe];
    let number = |port: &IntOrString| if let IntOrString::Int(port) = port { Some(*port) } else { None };
    let port = |probe: &Probe| match (&probe.http_get, &probe.tcp_socket, &probe.grpc) {
        (Some(http), ..) => number(&http.port),
        (_, Some(tcp), _) => number(&tcp.port),
        (.., grpc) => grpc.as_ref().map(|grpc| grpc.port),
    };
    let ports = probes.into_iter().flatten().filter_map(port);
    ports.filter_map(|port| u16::try_from(port).ok()).collect()
}

/// What a container is there for, if that comes to an end.
fn task(pod: &Pod, container: &Container) -> Option<Task> {
    let is_init = |spec: &Spec| spec.init_containers.iter().flatten().any(|init| init.name == container.name);
    if pod.spec.as_ref().is_some_and(is_init) {
        return (container.restart_policy.is_none()).then_some(Task::Init);
    }
    let of_job = pod.metadata.owner_references.iter().flatten().any(|owner| owner.kind == "Job");
    of_job.then_some(Task::Job)
}

fn sandbox(status: &PodSandboxStatus) -> RuntimeSandbox {
    RuntimeSandbox {
        id: status.id.clone(),
        attempt: status.config.attempt,
        ready: status.ready,
        ip: status.ip.clone(),
        created_at: status.created_at,
    }
}

fn container(status: &ContainerStatus) -> RuntimeContainer {
    RuntimeContainer {
        state: run_state(status.state),
        id: status.id.clone(),
        sandbox_id: status.sandbox_id.clone(),
        name: status.name.clone(),
        restart_count: i32::try_from(status.attempt).unwrap_or(i32::MAX),
        image: status.image.clone(),
        image_id: status.image_ref.clone(),
        created_at: status.created_at,
        started_at: status.started_at,
        finished_at: status.finished_at,
        exit_code: status.exit_code,
        reason: status.reason.clone(),
        message: status.message.clone(),
    }
}

fn run_state(state: ContainerState) -> RunState {
    match state {
        ContainerState::ContainerCreated => RunState::Created,
        ContainerState::ContainerRunning => RunState::Running,
        ContainerState::ContainerExited => RunState::Exited,
    }
}

fn id(response: CriResponse) -> Result<String, RpcError> {
    match response {
        CriResponse::Id(id) => Ok(id.into()),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(response: &impl std::fmt::Debug) -> RpcError {
    cri::error("Internal", format!("unexpected response {response:?}"))
}

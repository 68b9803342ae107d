//! containerd, simulated: sandboxes, images, and containers whose processes live in virtual time.
//!
//! The kubelet asks through CRI. Making a sandbox means: a network namespace, the network plugins called through CNI,
//! and a pause container that runs in it. A container is made in a sandbox from an image that was pulled before,
//! and started as a separate call. When a process ends, the kubelet gets no notification: it finds out when it looks.
//!
//! - [`networks`]: the network's configuration, and attaching sandboxes to it.
//! - [`listening`]: what its processes listen on.
//! - `site`: what web servers serve, and log. [`registry`]: which images there are. [`mod@image`]: which programs an image lacks. [`logs`]: what well-known servers
//!   print. [`process`]: what runs inside a container.
//! - [`exec`]: commands that are run in containers beside their processes; [`running`]: those that the processes run;
//!   [`programs`], [`tar`]: the programs of both that look at their container. The shell and all others are the
//!   [`userland`]'s.
//! - [`terminal`]: shells that a user types into.
//! - [`files`]: what containers see of the node's disk. `mounts`: where their volumes are.
//! - `port_forward`: connections to a Pod from within it.
//! - `container`: the life of a container. [`state`]: sandboxes, containers, images. `containerd`: that and what else all
//!   of it shares.
//!
//! Must hold:
//! - A failed CNI ADD is followed by a DEL. Kept by `a_failed_add_is_undone_and_told`.
//! - A container starts only in a sandbox that is ready. Kept by `nothing_starts_in_a_sandbox_that_was_stopped`.
//! - Ids are never used twice. Kept by `after_a_power_cut_containers_are_new_and_counted_as_restarts`.
//!
//! Left out: layers and snapshots, shims, cgroups, real processes. An image is a name and a size; pulling takes the
//! time that [`PULL`] says. The default times are those of the fake runtime in the reference recordings; the machines it
//! ran on were never equally fast, and no more are these nodes.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::cri::{self, CriRequest, CriResponse, Image, PodSandboxConfig, PodSandboxStatus};
use crate::cri::{ContainerState, RuntimeCondition};
use engine::{Actor, ActorId, CallId, Delivery, Hub, Message, RpcError, RpcResult};
use network::cni::config::{DIRECTORY, PLUGINS};
use network::host::Host;
use object::text::Text;
use object::{Key, Shared};

mod container;
mod containerd;
pub mod exec;
mod files;
mod image;
mod listening;
pub mod logs;
mod mounts;
pub mod networks;
mod port_forward;
pub mod process;
pub mod programs;
mod registry;
mod running;
mod site;
pub mod state;
pub mod tar;
pub mod terminal;
mod timers;
mod typing;
mod who;

pub use containerd::Follower;
use containerd::{Containerd, no_container};
use networks::Networks;
use process::SIGKILLED;
use state::{Container, State};
use timers::Timer;

/// Ways to run a Pod that the runtime is configured for: in namespaces of the node's kernel, under gVisor, in a virtual
/// machine. RuntimeClasses name them; here nothing but the name is different.
const HANDLERS: &[&str] = &["runc", "runsc", "kata"];
/// Making a sandbox takes this long on the fastest nodes, the network included.
const SANDBOX: Duration = Duration::from_millis(150);
/// And so much longer at each slower pace; there are [`PACES`] of them: no two machines are equally fast.
const SLOWER: Duration = Duration::from_millis(10);
const PACES: u32 = 8;
/// Pulling an image takes this long.
const PULL: Duration = Duration::from_millis(400);
/// Every image is this large: the size that nginx 1.27 has.
const IMAGE_BYTES: u64 = 75_497_472;
/// The container runtime of one node.
pub struct Runtime {
    name: String,
    inner: Rc<Containerd>,
}

/// How long the runtime of that name takes to make a sandbox. Those of neighbours by number differ: nodes that are given a
/// Pod at the same moment report it one after the other, as real ones do, and not in one instant, which would save
/// a controller that counts them a write.
fn sandbox_time(name: &str) -> Duration {
    let sum: u32 = name.bytes().map(u32::from).sum();
    SANDBOX + SLOWER * (sum % PACES)
}

impl Runtime {
    /// The runtime of `node`, which is the machine `host`, and runs the network plugins behind `cni`.
    pub fn new(hub: Hub, actor: ActorId, node: &str, host: Rc<Host>, cni: ActorId) -> Runtime {
        let name = format!("containerd/{node}");
        let networks = Networks::new(hub.clone(), cni, host);
        let (kubelet, kernel, state) =
            (hub.memory(None), hub.memory(None), hub.memory(State::new(hub.memory(BTreeMap::new()))));
        let follower = hub.memory(None);
        let inner = Containerd { name: name.clone(), hub, actor, networks, kubelet, kernel, state, follower };
        Runtime { name, inner: Rc::new(inner) }
    }

    /// Who follows its event stream.
    pub fn serve(&self, kubelet: ActorId) {
        self.inner.kubelet.set(Some(kubelet));
    }

    /// From now on the follower is called for each process that starts or ends.
    pub fn follow(&self, follower: Follower) {
        self.inner.follower.set(Some(follower));
    }

    /// The machine that it runs on has a network.
    pub fn use_kernel(&self, kernel: Option<ActorId>) {
        self.inner.kernel.set(kernel);
    }

    /// Looks at what it knows.
    pub fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.inner.state.borrow_mut())
    }

    /// The machine it runs on.
    pub fn host(&self) -> &Rc<Host> {
        self.inner.networks.host()
    }

    /// A file on the node's disk was changed by another program. The runtime follows those that concern its network, and
    /// what it says of its own condition may be different from now on.
    pub fn file_changed(&self, path: &str) {
        if path.starts_with(DIRECTORY) {
            self.inner.load_network("reload cni configuration after receiving fs change event");
        }
        if (path.starts_with(DIRECTORY) || path.starts_with(PLUGINS))
            && let Some(kubelet) = self.inner.kubelet.get()
        {
            self.inner.hub.tell(self.inner.actor, kubelet, Rc::new(cri::ConditionsMayDiffer));
        }
    }

    /// Kills the process of a Pod's container, as `kill -9` on the node would. False if none runs.
    pub fn kill(&self, pod: &Key, name: &str) -> bool {
        self.end(pod, name, "Error")
    }

    /// The same by the kernel, for its memory.
    pub fn oom(&self, pod: &Key, name: &str) -> bool {
        self.end(pod, name, "OOMKilled")
    }

    /// What processes take is different from now on: the kernel kills those that take more memory than they may.
    pub fn look_at_memory(&self) {
        self.inner.look_at_memory();
    }

    fn end(&self, pod: &Key, name: &str, reason: &str) -> bool {
        let found = {
            let state = self.inner.state.borrow();
            let of_pod = |c: &Container| {
                let sandbox = state.sandboxes.get(&c.status.sandbox_id);
                sandbox.is_some_and(|s| s.config.name == pod.name() && s.config.namespace == pod.namespace())
                    && c.status.state == ContainerState::ContainerRunning
                    && (name.is_empty() || c.status.name == name)
            };
            state.containers.values().find(|container| of_pod(container)).map(|c| c.status.id.clone())
        };
        found.is_some_and(|id| self.inner.ended(&id, SIGKILLED, reason))
    }
}

impl Actor for Runtime {
    fn name(&self) -> &str {
        &self.name
    }

    /// The network's configuration is loaded, and what an earlier life has left attached is detached.
    fn start(&self) {
        self.inner.load_network("load cni during init");
        if self.inner.networks.has_leftovers() {
            let me = self.inner.clone();
            self.inner.hub.spawn(self.inner.actor, format!("{} CNI GC", self.name), async move {
                if let Err(error) = me.networks.collect(&[]).await {
                    me.text(|| format!("failed to clean up stale network attachments: {error}"));
                }
            });
        }
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Rpc { call, from, message } => {
                let any: &dyn Any = &*message;
                if let Some(request) = any.downcast_ref::<CriRequest>() {
                    self.inner.clone().serve(call, from, request.clone());
                } else if let Some(cri::Interrupt { stream }) = any.downcast_ref() {
                    self.inner.interrupt(*stream);
                }
            }
            Delivery::Wake { what, key } => match Timer::read(what, &key) {
                Some(Timer::Exit { id }) => self.inner.exits(id),
                Some(Timer::Wake { id, wait }) => self.inner.wakes(id, wait),
                Some(Timer::Kill { id }) => self.inner.kill_due(id),
                Some(Timer::Line { stream }) => self.inner.slept(stream),
                None => {}
            },
            Delivery::Notification { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Containerd {
    /// Quick calls are answered at once; the others are tasks of their own.
    fn serve(self: Rc<Self>, call: CallId, from: ActorId, request: CriRequest) {
        let method = request.method();
        if let Some(result) = self.at_once(&request) {
            return self.reply(from, call, method, result);
        }
        let me = self.clone();
        self.hub.spawn(self.actor, format!("{} {method}", self.name), async move {
            let result = match request {
                CriRequest::Status => Ok(me.status().await),
                CriRequest::RunPodSandbox(config) => me.run_sandbox(config).await,
                CriRequest::StopPodSandbox { id } => me.stop_sandbox(&id).await,
                CriRequest::StopContainer { id, timeout } => me.stop_container(&id, timeout).await,
                CriRequest::PullImage { image } => me.pull(&image).await,
                CriRequest::ExecSync { id, command, timeout } => me.exec_sync(&id, &command, timeout).await,
                CriRequest::Exec { id, command, input } => me.exec(&id, &command, &input).await,
                CriRequest::Type { stream, text } => me.type_line(stream, &text).await,
                CriRequest::PortForward { id, port, data } => me.port_forward(&id, port, data).await,
                other => Err(cri::error("Unimplemented", format!("unknown method {}", other.method()))),
            };
            me.reply(from, call, method, result);
        });
    }

    fn reply(&self, to: ActorId, call: CallId, method: &'static str, result: Result<CriResponse, RpcError>) {
        let result: RpcResult = result.map(|response| Rc::new(response) as Rc<dyn Message>);
        self.hub.reply(self.actor, to, call, method, result);
    }

    fn at_once(self: &Rc<Self>, request: &CriRequest) -> Option<Result<CriResponse, RpcError>> {
        let mut state = self.state.borrow_mut();
        Some(match request {
            CriRequest::Version => {
                Ok(CriResponse::Version { runtime_name: "containerd".into(), runtime_version: "2.1.4".into() })
            }
            CriRequest::PodSandboxStatus { id } => match state.sandboxes.get(id) {
                Some(sandbox) => Ok(CriResponse::Sandbox(sandbox.clone())),
                None => Err(cri::error(
                    "NotFound",
                    format!("an error occurred when try to find sandbox \"{id}\": not found"),
                )),
            },
            CriRequest::ListPodSandbox { pod_uid } if pod_uid.is_empty() => {
                Ok(CriResponse::Sandboxes(state.sandboxes.values().cloned().collect()))
            }
            CriRequest::ListPodSandbox { pod_uid } => Ok(CriResponse::Sandboxes(state.sandboxes_of(pod_uid))),
            CriRequest::ListContainers { pod_uid } if pod_uid.is_empty() => {
                Ok(CriResponse::Containers(state.containers.values().map(|c| c.status.clone()).collect()))
            }
            CriRequest::ListContainers { pod_uid } => Ok(CriResponse::Containers(state.containers_of(pod_uid))),
            CriRequest::ContainerStatus { id } => match state.containers.get(id) {
                Some(container) => Ok(CriResponse::Container(container.status.clone())),
                None => Err(no_container(id)),
            },
            CriRequest::ImageStatus { image } => Ok(CriResponse::Image(state.images.get(image).cloned())),
            CriRequest::ListImages => Ok(CriResponse::Images(state.images.values().cloned().collect())),
            CriRequest::UpdateContainerResources { id, linux } => match state.containers.get_mut(id) {
                Some(container) => {
                    container.config.linux = *linux;
                    Ok(CriResponse::Done)
                }
                None => Err(no_container(id)),
            },
            CriRequest::RemoveContainer { id } => {
                state.remove_container(id);
                Ok(CriResponse::Done)
            }
            CriRequest::RemovePodSandbox { id } => {
                state.remove_sandbox(id);
                Ok(CriResponse::Done)
            }
            CriRequest::ExecSync { id, command, .. } if exec::is_quick(command) => {
                drop(state);
                self.exec_at_once(id, command)
            }
            CriRequest::Open { id, command, tty } => {
                drop(state);
                self.open(id, command, *tty)
            }
            CriRequest::CreateContainer { sandbox_id, config } => {
                drop(state);
                self.create_container(sandbox_id, config)
            }
            CriRequest::StartContainer { id } => {
                drop(state);
                self.start_container(id)
            }
            _ => return None,
        })
    }

    /// `NetworkReady` asks the network plugins (`internal/cri/server/status.go`).
    async fn status(&self) -> CriResponse {
        let ready = |name: &'static str| RuntimeCondition { name, status: true, ..RuntimeCondition::default() };
        let network = match self.networks.status().await {
            Ok(()) => ready("NetworkReady"),
            Err(error) => RuntimeCondition {
                status: false,
                reason: "NetworkPluginNotReady",
                message: format!("Network plugin returns error: {error}"),
                ..ready("NetworkReady")
            },
        };
        CriResponse::Status { conditions: vec![ready("RuntimeReady"), network] }
    }

    /// Loads the network's configuration; `what` says so in the log if it cannot be.
    fn load_network(&self, what: &str) {
        if let Err(error) = self.networks.load() {
            self.text(|| format!("failed to {what}: {error}"));
        }
    }

    /// Namespace, network, pause container. Mirrors containerd's `RunPodSandbox`.
    async fn run_sandbox(&self, config: Shared<PodSandboxConfig>) -> Result<CriResponse, RpcError> {
        let id = self.new_id();
        let handler = &config.runtime_handler;
        if !handler.is_empty() && !HANDLERS.contains(&handler.as_str()) {
            let why = format!("unable to get OCI runtime for sandbox {id:?}: no runtime for {handler:?} is configured");
            return Err(cri::error("Unknown", why));
        }
        self.hub.sleep(sandbox_time(&self.name)).await;
        let ip = if config.host_network { String::new() } else { self.connect(&id, &config).await? };
        self.text(|| format!("pause container {} runs in the sandbox", &id[..13]));
        self.own(&id, &config);
        let mut state = self.state.borrow_mut();
        state.sandboxes_of.entry(config.uid.clone()).or_default().push(id.clone());
        let created_at = self.hub.now();
        let sandbox = PodSandboxStatus { id: id.clone(), config, ready: true, created_at, ip };
        state.sandboxes.insert(id.clone(), sandbox.into());
        Ok(CriResponse::Id(id))
    }

    /// A namespace for the sandbox, and its address there. What fails is undone.
    async fn connect(&self, id: &Text, config: &PodSandboxConfig) -> Result<String, RpcError> {
        let netns = self.networks.make_namespace(id);
        self.text(|| format!("network namespace {netns} for {}/{}", config.namespace, config.name));
        let error = match self.networks.attach(id, config).await {
            Ok(result) => match result.address_of("eth0") {
                Some(ip) => {
                    self.state.borrow_mut().attached.insert(id.clone());
                    return Ok(ip.address.to_string());
                }
                None => format!("failed to find network info for sandbox {id:?}"),
            },
            Err(error) => error,
        };
        if let Err(error) = self.networks.detach(id, &netns, config).await {
            self.text(|| format!("failed to destroy network for sandbox {id:?}: {error}"));
        }
        self.networks.remove_namespace(id);
        Err(cri::error("Unknown", format!("failed to setup network for sandbox {id:?}: {error}")))
    }

    /// Kills what still runs, gives the network back, forgets the address.
    async fn stop_sandbox(&self, id: &str) -> Result<CriResponse, RpcError> {
        let Some(sandbox) = self.state.borrow().sandboxes.get(id).cloned() else { return Ok(CriResponse::Done) };
        let containers = self.state.borrow().containers_of(&sandbox.config.uid);
        for container in containers.iter().filter(|c| c.sandbox_id == id) {
            self.ended(&container.id, SIGKILLED, "Error");
        }
        self.disown(id);
        if let Some(sandbox) = self.state.borrow_mut().sandboxes.get_mut(id) {
            sandbox.ready = false;
        }
        if self.state.borrow().attached.contains(id) {
            let done = self.networks.detach(id, &networks::netns(id), &sandbox.config).await;
            done.map_err(|error| {
                cri::error("Unknown", format!("failed to destroy network for sandbox {id:?}: {error}"))
            })?;
            self.networks.remove_namespace(id);
            self.state.borrow_mut().attached.remove(id);
        }
        Ok(CriResponse::Done)
    }

    async fn pull(&self, image: &str) -> Result<CriResponse, RpcError> {
        let script = self.state.borrow().script(image).cloned();
        let is_own = script.is_some();
        let script = script.unwrap_or_default();
        let (time, scripted) = (script.pull_time.unwrap_or(PULL), script.pull_error);
        self.hub.sleep(time).await;
        if let Some(text) = scripted {
            return Err(cri::error("Unknown", format!("failed to pull and unpack image \"{image}\": {text}")));
        }
        if let Some((code, why)) = registry::missing(image, is_own) {
            return Err(cri::error(code, why));
        }
        let (uid, username) = image::user(image);
        let (repo_tags, image_ref) = (vec![image.to_owned()], registry::reference(image));
        let pulled =
            Image { id: image_ref.as_str().into(), repo_tags, size: IMAGE_BYTES, uid, username: username.to_owned() };
        self.state.borrow_mut().images.insert(image.to_owned(), pulled);
        Ok(CriResponse::Pulled { image_ref })
    }
}

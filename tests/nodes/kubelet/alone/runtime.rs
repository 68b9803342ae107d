//! A runtime that behaves as the recordings' fake runtime did: sandbox 150 ms, first pull of an image 400 ms, stopping
//! 150 ms.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use engine::{Actor, ActorId, CallId, Delivery, Hub, Message, RpcError, RpcResult};
use kubelet::cri::{
    ContainerState, ContainerStatus, CriRequest, CriResponse, Image, PodSandboxStatus, RelistWouldFind,
    RuntimeCondition, Stream, error,
};
use object::Shared;
use object::text::Text;
use object::time::Instant;

/// What the runtime of the test knows.
#[derive(Default)]
pub struct Runtime {
    sandboxes: Vec<Shared<PodSandboxStatus>>,
    containers: Vec<Shared<ContainerStatus>>,
    images: Vec<String>,
    /// What `cat` finds.
    pub files: Vec<String>,
    /// No command can be run.
    pub broken: bool,
    /// No sandbox can be connected, which turns out after five seconds.
    pub no_network: bool,
    /// Life in milliseconds and exit code of containers by name; others run for ever.
    pub lives: BTreeMap<String, (u64, i32)>,
    next: u64,
    /// Methods called.
    pub calls: Vec<String>,
}

impl Runtime {
    fn handle(&mut self, request: &CriRequest, now: Instant) -> Result<CriResponse, RpcError> {
        self.calls.push(request.method().to_owned());
        self.next += 1;
        match request {
            CriRequest::Version => {
                Ok(CriResponse::Version { runtime_name: "containerd".into(), runtime_version: "0.1.0".into() })
            }
            CriRequest::Status => {
                Ok(CriResponse::Status { conditions: vec![condition("RuntimeReady"), condition("NetworkReady")] })
            }
            CriRequest::RunPodSandbox(_)
            | CriRequest::PodSandboxStatus { .. }
            | CriRequest::ListPodSandbox { .. }
            | CriRequest::StopPodSandbox { .. }
            | CriRequest::RemovePodSandbox { .. } => self.handle_sandbox(request, now),
            CriRequest::ImageStatus { .. } | CriRequest::PullImage { .. } | CriRequest::ListImages => {
                self.handle_image(request)
            }
            CriRequest::PortForward { data, .. } => Ok(CriResponse::Forwarded(Some(data.clone()))),
            CriRequest::Open { .. } | CriRequest::Type { .. } => Ok(CriResponse::Stream(Stream::default())),
            CriRequest::ExecSync { .. } if self.broken => {
                Err(error("Unknown", "failed to exec in container: it is broken"))
            }
            CriRequest::ExecSync { command, .. } | CriRequest::Exec { command, .. } => Ok(self.cat(command)),
            _ => self.handle_container(request, now),
        }
    }

    fn handle_sandbox(&mut self, request: &CriRequest, now: Instant) -> Result<CriResponse, RpcError> {
        match request {
            CriRequest::RunPodSandbox(_) if self.no_network => {
                Err(error("Unknown", "failed to setup network for sandbox"))
            }
            CriRequest::RunPodSandbox(config) => {
                let (id, ip) = (self.id(), format!("10.244.0.{}", self.sandboxes.len() + 2));
                let config = config.clone();
                let sandbox = PodSandboxStatus { id: id.clone(), config, ready: true, created_at: now, ip };
                self.sandboxes.insert(0, sandbox.into());
                Ok(CriResponse::Id(id))
            }
            CriRequest::PodSandboxStatus { id } => Ok(CriResponse::Sandbox(self.sandbox(id)?.clone())),
            CriRequest::ListPodSandbox { pod_uid } => {
                let of_pod = self.sandboxes.iter().filter(|s| is_of(&s.config.uid, pod_uid));
                Ok(CriResponse::Sandboxes(of_pod.cloned().collect()))
            }
            CriRequest::StopPodSandbox { id } => {
                self.sandboxes.iter_mut().filter(|s| s.id == *id).for_each(|s| s.ready = false);
                Ok(CriResponse::Done)
            }
            CriRequest::RemovePodSandbox { id } => {
                self.sandboxes.retain(|s| s.id != *id);
                Ok(CriResponse::Done)
            }
            other => unreachable!("{} is not about sandboxes", other.method()),
        }
    }

    fn handle_container(&mut self, request: &CriRequest, now: Instant) -> Result<CriResponse, RpcError> {
        match request {
            CriRequest::CreateContainer { sandbox_id, config } => {
                let pod_uid = self.sandbox(sandbox_id)?.config.uid.as_str().into();
                let status = ContainerStatus {
                    id: self.id(),
                    sandbox_id: sandbox_id.clone(),
                    pod_uid,
                    name: config.name.as_str().into(),
                    attempt: config.attempt,
                    state: ContainerState::ContainerCreated,
                    image: config.image.as_str().into(),
                    image_ref: config.image.as_str().into(),
                    created_at: now,
                    started_at: Default::default(),
                    finished_at: Default::default(),
                    exit_code: 0,
                    reason: String::new().into(),
                    message: String::new().into(),
                };
                self.containers.insert(0, status.into());
                return Ok(CriResponse::Id(self.id()));
            }
            CriRequest::StartContainer { id } => {
                for container in self.containers.iter_mut().filter(|c| c.id == *id) {
                    container.state = ContainerState::ContainerRunning;
                    container.started_at = now;
                }
            }
            CriRequest::StopContainer { id, .. } => self.end(id, 0, now),
            CriRequest::UpdateContainerResources { .. } => {}
            CriRequest::RemoveContainer { id } => self.containers.retain(|c| c.id != *id),
            CriRequest::ListContainers { pod_uid } => {
                let of_pod = self.containers.iter().filter(|c| is_of(&c.pod_uid, pod_uid));
                return Ok(CriResponse::Containers(of_pod.cloned().collect()));
            }
            CriRequest::ContainerStatus { id } => {
                let found = self.containers.iter().find(|c| c.id == *id).cloned();
                return Ok(CriResponse::Container(found.ok_or_else(|| error("NotFound", "no such container"))?));
            }
            other => unreachable!("{} is not about containers", other.method()),
        }
        Ok(CriResponse::Done)
    }

    fn handle_image(&mut self, request: &CriRequest) -> Result<CriResponse, RpcError> {
        match request {
            CriRequest::ImageStatus { image } => Ok(CriResponse::Image(self.images.contains(image).then(|| Image {
                id: image.as_str().into(),
                repo_tags: vec![image.clone()],
                size: 75_497_472,
                uid: None,
                username: String::new(),
            }))),
            CriRequest::PullImage { image } if image.contains("no-such") => {
                Err(error("NotFound", format!("failed to pull and unpack image \"{image}\": not found")))
            }
            CriRequest::PullImage { image } => {
                self.images.push(image.clone());
                Ok(CriResponse::Pulled { image_ref: image.clone() })
            }
            CriRequest::ListImages => Ok(CriResponse::Images(Vec::new())),
            other => unreachable!("{} is not about images", other.method()),
        }
    }

    /// The id of what the present request makes.
    fn id(&self) -> Text {
        format!("id{:04}", self.next).as_str().into()
    }

    fn sandbox(&self, id: &str) -> Result<&Shared<PodSandboxStatus>, RpcError> {
        let found = self.sandboxes.iter().find(|sandbox| &*sandbox.id == id);
        found.ok_or_else(|| error("NotFound", "no such sandbox"))
    }

    /// The only program there is: it succeeds if its last argument is one of the files.
    fn cat(&self, command: &[String]) -> CriResponse {
        let file = command.last().map_or("", String::as_str);
        match self.files.iter().any(|known| known == file) {
            true => CriResponse::Exec { output: String::new(), errors: String::new(), exit_code: 0 },
            false => CriResponse::Exec {
                output: format!("cat: can't open '{file}': No such file or directory\n"),
                errors: String::new(),
                exit_code: 1,
            },
        }
    }

    /// The power was off.
    pub fn clear(&mut self) {
        self.sandboxes.clear();
        self.containers.clear();
    }

    /// The machine was restarted, and its runtime still knows what ran on it.
    pub fn reboot(&mut self) {
        self.sandboxes.iter_mut().for_each(|sandbox| sandbox.ready = false);
        for container in self.containers.iter_mut().filter(|c| c.state == ContainerState::ContainerRunning) {
            container.state = ContainerState::ContainerExited;
            container.exit_code = 137;
            container.reason = "Error".into();
        }
    }

    /// How many sandboxes there are.
    pub fn sandboxes(&self) -> usize {
        self.sandboxes.len()
    }

    /// Nothing of any pod is left.
    pub fn is_empty(&self) -> bool {
        self.sandboxes.is_empty() && self.containers.is_empty()
    }

    /// Id, life and exit code of the container that this request starts, if it does not run for ever.
    fn life(&self, request: &CriRequest) -> Option<(String, u64, i32)> {
        let CriRequest::StartContainer { id } = request else { return None };
        let name = &self.containers.iter().find(|c| c.id == *id)?.name;
        self.lives.get(name.as_str()).map(|(ms, code)| (id.to_string(), *ms, *code))
    }

    fn end(&mut self, id: &str, code: i32, now: Instant) {
        let running = |c: &&mut Shared<ContainerStatus>| c.id == id && c.state == ContainerState::ContainerRunning;
        for container in self.containers.iter_mut().filter(running) {
            container.state = ContainerState::ContainerExited;
            container.exit_code = code;
            container.finished_at = now;
            container.reason = if code == 0 { "Completed" } else { "Error" }.into();
        }
    }
}

/// The process that the kubelet calls.
pub struct RuntimeActor {
    pub hub: Hub,
    pub actor: ActorId,
    pub state: Rc<RefCell<Runtime>>,
}

impl RuntimeActor {
    fn answer(&self, from: ActorId, call: CallId, request: &CriRequest) {
        let delay = match request {
            CriRequest::RunPodSandbox(_) if self.state.borrow().no_network => 5_000,
            CriRequest::RunPodSandbox(_) | CriRequest::StopContainer { .. } => 150,
            CriRequest::PullImage { .. } => 400,
            _ => 0,
        };
        let (hub, me, state, request) = (self.hub.clone(), self.actor, self.state.clone(), request.clone());
        self.hub.spawn(self.actor, "runtime", async move {
            if delay > 0 {
                hub.sleep(Duration::from_millis(delay)).await;
            }
            let result = state.borrow_mut().handle(&request, hub.now());
            let life = state.borrow().life(&request);
            hub.reply(me, from, call, "reply", result.map(|response| Rc::new(response) as Rc<dyn Message>));
            if let Some((id, ms, code)) = life {
                hub.sleep(Duration::from_millis(ms)).await;
                state.borrow_mut().end(&id, code, hub.now());
                let event = RelistWouldFind { id: id.into() };
                let _: RpcResult = hub.rpc(from, Rc::new(event)).await;
            }
        });
    }
}

impl Actor for RuntimeActor {
    fn name(&self) -> &str {
        "containerd/node-1"
    }

    fn deliver(&self, delivery: Delivery) {
        if let Delivery::Rpc { call, from, message } = delivery {
            let message: Rc<dyn Any> = message;
            if let Some(request) = message.downcast_ref::<CriRequest>() {
                self.answer(from, call, request);
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Whether something is of the pod that is asked for; without one, all is.
fn is_of(uid: &str, pod: &str) -> bool {
    pod.is_empty() || uid == pod
}

fn condition(name: &'static str) -> RuntimeCondition {
    RuntimeCondition { name, status: true, ..RuntimeCondition::default() }
}

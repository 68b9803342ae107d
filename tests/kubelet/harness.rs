//! A kubelet on its own: an API server, one node, a runtime that behaves as the recordings' fake runtime did
//! (sandbox 150 ms, first pull of an image 400 ms, stopping 150 ms), and the user.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Container, Namespace, PodSpec, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use kubestep::apiserver::ApiServer;
use kubestep::apiserver::request::{
    Binding, Body, DeleteOptions, Options, Patch, Request, Response, StatusPatch, Subresource, User, Verb,
};
use kubestep::engine::{Actor, ActorId, CallId, Delivery, Engine, Hub, RpcResult, What};
use kubestep::node::cri::{
    ContainerState, ContainerStatus, CriRequest, CriResponse, Image, PodSandboxStatus, RelistWouldFind,
    RuntimeCondition, Stream, error,
};
use kubestep::node::disk::Disk;
use kubestep::node::host::Host;
use kubestep::node::kubelet::{Kubelet, Machine, NodeConfig, Rules};
use kubestep::object::pod::status::PodCondition;
use kubestep::object::{Kind, Object, Pod, Shared};

/// What the API server says, once it does.
type Answer = Rc<RefCell<Option<Response>>>;

/// What the runtime of the test knows.
#[derive(Default)]
pub struct Runtime {
    sandboxes: Vec<Shared<PodSandboxStatus>>,
    containers: Vec<Shared<ContainerStatus>>,
    images: Vec<String>,
    /// Commands that exec probes may run with success.
    pub files: Vec<String>,
    /// No command can be run.
    pub broken: bool,
    /// No sandbox can be connected, which turns out after five seconds.
    pub no_network: bool,
    /// Exit code and life in milliseconds of containers by name; others run for ever.
    pub lives: BTreeMap<String, (u64, i32)>,
    next: u64,
    /// Methods called.
    pub calls: Vec<String>,
}

struct RuntimeActor {
    hub: Hub,
    actor: ActorId,
    state: Rc<RefCell<Runtime>>,
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
            let result = state.borrow_mut().handle(&request, &hub);
            let life = state.borrow().life(&request);
            hub.reply(me, from, call, "reply", result.map(|r| Rc::new(r) as Rc<dyn kubestep::engine::Message>));
            if let Some((id, ms, code)) = life {
                hub.sleep(Duration::from_millis(ms)).await;
                state.borrow_mut().end(&id, code, &hub);
                let event = RelistWouldFind { id: id.into() };
                let _: RpcResult = hub.rpc(from, Rc::new(event)).await;
            }
        });
    }
}

impl Runtime {
    fn handle(&mut self, request: &CriRequest, hub: &Hub) -> Result<CriResponse, kubestep::engine::RpcError> {
        use kubestep::engine::Message;
        self.calls.push(request.method().to_owned());
        self.next += 1;
        let id = format!("id{:04}", self.next);
        let of = |uid: &str, pod: &str| pod.is_empty() || uid == pod;
        Ok(match request {
            CriRequest::Version => {
                CriResponse::Version { runtime_name: "containerd".into(), runtime_version: "0.1.0".into() }
            }
            CriRequest::RunPodSandbox(_) if self.no_network => {
                return Err(error("Unknown", "failed to setup network for sandbox"));
            }
            CriRequest::RunPodSandbox(config) => {
                let ip = format!("10.244.0.{}", self.sandboxes.len() + 2);
                let (config, created_at) = (config.clone(), hub.now());
                let sandbox = PodSandboxStatus { id: id.as_str().into(), config, ready: true, created_at, ip };
                self.sandboxes.insert(0, sandbox.into());
                CriResponse::Id(id.into())
            }
            CriRequest::PodSandboxStatus { id } => {
                let found = self.sandboxes.iter().find(|s| s.id == *id).cloned();
                CriResponse::Sandbox(found.ok_or_else(|| error("NotFound", "no such sandbox"))?)
            }
            CriRequest::ListPodSandbox { pod_uid } => {
                CriResponse::Sandboxes(self.sandboxes.iter().filter(|s| of(&s.config.uid, pod_uid)).cloned().collect())
            }
            CriRequest::StopPodSandbox { id } => {
                self.sandboxes.iter_mut().filter(|s| s.id == *id).for_each(|s| s.ready = false);
                CriResponse::Done
            }
            CriRequest::RemovePodSandbox { id } => {
                self.sandboxes.retain(|s| s.id != *id);
                CriResponse::Done
            }
            CriRequest::CreateContainer { sandbox_id, config } => {
                let sandbox = self.sandboxes.iter().find(|s| s.id == *sandbox_id);
                let sandbox = sandbox.ok_or_else(|| error("NotFound", "no such sandbox"))?;
                let status = ContainerStatus {
                    id: id.as_str().into(),
                    sandbox_id: sandbox_id.clone(),
                    pod_uid: sandbox.config.uid.as_str().into(),
                    name: config.name.as_str().into(),
                    attempt: config.attempt,
                    state: ContainerState::ContainerCreated,
                    image: config.image.as_str().into(),
                    image_ref: config.image.as_str().into(),
                    created_at: hub.now(),
                    started_at: Default::default(),
                    finished_at: Default::default(),
                    exit_code: 0,
                    reason: String::new().into(),
                    message: String::new().into(),
                };
                self.containers.insert(0, status.into());
                CriResponse::Id(id.into())
            }
            CriRequest::StartContainer { id } => {
                for container in self.containers.iter_mut().filter(|c| c.id == *id) {
                    container.state = ContainerState::ContainerRunning;
                    container.started_at = hub.now();
                }
                CriResponse::Done
            }
            CriRequest::StopContainer { id, .. } => {
                self.end(id, 0, hub);
                CriResponse::Done
            }
            CriRequest::UpdateContainerResources { .. } => CriResponse::Done,
            CriRequest::RemoveContainer { id } => {
                self.containers.retain(|c| c.id != *id);
                CriResponse::Done
            }
            CriRequest::ListContainers { pod_uid } => {
                CriResponse::Containers(self.containers.iter().filter(|c| of(&c.pod_uid, pod_uid)).cloned().collect())
            }
            CriRequest::ContainerStatus { id } => {
                let found = self.containers.iter().find(|c| c.id == *id).cloned();
                CriResponse::Container(found.ok_or_else(|| error("NotFound", "no such container"))?)
            }
            CriRequest::PortForward { data, .. } => CriResponse::Forwarded(Some(data.clone())),
            CriRequest::Open { .. } | CriRequest::Type { .. } => CriResponse::Stream(Stream::default()),
            CriRequest::ExecSync { .. } if self.broken => {
                return Err(error("Unknown", "failed to exec in container: it is broken"));
            }
            CriRequest::ExecSync { command, .. } | CriRequest::Exec { command, .. } => {
                let file = command.last().cloned().unwrap_or_default();
                let there = self.files.contains(&file);
                let output = if there {
                    String::new()
                } else {
                    format!("cat: can't open '{file}': No such file or directory\n")
                };
                CriResponse::Exec { output, errors: String::new(), exit_code: i32::from(!there) }
            }
            CriRequest::ImageStatus { image } => CriResponse::Image(self.images.contains(image).then(|| Image {
                id: image.as_str().into(),
                repo_tags: vec![image.clone()],
                size: 75_497_472,
                uid: None,
                username: String::new(),
            })),
            CriRequest::PullImage { image } if image.contains("no-such") => {
                return Err(error("NotFound", format!("failed to pull and unpack image \"{image}\": not found")));
            }
            CriRequest::PullImage { image } => {
                self.images.push(image.clone());
                CriResponse::Pulled { image_ref: image.clone() }
            }
            CriRequest::ListImages => CriResponse::Images(Vec::new()),
            CriRequest::Status => {
                CriResponse::Status { conditions: vec![condition("RuntimeReady"), condition("NetworkReady")] }
            }
        })
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

    pub fn sandboxes(&self) -> usize {
        self.sandboxes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sandboxes.is_empty() && self.containers.is_empty()
    }

    fn life(&self, request: &CriRequest) -> Option<(String, u64, i32)> {
        let CriRequest::StartContainer { id } = request else { return None };
        let name = &self.containers.iter().find(|c| c.id == *id)?.name;
        self.lives.get(name.as_str()).map(|(ms, code)| (id.to_string(), *ms, *code))
    }

    fn end(&mut self, id: &str, code: i32, hub: &Hub) {
        let running = |c: &&mut Shared<ContainerStatus>| c.id == id && c.state == ContainerState::ContainerRunning;
        for container in self.containers.iter_mut().filter(running) {
            container.state = ContainerState::ContainerExited;
            container.exit_code = code;
            container.finished_at = hub.now();
            container.reason = if code == 0 { "Completed" } else { "Error" }.into();
        }
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

/// The whole of it.
pub struct Harness {
    pub engine: Engine,
    pub runtime: Rc<RefCell<Runtime>>,
    pub kubelet: ActorId,
    runtime_id: ActorId,
    /// What the kubelet sent to the API server, one line a request: milliseconds since [`Harness::mark`], then what.
    pub calls: Vec<String>,
    since: u64,
}

impl Harness {
    /// A node that has registered, and a namespace `default` with what pods need.
    pub fn new() -> Harness {
        let mut engine = Engine::new(ApiServer::new(0), 0);
        engine.keep_notes(false);
        let runtime = Rc::new(RefCell::new(Runtime::default()));
        let runtime_id = engine.next_actor();
        let hub = engine.hub().clone();
        engine.add(Rc::new(RuntimeActor { hub: hub.clone(), actor: runtime_id, state: runtime.clone() }));
        let mut harness = Harness { engine, runtime, kubelet: ActorId(0), runtime_id, calls: Vec::new(), since: 0 };
        let meta = |name: &str| ObjectMeta {
            name: Some(name.into()),
            namespace: Some("default".into()),
            ..ObjectMeta::default()
        };
        for name in ["default", "kube-node-lease"] {
            let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
            harness.create(Object::Namespace(Arc::new(Namespace { metadata, ..Namespace::default() })));
        }
        let account = ServiceAccount { metadata: meta("default"), ..ServiceAccount::default() };
        harness.create(Object::ServiceAccount(Arc::new(account)));
        let ca = ConfigMap { metadata: meta("kube-root-ca.crt"), ..ConfigMap::default() };
        harness.create(Object::ConfigMap(Arc::new(ca)));
        harness.start_kubelet();
        harness.run(3_000);
        harness
    }

    /// Starts a (new) kubelet process.
    pub fn start_kubelet(&mut self) {
        let id = self.engine.next_actor();
        let config = NodeConfig::new("node-1", "172.18.0.11");
        let hub = self.engine.hub().clone();
        let host = Rc::new(Host::new(&hub, [172, 18, 0, 11].into(), Disk::new(&hub, &config.name)));
        let machine = Machine { host, runtime: self.runtime_id, kernel: None, driver: None };
        let kubelet = Kubelet::new(hub, id, config, machine, Rules::default(), None);
        self.engine.add(Rc::new(kubelet));
        self.kubelet = id;
    }

    fn handle(&mut self, verb: Verb, kind: Kind, subresource: Option<Subresource>, name: &str, body: Body) -> Response {
        let namespace = match &body {
            Body::Object(object) => object.namespace().to_owned(),
            _ => "default".to_owned(),
        };
        self.handle_in(&namespace, verb, kind, subresource, name, body)
    }

    fn handle_in(
        &mut self,
        namespace: &str,
        verb: Verb,
        kind: Kind,
        subresource: Option<Subresource>,
        name: &str,
        body: Body,
    ) -> Response {
        let answer = self.ask(namespace, verb, kind, subresource, name, body);
        self.await_answer(&answer)
    }

    /// Sends a request.
    fn ask(
        &mut self,
        namespace: &str,
        verb: Verb,
        kind: Kind,
        subresource: Option<Subresource>,
        name: &str,
        body: Body,
    ) -> Answer {
        let namespace = namespace.to_owned();
        let options = Options::default();
        let user = Rc::new(User::admin());
        let request =
            Request { user, verb, kind, subresource, namespace, name: name.into(), body, options, connection: None };
        let line = request.line();
        let result = Rc::new(RefCell::new(None));
        let (hub, kept) = (self.engine.hub().clone(), result.clone());
        let runtime = self.runtime_id;
        self.engine.outside(runtime, |engine| {
            let call = hub.request(request, Duration::ZERO);
            engine.hub().spawn(runtime, "user", async move {
                let answer = call.await;
                *kept.borrow_mut() = Some(answer.result.unwrap_or_else(|status| panic!("{line}: {status}")));
            });
        });
        result
    }

    fn await_answer(&mut self, answer: &Answer) -> Response {
        while answer.borrow().is_none() {
            self.step();
        }
        answer.borrow_mut().take().unwrap()
    }

    pub fn create(&mut self, object: Object) {
        self.handle(Verb::Create, object.kind(), None, "", Body::Object(object.clone()));
    }

    /// Makes a pod and binds it.
    pub fn create_pod(&mut self, name: &str, spec: PodSpec) {
        let metadata =
            ObjectMeta { name: Some(name.into()), namespace: Some("default".into()), ..ObjectMeta::default() };
        self.create(Object::Pod(Arc::new(Pod { metadata, spec: Some(spec.into()), status: None })));
        let binding = Binding { node: "node-1".into(), ..Binding::default() };
        self.mark();
        self.handle(Verb::Create, Kind::Pod, Some(Subresource::Binding), name, Body::Binding(binding));
    }

    pub fn delete_pod(&mut self, name: &str) {
        self.mark();
        self.handle(Verb::Delete, Kind::Pod, None, name, Body::Delete(DeleteOptions::default()));
    }

    pub fn force_delete_pod(&mut self, name: &str) {
        self.mark();
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        self.handle(Verb::Delete, Kind::Pod, None, name, Body::Delete(options));
    }

    /// Runs until the kubelet makes such a call.
    pub fn run_until(&mut self, call: &str) {
        while !self.lines_of_all().any(|line| line == call) {
            self.step();
        }
    }

    /// Deletes the node.
    pub fn delete_node(&mut self) {
        self.handle_in("", Verb::Delete, Kind::Node, None, "node-1", Body::Delete(DeleteOptions::default()));
    }

    /// Deletes the node's lease.
    pub fn delete_lease(&mut self) {
        self.mark();
        let body = Body::Delete(DeleteOptions::default());
        self.handle_in("kube-node-lease", Verb::Delete, Kind::Lease, None, "node-1", body);
    }

    /// Somebody else writes into the node's lease.
    pub fn touch_lease(&mut self) {
        let found = self.handle_in("kube-node-lease", Verb::Get, Kind::Lease, None, "node-1", Body::None);
        let Response::Object(Object::Lease(lease)) = found else { panic!("{found:?}") };
        let mut lease = (*lease).clone();
        lease.metadata.labels.get_or_insert_default().insert("seen".into(), "yes".into());
        self.mark();
        let body = Body::Object(Object::Lease(Arc::new(lease)));
        self.handle_in("kube-node-lease", Verb::Update, Kind::Lease, None, "node-1", body);
    }

    /// Makes a pod, and binds it in the very moment in which the node gets a label.
    pub fn create_pod_and_label(&mut self, name: &str, spec: PodSpec, label: &str, value: &str) {
        let metadata =
            ObjectMeta { name: Some(name.into()), namespace: Some("default".into()), ..ObjectMeta::default() };
        self.create(Object::Pod(Arc::new(Pod { metadata, spec: Some(spec.into()), status: None })));
        let Response::Object(Object::Node(node)) =
            self.handle_in("", Verb::Get, Kind::Node, None, "node-1", Body::None)
        else {
            panic!("there is no node");
        };
        let mut node = (*node).clone();
        node.metadata.labels.get_or_insert_default().insert(label.into(), value.into());
        self.mark();
        let binding = Body::Binding(Binding { node: "node-1".into(), ..Binding::default() });
        let bound = self.ask("default", Verb::Create, Kind::Pod, Some(Subresource::Binding), name, binding);
        let body = Body::Object(Object::Node(Arc::new(node)));
        let labelled = self.ask("", Verb::Update, Kind::Node, None, "node-1", body);
        self.await_answer(&bound);
        self.await_answer(&labelled);
    }

    pub fn pod(&mut self, name: &str) -> Arc<Pod> {
        match self.handle(Verb::Get, Kind::Pod, None, name, Body::None) {
            Response::Object(Object::Pod(pod)) => pod,
            other => panic!("{other:?}"),
        }
    }

    /// Somebody changes the pod's object.
    pub fn change_pod(&mut self, name: &str, change: impl FnOnce(&mut Pod)) {
        let mut pod = (*self.pod(name)).clone();
        change(&mut pod);
        self.mark();
        self.handle(Verb::Update, Kind::Pod, None, name, Body::Object(Object::Pod(Arc::new(pod))));
    }

    /// Somebody says whether a readiness gate of the pod is open.
    pub fn turn_gate(&mut self, name: &str, gate: &str, status: &str) {
        let pod = self.pod(name);
        let mut held = pod.status.as_deref().cloned().unwrap_or_default();
        let conditions = held.conditions.get_or_insert_default();
        conditions.retain(|condition| condition.type_ != gate);
        conditions.push(PodCondition { type_: gate.into(), status: status.into(), ..PodCondition::default() });
        let uid = pod.metadata.uid.clone().unwrap();
        let patch = StatusPatch::Pod { uid, status: held.into(), without: Vec::new() };
        self.mark();
        let patch = Body::Patch(Patch::Status(Box::new(patch)));
        self.handle(Verb::Patch, Kind::Pod, Some(Subresource::Status), name, patch);
    }

    pub fn create_config_map(&mut self, name: &str) {
        let metadata =
            ObjectMeta { name: Some(name.into()), namespace: Some("default".into()), ..ObjectMeta::default() };
        self.create(Object::ConfigMap(Arc::new(ConfigMap { metadata, ..ConfigMap::default() })));
    }

    /// Calls from here on.
    pub fn mark(&mut self) {
        self.calls.clear();
        self.since = self.engine.now().0;
    }

    /// Runs for so many milliseconds.
    pub fn run(&mut self, ms: u64) {
        let end = self.engine.now() + Duration::from_millis(ms);
        while self.engine.peek().is_some_and(|next| next.due <= end) {
            self.step();
        }
    }

    fn step(&mut self) {
        let step = self.engine.step().expect("timers are armed");
        assert!(self.engine.take_crashes().is_empty(), "a sync panicked");
        let ms = (step.time.0 - self.since) / 1_000_000;
        if let What::Request { request, .. } = &step.event.what
            && step.event.from == self.kubelet
        {
            self.calls.push(format!("{ms} {}", describe(request)));
        }
    }

    fn lines_of_all(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|line| line.split_once(' ').map_or("", |(_, rest)| rest))
    }

    /// The calls without Leases and node status, and without times.
    pub fn lines(&self) -> Vec<String> {
        let bare = self.lines_of_all().map(str::to_owned);
        bare.filter(|line| !line.contains("lease") && !line.contains("nodes")).collect()
    }
}

/// A request in a line; of Events the reason, of status patches the gist.
fn describe(request: &Request) -> String {
    match &request.body {
        Body::Object(Object::Event(event)) => format!("event {}", event.reason.as_deref().unwrap_or_default()),
        Body::Patch(Patch::Status(patch)) => match &**patch {
            StatusPatch::Pod { status, .. } => {
                let conditions = status.conditions.iter().flatten();
                let truths = conditions.map(|c| c.status.chars().next().unwrap_or('?')).collect::<String>();
                let container = status.container_statuses.iter().flatten().next();
                let state = container.and_then(|c| c.state.as_ref()).map_or("-".to_owned(), |state| {
                    match (&state.waiting, &state.running, &state.terminated) {
                        (Some(waiting), ..) => waiting.reason.clone().unwrap_or_default().into(),
                        (_, Some(_), _) => "running".into(),
                        (.., Some(end)) => format!("exit {}", end.exit_code),
                        _ => "-".into(),
                    }
                });
                format!(
                    "patch {} {truths} {state} gen={}",
                    status.phase.as_deref().unwrap_or("-"),
                    status.observed_generation.unwrap_or(0)
                )
            }
            StatusPatch::Node { .. } => request.line(),
        },
        _ if request.kind == Kind::Event => format!("{} events", request.verb.as_str()),
        _ => request.line(),
    }
}

/// A spec of one container, with the service account's volume as admission adds it.
pub fn spec(container: &str, image: &str) -> PodSpec {
    use k8s_openapi::api::core::v1::{
        ConfigMapProjection, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume, VolumeMount,
        VolumeProjection,
    };
    let token = ServiceAccountTokenProjection { path: "token".into(), ..ServiceAccountTokenProjection::default() };
    let ca = ConfigMapProjection { name: "kube-root-ca.crt".into(), ..ConfigMapProjection::default() };
    let sources = vec![
        VolumeProjection { service_account_token: Some(token), ..VolumeProjection::default() },
        VolumeProjection { config_map: Some(ca), ..VolumeProjection::default() },
    ];
    let projected = ProjectedVolumeSource { sources: Some(sources), ..ProjectedVolumeSource::default() };
    let volume = Volume { name: "kube-api-access-x".into(), projected: Some(projected), ..Volume::default() };
    let mount = VolumeMount {
        name: "kube-api-access-x".into(),
        mount_path: "/var/run/secrets/kubernetes.io/serviceaccount".into(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    let container = Container {
        name: container.into(),
        image: Some(image.into()),
        volume_mounts: Some(vec![mount]),
        ..Container::default()
    };
    PodSpec { containers: vec![container], volumes: Some(vec![volume]), ..PodSpec::default() }
}

fn condition(name: &'static str) -> RuntimeCondition {
    RuntimeCondition { name, status: true, ..RuntimeCondition::default() }
}

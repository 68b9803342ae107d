//! A kubelet on its own: an API server, one node, a runtime, and the user.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Container, ExecAction, Namespace, PodSpec, Probe, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use apiserver::ApiServer;
use apiserver::host::{Engine, Host as Served};
use engine::{ActorId, What};
use kubelet::{Kubelet, Machine, NodeConfig, Rules};
use network::disk::Disk;
use network::host::Host;
use object::pod::status::{ContainerStatus, PodCondition, PodStatus};
use object::{Kind, Object, Pod};
use wire::{Binding, Body, DeleteOptions, Options, Patch, Request, Response, StatusPatch, Subresource, User, Verb};

use super::runtime::{Runtime, RuntimeActor};

/// What the API server says, once it does.
type Answer = Rc<RefCell<Option<Response>>>;

/// The whole of it.
pub struct Harness {
    engine: Engine,
    pub runtime: Rc<RefCell<Runtime>>,
    kubelet: ActorId,
    runtime_id: ActorId,
    /// The machine that one kubelet after another runs on.
    host: Rc<Host>,
    /// What the kubelet sent to the API server, one line a request: milliseconds since [`Harness::mark`], then what.
    pub calls: Vec<String>,
    since: u64,
}

impl Harness {
    /// A node that has registered, and a namespace `default` with what pods need.
    pub fn new() -> Harness {
        let mut engine = Engine::new(Served::new(ApiServer::new(0)), 0);
        engine.keep_notes(false);
        let runtime = Rc::new(RefCell::new(Runtime::default()));
        let runtime_id = engine.next_actor();
        let hub = engine.hub().clone();
        engine.add(Rc::new(RuntimeActor { hub: hub.clone(), actor: runtime_id, state: runtime.clone() }));
        let host = Rc::new(Host::new(&hub, [172, 18, 0, 11].into(), Disk::new(&hub, "node-1")));
        let (kubelet, calls) = (ActorId(0), Vec::new());
        let mut harness = Harness { engine, runtime, kubelet, runtime_id, host, calls, since: 0 };
        for name in ["default", "kube-node-lease"] {
            let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
            harness.create(Object::Namespace(Arc::new(Namespace { metadata, ..Namespace::default() })));
        }
        let account = ServiceAccount { metadata: in_default("default"), ..ServiceAccount::default() };
        harness.create(Object::ServiceAccount(Arc::new(account)));
        let ca = ConfigMap { metadata: in_default("kube-root-ca.crt"), ..ConfigMap::default() };
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
        let host = self.host.clone();
        let machine = Machine { host, runtime: self.runtime_id, kernel: None, driver: None };
        let kubelet = Kubelet::new(hub, id, config, machine, Rules::default(), None);
        self.engine.add(Rc::new(kubelet));
        self.kubelet = id;
    }

    /// Ends the kubelet's process, as a crash does.
    pub fn stop_kubelet(&mut self) {
        self.engine.remove(self.kubelet);
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

    fn create(&mut self, object: Object) {
        self.handle(Verb::Create, object.kind(), None, "", Body::Object(object.clone()));
    }

    /// Makes a pod and binds it.
    pub fn create_pod(&mut self, name: &str, spec: PodSpec) {
        self.create(Object::Pod(Arc::new(Pod { metadata: in_default(name), spec: Some(spec.into()), status: None })));
        let binding = Binding { node: "node-1".into(), ..Binding::default() };
        self.mark();
        self.handle(Verb::Create, Kind::Pod, Some(Subresource::Binding), name, Body::Binding(binding));
    }

    /// Deletes a pod, which has its grace period.
    pub fn delete_pod(&mut self, name: &str) {
        self.mark();
        self.handle(Verb::Delete, Kind::Pod, None, name, Body::Delete(DeleteOptions::default()));
    }

    /// Deletes a pod's object at once.
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

    /// Another client writes into the node's lease.
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
        self.create(Object::Pod(Arc::new(Pod { metadata: in_default(name), spec: Some(spec.into()), status: None })));
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

    /// The pod as the API server has it.
    pub fn pod(&mut self, name: &str) -> Arc<Pod> {
        match self.handle(Verb::Get, Kind::Pod, None, name, Body::None) {
            Response::Object(Object::Pod(pod)) => pod,
            other => panic!("{other:?}"),
        }
    }

    /// What its kubelet has said of a pod.
    pub fn status(&mut self, name: &str) -> PodStatus {
        self.pod(name).status.as_deref().cloned().expect("a status")
    }

    /// The phase of a pod, with the reason and the message for it.
    pub fn phase(&mut self, name: &str) -> [String; 3] {
        let status = self.status(name);
        [&status.phase, &status.reason, &status.message].map(|text| text.as_deref().unwrap_or_default().to_owned())
    }

    /// What its kubelet has said of a pod's first container.
    pub fn container(&mut self, name: &str) -> ContainerStatus {
        let statuses = self.status(name).container_statuses.clone();
        statuses.and_then(|statuses| statuses.into_iter().next()).expect("a container's status")
    }

    /// A client changes the pod's object.
    pub fn change_pod(&mut self, name: &str, change: impl FnOnce(&mut Pod)) {
        let mut pod = (*self.pod(name)).clone();
        change(&mut pod);
        self.mark();
        self.handle(Verb::Update, Kind::Pod, None, name, Body::Object(Object::Pod(Arc::new(pod))));
    }

    /// A client says whether a readiness gate of the pod is open.
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

    /// Makes an empty ConfigMap.
    pub fn create_config_map(&mut self, name: &str) {
        self.create(Object::ConfigMap(Arc::new(ConfigMap { metadata: in_default(name), ..ConfigMap::default() })));
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

    /// Those of them that begin so.
    pub fn lines_with(&self, prefix: &str) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.starts_with(prefix)).collect()
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

/// A probe that succeeds as long as there is such a file.
pub fn probe(file: &str, period_seconds: i32) -> Probe {
    let exec = ExecAction { command: Some(vec!["cat".into(), file.into()]) };
    Probe { exec: Some(exec), period_seconds: Some(period_seconds), ..Probe::default() }
}

/// The metadata of an object in the namespace `default`.
fn in_default(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.into()), namespace: Some("default".into()), ..ObjectMeta::default() }
}

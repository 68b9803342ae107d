//! The cluster: everything put together, and brought up to the point at which a user finds it.
//!
//! A run starts the way a real cluster does. The store is empty; the API server writes what it always writes first
//! (namespaces, roles, priority classes); then controller manager, scheduler and nodes join, list, watch and settle.
//! Only then does the user's part begin, and steps count from 1.

mod faults;

pub mod kubectl;

mod machine;

pub mod manifest;

mod network;

pub mod scenario;

pub mod timeline;

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::apiserver::ApiServer;
use crate::apiserver::admission::Reader;
use crate::apiserver::request::{Body, Options, Request, User, Verb};
use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::client::{Client, Registration};
use crate::controllers::{self, ControllerManager};
use crate::engine::{self, Actor, ActorId, Delivery, Engine, EventId, Hub, Memory, Step};
use crate::node::cni::Plugins;
use crate::node::csi;
use crate::node::csi::backend::Backend;
use crate::node::csi::driver::{ControllerPlugin, NodePlugin};
use crate::node::disk::Disk;
use crate::node::host::Host;
use crate::node::kubelet::{self, Kubelet};
use crate::node::network::{Fabric, Mode};
use crate::node::proxy::KubeProxy;
use crate::node::runtime::Runtime;
use crate::node::runtime::state::{ImageScript, State};
use crate::object::status::Reason;
use crate::object::{Key, Kind, Object, Status};
use crate::scheduler::actor::KubeScheduler;

use kubectl::{Feeds, Kubectl};
use scenario::{ImageBehaviour, Scenario};
use timeline::Runner;

impl ImageBehaviour {
    fn script(&self) -> ImageScript {
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        ImageScript {
            pull_error: self.pull_fails.clone(),
            pull_time: self.pull_seconds.map(time),
            exits: self.exits_after.map(|after| (time(after), self.exit_code)),
            ready_after: self.ready_after.map(time),
            logs: self.logs.clone(),
        }
    }
}

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// The nodes it starts with.
    pub nodes: Vec<NodeConfig>,
    /// 0: every hop takes its plain time. Others make hops vary, and with them the order of events.
    pub seed: u64,
    /// Requests a second and burst of every component's client; the shipped limits unless given.
    pub client_limits: Option<(u32, u32)>,
    /// What kube-controller-manager runs.
    pub controllers: &'static [Registration],
    /// Controllers whose requests take so much longer than usual.
    pub slow: BTreeMap<String, Duration>,
    /// How packets get from node to node.
    pub network: Mode,
    /// Whether CoreDNS runs in it.
    pub dns: bool,
    /// A storage system, its CSI driver and the sidecars are installed.
    pub csi: bool,
    /// Whether kube-proxy runs on the nodes.
    pub proxy: bool,
}

/// One node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// `node-1`.
    pub name: String,
    /// Cores.
    pub cpu: u32,
    /// Memory in GiB.
    pub memory_gi: u32,
    /// How many Pods it takes.
    pub pods: u32,
    /// Its labels beside those every kubelet sets.
    pub labels: BTreeMap<String, String>,
}

impl NodeConfig {
    /// Node number `n`, counted from 1: 4 cores, 8 GiB, 110 Pods, in one of three zones.
    pub fn numbered(n: usize) -> NodeConfig {
        let zone = ["zone-a", "zone-b", "zone-c"][(n - 1) % 3];
        let labels = BTreeMap::from([
            ("topology.kubernetes.io/zone".to_owned(), zone.to_owned()),
            ("topology.kubernetes.io/region".to_owned(), "region-1".to_owned()),
        ]);
        NodeConfig { name: format!("node-{n}"), cpu: 4, memory_gi: 8, pods: 110, labels }
    }

    /// The number in the node's name, 1 if it has none.
    fn number(&self) -> usize {
        let digits = self.name.rsplit('-').next().unwrap_or_default();
        digits.parse().unwrap_or(1).max(1)
    }

    /// Where its Pods get their addresses, as an installer would write it into the network configuration.
    fn pod_subnet(&self) -> String {
        controllers::node_ipam::cidr_of(u32::try_from(self.number() - 1).unwrap_or_default())
    }

    /// Its InternalIP: 172.18.0.10 for the first.
    fn address(&self) -> Ipv4Addr {
        let number = self.number() + 9;
        Ipv4Addr::new(172, 18, (number / 256) as u8, (number % 256) as u8)
    }

    fn for_kubelet(&self, dns: bool) -> kubelet::NodeConfig {
        let mut config = kubelet::NodeConfig::new(&self.name, &self.address().to_string());
        config.labels.clone_from(&self.labels);
        config.cluster_dns = dns.then(network::cluster_dns);
        for (name, value) in [
            ("cpu", self.cpu.to_string()),
            ("memory", format!("{}Gi", self.memory_gi)),
            ("pods", self.pods.to_string()),
        ] {
            config.capacity.insert(name.to_owned(), Quantity(value));
        }
        config
    }
}

impl Default for Config {
    /// Three nodes, no chance, no DNS.
    fn default() -> Config {
        Config {
            nodes: (1..=3).map(NodeConfig::numbered).collect(),
            seed: 0,
            client_limits: None,
            controllers: controllers::TABLE,
            slow: BTreeMap::new(),
            network: Mode::HostGateway,
            dns: false,
            csi: false,
            proxy: false,
        }
    }
}

/// Something that the outside world does to the cluster, beside sending requests.
#[derive(Clone, Debug)]
pub enum Action {
    /// A node joins, or comes back.
    StartNode(NodeConfig),
    /// A node is cut off the power: kubelet and runtime stop.
    StopNode(String),
    /// What the exec probe `cat FILE` in a Pod sees.
    SetFile {
        /// The Pod.
        pod: Key,
        /// The file's path.
        file: String,
        /// Whether it is there.
        present: bool,
    },
    /// What the servers in a Pod answer with.
    SetAnswer {
        /// The Pod.
        pod: Key,
        /// The HTTP status.
        status: u16,
    },
    /// An admin types a command on a node. It must be one that [`Cluster::on_node`] knows.
    OnNode {
        /// The node.
        node: String,
        /// The command.
        words: Vec<String>,
    },
    /// A container's process is killed.
    KillContainer {
        /// The Pod.
        pod: Key,
        /// The container's name; empty: the first.
        container: String,
    },
}

/// Actions that wait for the step in progress to end. Commands put them here.
pub type Actions = Memory<VecDeque<Action>>;

/// A running cluster.
pub struct Cluster {
    /// The engine and everything on it.
    pub engine: Engine,
    /// The person at the keyboard.
    pub user: Client,
    /// kubectl, as that person runs it.
    pub kubectl: Kubectl,
    /// What their commands have printed.
    pub output: kubectl::Output,
    /// How many lines of timelines have failed.
    pub failures: Memory<u32>,
    actions: Actions,
    runner: Rc<Runner>,
    images: BTreeMap<String, ImageScript>,
    /// The storage system, if there is one.
    storage: Option<Backend>,
    /// By node, also of nodes that are off.
    disks: Memory<BTreeMap<String, Disk>>,
    fabric: Fabric,
    config: Config,
}

/// A cluster at a quiet moment, to come back to.
pub struct Saved {
    world: engine::Saved,
    kubectl: Kubectl,
    images: BTreeMap<String, ImageScript>,
}

impl Saved {
    /// How many steps had run.
    pub fn steps(&self) -> u64 {
        self.world.steps()
    }
}

impl Cluster {
    /// A cluster that has come up: nodes are Ready and nothing is going on.
    pub fn start(config: Config) -> Cluster {
        let mut engine = Engine::new(ApiServer::new(config.seed), config.seed);
        engine.keep_notes(false);
        bootstrap(&mut engine);
        let (hub, id) = (engine.hub().clone(), engine.next_actor());
        let feeds: Feeds = hub.memory(BTreeMap::new());
        let user = Client::new(hub.clone(), id, Rc::new(User::admin()), 50, 300);
        let fabric = Fabric::new(&hub, config.network);
        let kubectl = Kubectl::new(user.clone(), feeds.clone(), fabric.clone());
        let (actions, failures): (Actions, _) = (hub.memory(VecDeque::new()), hub.memory(0));
        let runner = Rc::new(Runner::new(kubectl.clone(), actions.clone(), failures.clone()));
        engine.add(Rc::new(UserActor { hub, actor: id, feeds, runner: runner.clone() }));
        let disks = engine.hub().memory(BTreeMap::new());
        let storage = config.csi.then(|| Backend::new(engine.hub()));
        let mut cluster = Cluster {
            output: kubectl.output.clone(),
            failures,
            actions,
            runner,
            engine,
            user,
            kubectl,
            images: BTreeMap::new(),
            storage,
            disks,
            fabric,
            config,
        };
        cluster.add_control_plane();
        cluster.add_outside();
        for node in cluster.config.nodes.clone() {
            cluster.add_node(&node);
        }
        cluster.settle(Duration::from_secs(60));
        if cluster.config.dns {
            cluster.install_dns();
        }
        cluster.engine.begin();
        cluster.engine.keep_notes(true);
        cluster
    }

    /// A cluster as a scenario wants it, with the scenario's first line about to be typed.
    pub fn for_scenario(scenario: &Scenario) -> Cluster {
        Cluster::with_controllers(scenario, controllers::TABLE)
    }

    /// The same with other controllers: one's own in place of one of those that are shipped.
    pub fn with_controllers(scenario: &Scenario, controllers: &'static [Registration]) -> Cluster {
        let slow = scenario.slow.iter().map(|(name, ms)| (name.clone(), Duration::from_millis(*ms))).collect();
        let config = Config {
            nodes: scenario.node_configs(),
            seed: scenario.seed,
            controllers,
            slow,
            network: scenario.network.into(),
            dns: scenario.dns,
            csi: scenario.csi,
            proxy: scenario.proxy,
            ..Config::default()
        };
        let mut cluster = Cluster::start(config);
        cluster.kubectl.files = Rc::new(scenario.files.clone());
        cluster.kubectl.namespace.clone_from(&scenario.namespace);
        if let Some(folder) = &scenario.folder {
            cluster.kubectl.base.clone_from(folder);
        }
        cluster.images = scenario.images.iter().map(|(name, image)| (name.clone(), image.script())).collect();
        for node in cluster.config.nodes.clone() {
            cluster.script_images(&node.name);
        }
        cluster.make_namespace(&scenario.namespace);
        cluster.type_lines(scenario.timeline.clone());
        cluster
    }

    /// Saves the cluster. None while a task is in flight.
    pub fn save(&self) -> Option<Saved> {
        let world = self.engine.save()?;
        Some(Saved { world, kubectl: self.kubectl.clone(), images: self.images.clone() })
    }

    /// Goes back (or forward) to what this cluster has saved. The same choices from there give the same steps.
    pub fn restore(&mut self, saved: &Saved) {
        self.engine.restore(&saved.world);
        self.kubectl = saved.kubectl.clone();
        self.images.clone_from(&saved.images);
    }

    /// Starts to run lines as a user would type them, one after another.
    pub fn type_lines(&mut self, lines: Vec<String>) {
        let (runner, kubectl) = (self.runner.clone(), self.kubectl.clone());
        self.engine.outside(self.user.actor(), |_| runner.type_lines(lines, kubectl));
    }

    /// Starts one kubectl command, without the word `kubectl`.
    pub fn type_words(&mut self, words: Vec<String>) {
        let kubectl = self.kubectl.clone();
        let label = format!("kubectl {}", words.join(" "));
        self.run_command(&label, async move {
            kubectl::run(&words, &kubectl).await;
        });
    }

    /// Starts `curl`, `ping` or `nslookup` in a Pod, on a node or outside; empty: on the first node.
    pub fn type_from(&mut self, words: Vec<String>, from: String) {
        let kubectl = self.kubectl.clone();
        let label = words.join(" ");
        self.run_command(&label, async move {
            kubectl::run_from(&words, &from, &kubectl).await;
        });
    }

    /// Runs a kubectl command that only reads, beside the engine: its requests are answered at once and leave no step.
    pub fn read_now(&mut self, words: &[String]) -> String {
        let kubectl = self.kubectl.apart();
        let hub = Hub::new(0);
        hub.set_now(self.engine.now());
        let aside =
            kubectl.with_client(Client::new(hub.clone(), self.user.actor(), self.user.user().clone(), 1000, 1000));
        let (words, now, api) = (words.to_vec(), self.engine.now(), &mut self.engine.api);
        hub.run_aside(async { kubectl::run(&words, &aside).await }, |request| api.handle(request, None, now).answer);
        aside.printed_since(0)
    }

    /// A namespace that is there before the first step, with what every namespace has.
    fn make_namespace(&mut self, name: &str) {
        if name == "default" {
            return;
        }
        self.engine.keep_notes(false);
        let kubectl = self.kubectl.apart();
        let words: Vec<String> = ["create", "namespace", name].map(str::to_owned).into();
        self.run_command("namespace", async move {
            kubectl::run(&words, &kubectl).await;
        });
        self.settle(Duration::from_secs(10));
        self.engine.begin();
        self.engine.keep_notes(true);
    }

    /// Tells a node's runtime how the scenario's images behave.
    fn script_images(&mut self, node: &str) {
        let (scripts, journal) = (self.images.clone(), self.kubectl.journal.clone());
        if let Some(runtime) = self.engine.find(&format!("containerd/{node}")) {
            self.with_runtime(runtime, |runtime| {
                runtime.with(|state| {
                    state.scripts = scripts;
                    state.journal = journal;
                });
            });
        }
    }

    /// What it was made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn add_control_plane(&mut self) {
        let (hub, limits) = (self.engine.hub().clone(), self.config.client_limits);
        let id = self.engine.next_actor();
        self.engine.add(Rc::new(ControllerManager::new(
            hub.clone(),
            id,
            self.config.controllers,
            limits,
            &self.config.slow,
        )));
        let id = self.engine.next_actor();
        self.engine.add(Rc::new(KubeScheduler::new(hub, id, limits)));
        self.add_storage();
    }

    /// The storage system and what belongs to its driver: objects, controller half, sidecars.
    fn add_storage(&mut self) {
        let Some(backend) = self.storage.clone() else { return };
        write_as_server(&mut self.engine, csi::install::objects());
        let hub = self.engine.hub().clone();
        let id = self.engine.next_actor();
        let driver = self.engine.add(Rc::new(ControllerPlugin::new(hub.clone(), id, backend)));
        let id = self.engine.next_actor();
        self.engine.add(Rc::new(csi::provisioner::new(hub.clone(), id, driver)));
        let id = self.engine.next_actor();
        self.engine.add(Rc::new(csi::attacher::new(hub, id, driver)));
    }

    /// A node joins, or comes back: network plugins, runtime, and the kubelet that uses them.
    pub fn add_node(&mut self, node: &NodeConfig) {
        let (hub, limits) = (self.engine.hub().clone(), self.config.client_limits);
        let disk = self.disk_of(node);
        let host = Rc::new(Host::new(&hub, node.address(), disk.clone()));
        self.plug(node, host.clone());
        let id = self.engine.next_actor();
        let cni = self.engine.add(Rc::new(Plugins::new(hub.clone(), id, &node.name, host.clone())));
        let id = self.engine.next_actor();
        let runtime = self.engine.add(Rc::new(Runtime::new(hub.clone(), id, &node.name, host.clone(), cni)));
        let driver = self.storage.clone().map(|backend| {
            let (id, zone) = (self.engine.next_actor(), node.labels.get(csi::ZONE).map_or("", String::as_str));
            self.engine.add(Rc::new(NodePlugin::new(hub.clone(), id, backend, &node.name, zone, disk.clone())))
        });
        let id = self.engine.next_actor();
        self.with_runtime(runtime, |runtime| runtime.serve(id));
        let kubelet = Kubelet::new(hub.clone(), id, node.for_kubelet(self.config.dns), disk, runtime, limits);
        driver.into_iter().for_each(|driver| kubelet.use_driver(driver));
        self.engine.add(Rc::new(kubelet));
        if self.config.proxy {
            let id = self.engine.next_actor();
            self.engine.add(Rc::new(KubeProxy::new(hub, id, &node.name, host, limits)));
        }
        self.script_images(&node.name);
    }

    /// A node's disk, as it was left or as it is installed.
    fn disk_of(&self, node: &NodeConfig) -> Disk {
        let installed = || Host::installed(self.engine.hub(), &node.name, &node.pod_subnet());
        self.disks.borrow_mut().entry(node.name.clone()).or_insert_with(installed).clone()
    }

    fn with_runtime<T>(&mut self, id: ActorId, change: impl FnOnce(&Runtime) -> T) -> Option<T> {
        self.engine.with_actor(id, |actor| actor.as_any().downcast_ref::<Runtime>().map(change)).flatten()
    }

    /// The machine of a node that is on.
    pub fn host(&self, node: &str) -> Option<Rc<Host>> {
        let id = self.engine.find(&format!("cni/{node}"))?;
        let plugins: &Plugins = self.engine.actor(id)?.as_any().downcast_ref()?;
        Some(plugins.host().clone())
    }

    /// The runtime of the node where a Pod runs.
    fn runtime_of(&self, pod: &Key) -> Option<ActorId> {
        let stored = Reader::get(&self.engine.api.store, Kind::Pod, pod.namespace(), pod.name())?;
        let Object::Pod(stored) = stored else { return None };
        let node = stored.spec.as_ref()?.node_name.clone()?;
        self.engine.find(&format!("containerd/{node}"))
    }

    /// Cuts a node off the power. What is on its disk stays.
    fn stop_node(&mut self, node: &str) {
        if let Some(host) = self.host(node) {
            host.disk.power_cut();
        }
        self.fabric.unplug(node);
        for process in ["kube-proxy", "kubelet", "containerd", "cni", "kernel", "csi-node"] {
            if let Some(id) = self.engine.find(&format!("{process}/{node}")) {
                self.engine.remove(id);
            }
        }
    }

    /// Runs until nothing but background traffic is pending, for `limit` of virtual time at most.
    pub fn settle(&mut self, limit: Duration) -> u64 {
        let end = self.engine.now() + limit;
        let mut steps = 0;
        while !self.is_quiet() && self.engine.peek().is_some_and(|next| next.due <= end) {
            self.step();
            steps += 1;
        }
        steps
    }

    /// Whether nothing but background traffic is pending, and no command of the user's is still running.
    pub fn is_quiet(&self) -> bool {
        let commands = self.engine.tasks().any(|task| task.actor == self.user.actor());
        self.engine.foreground() == 0 && !commands && !self.runner.is_busy()
    }

    /// Starts a command of the user's; it runs as the cluster steps.
    pub fn run_command(&mut self, label: &str, command: impl Future<Output = ()> + 'static) {
        let id = self.user.actor();
        let label = label.to_owned();
        self.engine.outside(id, |engine| engine.hub().spawn(id, label, command));
    }

    /// Where commands put what the outside world is to do.
    pub fn actions(&self) -> &Actions {
        &self.actions
    }

    /// One step, and then what commands asked the outside world to do.
    pub fn step(&mut self) -> Option<Step> {
        let step = self.engine.step();
        self.act();
        step
    }

    /// The same with an event that is not the next one.
    pub fn choose(&mut self, event: EventId) -> Result<Step, String> {
        let step = self.engine.choose(event);
        self.act();
        step
    }

    /// Does what commands asked for.
    pub fn act(&mut self) {
        loop {
            let Some(action) = self.actions.borrow_mut().pop_front() else { return };
            match action {
                Action::StartNode(node) => self.add_node(&node),
                Action::StopNode(name) => self.stop_node(&name),
                Action::SetFile { pod, file, present } => {
                    let entry = (pod.to_string(), file);
                    if let Some(runtime) = self.runtime_of(&pod) {
                        self.with_runtime(runtime, |runtime| {
                            runtime.with(
                                |state| {
                                    if present { state.files.insert(entry) } else { state.files.remove(&entry) }
                                },
                            )
                        });
                    }
                }
                Action::SetAnswer { pod, status } => {
                    if let Some(runtime) = self.runtime_of(&pod) {
                        let set = |state: &mut State| state.answers.insert(pod.to_string(), status);
                        self.with_runtime(runtime, |runtime| runtime.with(set));
                    }
                }
                Action::OnNode { node, words } => match self.on_node(&node, &words) {
                    Ok(text) => self.kubectl.print(&text),
                    Err(error) => {
                        self.kubectl.complain(error);
                        let failures = self.failures.get();
                        self.failures.set(failures + 1);
                    }
                },
                Action::KillContainer { pod, container } => {
                    if let Some(runtime) = self.runtime_of(&pod) {
                        self.with_runtime(runtime, |runtime| runtime.kill(&pod, &container));
                    }
                }
            }
        }
    }
}

/// The person at the keyboard: all they do is start commands, and some commands follow a watch.
struct UserActor {
    hub: Hub,
    actor: ActorId,
    feeds: Feeds,
    runner: Rc<Runner>,
}

impl UserActor {
    fn feed(&self, watch: WatchId, event: WatchEvent) {
        if !self.feeds.borrow().contains_key(&watch) {
            // The command ended while its watch was being opened.
            return self.hub.close_watch(watch);
        }
        if let Some(call) = kubectl::client::feed(&self.feeds, watch, event) {
            self.hub.unpark(self.actor, call);
        }
    }
}

impl Actor for UserActor {
    fn name(&self) -> &str {
        "user/kubectl"
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.feed(watch, event),
            Delivery::Wake { what: kubectl::client::TIMEOUT, key } => {
                let over = Status::new(Reason::Timeout, "the time is over");
                self.feed(WatchId(key.parse().unwrap_or_default()), WatchEvent::Error(over));
            }
            Delivery::Wake { what: timeline::NEXT_LINE, .. } => self.runner.next_line(),
            Delivery::Wake { .. } | Delivery::Rpc { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Where the API server listens, on the network of the nodes.
pub const API_SERVER_IP: &str = "172.18.0.2";

/// What the API server writes into an empty store. Mirrors its post-start hooks: system namespaces, priority classes,
/// RBAC bootstrap policy.
fn bootstrap(engine: &mut Engine) {
    write_as_server(engine, bootstrap_objects());
}

/// Objects that are there before anything runs.
fn write_as_server(engine: &mut Engine, objects: Vec<Object>) {
    let now = engine.now();
    for object in objects {
        let request = Request {
            user: Rc::new(User::loopback()),
            verb: Verb::Create,
            kind: object.kind(),
            subresource: None,
            namespace: object.namespace().to_owned(),
            name: String::new(),
            body: Body::Object(object),
            options: Options::default(),
        };
        let answer = engine.api.handle(&request, None, now).answer;
        debug_assert!(answer.result.is_ok(), "{}: {:?}", request.line(), answer.result);
    }
}

fn bootstrap_objects() -> Vec<Object> {
    let named = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespaces = ["kube-system", "kube-public", "kube-node-lease", "default"];
    let namespaces = namespaces.map(|n| Namespace { metadata: named(n), ..Namespace::default() });
    let classes = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
    let classes =
        classes.map(|(name, value)| PriorityClass { metadata: named(name), value: Some(value), ..Default::default() });
    let mut objects: Vec<Object> = namespaces.map(|n| Object::Namespace(Arc::new(n))).into();
    objects.extend(classes.map(|c| Object::PriorityClass(Arc::new(c))));
    objects.extend(crate::apiserver::authorization::bootstrap::objects());
    objects.extend(own_service());
    objects
}

/// The API server as a Service, which Pods find as `kubernetes.default.svc`; the range that Services take their addresses
/// from comes first. Mirrors `pkg/controlplane/controller/{defaultservicecidr,kubernetesservice}` and
/// `pkg/controlplane/reconcilers`.
fn own_service() -> Vec<Object> {
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let metadata = |labels: Value| json!({"name": "kubernetes", "namespace": "default", "labels": labels});
    let objects = [
        (Kind::ServiceCIDR, json!({"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/16"]}})),
        (
            Kind::Service,
            json!({"metadata": metadata(labels), "spec": {"clusterIP": "10.96.0.1",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]}}),
        ),
        (
            Kind::Endpoints,
            json!({"metadata": metadata(json!({"endpointslice.kubernetes.io/skip-mirror": "true"})),
                "subsets": [{"addresses": [{"ip": API_SERVER_IP}],
                    "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}]}]}),
        ),
        (
            Kind::EndpointSlice,
            json!({"metadata": metadata(json!({"kubernetes.io/service-name": "kubernetes"})),
                "addressType": "IPv4", "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
                "endpoints": [{"addresses": [API_SERVER_IP], "conditions": {"ready": true}}]}),
        ),
    ];
    objects.into_iter().map(|(kind, value)| kind.decode(value).expect("a literal object is whole")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::node::cni::ipnet::IpNet;

    #[test]
    fn five_thousand_nodes_have_addresses_of_their_own() {
        let nodes: Vec<NodeConfig> = (1..=5000).map(NodeConfig::numbered).collect();
        let subnets: BTreeSet<IpNet> = nodes.iter().map(|node| node.pod_subnet().parse().unwrap()).collect();
        let addresses: BTreeSet<Ipv4Addr> = nodes.iter().map(NodeConfig::address).collect();
        assert_eq!((subnets.len(), addresses.len()), (5000, 5000));
        let services: IpNet = "10.96.0.0/16".parse().unwrap();
        assert!(subnets.iter().all(|subnet| !services.contains(subnet.address)));
        let last = |n: usize| (nodes[n - 1].pod_subnet(), nodes[n - 1].address().to_string());
        assert_eq!(last(1), ("10.244.0.0/24".into(), "172.18.0.10".into()));
        assert_eq!(last(3072), ("10.255.255.0/24".into(), "172.18.12.9".into()));
        assert_eq!(last(3073), ("10.128.0.0/24".into(), "172.18.12.10".into()));
        assert_eq!(last(5000), ("10.135.135.0/24".into(), "172.18.19.145".into()));
    }
}

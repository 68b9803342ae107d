//! The cluster: everything put together, and brought up to the point at which a user finds it.
//!
//! A run starts the way a real cluster does. The store is empty; the API server writes what it always writes first
//! (namespaces, roles, priority classes); then controller manager, scheduler and nodes join, list, watch and settle.
//! Only then does the user's part begin, and steps count from 1.
//!
//! - [`config`](Config), [`scenario`]: what there is to be. `bootstrap`, [`control_plane`], `machine`, `network`: how it comes
//!   to be. `https`: the API server's port. `kubeadm`: what an installer of that name makes of it.
//! - `user`, [`timeline`], [`shell`]: who types, and what; `turns`, `running`: one line after another. `nodes`: kubectl's way
//!   to the nodes. `from`: `curl` and its like, from
//!   wherever a learner wants.
//! - [`fault`]: what goes wrong. [`webhook`]: programs that the API server asks. [`quiet`]: whether anything will happen yet.

mod addons;
mod bootstrap;
pub mod clients;
mod config;
pub mod control_plane;
pub mod fault;
mod flows;
mod from;
mod https;
mod kubeadm;
mod machine;
mod nodes;
pub mod quiet;
mod running;
pub mod scenario;
pub mod shell;
pub mod timeline;
mod turns;
mod user;
pub mod webhook;

pub use config::{Account, Config, ControlPlane, Limits, NodeConfig, Parts, Program};

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use apiserver::ApiServer;
use apiserver::host::{self, Engine};
use client::Client;
use controllers::ControllerManager;
use engine::{self, ActorId, EventId, Hub, Memory, Step};
use kubectl::config::Config as Kubeconfig;
use kubectl::{self, Feeds, Kubectl};
use kubelet::csi;
use kubelet::csi::backend::Backend;
use kubelet::csi::driver::{ControllerPlugin, NodePlugin};
use kubelet::runtime::Runtime;
use kubelet::runtime::state::{ImageScript, Journal};
use kubelet::{Kubelet, Machine, Rules};
use network::cni::Plugins;
use network::disk::Disk;
use network::host::Host;
use network::install;
use network::kernel::Fabric;
use network::policy::{self, PolicyAgent};
use network::proxy::KubeProxy;
use object::loads::{Load, Loads};
use object::pod::assigned_node;
use object::reader::Reader;
use object::time::Instant;
use object::well_known::ZONE;
use object::{Key, Kind, Object};
use wire::{Answer, Transport, User};

use bootstrap::{bootstrap, write_as_server};
use clients::Clients;
use nodes::Machines;
use running::Running;
use scenario::Scenario;
use timeline::Runner;
use turns::Turns;
use user::UserActor;

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
    /// How many commands and faults have failed.
    pub failures: Memory<u32>,
    runner: Rc<Runner>,
    /// The same for lines of a shell that are typed at the prompt: they do not wait for the scenario's.
    prompt: Rc<Runner>,
    /// Lines that are typed at the prompt wait for each other.
    turns: Turns,
    /// What Ctrl-C ends of them.
    running: Running,
    /// After how many steps the last of them was typed.
    typed_at: Memory<u64>,
    /// When something was broken or changed last that the background looks after.
    disturbed: Memory<Option<Instant>>,
    images: BTreeMap<String, ImageScript>,
    /// The storage system, if there is one.
    storage: Option<Backend>,
    /// By node, also of nodes that are off.
    disks: Memory<BTreeMap<String, Disk>>,
    /// What containers have printed.
    journal: Journal,
    fabric: Fabric,
    /// What processes of Pods use.
    loads: Memory<Loads>,
    /// The control plane's machine, and who answers at its port, once it is there.
    api_port: Option<(Rc<Host>, ActorId)>,
    config: Config,
    /// Clients in processes of their own.
    pub clients: Clients,
}

/// A cluster at a quiet moment, to come back to.
pub struct Saved {
    world: engine::Saved<host::Host>,
    kubectl: Kubectl,
    images: BTreeMap<String, ImageScript>,
}

impl Cluster {
    /// A cluster that has come up: nodes are Ready and nothing is going on.
    pub fn start(config: Config) -> Cluster {
        let config = config.completed();
        let mut engine = Engine::new(host::Host::several(ApiServer::new(config.seed), config.api_servers), config.seed);
        engine.keep_notes(false);
        engine.pass(config.start);
        engine.watches_are_late(config.late_watches);
        engine.server.api.watch_list = config.parts.watch_list;
        config.parts.pod_plugin.into_iter().for_each(|new| engine.server.api.use_pod_plugin(new()));
        bootstrap(&mut engine, config.parts.accounts, !config.parts.controllers.is_empty());
        let (hub, id) = (engine.hub().clone(), engine.next_actor());
        let feeds: Feeds = hub.memory(BTreeMap::new());
        let user = Client::new(hub.clone(), id, Rc::new(User::admin()), 50, 300);
        let fabric = Fabric::new(&hub, config.network);
        let journal: Journal = hub.memory(BTreeMap::new());
        let machines = Machines { fabric: fabric.clone(), journal: journal.clone() };
        let kubectl = Kubectl::new(user.clone(), feeds.clone(), Rc::new(machines));
        let (failures, disturbed) = (hub.memory(0), hub.memory(None));
        let clients = Clients::new(&hub, kubectl.nodes.clone());
        let runner = |name| Runner::new(name, kubectl.clone(), fabric.clone(), failures.clone());
        let (turns, running, typed_at) = (Turns::new(&hub, id), Running::new(&hub), hub.memory(0));
        let prompt = Rc::new(runner(timeline::PROMPT).in_turns(&turns, &running));
        let runner = Rc::new(runner(timeline::SCENARIO));
        engine.add(Rc::new(UserActor {
            hub,
            actor: id,
            feeds,
            runner: runner.clone(),
            prompt: prompt.clone(),
            kubectl: kubectl.clone(),
            failures: failures.clone(),
        }));
        let (disks, loads) = (engine.hub().memory(BTreeMap::new()), engine.hub().memory(Loads::default()));
        let storage = config.csi.then(|| Backend::new(engine.hub()));
        let mut cluster = Cluster {
            output: kubectl.output.clone(),
            failures,
            runner,
            prompt,
            turns,
            running,
            typed_at,
            disturbed,
            engine,
            user,
            kubectl,
            images: BTreeMap::new(),
            storage,
            disks,
            journal,
            fabric,
            loads,
            api_port: None,
            config,
            clients,
        };
        cluster.add_control_plane();
        cluster.add_outside();
        for node in cluster.config.nodes.clone() {
            cluster.join(&node);
        }
        cluster.settle(Duration::from_secs(60));
        cluster.assign_all_ranges();
        if cluster.config.dns {
            cluster.install_dns();
        }
        cluster.add_api_port();
        cluster.engine.begin();
        cluster.engine.keep_notes(true);
        cluster
    }

    /// A cluster as a scenario wants it but for the parts that it names, which are the caller's to find, with the scenario's
    /// first line about to be typed. `bugs::cluster` finds them.
    pub fn with_parts(scenario: &Scenario, parts: Parts) -> Cluster {
        let slow = scenario.slow.iter().map(|(name, ms)| (name.clone(), Duration::from_millis(*ms))).collect();
        let config = Config {
            nodes: scenario.node_configs(),
            seed: scenario.seed,
            start: scenario.start.as_ref().map(Instant::from_time).unwrap_or_default(),
            parts,
            slow,
            late_watches: scenario.late_watches,
            network: scenario.network.into(),
            control_plane: scenario.control_plane,
            dns: scenario.dns,
            csi: scenario.csi,
            default_class: scenario.default_class,
            proxy: scenario.proxy,
            policies: scenario.policies,
            managers: scenario.managers,
            schedulers: scenario.schedulers,
            scheduler_profiles: scenario.scheduler_profiles.clone(),
            api_servers: scenario.api_servers,
            ..Config::default()
        };
        let mut cluster = Cluster::start(config);
        for webhook in &scenario.webhooks {
            let (hub, id) = (cluster.engine.hub().clone(), cluster.engine.next_actor());
            let server = webhook::WebhookServer::new(hub, id, webhook, cluster.fabric.clone());
            cluster.engine.add(Rc::new(server));
            cluster.engine.server.listen(&webhook.at, id);
        }
        if scenario.metrics {
            cluster.measure();
        }
        cluster.kubectl.files = Rc::new(scenario.files.clone());
        cluster.kubectl.namespace.clone_from(&scenario.namespace);
        cluster.kubectl.config.set(Kubeconfig::new(&scenario.namespace));
        if let Some(folder) = &scenario.folder {
            cluster.kubectl.workdir = cluster.kubectl.workdir.at(folder);
        }
        cluster.kubectl.workdir = cluster.kubectl.workdir.on(scenario.sight.0.clone());
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

    /// The exit code of the last line that was typed so, once all of them have ended.
    pub fn lines_code(&self) -> Option<i32> {
        (!self.runner.is_busy()).then(|| self.runner.code())
    }

    /// Whether agents on the nodes enforce NetworkPolicies.
    pub fn enforces_policies(&self) -> bool {
        self.config.policies
    }

    /// Starts a line of a shell that is typed at the prompt, after those before it.
    pub fn type_line(&mut self, line: String) {
        let (prompt, kubectl, turns) = (self.prompt.clone(), self.kubectl.clone(), self.turns.clone());
        let label = line.clone();
        self.type_next(&label, async move {
            // The runner says when it has come to its end.
            turns.take().await.keep();
            prompt.type_lines(vec![line], kubectl);
        });
    }

    /// Starts one kubectl command, without the word `kubectl`, after the lines before it.
    pub fn type_words(&mut self, words: Vec<String>) {
        let (kubectl, failures, turns) = (self.kubectl.at_terminal(), self.failures.clone(), self.turns.clone());
        let (label, running) = (format!("kubectl {}", words.join(" ")), self.running.clone());
        self.type_next(&label, async move {
            let turn = turns.take().await;
            let _runs = running.here();
            let _held = (!kubectl::goes_on(&words)).then_some(turn);
            let failed = kubectl::run(&words, &kubectl).await != 0;
            failures.set(failures.get() + u32::from(failed));
        });
    }

    fn type_next(&mut self, label: &str, command: impl Future<Output = ()> + 'static) {
        self.run_command(label, command);
        self.typed_at.set(self.engine.steps());
    }

    /// Whether a line runs that the next one will wait for.
    pub fn line_runs(&self) -> bool {
        self.turns.is_taken()
    }

    /// Whether a line was typed, and nothing has happened since: what is typed now means to come after it.
    pub fn line_is_new(&self) -> bool {
        self.line_runs() && self.typed_at.get() == self.engine.steps()
    }

    /// Starts `curl`, `ping` or `nslookup` in a Pod, on a node or outside; empty: on the first node.
    pub fn type_from(&mut self, words: Vec<String>, from: String) {
        let (kubectl, fabric) = (self.kubectl.clone(), self.fabric.clone());
        let (label, turns, running) = (words.join(" "), self.turns.clone(), self.running.clone());
        self.type_next(&label, async move {
            let _held = turns.take().await;
            let _runs = running.here();
            from::run(&words, &from, &kubectl, &fabric).await;
        });
    }

    /// Runs a kubectl command that only reads, beside the engine: its requests are answered at once and leave no step.
    /// Where no API server runs they are refused, as any other is. Programs behind a `|` go over what it prints.
    pub fn read_now(&mut self, words: &[String]) -> String {
        let mut commands = words.split(|word| word == "|");
        let words = commands.next().unwrap_or_default();
        let (hub, aside) = self.aside();
        let now = self.engine.now();
        let runs = self.engine.server.runs();
        let api = &mut self.engine.server.api;
        hub.run_aside(kubectl::run(words, &aside), |request| {
            Some(if runs { api.handle(request, None, now).answer } else { Answer::unsent(Transport::Refused) })
        });
        timeline::printed_through(&aside, commands)
    }

    /// Whether a command of the user's runs, or a line that was typed has yet to come to its end.
    pub fn has_commands(&self) -> bool {
        self.line_runs() || self.engine.tasks().any(|task| task.actor == self.user.actor())
    }

    /// What kubectl says of a line that is wrong in itself, so that it ends before its first request; none if it would send
    /// one, or do well.
    pub fn wrong_at_once(&self, words: &[String]) -> Option<String> {
        let (hub, aside) = self.aside();
        let code = hub.run_aside(kubectl::run(words, &aside), |_| None)?;
        (code != 0).then(|| aside.printed_since(0))
    }

    /// kubectl beside the engine, printing to a place of its own, and the hub that it runs on.
    fn aside(&self) -> (Hub, Kubectl) {
        let hub = Hub::new(0);
        hub.set_now(self.engine.now());
        let client = Client::new(hub.clone(), self.user.actor(), self.user.user().clone(), 1000, 1000);
        (hub, self.kubectl.aside(client))
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
        let (scripts, journal) = (self.images.clone(), self.journal.clone());
        if let Some(runtime) = self.runtime_on(node) {
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
        let (hub, id) = (self.engine.hub().clone(), self.engine.next_actor());
        self.engine.add(Rc::new(ControllerManager::of_api_server(hub, id)));
        for name in self.control_plane() {
            self.start_control(&name);
        }
        for program in self.config.parts.programs {
            let (hub, id) = (self.engine.hub().clone(), self.engine.next_actor());
            self.engine.add((program.new)(hub, id));
        }
        self.add_storage();
        if self.config.policies {
            write_as_server(&mut self.engine, policy::objects());
        }
    }

    /// The storage system and what belongs to its driver: objects, controller half, sidecars.
    fn add_storage(&mut self) {
        let Some(backend) = self.storage.clone() else { return };
        write_as_server(&mut self.engine, csi::install::objects());
        if self.config.default_class {
            write_as_server(&mut self.engine, vec![csi::install::default_class()]);
        }
        let hub = self.engine.hub().clone();
        let id = self.engine.next_actor();
        let driver = self.engine.add(Rc::new(ControllerPlugin::new(hub.clone(), id, backend)));
        let id = self.engine.next_actor();
        self.engine.add(Rc::new(csi::provisioner::new(hub.clone(), id, driver)));
        let id = self.engine.next_actor();
        self.engine.add(Rc::new(csi::attacher::new(hub.clone(), id, driver)));
        let id = self.engine.next_actor();
        self.engine.add(Rc::new(csi::resizer::new(hub, id, driver)));
    }

    /// From now on metrics-server tells what Pods use.
    fn measure(&mut self) {
        self.engine.server.api.metrics.install(self.loads.clone());
    }

    /// These Pods use so much from now on, which is measured; the kernels kill who takes too much memory.
    fn put_on(&mut self, load: Load) -> Result<(), String> {
        self.loads.borrow_mut().put_on(load, self.engine.now())?;
        self.measure();
        let runtimes: Vec<ActorId> = self.machines().filter_map(|machine| self.runtime_on(machine)).collect();
        for runtime in runtimes {
            self.with_runtime(runtime, Runtime::look_at_memory);
        }
        Ok(())
    }

    /// A node joins, or comes back: network plugins, runtime, and the kubelet that uses them.
    pub fn add_node(&mut self, node: &NodeConfig) {
        let hub = self.engine.hub().clone();
        let disk = self.disk_of(node);
        let host = Rc::new(Host::new(&hub, node.address(), disk.clone()).under(self.loads.clone()));
        self.plug(node, host.clone());
        let id = self.engine.next_actor();
        let ipam = self.config.parts.ipam.map(|new| new());
        let plugins = Plugins::new(hub.clone(), id, &node.name, host.clone()).with_ipam(ipam);
        let cni = self.engine.add(Rc::new(plugins));
        let id = self.engine.next_actor();
        let runtime = self.engine.add(Rc::new(Runtime::new(hub.clone(), id, &node.name, host.clone(), cni)));
        let driver = self.storage.clone().map(|backend| {
            let (id, zone) = (self.engine.next_actor(), node.labels.get(ZONE).map_or("", String::as_str));
            self.engine.add(Rc::new(NodePlugin::new(hub.clone(), id, backend, &node.name, zone, disk.clone())))
        });
        let id = self.engine.next_actor();
        let kernel = self.engine.find(&format!("kernel/{}", node.name));
        self.with_runtime(runtime, |runtime| {
            runtime.serve(id);
            runtime.use_kernel(kernel);
        });
        self.fabric.set_kubelet(&node.name, Some(id));
        let machine = Machine { host: host.clone(), runtime, kernel, driver };
        self.engine.add(Rc::new(self.kubelet(id, node, machine)));
        if self.config.proxy {
            self.fabric.set_proxied();
            let id = self.engine.next_actor();
            let proxy = KubeProxy::new(hub.clone(), id, &node.name, host.clone(), self.config.client_limits);
            let proxy = proxy.with_chooser(self.config.parts.chooser.map(|new| new()));
            self.engine.add(Rc::new(proxy));
        }
        if self.config.policies {
            let id = self.engine.next_actor();
            self.engine.add(Rc::new(PolicyAgent::new(hub, id, &node.name, host)));
        }
        self.script_images(&node.name);
    }

    /// The kubelet of a node, with the rules that are in the place of its own.
    fn kubelet(&self, id: ActorId, node: &NodeConfig, machine: Machine) -> Kubelet {
        let (hub, parts) = (self.engine.hub().clone(), &self.config.parts);
        let rules = Rules { compute: parts.compute.map(|new| new()), restarts: parts.restarts.map(|new| new()) };
        Kubelet::new(hub, id, node.for_kubelet(self.config.dns), machine, rules, self.config.client_limits)
    }

    /// A node's disk, as it was left or as it is installed.
    fn disk_of(&self, node: &NodeConfig) -> Disk {
        let installed = || install::disk(self.engine.hub(), &node.name, &node.pod_subnet());
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

    /// The machines that are on, by their names: each has a container runtime.
    fn machines(&self) -> impl Iterator<Item = &str> {
        self.engine.actors().filter_map(|(_, actor)| actor.name().strip_prefix("containerd/"))
    }

    /// The container runtime of a machine that is on.
    fn runtime_on(&self, machine: &str) -> Option<ActorId> {
        self.engine.find(&format!("containerd/{machine}"))
    }

    /// The node where a Pod runs.
    fn node_of(&self, pod: &Key) -> Option<String> {
        let stored = Reader::get(&self.engine.server.api.store, Kind::Pod, pod.namespace(), pod.name())?;
        let Object::Pod(stored) = stored else { return None };
        assigned_node(&stored).map(str::to_owned)
    }

    /// The runtime of that node.
    fn runtime_of(&self, pod: &Key) -> Option<ActorId> {
        self.runtime_on(&self.node_of(pod)?)
    }

    /// Cuts a node off the power. What is on its disk stays.
    pub fn stop_node(&mut self, node: &str) {
        if let Some(host) = self.host(node) {
            host.disk.power_cut();
        }
        self.fabric.unplug(node);
        for process in ["network-policy-agent", "kube-proxy", "kubelet", "containerd", "cni", "kernel", "csi-node"] {
            if let Some(id) = self.engine.find(&format!("{process}/{node}")) {
                self.engine.remove(id);
                self.hang_up(id);
            }
        }
    }

    /// Runs until nothing but background traffic is pending, for `limit` of virtual time at most.
    pub fn settle(&mut self, limit: Duration) -> u64 {
        let end = self.engine.now() + limit;
        let mut steps = 0;
        while !self.is_quiet() && self.step_due(end).is_some() {
            steps += 1;
        }
        steps
    }

    /// Starts a command of the user's; it runs as the cluster steps.
    pub fn run_command(&mut self, label: &str, command: impl Future<Output = ()> + 'static) {
        let id = self.user.actor();
        let label = label.to_owned();
        self.engine.outside(id, |engine| engine.hub().spawn(id, label, command));
    }

    /// One step.
    pub fn step(&mut self) -> Option<Step> {
        if let Some(step) = self.fault_due(None) {
            return Some(step);
        }
        let step = self.engine.step()?;
        self.follow_ranges(&step);
        self.follow_nodes(&step);
        Some(step)
    }

    /// One step, if something is due by then.
    pub fn step_due(&mut self, by: Instant) -> Option<Step> {
        let due = self.engine.peek().is_some_and(|next| next.due <= by);
        due.then(|| self.step()).flatten()
    }

    /// One step with an event that is not the next one.
    pub fn choose(&mut self, event: EventId) -> Result<Step, String> {
        if let Some(step) = self.fault_due(Some(event)) {
            return Ok(step);
        }
        let step = self.engine.choose(event)?;
        self.follow_ranges(&step);
        self.follow_nodes(&step);
        Ok(step)
    }

    /// What was asked for cannot be done: a person is told.
    fn refused(&mut self, error: impl AsRef<str>) {
        self.kubectl.complain(error);
        self.failures.set(self.failures.get() + 1);
    }
}

//! The kubelet as an actor: what is delivered to it, and who handles that.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use crate::cri::ConditionsMayDiffer;
use crate::eviction::usage::EphemeralStorage;
use crate::node_status::NodeConfig;
use crate::params;
use crate::shared::{Rules, Shared, State};
use crate::shutdown::GracePeriods;
use crate::static_pods::MANIFESTS;
use crate::timers::Timer;
use crate::worker::Stage;
use client::informer::RELIST;
use client::{Client, Informer, Recorder, Selection};
use engine::{Actor, ActorId, CallId, Delivery, Hub, Message};
use network::disk::Disk;
use network::host::{Host, Shortage};
use object::time::Instant;
use object::{Accessor, Key, Kind, Last, Pod};
use wire::User;
use wire::{WatchEvent, WatchId};

/// The kubelet of one node.
pub struct Kubelet {
    name: String,
    shared: Rc<Shared>,
    pods: Informer,
    node: Informer,
    services: Informer,
}

/// The machine that a kubelet runs on, and who else does.
pub struct Machine {
    /// The machine.
    pub host: Rc<Host>,
    /// The container runtime.
    pub runtime: ActorId,
    /// The kernel, through which probes go out; None: the machine has no network.
    pub kernel: Option<ActorId>,
    /// The node half of the storage driver, if one is installed.
    pub driver: Option<ActorId>,
}

impl Kubelet {
    /// The kubelet of the node `config` describes. `limits` are requests a second and burst of its client, the shipped ones
    /// unless given.
    pub fn new(
        hub: Hub,
        actor: ActorId,
        config: NodeConfig,
        machine: Machine,
        rules: Rules,
        limits: Option<(u32, u32)>,
    ) -> Kubelet {
        let Machine { host, runtime, kernel, driver } = machine;
        let config = NodeConfig { ids: host.ids(), ..config };
        let user = Rc::new(User::node(&config.name));
        let (qps, burst) = limits.unwrap_or((params::QPS, params::BURST));
        let client = || Client::new(hub.clone(), actor, user.clone(), qps, burst);
        let watch = |selection| Informer::new(hub.clone(), actor, user.clone(), selection);
        let pods = watch(Selection::fields(Kind::Pod, format!("spec.nodeName={}", config.name)));
        let node = watch(Selection::fields(Kind::Node, format!("metadata.name={}", config.name)));
        let services = watch(Selection::all(Kind::Service));
        let shared = Shared {
            recorder: Recorder::new(client(), "kubelet", &config.name),
            client: client(),
            heartbeat: client(),
            nodes: node.lister(),
            services: services.lister(),
            started: hub.memory(Instant::default()),
            state: hub.memory(State::default()),
            hub: hub.clone(),
            user: user.clone(),
            actor,
            disk: host.disk.clone(),
            host,
            runtime,
            driver,
            kernel,
            rules,
            config,
            resolver: Last::default(),
            labels: Last::default(),
            variables: Last::default(),
            sizes: Last::default(),
        };
        Kubelet { name: format!("kubelet/{}", shared.config.name), shared: Rc::new(shared), pods, node, services }
    }

    /// The pods on this node, by uid, each with its stage: for inspection from outside.
    pub fn stages(&self) -> Vec<(Key, Stage)> {
        let state = self.shared.state.borrow();
        state.workers.values().map(|w| (Key::of_meta(&w.pod.metadata), w.stage)).collect()
    }

    /// The pods whose status a pass over all would write now, or whose object it would delete, as far as the kubelet knows: for
    /// inspection from outside.
    pub fn statuses_due(&self) -> Vec<Key> {
        let state = self.shared.state.borrow();
        let due = state.workers.iter().filter(|(uid, _)| state.would_be_written(uid, self.shared.hub.now()));
        due.map(|(_, worker)| Key::of_meta(&worker.pod.metadata)).collect()
    }

    /// Whether such a pass comes, or statuses are written right now.
    pub fn status_pass_comes(&self) -> bool {
        let status = &self.shared.state.borrow().status;
        status.writing || status.retrying
    }

    /// Whether this is what the kubelet would have the API server hold of a pod, which is not a static one.
    pub fn agrees_with(&self, pod: &Pod) -> bool {
        let state = self.shared.state.borrow();
        let worker = state.workers.get(pod.metadata.uid());
        let may_run = worker.is_some_and(|worker| worker.stage < Stage::Terminated);
        let entry = state.status.entry(pod.metadata.uid());
        entry.is_none_or(|entry| !entry.is_pending() && !entry.differs(pod, may_run, self.shared.hub.now()))
    }

    /// The machine becomes short of something; none: it has enough of everything again.
    pub fn be_short_of(&self, shortage: Option<Shortage>) {
        self.shared.host.shorten(shortage);
        self.shared.be_short_of(shortage);
    }

    /// The machine is to be switched off, by `power_off` when the kubelet lets go. The error says why that cannot be.
    pub fn shut_down(&self, periods: GracePeriods, power_off: Rc<dyn Message>) -> Result<(), String> {
        self.shared.shut_down(periods, power_off)
    }

    /// A pod that runs here has written so many bytes. The error says why that cannot be.
    pub fn fill(&self, pod: &Key, storage: &EphemeralStorage, bytes: u64) -> Result<(), String> {
        self.shared.fill(pod, storage, bytes)
    }

    /// A file on the node was written or taken away.
    pub fn file_changed(&self, path: &str) {
        if path.starts_with(MANIFESTS) {
            self.shared.read_manifests();
        }
    }

    /// Whether the machine's clock says what others say.
    pub fn clock_is_right(&self) -> bool {
        self.shared.clock_is_right()
    }

    /// The machine's clock goes wrong by so many nanoseconds, which is to be seen in what the kubelet writes of the time.
    pub fn skew_clock(&self, skew: i64) {
        self.shared.skew_clock(skew);
    }

    /// The node's files, as this kubelet and the runtime see them.
    pub fn disk(&self) -> &Disk {
        &self.shared.disk
    }

    /// Its informers.
    pub fn informers(&self) -> [&Informer; 3] {
        [&self.node, &self.pods, &self.services]
    }

    fn notify(&self, watch: WatchId, event: WatchEvent) {
        if self.pods.owns(watch) {
            let changes = self.pods.on_event(event);
            self.shared.pods_changed(changes);
            if self.pods.has_synced() {
                self.shared.clean_up_orphans();
            }
        } else if self.node.owns(watch) {
            self.node.on_event(event);
            self.shared.node_changed();
            if self.node.has_synced() && !self.shared.state.borrow().agent.following_pods {
                self.shared.state.borrow_mut().agent.following_pods = true;
                self.pods.start();
            }
        } else if self.services.owns(watch) {
            self.services.on_event(event);
        } else {
            self.shared.object_changed(watch, event);
        }
    }

    /// A timer goes off.
    fn is_due(&self, timer: Timer<'_>) {
        let me = &self.shared;
        match timer {
            Timer::Relist => me.hub.spawn(me.actor, format!("{} pleg", self.name), me.clone().relist()),
            Timer::Work { uid } => me.retry(uid),
            Timer::Status => me.write_statuses_again(),
            Timer::Lease => me.renew_lease(),
            Timer::NodeStatus { .. } => me.node_status_tick(),
            Timer::RuntimeUp => me.runtime_tick(),
            Timer::Relief => _ = me.look_at_pressure(),
            Timer::Eviction => me.eviction_tick(),
            Timer::Preemption { uid } => me.preemption_goes_on(uid),
            Timer::Shutdown { critical } => me.shutdown_overdue(critical),
            Timer::Resize => me.resizes_due(),
            Timer::Deadline { uid } => me.deadline_due(uid),
            Timer::Garbage => me.collect_sandboxes(),
            Timer::Orphan { uid } => me.clean_up_orphan(uid),
            Timer::Mirror { pod } => me.mirror_is_due(pod),
            Timer::Probe { uid, container, kind, number } => me.probe_tick(uid, container, kind, number),
            Timer::MountAgain { uid, volume } => me.mount_again(uid, volume),
            Timer::MountDeadline { uid } => me.call_waiter(uid),
            Timer::Remount { uid, volume } => me.remount_due(uid, volume),
        }
    }

    fn relist(&self, plural: &str) {
        self.informers().into_iter().for_each(|informer| informer.relist(plural));
        self.shared.watch_objects_again(plural);
    }
}

impl Actor for Kubelet {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self) {
        self.node.start();
        self.services.start();
        self.shared.begin();
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what: RELIST, key } => self.relist(&key),
            Delivery::Wake { what, key } => {
                if let Some(timer) = Timer::read(what, &key) {
                    self.is_due(timer);
                }
            }
            Delivery::Rpc { call, from, message } => self.shared.called(call, from, &*message),
        }
    }

    fn turn_ended(&self) {
        self.shared.expect_status_pass();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Shared {
    /// The kubelet starts: it lists the runtime for the first time, asks how it is, and registers its node.
    fn begin(self: &Rc<Self>) {
        let period = params::RELIST_PERIOD.as_nanos() as u64;
        let phase = self.hub.random(|random| random.below(period));
        self.started.set(self.hub.now() + Duration::from_nanos(phase));
        self.state.borrow_mut().pleg.armed = true;
        self.hub.spawn(self.actor, format!("kubelet {} pleg", self.config.name), self.clone().relist());
        self.runtime_tick();
        self.begin_evictions();
        self.hub.spawn(self.actor, format!("kubelet {} register", self.config.name), self.clone().register());
    }

    /// A call from the runtime, which expects no reply, from a client that wants to reach into a Pod here, or from one of
    /// this kubelet's own syncs.
    fn called(self: &Rc<Self>, call: CallId, from: ActorId, message: &dyn Any) {
        if from == self.actor {
            self.queue_for_pull(call);
        } else if message.is::<ConditionsMayDiffer>() {
            self.conditions_may_differ();
        } else if !self.serve(call, from, message) {
            self.container_ended();
        }
    }
}

//! The kubelet: the agent on every node that makes pods real and says how they are.
//!
//! A kubelet watches the pods that are bound to its node and holds, for each, a *worker*: a small state machine that
//! syncs the pod again and again. A sync compares what the pod asks for with what the container runtime has, does
//! what is missing, and sets a status. Nothing else in Kubernetes starts a container, and nobody else writes
//! containerStatuses.
//!
//! How a pod comes to run here:
//! 1. The pod informer (field selector `spec.nodeName`) tells of a pod: it is admitted or refused ([`pods`],
//!    [`admission`]; a critical one may make room for itself, [`preemption`]), and gets a worker ([`workers`]).
//! 2. The first sync ([`sync`]) computes the status, which the status loop writes: GET, then PATCH `pods/status`
//!    (ContainerCreating; [`status`], [`status_loop`]). Meanwhile volumes are mounted ([`volumes`]): disks are staged and
//!    published, ConfigMaps are watched, a token is asked for.
//! 3. The runtime makes the sandbox, and with it the network; PodReadyToStartContainers=True is written at once.
//! 4. For each container: back-off, image ([`images`]), create ([`security`]), start ([`start`], [`backoff`]), with an Event
//!    each.
//! 5. The pod is looked at in the runtime ([`pleg`]); what is seen leads to the next sync, whose status says Running
//!    and Ready.
//!
//! A container that ends is noticed by the next relist, and the same loop decides whether it starts again
//! ([`restart`], [`actions`]), unless the pod has been active for longer than it may ([`active_deadline`]). A pod that is
//! deleted goes through [`teardown`]: stop, report, and at last the DELETE that removes the object; then the runtime forgets
//! it ([`garbage`]). Beside all that the kubelet registers its node, renews its lease and reports its status
//! ([`agent`], [`node_status`]), probes containers ([`probes`], [`prober`], [`dial`]), and runs commands in them for
//! whoever may ask ([`server`]).
//!
//! Must hold: a sync decides from the spec and the runtime's state alone, so a restarted kubelet picks up where the
//! old one stopped; one sync of a pod at a time; stages only go forward; a terminal phase is written only when no
//! container can run; the kubelet speaks to the runtime by CRI messages and to the rest of the cluster through the
//! API server, and to nothing else.
//!
//! What files on the node ask for runs as well, whoever else is there ([`static_pods`]).
//!
//! Left out: cgroups and QoS enforcement, eviction for anything but memory and disk ([`eviction`]),
//! device and resource managers, CSI inline volumes, the processes that an ephemeral container sees, image and disk garbage
//! collection, credentials of registries, the periodic resync of pods in which nothing has changed (once a minute, `syncFrequency`). Watches of
//! ConfigMaps stay open when the last pod that needs them is gone. A relist that would find nothing is not made; see
//! [`pleg`].

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};

use crate::apiserver::request::User;
use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::client::informer::{Change, RELIST};
use crate::client::{Client, Informer, Lister, Recorder, Selection};
use crate::engine::{Actor, ActorId, CallId, Delivery, Hub, Memory, Message};
use crate::node::cri::{ConditionsMayDiffer, DnsConfig};
use crate::node::disk::Disk;
use crate::node::host::{Host, Shortage};
use crate::object::time::Instant;
use crate::object::{Key, Kind, Last, Pod};

pub mod actions;
pub mod active_deadline;
pub mod admission;
pub mod agent;
pub mod backoff;
mod dial;
pub mod dns;
pub mod ending;
pub mod eviction;
pub mod expansion;
mod garbage;
mod hooks;
pub mod images;
pub mod linux;
pub mod node_status;
pub mod params;
pub mod pleg;
mod pods;
pub mod preemption;
mod prober;
pub mod probes;
pub mod resize;
pub mod restart;
pub mod restart_all;
mod runtime_client;
pub mod runtime_pod;
mod sandbox_config;
pub mod security;
pub mod server;
pub mod shutdown;
pub mod start;
pub mod static_pods;
pub mod status;
mod status_loop;
mod sync;
pub mod sysctl;
mod teardown;
#[cfg(test)]
pub(crate) mod testing;
pub mod volumes;
pub mod workers;

pub use node_status::NodeConfig;

use backoff::Backoff;
use pleg::Pleg;
use status::manager::StatusManager;
use status::sizes::Sizes;
use workers::Worker;

/// Wake: list the runtime.
const RELIST_TICK: &str = "pleg relist";
/// Wake: a pod's turn in the work queue. The key is its uid.
const WORK: &str = "pod work queue";
/// Wake: statuses that could not be written are tried again.
const STATUS: &str = "status manager";
/// Wake: renew the node's lease.
pub const LEASE: &str = "node lease";
/// Wake: compute, and if need be report, the node's status.
pub const NODE_STATUS: &str = "node status";
/// Wake: a volume may be tried again, or a sync has waited long enough for its volumes. The key is the pod's uid, and
/// the volume's number or `deadline`.
const MOUNT: &str = "volume manager";
/// Wake: the files of a volume are due to be written anew. The key is the pod's uid and the volume's number.
pub const REMOUNT: &str = "volume refresh";
/// Wake: ask the runtime how it is.
const RUNTIME_UP: &str = "runtime up";
/// Wake: a pod's `activeDeadlineSeconds` may be over. The key is its uid.
const DEADLINE: &str = "active deadline";
/// Wake: the machine waits no longer for a group of pods to end. The key is the group.
const SHUTDOWN: &str = "node shutdown";
/// Wake: a pod that makes room should have ended by now. The key is its uid.
const PREEMPTION: &str = "preemption";
/// Wake: look whether there is enough memory and disk.
const EVICTION: &str = "eviction manager";
/// Wake: pods that are to be larger are tried again.
const RESIZE: &str = "allocation manager";
/// Wake: look for what the runtime keeps and nobody needs.
const GARBAGE: &str = "garbage collection";
/// Wake: a probe's period is over. The key is uid, container, kind and timer.
const PROBE: &str = "probe";

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

/// Rules that a kubelet may have in the place of its own.
#[derive(Default)]
pub struct Rules {
    /// What says what a sync has to do, if it is not [`actions::compute`].
    pub compute: Option<Rc<actions::Compute>>,
    /// What says when a container is started again, if it is not [`backoff`].
    pub restarts: Option<Rc<restart::Restarts>>,
}

/// What the kubelet's handlers and its syncs share.
pub struct Shared {
    config: NodeConfig,
    hub: Hub,
    actor: ActorId,
    host: Rc<Host>,
    /// The container runtime on this node.
    runtime: ActorId,
    /// The node's files.
    disk: Disk,
    driver: Option<ActorId>,
    kernel: Option<ActorId>,
    client: Client,
    /// Leases and node status go through a client of their own, which pods cannot slow down.
    heartbeat: Client,
    recorder: Recorder,
    user: Rc<User>,
    nodes: Lister<Node>,
    /// Containers are told of them.
    services: Lister<Service>,
    /// When the kubelet's one-second loops began to tick.
    started: Memory<Instant>,
    state: Memory<State>,
    rules: Rules,
    /// The resolver and the labels that a sandbox was made with last, the variables that a container was, and the sizes
    /// that were told last.
    resolver: Last<DnsConfig>,
    labels: Last<Vec<(String, String)>>,
    variables: Last<Vec<(String, String)>>,
    sizes: Last<Sizes>,
}

/// All that changes. It can be lost: everything in it is found again in the API server and in the runtime.
#[derive(Clone, Default)]
struct State {
    /// By pod uid. They are beside the map, whose nodes are half empty.
    workers: BTreeMap<String, Box<Worker>>,
    /// The uids of those that are there because a file asks for them.
    statics: BTreeSet<String>,
    /// The objects that stand for such pods, and for such as there were.
    mirrors: BTreeMap<Key, Arc<Pod>>,
    /// Changes that wait while the node is asked for, or pods make room for a critical one.
    waiting: Option<Vec<Change>>,
    status: StatusManager,
    pleg: Pleg,
    /// Restarts of containers.
    crashes: Backoff,
    /// The runs of containers that have ended, by the same keys: if something else than [`backoff`] asks for them.
    runs: BTreeMap<String, Vec<restart::Run>>,
    /// Pulls of images.
    pulls: Backoff,
    /// The error of the last failed pull, by the key of its back-off.
    pull_errors: BTreeMap<String, String>,
    /// A pull is under way; the others wait for their turn in this order.
    pulling: bool,
    pull_turns: VecDeque<CallId>,
    /// The pods that are to be larger or smaller than is allocated.
    resizing: BTreeSet<String>,
    /// Pods that may have sandboxes which nobody needs.
    garbage: BTreeSet<String>,
    /// When those that have to wait for room are tried again.
    resize_retry: Option<Instant>,
    /// Watches of single ConfigMaps and Secrets.
    objects: BTreeMap<(Kind, Key), Informer>,
    /// CSI volumes on this node, by the name that the node's status gives them.
    devices: BTreeMap<String, volumes::claims::Device>,
    agent: agent::Agent,
    /// Who types into shells here, by the number of the stream.
    streams: BTreeMap<u64, ActorId>,
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

    /// The pods on this node, by uid, each with its stage: for whoever looks inside.
    pub fn stages(&self) -> Vec<(Key, workers::Stage)> {
        let state = self.shared.state.borrow();
        state.workers.values().map(|w| (Key::of_meta(&w.pod.metadata), w.stage)).collect()
    }

    /// The machine becomes short of something; none: it has enough of everything again.
    pub fn be_short_of(&self, shortage: Option<Shortage>) {
        self.shared.host.shorten(shortage);
        self.shared.be_short_of(shortage);
    }

    /// The machine is to be switched off, by `power_off` when the kubelet lets go. The error says why that cannot be.
    pub fn shut_down(&self, periods: shutdown::GracePeriods, power_off: Rc<dyn Message>) -> Result<(), String> {
        self.shared.shut_down(periods, power_off)
    }

    /// A pod that runs here has written so many bytes. The error says why that cannot be.
    pub fn fill(&self, pod: &Key, storage: &eviction::usage::EphemeralStorage, bytes: u64) -> Result<(), String> {
        self.shared.fill(pod, storage, bytes)
    }

    /// A file on the node was written or taken away.
    pub fn file_changed(&self, path: &str) {
        if path.starts_with(static_pods::MANIFESTS) {
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
        let me = &self.shared;
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what: RELIST, key } => self.relist(&key),
            Delivery::Wake { what: RELIST_TICK, .. } => {
                me.hub.spawn(me.actor, format!("{} pleg", self.name), me.clone().relist());
            }
            Delivery::Wake { what: WORK, key } => me.retry(&key),
            Delivery::Wake { what: STATUS, .. } => me.write_statuses_again(),
            Delivery::Wake { what: LEASE, .. } => me.renew_lease(),
            Delivery::Wake { what: NODE_STATUS, .. } => me.node_status_tick(),
            Delivery::Wake { what: RUNTIME_UP, .. } => me.runtime_tick(),
            Delivery::Wake { what: EVICTION, key } if &*key == eviction::RELIEF => _ = me.look_at_pressure(),
            Delivery::Wake { what: EVICTION, .. } => me.eviction_tick(),
            Delivery::Wake { what: PREEMPTION, key } => me.preemption_goes_on(&key),
            Delivery::Wake { what: SHUTDOWN, key } => me.shutdown_overdue(&key),
            Delivery::Wake { what: RESIZE, .. } => me.resizes_due(),
            Delivery::Wake { what: DEADLINE, key } => me.deadline_due(&key),
            Delivery::Wake { what: GARBAGE, .. } => me.collect_sandboxes(),
            Delivery::Wake { what: PROBE, key } => me.probe_tick(&key),
            Delivery::Wake { what: MOUNT, key } => me.mount_due(&key),
            Delivery::Wake { what: REMOUNT, key } => me.remount_due(&key),
            Delivery::Wake { .. } => {}
            Delivery::Rpc { call, from, message } => me.called(call, from, &*message),
        }
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

    /// A call from the runtime, which expects no reply, from somebody who wants to reach into a Pod here, or from one of
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

    /// The pod's namespace and name, for labels.
    fn pod_key(&self, uid: &str) -> String {
        let state = self.state.borrow();
        state.workers.get(uid).map_or_else(|| uid.to_owned(), |w| Key::of_meta(&w.pod.metadata).to_string())
    }
}

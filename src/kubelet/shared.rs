//! What the kubelet's handlers and its syncs share: whom it speaks to, and all that it remembers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};

use crate::actions;
use crate::agent::memory::Agent;
use crate::backoff::Backoff;
use crate::cri::DnsConfig;
use crate::node_status::NodeConfig;
use crate::pleg::records::Pleg;
use crate::restart;
use crate::status::manager::StatusManager;
use crate::status::sizes::Sizes;
use crate::timers::Timer;
use crate::volumes::slots::Device;
use crate::worker::Workers;
use client::informer::Change;
use client::{Client, Informer, Lister, Recorder};
use engine::{ActorId, CallId, Hub, Memory};
use network::disk::Disk;
use network::host::Host;
use object::time::Instant;
use object::{Key, Kind, Last, Pod};
use wire::User;

/// Rules that a kubelet may have in the place of its own.
#[derive(Default)]
pub struct Rules {
    /// What says what a sync has to do, if it is not [`actions::compute`].
    pub compute: Option<Rc<actions::Compute>>,
    /// What says when a container is started again, if it is not [`mod@crate::backoff`].
    pub restarts: Option<Rc<restart::Restarts>>,
}

/// What the kubelet's handlers and its syncs share.
pub struct Shared {
    pub(crate) config: NodeConfig,
    pub(crate) hub: Hub,
    pub(crate) actor: ActorId,
    pub(crate) host: Rc<Host>,
    /// The container runtime on this node.
    pub(crate) runtime: ActorId,
    /// The node's files.
    pub(crate) disk: Disk,
    pub(crate) driver: Option<ActorId>,
    pub(crate) kernel: Option<ActorId>,
    pub(crate) client: Client,
    /// Leases and node status go through a client of their own, which pods cannot slow down.
    pub(crate) heartbeat: Client,
    pub(crate) recorder: Recorder,
    pub(crate) user: Rc<User>,
    pub(crate) nodes: Lister<Node>,
    /// Containers are told of them.
    pub(crate) services: Lister<Service>,
    /// When the kubelet's one-second loops began to tick.
    pub(crate) started: Memory<Instant>,
    pub(crate) state: Memory<State>,
    pub(crate) rules: Rules,
    /// The resolver and the labels that a sandbox was made with last, the variables that a container was, and the sizes
    /// that were told last.
    pub(crate) resolver: Last<DnsConfig>,
    pub(crate) labels: Last<Vec<(String, String)>>,
    pub(crate) variables: Last<Vec<(String, String)>>,
    pub(crate) sizes: Last<Sizes>,
}

/// All that changes. It can be lost: everything in it is found again in the API server and in the runtime.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) workers: Workers,
    /// The uids of those that are there because a file asks for them.
    pub(crate) statics: BTreeSet<String>,
    /// The objects that stand for such pods, and for such as there were.
    pub(crate) mirrors: BTreeMap<Key, Arc<Pod>>,
    /// Changes that wait while the node is asked for, or pods make room for a critical one.
    pub(crate) waiting: Option<Vec<Change>>,
    pub(crate) status: StatusManager,
    pub(crate) pleg: Pleg,
    /// Restarts of containers.
    pub(crate) crashes: Backoff,
    /// The runs of containers that have ended, by the same keys: if something else than [`mod@crate::backoff`] asks for them.
    pub(crate) runs: BTreeMap<String, Vec<restart::Run>>,
    /// Pulls of images.
    pub(crate) pulls: Backoff,
    /// The error of the last failed pull, by the key of its back-off.
    pub(crate) pull_errors: BTreeMap<String, String>,
    /// A pull is under way; the others wait for their turn in this order.
    pub(crate) pulling: bool,
    pub(crate) pull_turns: VecDeque<CallId>,
    /// The pods that are to be larger or smaller than is allocated.
    pub(crate) resizing: BTreeSet<String>,
    /// Pods that may have sandboxes that are not needed.
    pub(crate) garbage: BTreeSet<String>,
    /// When those that have to wait for room are tried again.
    pub(crate) resize_retry: Option<Instant>,
    /// Watches of single ConfigMaps and Secrets.
    pub(crate) objects: BTreeMap<(Kind, Key), Informer>,
    /// CSI volumes on this node, by the name that the node's status gives them.
    pub(crate) devices: BTreeMap<String, Device>,
    pub(crate) agent: Agent,
    /// Who types into shells here, by the number of the stream.
    pub(crate) streams: BTreeMap<u64, ActorId>,
}

impl Shared {
    /// Has a timer go off after this long.
    pub(crate) fn wake(&self, timer: Timer<'_>, after: Duration) {
        self.hub.wake(self.actor, timer.what(), timer.to_string(), after);
    }

    /// The same of one that is background traffic.
    pub(crate) fn wake_background(&self, timer: Timer<'_>, after: Duration) {
        self.hub.wake_background(self.actor, timer.what(), timer.to_string(), after);
    }

    /// The pod's namespace and name, for labels.
    pub(crate) fn pod_key(&self, uid: &str) -> String {
        let state = self.state.borrow();
        state.workers.get(uid).map_or_else(|| uid.to_owned(), |w| Key::of_meta(&w.pod.metadata).to_string())
    }
}

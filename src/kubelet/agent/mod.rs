//! The node's own affairs: registration, lease, status.
//!
//! Mirrors `registerWithAPIServer` and `syncNodeStatus` (`pkg/kubelet/kubelet_node_status.go`) and the lease controller
//! (`k8s.io/component-helpers/apimachinery/lease`). The lease is the heartbeat: renewed every 10 s, it is what the
//! node-lifecycle controller looks at. The status is computed every 10 s but written only when something changed, or
//! after five minutes.
//!
//! Whether Pods can be connected is the runtime's word (`updateRuntimeUp`); a node without a network is not Ready.
//!
//! Simplified: the status is not computed while nothing on the node has changed; the timer then waits for the report
//! that is due. The runtime is not asked every five seconds, but at the next tick when it may have news.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};

use crate::node_status;
use crate::params::{
    LEASE_DURATION_SECONDS, LEASE_RENEW_PERIOD, LEASE_TRIES, NODE_REPORT_PERIOD, NODE_STATUS_PERIOD, REGISTER_PAUSE,
    REGISTER_PAUSE_MAX, RUNTIME_PERIOD,
};
use crate::shared::Shared;
use crate::timers::Timer;
use client::recorder::EventType;
use network::host::Shortage;
use object::Key;
use object::node::is_cordoned;
use object::time::Instant;
use wire::{self, Patch, StatusPatch};

/// The namespace of all node leases.
const LEASES: &str = "kube-node-lease";

pub mod memory;

impl Shared {
    /// Makes the Node, or takes over the one that is there; then lease and status begin.
    pub(super) async fn register(self: Rc<Self>) {
        let version = self.runtime_version().await;
        self.state.borrow_mut().agent.runtime_version = version.clone();
        self.tell_node("Starting", "Starting kubelet.");
        let mut pause = REGISTER_PAUSE;
        loop {
            self.hub.sleep(pause).await;
            pause = (pause * 2).min(REGISTER_PAUSE_MAX);
            let health = self.state.borrow().agent.health.clone();
            let node = node_status::initial(&self.config, &version, &health, self.hub.now());
            // All conditions of a new Node object count as changed. That it is Ready is reported only when it turns so.
            for event in &node_status::turned(None, &health)[..3] {
                self.tell_turned(event);
            }
            match self.client.create(node).await {
                Ok(_) => break,
                // A kubelet that comes back takes its Node over; the status that follows brings it up to date.
                Err(status) if status.is_already_exists() => {
                    if let Ok(node) = self.client.get::<Node>("", &self.config.name).await
                        && self.forget_extended(&node).await.is_ok()
                    {
                        break;
                    }
                }
                Err(_) => {}
            }
        }
        // What the kubelet knows of its Node by now is what it made: the addresses that it is given are news for later.
        self.report_status().await;
        // The first lease is part of joining; from then on renewals go on in the background.
        let _ = self.write_lease().await;
        self.wake_background(Timer::Lease, LEASE_RENEW_PERIOD);
        // The report right after the start; from then on the status is written when it changes.
        self.arm_node_status(NODE_STATUS_PERIOD);
        self.register_driver().await;
    }

    /// The Node as the API server has it may say something else than this kubelet would, or that no more Pods may come.
    pub(super) fn node_changed(self: &Rc<Self>) {
        self.retry_claims();
        self.mirror_all();
        let Some(node) = self.nodes.get(&Key::new("", &self.config.name)) else { return };
        let (differs, reports) = {
            let agent = &self.state.borrow().agent;
            let doubted = node_status::is_doubted(&self.config, &agent.health, node.status.as_ref());
            let differs = doubted || agent.cordoned != is_cordoned(&node) || agent.has_new_range(&node);
            (differs, agent.reported > Instant::default())
        };
        if differs && reports {
            self.status_changed();
        }
    }

    /// The client that advertises a device does so again after the kubelet has started.
    async fn forget_extended(&self, node: &Node) -> Result<(), wire::Error> {
        let Some(status) = node.status.as_ref().and_then(node_status::without_extended) else { return Ok(()) };
        let patch = Patch::Status(Box::new(StatusPatch::Node { status }));
        // The status that follows would only say again what is there.
        self.heartbeat.patch_status::<Node>("", &self.config.name, patch).await.map(|_| ())
    }

    /// Tells of a node that no more Pods may come to, or that they may again. Mirrors `recordNodeSchedulableEvent`.
    fn tell_cordon(&self, node: &Node) {
        let cordoned = is_cordoned(node);
        if std::mem::replace(&mut self.state.borrow_mut().agent.cordoned, cordoned) != cordoned {
            self.tell_turned(if cordoned { "NodeNotSchedulable" } else { "NodeSchedulable" });
        }
    }

    /// What the runtime says of its condition may have changed: it is asked at the next tick of the loop that asks.
    pub(super) fn conditions_may_differ(&self) {
        if std::mem::replace(&mut self.state.borrow_mut().agent.asking, true) {
            return;
        }
        let (now, period) = (self.hub.now(), RUNTIME_PERIOD.as_nanos() as u64);
        let since = (now - self.started.get()).as_nanos() as u64;
        self.wake(Timer::RuntimeUp, Duration::from_nanos(period - since % period));
    }

    /// The tick at which the runtime is asked.
    pub(super) fn runtime_tick(self: &Rc<Self>) {
        self.state.borrow_mut().agent.asking = false;
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {} runtime", self.config.name), async move {
            me.ask_runtime().await;
        });
    }

    /// `updateRuntimeUp`: whether Pods can be connected. What has changed goes into the next status of the node.
    async fn ask_runtime(&self) {
        let Ok(conditions) = self.runtime_conditions().await else { return };
        let network = conditions.iter().find(|condition| condition.name == "NetworkReady");
        let broken = network.filter(|network| !network.status);
        let network = broken.map(|network| format!("container runtime network not ready: {network}"));
        let before = std::mem::replace(&mut self.state.borrow_mut().agent.health.network, network.clone());
        if before != network && self.state.borrow().agent.reported > Instant::default() {
            self.status_changed();
        }
    }

    /// Something about the node has changed, such as its images: the next computed status will say so.
    pub(super) fn status_changed(&self) {
        let now = self.hub.now();
        let (next, reported) = {
            let state = self.state.borrow();
            (state.agent.next_status, state.agent.reported)
        };
        let period = NODE_STATUS_PERIOD.as_nanos() as u64;
        let wait = Duration::from_nanos(period - (now - reported).as_nanos() as u64 % period);
        if now + wait < next {
            self.arm_node_status(wait);
        }
    }

    fn arm_node_status(&self, wait: Duration) {
        let at = self.hub.now() + wait;
        self.state.borrow_mut().agent.next_status = at;
        self.wake_background(Timer::NodeStatus { at }, wait);
    }

    /// The status is computed and, if need be, written.
    pub(super) fn node_status_tick(self: &Rc<Self>) {
        let now = self.hub.now();
        if self.state.borrow().agent.next_status > now {
            return;
        }
        self.arm_node_status(NODE_REPORT_PERIOD);
        let me = self.clone();
        let label = format!("kubelet {} node status", self.config.name);
        self.hub.spawn_background(self.actor, label, async move { me.report_status().await });
    }

    /// `updateNodeStatus`: up to five tries, the first against the cached Node.
    pub(super) async fn report_status(self: &Rc<Self>) {
        for attempt in 0..5 {
            if self.try_report_status(attempt).await.is_ok() {
                return;
            }
        }
        self.arm_node_status(NODE_STATUS_PERIOD);
    }

    async fn try_report_status(self: &Rc<Self>, attempt: u32) -> Result<(), wire::Error> {
        let name = &self.config.name;
        let cached = (attempt == 0).then(|| self.nodes.get(&Key::new("", name))).flatten();
        let node = match cached {
            Some(node) => node,
            None => self.heartbeat.get::<Node>("", name).await?,
        };
        let images = self.images().await;
        let (version, health) = {
            let agent = &self.state.borrow().agent;
            (agent.runtime_version.clone(), agent.health.clone())
        };
        let now = self.hub.now();
        let mut status = node_status::status(&self.config, &version, &images, &health, node.status.as_ref(), now);
        let in_use = self.volumes_in_use();
        status.volumes_in_use = (!in_use.is_empty()).then(|| in_use.clone());
        self.tell_cordon(&node);
        let is_new_range = self.state.borrow_mut().agent.take_range(&node);
        let said = node.status.as_ref().filter(|said| !is_new_range && !node_status::changed(said, &status));
        let reported = self.state.borrow().agent.reported;
        let next = reported + NODE_REPORT_PERIOD;
        if said.is_some() && reported > Instant::default() && now < next {
            self.arm_node_status(next - now);
            return Ok(());
        }
        let events = node_status::turned(node.status.as_ref(), &health);
        let rebooted = node_status::rebooted(name, node.status.as_ref(), &status);
        let patch = Patch::Status(Box::new(StatusPatch::Node { status }));
        self.heartbeat.patch_status::<Node>("", name, patch).await?;
        {
            let agent = &mut self.state.borrow_mut().agent;
            agent.reported = now;
            agent.in_use = in_use.into_iter().collect();
        }
        self.retry_claims();
        if let Some(message) = rebooted {
            self.warn_node("Rebooted", &message);
        }
        for event in events {
            self.tell_turned(event);
        }
        Ok(())
    }

    /// Renews the lease, and sees to it that it is renewed again.
    pub(super) fn renew_lease(self: &Rc<Self>) {
        self.wake_background(Timer::Lease, LEASE_RENEW_PERIOD);
        let me = self.clone();
        let label = format!("kubelet {} lease", self.config.name);
        self.hub.spawn_background(self.actor, label, async move {
            // The next period will try again, and forty seconds are enough for three.
            let _ = me.write_lease().await;
        });
    }

    /// The first time GET and, if there is none, POST; afterwards PUT of what was last written, up to five times. If another
    /// client has written the lease it is read in between, and one that is gone is made again. Mirrors `sync` of the lease
    /// controller.
    async fn write_lease(&self) -> Result<(), wire::Error> {
        let held = self.state.borrow_mut().agent.lease.take();
        let mut base = match held {
            Some(lease) => lease,
            None => match self.ensure_lease().await? {
                (_, true) => return Ok(()),
                (lease, false) => lease,
            },
        };
        for _ in 0..LEASE_TRIES {
            let mut lease = (*base).clone();
            lease.spec.get_or_insert_default().renew_time = Some(self.clock());
            match self.heartbeat.update(lease).await {
                Ok(written) => {
                    self.state.borrow_mut().agent.lease = Some(written);
                    return Ok(());
                }
                Err(status) if status.is_conflict() => base = self.ensure_lease().await?.0,
                Err(status) if status.is_not_found() => {}
                // The API server does not answer. The next period reads the lease first.
                Err(status) => return Err(status),
            }
        }
        self.ensure_lease().await.map(|_| ())
    }

    /// The lease as it is; true: it was made.
    async fn ensure_lease(&self) -> Result<(Arc<Lease>, bool), wire::Error> {
        let (lease, made) = match self.heartbeat.get::<Lease>(LEASES, &self.config.name).await {
            Err(status) if status.is_not_found() => (self.heartbeat.create(self.new_lease()).await?, true),
            found => (found?, false),
        };
        self.state.borrow_mut().agent.lease = Some(lease.clone());
        Ok((lease, made))
    }

    fn new_lease(&self) -> Lease {
        let name = self.config.name.clone();
        let node = self.nodes.get(&Key::new("", &name));
        let owner = node.and_then(|node| node.metadata.uid.clone()).map(|uid| OwnerReference {
            api_version: "v1".into(),
            kind: "Node".into(),
            name: name.clone(),
            uid,
            ..OwnerReference::default()
        });
        Lease {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(LEASES.into()),
                owner_references: owner.map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(name),
                lease_duration_seconds: Some(LEASE_DURATION_SECONDS),
                renew_time: Some(self.clock()),
                ..LeaseSpec::default()
            }),
        }
    }

    /// What the machine's clock says.
    fn clock(&self) -> MicroTime {
        let (now, skew) = (self.hub.now().micro_time(), self.state.borrow().agent.skew);
        MicroTime(now.0.checked_add(SignedDuration::from_nanos(skew)).unwrap_or(now.0))
    }

    /// The machine has become short of something, or has enough of everything again. The condition is told with the node's
    /// next status, and the eviction manager sees it at its next look.
    pub(super) fn be_short_of(&self, shortage: Option<Shortage>) {
        {
            let agent = &mut self.state.borrow_mut().agent;
            let now = self.hub.now();
            match shortage {
                Some(shortage) => _ = agent.press(shortage, true, now),
                None => agent.pressed.values_mut().for_each(|at| *at = now),
            }
        }
        self.status_changed();
        if shortage != Some(Shortage::Pids) {
            self.arm_eviction();
        }
    }

    /// Whether the machine's clock says what others say.
    pub(super) fn clock_is_right(&self) -> bool {
        self.state.borrow().agent.skew == 0
    }

    /// The machine's clock goes wrong by so many nanoseconds.
    pub(super) fn skew_clock(&self, skew: i64) {
        self.state.borrow_mut().agent.skew = skew;
    }

    fn tell_turned(&self, event: &str) {
        self.tell_node(event, &format!("Node {} status is now: {event}", self.config.name));
    }

    pub(super) fn tell_node(&self, reason: &str, message: &str) {
        self.event_of_node(EventType::Normal, reason, message);
    }

    pub(super) fn warn_node(&self, reason: &str, message: &str) {
        self.event_of_node(EventType::Warning, reason, message);
    }

    /// Events about the node have no uid, since it may not exist yet.
    fn event_of_node(&self, type_: EventType, reason: &str, message: &str) {
        let involved = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Node".into()),
            name: Some(self.config.name.clone()),
            ..ObjectReference::default()
        };
        self.recorder.event_about(involved, type_, reason, message.to_owned());
    }
}

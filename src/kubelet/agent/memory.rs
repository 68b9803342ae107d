//! What the kubelet remembers about its node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;

use crate::node_status::Health;
use crate::params::PRESSURE_TRANSITION_PERIOD;
use engine::CallId;
use network::host::Shortage;
use object::node::pod_cidrs;
use object::time::Instant;

/// What the kubelet remembers about its node.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// The pod informer has been started.
    pub following_pods: bool,
    /// What files ask for has been read.
    pub manifests_read: bool,
    /// Containers of pods that are gone have been looked for.
    pub orphans_looked_for: bool,
    /// The volumes in use, as the node's status said last.
    pub in_use: BTreeSet<String>,
    /// The runtime's version.
    pub(super) runtime_version: String,
    /// How well the machine is: of its network, what the runtime last said (`runtimeState`).
    pub health: Health,
    /// When it was last short of what it is or was short of (`nodeConditionsLastObservedAt`).
    pub(super) pressed: BTreeMap<Shortage, Instant>,
    /// When the first of these conditions is over, as far as a timer is armed for that.
    pub(super) relief: Option<Instant>,
    /// The eviction manager's next look is due some time.
    pub looks_at_evictions: bool,
    /// The machine goes down, and waits for pods to end.
    pub shutdown: Option<Waiting>,
    /// A pod is to end that makes room for another.
    pub killing: Option<Killing>,
    /// It was told that no more Pods may come.
    pub(super) cordoned: bool,
    /// The node's ranges of addresses, as the status that was computed last found them (`runtimeState.podCIDR`).
    pub(super) pod_cidrs: Vec<String>,
    /// By how many nanoseconds the machine's clock is fast; slow if negative.
    pub(super) skew: i64,
    /// A timer for the next question to the runtime is armed.
    pub(super) asking: bool,
    /// The lease as last written.
    pub(super) lease: Option<Arc<Lease>>,
    /// When the node's status was last written.
    pub(super) reported: Instant,
    /// When the next status is computed; timers for other times are void.
    pub(super) next_status: Instant,
}

impl Agent {
    /// Whether the node has been given addresses that this kubelet has not heard of.
    pub(super) fn has_new_range(&self, node: &Node) -> bool {
        let cidrs = pod_cidrs(node);
        !cidrs.is_empty() && self.pod_cidrs != cidrs
    }

    /// Remembers the node's addresses, and says whether they are others. Then the status is written, though it says nothing
    /// of them. Mirrors `updatePodCIDR`.
    pub(super) fn take_range(&mut self, node: &Node) -> bool {
        let is_new = self.has_new_range(node);
        if is_new {
            self.pod_cidrs = pod_cidrs(node).to_vec();
        }
        is_new
    }

    /// The machine is short of something, or is not. A condition outlasts its cause (`nodeConditionsObservedSince`). Says
    /// whether it has turned.
    pub fn press(&mut self, what: Shortage, is_short: bool, now: Instant) -> bool {
        if is_short {
            self.pressed.insert(what, now);
        }
        let lasts = self.pressed.get(&what).is_some_and(|at| now < *at + PRESSURE_TRANSITION_PERIOD);
        if !lasts {
            self.pressed.remove(&what);
        }
        self.health.turn(what, lasts)
    }

    /// When the first condition that has no cause any more is over, unless a timer is armed for that already.
    pub fn next_relief(&mut self, is_short: impl Fn(Shortage) -> bool, now: Instant) -> Option<Instant> {
        self.relief = self.relief.filter(|at| *at > now);
        let lasting = self.pressed.iter().filter(|(what, _)| !is_short(**what));
        let first = lasting.map(|(_, at)| *at + PRESSURE_TRANSITION_PERIOD).min();
        let new = first.filter(|_| self.relief.is_none());
        self.relief = self.relief.or(new);
        new
    }
}

/// The task that waits until a group of pods has ended.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Whether it is the critical ones.
    pub(crate) critical: bool,
    pub(crate) call: CallId,
}

/// The task that waits for a pod to end.
#[derive(Clone, Debug)]
pub struct Killing {
    pub(crate) uid: String,
    pub(crate) call: CallId,
}

//! The scheduler: finds a node for each pod that has none, and asks the API server to bind it there.
//!
//! That is all it does. It starts nothing, it writes no pod spec: it POSTs a Binding, the API server sets
//! `spec.nodeName`, and the kubelet of that node, who watches for pods with its name, takes it from there.
//!
//! A pod's way through here:
//!
//! 1. [`actor`], `handlers`: an informer tells of a pod without a node. It goes into the [`queue`]; had it a node, it
//!    would go into the [`cache`], which keeps what each node has left ([`node_info`], [`snapshot`]).
//! 2. `attempt`: a scheduling cycle takes the first pod of the queue. There is one cycle at a time.
//! 3. [`cycle`]: every plugin that has an opinion on the pod is asked about each node, first whether it will do
//!    ([`filters`]), then how good it is. The best node wins. This is a pure function: pod and snapshot in, decision
//!    out, with every verdict and score in it.
//! 4. The pod is *assumed* on the node: the cache counts it there at once, so the next cycle need not wait for the API
//!    server. The binding goes its own way, and the informer's news of it confirms the assumption.
//! 5. If no node will do, [`preemption`] asks whether pods of lower priority could make room, and `evict` sees to it.
//!    The pod's condition and an Event say why ([`fit_error`]), and the pod waits until something changes that one of
//!    the plugins that rejected it thinks helpful ([`events`], the plugins' hints).
//!
//! What a plugin is, [`framework`] says; the default ones are in [`plugins`]. Which of them decide about a pod, and with
//! what weight, says its [`profile`], and [`configuration`] how one is written down. Mirrors `pkg/scheduler`.
//!
//! Must hold:
//! - The decision reads nothing but its arguments. Kept by `nodes_are_tried_a_zone_at_a_time` and
//!   `the_core_has_no_threads_and_asks_no_environment`.
//! - A filter looks at a node's sums, never at all pods. Kept by `sums_kept_are_sums_counted`.
//! - A pod is in one place only, in the queue, in an attempt, or in the cache. Kept by
//!   `an_assumed_pod_counts_at_once_and_is_confirmed_or_forgotten` and `a_change_during_the_attempt_is_not_missed`.
//! - Nothing is borrowed across an `.await`. Kept by `every_scenario_is_walked`.
//!
//! Claims that wait for a pod are decided with it ([`storage`], `volume_writes`), and bound before it is.
//!
//! Left out: DynamicResources but for its line in the message, NodeDeclaredFeatures, extenders, Permit and the waiting
//! there, pod groups, opportunistic batching. Which of several schedulers works is settled in [`client::leader`]. The
//! sixteen workers that filter and score at once are one, so nodes are asked in order and the search stops exactly
//! when enough have passed; equal best nodes are drawn by lot, where Kubernetes takes whichever its workers brought
//! to the front.

pub mod actor;
mod attempt;
pub mod cache;
pub mod classes;
mod condition;
pub mod configuration;
pub mod cycle;
pub mod events;
mod evict;
pub mod filters;
pub mod fit_error;
pub mod framework;
mod handlers;
pub mod labels;
pub mod node_info;
pub mod nominator;
pub mod plugins;
pub mod pod_info;
pub mod preemption;
pub mod profile;
pub mod queue;
pub mod resources;
pub mod snapshot;
pub mod storage;
mod table;
mod timers;
mod volume_writes;

pub use actor::KubeScheduler;

pub mod testing;

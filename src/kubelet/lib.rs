//! The kubelet: the agent on every node that makes pods real and says how they are.
//!
//! A kubelet watches the pods that are bound to its node and holds, for each, a *worker*: a small state machine that
//! syncs the pod again and again. A sync compares what the pod asks for with what the container runtime has, does
//! what is missing, and sets a status. Nothing else in Kubernetes starts a container, and no other component writes
//! containerStatuses.
//!
//! How a pod comes to run here:
//! 1. The pod informer (field selector `spec.nodeName`) reports a pod: it is admitted or refused ([`pods`],
//!    [`admission`]; a critical one may make room for itself, [`preemption`]), and gets a worker ([`worker`], [`workers`]).
//! 2. The first sync ([`sync`]) computes the status, which the status loop writes: GET, then PATCH `pods/status`
//!    (ContainerCreating; [`status`], [`status_loop`]). Meanwhile volumes are mounted ([`volumes`]): disks are staged and
//!    published, ConfigMaps are watched, a token is requested.
//! 3. The runtime makes the sandbox, and with it the network; PodReadyToStartContainers=True is written at once.
//! 4. For each container: backoff, image ([`images`]), create ([`security`]), start ([`start`], [`backoff`]), with an Event
//!    each.
//! 5. The pod is looked at in the runtime ([`pleg`]); what is seen leads to the next sync, whose status says Running
//!    and Ready.
//!
//! A container that ends is noticed by the next relist, and the same loop decides whether it starts again
//! ([`restart`], [`actions`]), unless the pod has been active for longer than it may ([`active_deadline`]). A pod that is
//! deleted goes through [`teardown`]: stop, report, and at last the DELETE that removes the object; then the runtime forgets
//! it ([`garbage`]). Beside all that the kubelet registers its node, renews its lease and reports its status
//! ([`agent`], [`node_status`]), probes containers ([`probes`], `prober`, `dial`), and runs commands in them for clients that may
//! send requests ([`server`]). [`timers`] says when it does what, and `shared` holds what it remembers; [`actor`] is where
//! all messages are delivered.
//!
//! What it calls on its node is in modules beside it: the container runtime ([`runtime`]), which it knows by its interface only
//! ([`cri`]), and storage ([`csi`]).
//!
//! Must hold:
//! - A sync decides from the spec and the runtime's state alone, so a restarted kubelet picks up where the old one
//!   stopped. Kept by `a_restarted_kubelet_adopts_what_runs`.
//! - One sync of a pod at a time. Kept by `a_failed_sync_is_made_again_when_the_first_of_its_containers_may_start`.
//! - Stages only go forward. Kept by `a_pod_that_is_deleted_while_it_starts_is_stopped_when_it_has_started`.
//! - A terminal phase is written only when no container can run. Kept by
//!   `a_terminal_phase_waits_until_nothing_can_run`.
//! - The kubelet speaks to the runtime by CRI messages and to the rest of the cluster through the API server, and to
//!   nothing else. Kept by `components_and_the_api_server_know_the_wire_and_not_each_other`.
//!
//! What files on the node ask for runs as well, even without any other component ([`static_pods`]).
//!
//! Left out: cgroups and QoS enforcement, eviction for anything but memory and disk ([`eviction`]),
//! device and resource managers, CSI inline volumes, the processes that an ephemeral container sees, image and disk garbage
//! collection, credentials of registries, the periodic resync of pods in which nothing has changed (once a minute, `syncFrequency`). Watches of
//! ConfigMaps stay open when the last pod that needs them is gone. A relist that would find nothing is not made; see
//! [`pleg`].

pub mod cri;
pub mod runtime;

pub mod csi;

pub mod actor;
pub mod params;
mod shared;
pub mod timers;

mod pods;
pub mod worker;
pub mod workers;

pub mod admission;
pub mod pod_types;
pub mod preemption;
pub mod rejection;
pub mod static_pods;
pub mod sysctl;

pub mod actions;
pub mod restart;
pub mod restart_all;
pub mod runtime_pod;
mod sync;

pub mod backoff;
pub mod dns;
pub mod expansion;
mod hooks;
pub mod images;
pub mod linux;
mod runtime_client;
mod sandbox_config;
pub mod security;
pub mod start;

pub mod volumes;

pub mod pleg;
pub mod probes;

mod dial;
mod prober;

pub mod status;
mod status_loop;

pub mod active_deadline;
pub mod ending;
pub mod eviction;
mod garbage;
pub mod resize;
pub mod shutdown;
mod teardown;

pub mod agent;
pub mod node_status;
pub mod pages;
pub mod server;

#[cfg(test)]
pub(crate) mod testing;

pub use actor::{Kubelet, Machine};
pub use node_status::NodeConfig;
pub use shared::{Rules, Shared};

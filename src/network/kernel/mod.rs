//! The network between Pods: a packet's way, hop by hop.
//!
//! CNI plugins lay the cables and write the routes; kube-proxy and the plugins write the rules. Here packets use them.
//! A packet is an *event at every hop*: a device, then the next one, and at each the kernel of the machine says what it
//! did and which table decided it.
//!
//! ```text
//!   eth0 of the Pod → veth → bridge cni0 → routing table, netfilter → eth0 → the other node's eth0
//!     → netfilter, routing table → cni0 → veth → eth0 of the other Pod → socket
//! ```
//!
//! and the answer comes back the same way, with conntrack undoing what NAT did. A packet that gets nowhere dies at a
//! named place for a named reason, and its sender is told what a real one would be told: RST, an ICMP error, or nothing.
//!
//! - [`hop`]: what one kernel does with one packet. Plain functions; read this first.
//! - [`frame`]: a packet under way, as an event.
//! - [`fabric`]: what lies between the machines: the switch, and the add-on's routes or tunnels.
//! - [`addon`]: what stands on a machine before the first Pod comes.
//! - [`actor`]: the kernel as an actor. [`messages`]: what others ask of it. [`system`]: what it does with what comes and goes.
//! - [`socket`]: sockets of programs that ask; [`sockets`], `local`: who listens, on what, and `/etc/resolv.conf`.
//! - [`dns`]: questions and answers. [`tls`]: who a server is. [`page`]: what servers say.
//! - [`probe`], `dial`: connections that a kubelet and a container runtime want made.
//!
//! `curl`, `ping` and the like are programs, and no part of a kernel: it is told how they are run ([`RunProgram`]).
//!
//! Must hold:
//! - A packet is in one place at a time. Kept by `every_death_has_a_place_and_a_reason`.
//! - Every packet ends in a socket or with a reason. Kept by `every_packet_ends_in_a_socket_or_with_a_reason`.
//! - On the way between Pods no source address changes, unless a rule says so. Kept by
//!   `to_another_node_it_is_routed_twice` and `a_real_walk_agrees_with_the_simulated_one`.
//!
//! Left out: IPv6; ARP as packets (the owner of an address is looked up, and three seconds pass if there is none); ACKs and
//! windows of TCP, and the second half of its ending; fragments, MTU; a machine's clock and the network's bandwidth.

pub mod hop;

pub mod fabric;
pub mod frame;

pub mod actor;
pub mod messages;
pub mod system;

mod dial;
mod local;
pub mod probe;
pub mod socket;
pub mod sockets;

pub mod dns;
pub mod page;
pub mod tls;

pub mod addon;

#[cfg(test)]
mod tests;

pub use actor::{KernelActor, RunProgram};
pub use fabric::{Fabric, Mode};
pub use messages::{DnsQuery, DnsResponse, Execute, Executed, Userland};
pub use probe::{Probe, ProbeTarget, Probed};
pub use system::System;

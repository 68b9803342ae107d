//! The network of a cluster, down to the packet: the machines' kernels, and the programs that tell them what to do.
//!
//! Kubernetes says what a network must do (every Pod reaches every Pod by its own address; a Service's address leads to
//! one of its Pods) and leaves the doing to others. This crate is those others, each behind the interface that Kubernetes
//! knows it by. From the ground up, which is also the order to read in:
//!
//! 1. [`disk`], [`host`]: a machine, as the processes on it share it: its files, its links, its sockets.
//! 2. [`netfilter`]: the part of its kernel in which iptables' rules live, and conntrack.
//! 3. [`cni`]: the plugins that connect a Pod, and who runs them. They lay the cables and write the routes.
//! 4. [`kernel`]: a packet's way, hop by hop, along those cables and through those rules, to a socket.
//! 5. [`proxy`]: kube-proxy, which turns Services and EndpointSlices into rules. [`policy`]: the agent that does the same
//!    with NetworkPolicies. [`coredns`]: the cluster's DNS server, in Pods of its own.
//! 6. [`install`]: what an installer leaves on a machine, and an administrator in the cluster.
//!
//! kube-proxy and the agent follow the API server as any client does; the rest never hears of it. Who runs in a container
//! and asks for something (`curl`, `ping`) is not here: the kernel is told how programs are run ([`kernel::RunProgram`]) and
//! gives them sockets.
//!
//! Must hold:
//! - Rules, routes and addresses are data of one machine, and only a packet under way joins two machines. Kept by
//!   `an_unplugged_machine_answers_for_nothing`.
//! - What writes rules never sees a packet, and what moves packets never sees a Service. Kept by
//!   `rules_and_packets_know_nothing_of_each_other`.
//!
//! Left out: IPv6; network add-ons other than a bridge with routes or a VXLAN overlay; what each room says of itself.

pub mod disk;
pub mod host;
pub mod netfilter;

pub mod cni;
pub mod kernel;

pub mod coredns;
pub mod policy;
pub mod proxy;

pub mod install;

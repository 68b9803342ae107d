//! NetworkPolicies, enforced: who may talk to whom.
//!
//! Kubernetes stores NetworkPolicies and does nothing about them; the network add-on enforces them, or does not. Here it is
//! an agent on each node, as with most network add-ons. It watches all policies, Pods and Namespaces and writes rules into
//! its own node's kernel, about its own node's Pods:
//!
//! ```text
//! FORWARD -> KUBE-NETPOL: a packet of an open connection passes
//!                      -> from a Pod here that is isolated for egress  -> KUBE-NP-OUT-x: what is allowed returns, all
//!                      else dies -> to a Pod here that is isolated for ingress   -> KUBE-NP-IN-x:  the same
//! ```
//!
//! So a connection between nodes is asked about twice, by each end's node, and needs both to agree. What the node itself
//! sends to its Pods never comes through FORWARD: kubelets may always probe. The rules are in the mangle table, which is
//! asked before filter, so that none of the other programs' rules there can let a packet through first.
//!
//! - [`policies`]: what the agent knows, and which of its Pods a change touches.
//! - [`rules`]: the rules of one Pod.
//! - [`ranges`]: a range of addresses without some of its parts.
//!
//! Must hold:
//! - Nothing is written before all caches are filled. Kept by `rules_follow`.
//! - A Pod that no policy selects has no rules. Kept by `who_gets_through_ingress`.
//! - What one policy allows no other takes back. Kept by `who_gets_through_ingress` and `who_gets_through_egress`.
//! - The answers to what was let through pass. Kept by `what_policies_never_stop` and the property "no connection
//!   passes that no policy allows".
//!
//! Left out: IPv6; sets of addresses (ipset), without which there is a rule for each Pod that a peer selects; that a Pod
//! waits to start until its rules are there, so that they follow its address by a moment, as with many real agents. Like
//! kube-proxy the agent is a process of the node and not a Pod of a DaemonSet.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use crate::host::Host;
use crate::install;
use client::informer::RELIST;
use client::{Informer, Informers};
use engine::{Actor, ActorId, Delivery, Hub, Memory, Note};
use object::{Kind, Object};
use wire::{User, WatchEvent, WatchId};

pub mod policies;
pub mod ranges;
pub mod rules;

use policies::Policies;

/// Wake: it is time to write the rules.
const SYNC: &str = "sync network policies";
/// So long after the first change of several they are written together.
const SYNC_DELAY: Duration = Duration::from_millis(100);
/// The agent's account in kube-system.
const ACCOUNT: &str = "network-policy-agent";

/// What an administrator applies to install it.
pub fn objects() -> Vec<Object> {
    let read = "get,list,watch";
    let rules = [(read, "", "pods,namespaces"), (read, "networking.k8s.io", "networkpolicies")];
    install::role(ACCOUNT, ACCOUNT, &rules).into()
}

/// The agent of one node.
pub struct PolicyAgent {
    name: String,
    hub: Hub,
    actor: ActorId,
    host: Rc<Host>,
    informers: Informers,
    state: Memory<State>,
}

/// All that it knows. It can be lost: the API server has it all.
#[derive(Clone, Default)]
struct State {
    policies: Policies,
    /// A sync is due.
    due: bool,
}

impl PolicyAgent {
    /// The agent of the node of this name, on its machine.
    pub fn new(hub: Hub, actor: ActorId, node: &str, host: Rc<Host>) -> PolicyAgent {
        let user = Rc::new(User::service_account("kube-system", ACCOUNT, ACCOUNT));
        let kinds = [Kind::NetworkPolicy, Kind::Pod, Kind::Namespace];
        let state = State { policies: Policies::new(node), due: false };
        PolicyAgent {
            name: format!("{ACCOUNT}/{node}"),
            actor,
            host,
            informers: Informers::of_kinds(&hub, actor, &user, kinds),
            state: hub.memory(state),
            hub,
        }
    }

    /// Its informers.
    pub fn informers(&self) -> &[Informer] {
        &self.informers
    }

    fn notify(&self, watch: WatchId, event: WatchEvent) {
        let mut state = self.state.borrow_mut();
        for change in self.informers.on_event(watch, event) {
            state.policies.note(&change);
        }
        if self.informers.has_synced() && state.policies.has_changed() && !state.due {
            state.due = true;
            self.hub.wake(self.actor, SYNC, "", SYNC_DELAY);
        }
    }

    fn sync(&self) {
        let mut state = self.state.borrow_mut();
        state.due = false;
        let written = state.policies.sync(&mut self.host.network.borrow_mut().root.netfilter);
        match written {
            Ok(lines) => lines.into_iter().for_each(|text| self.hub.note(|| Note::Text { topic: "policy", text })),
            Err(error) => {
                // Another program has changed the tables under it: all is written again.
                self.hub.note(|| Note::Text { topic: "policy", text: format!("{error}; all is written again") });
                state.policies.forget_written();
                state.due = true;
                self.hub.wake(self.actor, SYNC, "", SYNC_DELAY);
            }
        }
    }
}

impl Actor for PolicyAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self) {
        self.informers.start();
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what: SYNC, .. } => self.sync(),
            Delivery::Wake { what: RELIST, key } => self.informers.relist(&key),
            Delivery::Wake { .. } | Delivery::Rpc { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

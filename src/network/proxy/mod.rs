//! kube-proxy: turns Services into rules of the node's kernel.
//!
//! # How a change flows
//!
//! One runs on each node, and each watches all Services and EndpointSlices of the cluster, as any node may have a Pod that
//! calls any Service. A change is only noted (`proxier`). A *sync* follows soon, but not within a second of the last one
//! ([`runner`]), and writes all that was noted at once:
//!
//! 1. For each Service that changed: what is it now, and which of its endpoints does this node choose from ([`portal`])?
//! 2. What rules does that make ([`iptables`])? Chains of the Service are replaced, those it has no more deleted. The
//!    chains that all Services share are written anew each time.
//! 3. Connections of UDP to endpoints that are gone are forgotten.
//!
//! No packet passes through this process. When it dies, the rules stay; Services only stop changing.
//!
//! # Must hold
//!
//! - Nothing is written before both caches are filled: half the truth would cut connections. Kept by
//!   `a_new_process_takes_over_the_rules_of_the_old`.
//! - A sync changes a table whole or not at all. Kept by `a_change_happens_whole_or_not_at_all`.
//! - No chain of a Service that is gone is left. Kept by `what_is_gone_leaves_nothing_behind`.
//!
//! Mirrors `cmd/kube-proxy/app/server.go`, `pkg/proxy/{servicechangetracker,endpointschangetracker}.go` and
//! `pkg/proxy/iptables/proxier.go`; [`nftables`] is the other mode. [`names`] are those that `iptables-save` shows.
//!
//! # Left out
//!
//! IPv6, health check node ports, /healthz and metrics; node ports on 127.0.0.1; kube-proxy runs as a process of the node
//! and not as a Pod of a DaemonSet.

use std::any::Any;
use std::rc::Rc;

use k8s_openapi::api::core::v1::ObjectReference;

use crate::host::Host;
use crate::netfilter::Cidr;
use client::informer::RELIST;
use client::{Client, EventType, Informer, Informers, Recorder, Selection};
use engine::{Actor, ActorId, Delivery, Hub, Memory};
use object::Kind;
use wire::User;
use wire::{WatchEvent, WatchId};

pub mod chooser;
pub mod iptables;
pub mod names;
pub mod nft_list;
pub mod nftables;
pub mod portal;
mod proxier;
pub mod runner;

#[cfg(test)]
mod tests;

pub use proxier::{PODS, Proxier};

use chooser::Chooser;
use portal::Location;
use runner::Runner;

/// Wake: it is time to write the rules.
const SYNC: &str = "sync proxy rules";
/// Wake: it is time to write all rules, changed or not.
pub const FULL_SYNC: &str = "full sync of proxy rules";
/// Requests a second and burst: the defaults of kube-proxy's configuration.
const QPS: u32 = 5;
const BURST: u32 = 10;
/// What this proxy is not for: Services of other proxies, and slices that are for DNS only.
const OTHER_PROXY: &str = "!service.kubernetes.io/service-proxy-name";
const ITS_SLICES: &str = "!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless";

/// Where Services' addresses lie: what the one ServiceCIDR says.
pub const SERVICES: Cidr = Cidr { address: std::net::Ipv4Addr::new(10, 96, 0, 0), prefix: 16 };

/// kube-proxy on one node.
pub struct KubeProxy {
    name: String,
    hub: Hub,
    actor: ActorId,
    host: Rc<Host>,
    recorder: Recorder,
    informers: Informers,
    state: Memory<State>,
    /// Who chooses among endpoints, if it is not [`portal`].
    chooser: Option<Rc<Chooser>>,
}

/// All that it knows. It can be lost: the API server has it all.
#[derive(Clone, Default)]
pub struct State {
    proxier: Proxier,
    runner: Runner,
}

impl KubeProxy {
    /// kube-proxy of the node of this name, on its machine. `limits` are the requests a second and the burst of its
    /// client, the shipped ones unless given.
    pub fn new(hub: Hub, actor: ActorId, node: &str, host: Rc<Host>, limits: Option<(u32, u32)>) -> KubeProxy {
        let user = Rc::new(User::component("system:kube-proxy", &format!("kube-proxy/{node}")));
        let (qps, burst) = limits.unwrap_or((QPS, BURST));
        let client = Client::new(hub.clone(), actor, user.clone(), qps, burst);
        let selections = [
            Selection::labels(Kind::Service, OTHER_PROXY),
            Selection::labels(Kind::EndpointSlice, ITS_SLICES),
            Selection::fields(Kind::Node, format!("metadata.name={node}")),
        ];
        let here = Location { node: node.to_owned(), ..Location::default() };
        let state = State { proxier: Proxier::new(here), runner: Runner::default() };
        KubeProxy {
            name: format!("kube-proxy/{node}"),
            actor,
            host,
            recorder: Recorder::new(client, "kube-proxy", ""),
            informers: Informers::new(&hub, actor, &user, selections),
            state: hub.memory(state),
            chooser: None,
            hub,
        }
    }

    /// The same, with another way to choose among endpoints.
    pub fn with_chooser(self, chooser: Option<Rc<Chooser>>) -> KubeProxy {
        KubeProxy { chooser, ..self }
    }

    /// Its informers.
    pub fn informers(&self) -> &[Informer] {
        &self.informers
    }

    /// The same Services as nftables mode would write them: a script for `nft -f`.
    pub fn nftables(&self) -> String {
        let state = self.state.borrow();
        nftables::script(state.proxier.portals(), &state.proxier.here, PODS, SERVICES)
    }

    /// What `nft list ruleset` would print in nftables mode.
    pub fn nft_list(&self) -> String {
        nft_list::listing(&self.nftables())
    }

    fn notify(&self, watch: WatchId, event: WatchEvent) {
        let was_synced = self.informers.has_synced();
        let mut changed = false;
        for change in self.informers.on_event(watch, event) {
            changed |= self.state.borrow_mut().proxier.note(&change);
        }
        let is_synced = self.informers.has_synced();
        if is_synced && (changed || !was_synced) {
            self.request_sync();
        }
        if !was_synced && is_synced {
            self.hub.wake_background(self.actor, FULL_SYNC, "", runner::FULL_SYNC_PERIOD);
        }
    }

    fn request_sync(&self) {
        let after = self.state.borrow_mut().runner.request(self.hub.now());
        after.into_iter().for_each(|after| self.hub.wake(self.actor, SYNC, "", after));
    }

    fn sync(&self) {
        let mut state = self.state.borrow_mut();
        if !state.runner.run(self.hub.now()) {
            return;
        }
        if let Some(chooser) = &self.chooser
            && let Err(how) = state.proxier.ask(chooser.as_ref())
        {
            // Nothing else runs outside of a task, and the engine catches what breaks in tasks.
            let crash = async move { std::panic::resume_unwind(Box::new(how)) };
            return self.hub.spawn(self.actor, "choose endpoints".to_owned(), crash);
        }
        let mut network = self.host.network.borrow_mut();
        if state.proxier.sync(&mut network.root.netfilter).is_err() {
            // Another program has changed the tables under it: all is written again.
            state.proxier.forget_written();
            let after = state.runner.failed(self.hub.now());
            after.into_iter().for_each(|after| self.hub.wake(self.actor, SYNC, "", after));
        }
    }

    fn wake(&self, what: &'static str, key: &str) {
        match what {
            SYNC => self.sync(),
            FULL_SYNC => {
                self.state.borrow_mut().proxier.forget_written();
                self.request_sync();
                self.hub.wake_background(self.actor, FULL_SYNC, "", runner::FULL_SYNC_PERIOD);
            }
            RELIST => self.informers.relist(key),
            _ => {}
        }
    }
}

impl Actor for KubeProxy {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self) {
        self.informers.start();
        let node = Some(self.state.borrow().proxier.here.node.clone());
        let involved =
            ObjectReference { kind: Some("Node".to_owned()), name: node.clone(), uid: node, ..Default::default() };
        self.recorder.event_about(involved, EventType::Normal, "Starting", String::new());
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.notify(watch, event),
            Delivery::Wake { what, key } => self.wake(what, &key),
            Delivery::Rpc { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

//! kube-proxy: turns Services into rules of the node's kernel.
//!
//! # How a change flows
//!
//! One runs on each node, and each watches all Services and EndpointSlices of the cluster, as any node may have a Pod that
//! calls any Service. A change is only noted. A *sync* follows soon, but not within a second of the last one
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
//! - Nothing is written before both caches are filled: half the truth would cut connections.
//! - A sync changes a table whole or not at all.
//! - No chain of a Service that is gone is left.
//!
//! Mirrors `cmd/kube-proxy/app/server.go`, `pkg/proxy/{servicechangetracker,endpointschangetracker}.go` and
//! `pkg/proxy/iptables/proxier.go`; [`nftables`] is the other mode. [`names`] are those that `iptables-save` shows.
//!
//! # Left out
//!
//! IPv6, health check node ports, /healthz and metrics; node ports on 127.0.0.1; kube-proxy runs as a process of the node
//! and not as a Pod of a DaemonSet.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, ObjectReference, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::apiserver::request::User;
use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::client::informer::{Change, RELIST};
use crate::client::{Client, EventType, Informer, Informers, Recorder, Selection};
use crate::engine::{Actor, ActorId, Delivery, Hub, Memory};
use crate::node::host::Host;
use crate::node::netfilter::{Cidr, Netfilter, RulesetError};
use crate::object::well_known::{SERVICE_NAME, ZONE};
use crate::object::{Accessor, Key, Kind, Object};

pub mod chooser;
pub mod iptables;
pub mod names;
pub mod nft_list;
pub mod nftables;
pub mod portal;
pub mod runner;

#[cfg(test)]
mod tests;

use chooser::{Chooser, Chosen};
use iptables::{Contribution, Style};
use names::PortName;
use portal::{Location, Portal};
use runner::Runner;

/// Wake: it is time to write the rules.
const SYNC: &str = "sync proxy rules";
/// Wake: it is time to write all rules, changed or not.
pub const FULL_SYNC: &str = "full sync of proxy rules";
/// The number of endpoints above which rules carry no comments about each.
const LARGE_CLUSTER: usize = 1000;
/// Requests a second and burst: the defaults of kube-proxy's configuration.
const QPS: u32 = 5;
const BURST: u32 = 10;
/// What this proxy is not for: Services of other proxies, and slices that are for DNS only.
const OTHER_PROXY: &str = "!service.kubernetes.io/service-proxy-name";
const ITS_SLICES: &str = "!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless";

/// Where all Pods' addresses lie: `--cluster-cidr`.
pub const PODS: Cidr = Cidr { address: std::net::Ipv4Addr::new(10, 244, 0, 0), prefix: 16 };
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
        let state = State { proxier: Proxier { here, ..Proxier::default() }, runner: Runner::default() };
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
            // Somebody has changed the tables under it: all is written anew.
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

/// The part without an API: changes in, rules out.
#[derive(Clone, Default)]
pub struct Proxier {
    here: Location,
    services: BTreeMap<Key, Arc<Service>>,
    /// By Service, then by name.
    slices: BTreeMap<Key, BTreeMap<String, Arc<EndpointSlice>>>,
    /// Services with a change that is not written yet.
    changed: BTreeSet<Key>,
    /// What somebody else has chosen, by Service and by the names of its ports.
    chosen: BTreeMap<Key, BTreeMap<PortName, Chosen>>,
    /// What is written, by Service.
    written: BTreeMap<Key, Rc<Written>>,
    /// How many endpoints that makes.
    endpoints: usize,
    /// The chains that are always there have been made.
    prepared: bool,
}

/// What one Service came to.
#[derive(Clone, Debug, Default)]
struct Written {
    portals: Vec<Portal>,
    contributions: Vec<Contribution>,
}

impl Written {
    fn endpoints(&self) -> usize {
        self.portals.iter().map(|portal| portal.endpoints.len()).sum()
    }

    fn chains(&self) -> impl Iterator<Item = &String> {
        self.contributions.iter().flat_map(|one| one.chains.keys())
    }
}

impl Proxier {
    /// Takes notice of a change; says whether the rules may have to follow.
    pub fn note(&mut self, change: &Change) -> bool {
        let gone = matches!(change, Change::Deleted(_));
        match change.latest() {
            Object::Service(service) => self.note_service(service, gone),
            Object::EndpointSlice(slice) => self.note_slice(slice, gone),
            Object::Node(node) if !gone => self.note_node(node),
            _ => false,
        }
    }

    /// A Service without an address of its own makes no rules, and others have more in them than the rules say. Mirrors
    /// `ServiceChangeTracker`.
    fn note_service(&mut self, service: &Arc<Service>, gone: bool) -> bool {
        let key = Key::of_meta(&service.metadata);
        let ports = |service: &Service| portal::portals(service, &BTreeMap::new(), &self.here);
        let now = if gone { Vec::new() } else { ports(service) };
        let before = self.services.get(&key).map(|old| ports(old)).unwrap_or_default();
        if gone {
            self.services.remove(&key);
        } else {
            self.services.insert(key.clone(), service.clone());
        }
        let matters = before != now;
        if matters {
            self.changed.insert(key);
        }
        matters
    }

    fn note_slice(&mut self, slice: &Arc<EndpointSlice>, gone: bool) -> bool {
        if slice.address_type != "IPv4" {
            return false;
        }
        let Some(service) = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME)) else {
            return false;
        };
        let key = Key::new(slice.metadata.namespace(), service);
        let name = slice.metadata.name.clone().unwrap_or_default();
        let slices = self.slices.entry(key.clone()).or_default();
        if gone {
            slices.remove(&name);
        } else {
            slices.insert(name, slice.clone());
        }
        if slices.is_empty() {
            self.slices.remove(&key);
        }
        self.changed.insert(key);
        true
    }

    /// Only where the node is matters.
    fn note_node(&mut self, node: &Node) -> bool {
        let label = node.metadata.labels.as_ref().and_then(|labels| labels.get(ZONE));
        let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
        let ip =
            addresses.filter(|address| address.type_ == "InternalIP").find_map(|address| address.address.parse().ok());
        let here = Location { node: self.here.node.clone(), zone: label.cloned().unwrap_or_default(), ip };
        if here == self.here {
            return false;
        }
        self.here = here;
        self.forget_written();
        true
    }

    /// From now on nothing counts as written: the next sync writes everything.
    pub fn forget_written(&mut self) {
        self.changed.extend(self.services.keys().cloned());
        self.prepared = false;
    }

    /// All portals as they are written, in the order of their names.
    pub fn portals(&self) -> impl Iterator<Item = &Portal> + Clone {
        self.written.values().flat_map(|written| &written.portals)
    }

    /// Writes what has changed. Mirrors `syncProxyRules`.
    pub fn sync(&mut self, netfilter: &mut Netfilter) -> Result<(), RulesetError> {
        let full = !self.prepared;
        if full {
            iptables::prepare(netfilter)?;
            self.prepared = true;
        }
        let was_large = self.endpoints > LARGE_CLUSTER;
        let mut changed = std::mem::take(&mut self.changed);
        let mut gone: BTreeSet<String> = changed.iter().flat_map(|key| self.work_out(key)).collect();
        if was_large != (self.endpoints > LARGE_CLUSTER) {
            // Comments come or go everywhere.
            changed = self.services.keys().cloned().collect();
            gone.extend(changed.iter().flat_map(|key| self.work_out(key)));
        }
        let all = self.written.values().flat_map(|written| &written.contributions);
        let [(filter, filter_change), (nat, mut nat_change)] = iptables::shared_chains(all);
        // Of Services that did not change the chains stay as they are.
        for contribution in changed.iter().filter_map(|key| self.written.get(key)).flat_map(|w| &w.contributions) {
            nat_change.chains.extend(contribution.chains.iter().map(|(name, rules)| (name.clone(), rules.clone())));
        }
        if full {
            // Chains may be left from an earlier life of this process.
            gone.extend(iptables::service_chains(netfilter));
        }
        gone.retain(|chain| !nat_change.chains.contains_key(chain));
        nat_change.delete = gone.into_iter().collect();
        netfilter.rules.restore(filter, filter_change)?;
        netfilter.rules.restore(nat, nat_change)?;
        iptables::forget_stale_udp(netfilter, self.portals());
        Ok(())
    }

    /// A Service's portals, as far as they are not written yet.
    fn portals_of(&self, key: &Key) -> Vec<Portal> {
        let none = BTreeMap::new();
        let slices = self.slices.get(key).unwrap_or(&none);
        let service = self.services.get(key);
        let mut portals = service.map(|service| portal::portals(service, slices, &self.here)).unwrap_or_default();
        if let Some(chosen) = self.chosen.get(key) {
            portals.iter_mut().for_each(|portal| portal.chosen = chosen.get(&portal.name).cloned());
        }
        portals
    }

    /// Works a Service out anew; returns the chains that it had before.
    fn work_out(&mut self, key: &Key) -> Vec<String> {
        let portals = self.portals_of(key);
        let style = Style { pods: PODS, comments: self.endpoints <= LARGE_CLUSTER };
        let contributions = portals.iter().map(|portal| iptables::contribute(portal, &self.here, style)).collect();
        let written = Written { portals, contributions };
        self.endpoints += written.endpoints();
        let old = if written.portals.is_empty() {
            self.written.remove(key)
        } else {
            self.written.insert(key.clone(), Rc::new(written))
        };
        self.endpoints -= old.as_ref().map_or(0, |old| old.endpoints());
        old.iter().flat_map(|old| old.chains()).cloned().collect()
    }
}

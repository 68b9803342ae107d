//! The part of kube-proxy without an API: changes in, rules out.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::iptables::{self, Contribution, Style};
use super::names::PortName;
use super::portal::{self, Chosen, Location, Portal};
use crate::netfilter::{Cidr, Netfilter, RulesetError};
use client::informer::Change;
use object::well_known::{SERVICE_NAME, ZONE};
use object::{Accessor, Key, Object};

/// Where all Pods' addresses lie: `--cluster-cidr`.
pub const PODS: Cidr = Cidr { address: std::net::Ipv4Addr::new(10, 244, 0, 0), prefix: 16 };
/// The number of endpoints above which rules carry no comments about each.
const LARGE_CLUSTER: usize = 1000;

/// What it knows, and has written.
#[derive(Clone, Default)]
pub struct Proxier {
    pub(super) here: Location,
    pub(super) services: BTreeMap<Key, Arc<Service>>,
    /// By Service, then by name.
    pub(super) slices: BTreeMap<Key, BTreeMap<String, Arc<EndpointSlice>>>,
    /// Services with a change that is not written yet.
    pub(super) changed: BTreeSet<Key>,
    /// The endpoints that another chooser has chosen, by Service and by the names of its ports.
    pub(super) chosen: BTreeMap<Key, BTreeMap<PortName, Chosen>>,
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
    /// Nothing yet, on a node that is there.
    pub(super) fn new(here: Location) -> Proxier {
        Proxier { here, ..Proxier::default() }
    }

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
    pub(super) fn portals_of(&self, key: &Key) -> Vec<Portal> {
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

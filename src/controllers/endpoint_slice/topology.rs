//! Topology aware routing: a Service with the annotation `service.kubernetes.io/topology-mode: Auto` tells for which
//! zone each of its endpoints is meant, so that every zone gets its share.
//!
//! A zone's share is that of its nodes in the CPU of all. At first each endpoint is meant for its own zone; then zones with
//! too many give some of theirs to zones with too few. Where some zone would get a fifth too little in any case, or too
//! little is known, no endpoint gets a hint, and an Event says why. `trafficDistribution` is the newer way, and knows no
//! shares. Mirrors `k8s.io/endpointslice/topologycache`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointSlice, ForZone};

use client::EventType;
use engine::{Hub, Memory};
use object::Key;
use object::node::is_ready;
use object::quantity::Amount;
use object::well_known::ZONE;

use super::pack::Plan;

/// By which share a zone's endpoints may have more to do than others'.
const OVERLOAD_MAX: f64 = 0.2;

/// Type, reason and message of an Event.
pub type Telling = (EventType, &'static str, String);

/// How many of something in which zone.
type Zones<N> = BTreeMap<String, N>;

/// What the controller remembers of zones.
#[derive(Clone, Debug)]
pub struct Topology(Memory<State>);

#[derive(Clone, Debug, Default)]
struct State {
    /// The share of each zone; None unless enough is known about at least two of them.
    shares: Option<Zones<f64>>,
    /// How many endpoints are meant for which zone, of the Services that are told apart so.
    told: BTreeMap<Key, Zones<i64>>,
    /// Nodes have changed since the shares were worked out.
    outdated: bool,
}

/// How many endpoints a zone should have.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Allocation {
    max: i64,
    desired: f64,
}

/// Whether the Service asks for it.
pub fn is_asked_for(service: &Service) -> bool {
    let annotation = |name: &str| service.metadata.annotations.as_ref()?.get(name);
    let mode = annotation("service.kubernetes.io/topology-aware-hints")
        .or_else(|| annotation("service.kubernetes.io/topology-mode"));
    mode.is_some_and(|mode| mode == "Auto" || mode == "auto")
}

/// Whether a node's change may change shares.
pub fn concerns(old: &Node, new: &Node) -> bool {
    is_ready(old) != is_ready(new) || zone_of(old) != zone_of(new)
}

impl Topology {
    /// Nothing is known yet.
    pub fn new(hub: &Hub) -> Topology {
        Topology(hub.memory(State { outdated: true, ..State::default() }))
    }

    /// Nodes have changed. Which Services have to be looked at again; of none the nodes need not be looked at. Mirrors
    /// `checkNodeTopologyDistribution`.
    pub fn nodes_changed(&self, nodes: impl FnOnce() -> Vec<Arc<Node>>) -> Vec<Key> {
        self.0.borrow_mut().outdated = true;
        if self.0.borrow().told.is_empty() {
            return Vec::new();
        }
        self.work_out_shares(nodes);
        let state = self.0.borrow();
        let those = state.told.iter().filter(|(_, told)| is_overloaded(told, state.shares.as_ref()));
        those.map(|(service, _)| service.clone()).collect()
    }

    fn work_out_shares(&self, nodes: impl FnOnce() -> Vec<Arc<Node>>) {
        let mut state = self.0.borrow_mut();
        if std::mem::take(&mut state.outdated) {
            state.shares = shares(&nodes());
        }
    }

    /// Writes into the slices of a plan for whom their endpoints are, or takes that out; the slices that nothing else changes
    /// come into the plan if they have to. Mirrors `AddHints`.
    pub fn add_hints(
        &self,
        service: &Key,
        plan: &mut Plan,
        unchanged: &[Arc<EndpointSlice>],
        nodes: impl FnOnce() -> Vec<Arc<Node>>,
    ) -> Option<Telling> {
        self.work_out_shares(nodes);
        let told = self.hint(plan, unchanged);
        let mut state = self.0.borrow_mut();
        match told {
            Ok(zones) => {
                let is_new = state.told.insert(service.clone(), zones).is_none();
                let message = "Topology Aware Hints has been enabled, addressType: IPv4".to_owned();
                is_new.then_some((EventType::Normal, "TopologyAwareHintsEnabled", message))
            }
            Err(why) => {
                state.told.remove(service);
                remove_hints(plan, unchanged);
                let message = format!("{why}, addressType: IPv4");
                Some((EventType::Warning, "TopologyAwareHintsDisabled", message))
            }
        }
    }

    /// The Service does not ask for it, or not any more.
    pub fn give_up(&self, service: &Key) -> Option<Telling> {
        self.0.borrow_mut().told.remove(service)?;
        let message = "Topology Aware Hints has been disabled, addressType: IPv4".to_owned();
        Some((EventType::Warning, "TopologyAwareHintsDisabled", message))
    }

    /// How many endpoints are meant for which zone then; or why there are none.
    fn hint(&self, plan: &mut Plan, unchanged: &[Arc<EndpointSlice>]) -> Result<Zones<i64>, String> {
        let planned = plan.create.iter().chain(&plan.update);
        let all =
            planned.chain(unchanged.iter().map(|slice| &**slice)).flat_map(|slice| slice.endpoints.iter().flatten());
        let allocations = allocations(self.0.borrow().shares.as_ref(), all.filter(|e| ready(e)).count() as i64)?;
        let mut zones = Zones::new();
        for slice in unchanged {
            match hints_of(slice, &zones, &allocations) {
                Some(hints) => hints.into_iter().for_each(|(zone, count)| *zones.entry(zone).or_default() += count),
                None => plan.update.push(EndpointSlice::clone(slice)),
            }
        }
        let mut endpoints: Vec<&mut Endpoint> = plan
            .create
            .iter_mut()
            .chain(&mut plan.update)
            .flat_map(|slice| slice.endpoints.iter_mut().flatten())
            .filter(|endpoint| ready(endpoint))
            .collect();
        for endpoint in &mut endpoints {
            let Some(zone) = endpoint.zone.clone() else {
                return Err("One or more endpoints do not have a zone specified".to_owned());
            };
            *zones.entry(zone.clone()).or_default() += 1;
            endpoint.hints = Some(for_zone(zone));
        }
        redistribute(endpoints, &allocations, &mut zones);
        if zones.is_empty() { Err("No hints allocated for zones".to_owned()) } else { Ok(zones) }
    }
}

/// Zones that have too many give to those that have too few.
fn redistribute(endpoints: Vec<&mut Endpoint>, allocations: &Zones<Allocation>, zones: &mut Zones<i64>) {
    let (mut giving, mut receiving) = transfers(allocations, zones);
    for endpoint in endpoints {
        let Some(from) = endpoint.zone.clone().filter(|zone| giving.contains_key(zone)) else { continue };
        let Some(to) = receiving.keys().next().cloned() else { return };
        for (zone, left) in [(&from, &mut giving), (&to, &mut receiving)] {
            left.entry(zone.clone()).and_modify(|count| *count -= 1);
            left.retain(|_, count| *count > 0);
        }
        *zones.entry(from).or_default() -= 1;
        *zones.entry(to.clone()).or_default() += 1;
        endpoint.hints = Some(for_zone(to));
    }
}

/// How many endpoints which zone gives, and which gets. Mirrors `getGivingAndReceivingZones`.
fn transfers(allocations: &Zones<Allocation>, zones: &Zones<i64>) -> (Zones<i64>, Zones<i64>) {
    let surplus =
        |(zone, wanted): (&String, &Allocation)| zones.get(zone).copied().unwrap_or(0) as f64 - wanted.desired;
    let (mut surpluses, mut lacks) = (Zones::new(), Zones::new());
    for (zone, wanted) in allocations {
        let surplus = surplus((zone, wanted));
        if surplus > 0.0 {
            surpluses.insert(zone.clone(), surplus);
        } else if surplus < 0.0 {
            lacks.insert(zone.clone(), -surplus);
        }
    }
    let (mut giving, mut receiving) = (Zones::new(), Zones::new());
    while let (Some((from, gives)), Some((to, gets))) = (most(&surpluses), most(&lacks)) {
        if (gives < 1.0 && gets < 1.0) || gives < 0.5 || gets < 0.5 {
            break;
        }
        surpluses.insert(from.clone(), gives - 1.0);
        lacks.insert(to.clone(), gets - 1.0);
        *giving.entry(from).or_default() += 1;
        *receiving.entry(to).or_default() += 1;
    }
    (giving, receiving)
}

/// The zone with the most, if any has something.
fn most(zones: &Zones<f64>) -> Option<(String, f64)> {
    let mut most = None;
    for (zone, count) in zones {
        if *count > most.as_ref().map_or(0.0, |(_, most)| *most) {
            most = Some((zone.clone(), *count));
        }
    }
    most
}

/// How many endpoints of `count` each zone should have, or why that cannot be had. Mirrors `getAllocations`.
fn allocations(shares: Option<&Zones<f64>>, count: i64) -> Result<Zones<Allocation>, String> {
    const UNKNOWN: &str = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
    const TOO_MUCH: &str =
        "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold";
    let shares = shares.ok_or(UNKNOWN)?;
    let zones = shares.len();
    let of_how_many = format!("({count} endpoints, {zones} zones)");
    if zones as i64 > count {
        return Err(format!("Insufficient number of endpoints {of_how_many}"));
    }
    let min = |share: &f64| (share * count as f64 * (1.0 / (1.0 + OVERLOAD_MAX))).ceil();
    let spare = count - shares.values().map(|share| min(share) as i64).sum::<i64>();
    if spare < 0 {
        return Err(format!("{TOO_MUCH} {of_how_many}"));
    }
    let allocation = |(zone, share): (&String, &f64)| {
        let min = min(share);
        (zone.clone(), Allocation { max: min as i64 + spare, desired: min.max(share * count as f64) })
    };
    Ok(shares.iter().map(allocation).collect())
}

/// For which zones the endpoints of a slice are meant; None if that will not do any more. Mirrors `getHintsByZone`.
fn hints_of(slice: &EndpointSlice, others: &Zones<i64>, allocations: &Zones<Allocation>) -> Option<Zones<i64>> {
    let mut hints = Zones::new();
    for endpoint in slice.endpoints.iter().flatten().filter(|endpoint| ready(endpoint)) {
        let zones = endpoint.hints.as_ref()?.for_zones.as_deref().filter(|zones| !zones.is_empty())?;
        for zone in zones {
            allocations.get(&zone.name)?;
            *hints.entry(zone.name.clone()).or_default() += 1;
        }
    }
    let fits = |(zone, count): (&String, &i64)| {
        allocations.get(zone).is_some_and(|wanted| count + others.get(zone).unwrap_or(&0) <= wanted.max)
    };
    hints.iter().all(fits).then_some(hints)
}

/// Mirrors `RemoveHintsFromSlices`.
fn remove_hints(plan: &mut Plan, unchanged: &[Arc<EndpointSlice>]) {
    let planned = |slice: &EndpointSlice| plan.update.iter().any(|there| there.metadata.name == slice.metadata.name);
    let hinted = |slice: &&Arc<EndpointSlice>| slice.endpoints.iter().flatten().any(|e| e.hints.is_some());
    let more: Vec<EndpointSlice> = unchanged
        .iter()
        .filter(hinted)
        .filter(|slice| !planned(slice))
        .map(|slice| EndpointSlice::clone(slice))
        .collect();
    plan.update.extend(more);
    for slice in plan.create.iter_mut().chain(&mut plan.update) {
        slice.endpoints.iter_mut().flatten().for_each(|endpoint| endpoint.hints = None);
    }
}

/// Each zone's share of the CPU of the nodes that are ready. Mirrors `SetNodes`.
fn shares(nodes: &[Arc<Node>]) -> Option<Zones<f64>> {
    let mut zones: Zones<i64> = Zones::new();
    for node in nodes.iter().filter(|node| !is_control_plane(node) && is_ready(node)) {
        let zone = zone_of(node).filter(|zone| !zone.is_empty())?;
        let allocatable = node.status.as_ref()?.allocatable.as_ref()?.get("cpu")?;
        let cpu = Some(Amount::of(allocatable).milli_value()).filter(|cpu| *cpu != 0)?;
        *zones.entry(zone.to_owned()).or_default() += cpu;
    }
    let all: i64 = zones.values().sum();
    (zones.len() > 1).then(|| zones.into_iter().map(|(zone, cpu)| (zone, cpu as f64 / all as f64)).collect())
}

/// Whether a zone has too few of the endpoints, now that shares have changed. Mirrors `serviceOverloaded`.
fn is_overloaded(told: &Zones<i64>, shares: Option<&Zones<f64>>) -> bool {
    let Some(shares) = shares else { return !told.is_empty() };
    let all = told.values().sum::<i64>() as f64;
    let too_few = |(zone, share): (&String, &f64)| {
        let min = (all * share * (1.0 / (1.0 + OVERLOAD_MAX))).ceil() as i64;
        told.get(zone).is_none_or(|count| *count < min)
    };
    !told.is_empty() && shares.iter().any(too_few)
}

fn for_zone(name: String) -> EndpointHints {
    EndpointHints { for_zones: Some(vec![ForZone { name }]), for_nodes: None }
}

fn ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().is_some_and(|conditions| conditions.ready == Some(true))
}

fn zone_of(node: &Node) -> Option<&str> {
    node.metadata.labels.as_ref()?.get(ZONE).map(String::as_str)
}

fn is_control_plane(node: &Node) -> bool {
    const ROLES: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
    node.metadata.labels.as_ref().is_some_and(|labels| ROLES.iter().any(|role| labels.contains_key(*role)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(zone: &str, cpu: &str) -> Arc<Node> {
        let status = json!({"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]});
        let node = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}, "status": status});
        Arc::new(serde_json::from_value(node).unwrap())
    }

    fn slice(name: &str, zones: &str) -> EndpointSlice {
        let endpoint = |zone: &str| json!({"addresses": [], "conditions": {"ready": true}, "zone": zone});
        let endpoints: Vec<_> = zones.split(' ').map(endpoint).collect();
        let slice = json!({"metadata": {"name": name}, "addressType": "IPv4", "endpoints": endpoints});
        serde_json::from_value(slice).unwrap()
    }

    fn hints(slice: &EndpointSlice) -> String {
        let hint = |endpoint: &Endpoint| {
            endpoint.hints.as_ref().map_or("-".to_owned(), |hints| hints.for_zones.as_ref().unwrap()[0].name.clone())
        };
        slice.endpoints.iter().flatten().map(hint).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_zone_gets_its_share() {
        let same = vec![node("a", "4"), node("b", "4"), node("c", "4")];
        let uneven = vec![node("a", "8"), node("b", "4")];
        let enabled = "Topology Aware Hints has been enabled";
        for (nodes, zones, want, told) in [
            (&same, "a b c", "a b c", enabled),
            (&same, "a a b b c c", "a a b b c c", enabled),
            (&same, "a a a a b c", "b c a a b c", enabled),
            (&uneven, "a b b", "a a b", enabled),
            (&same, "a b", "- -", "Insufficient number of endpoints (2 endpoints, 3 zones)"),
            (
                &same,
                "a a b c",
                "- - - -",
                "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)",
            ),
            (
                &vec![node("a", "4")],
                "a a",
                "- -",
                "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
            ),
        ] {
            let topology = Topology::new(&Hub::new(0));
            let mut plan = Plan { update: vec![slice("s", zones)], ..Plan::default() };
            let telling = topology.add_hints(&Key::new("ns", "web"), &mut plan, &[], || nodes.clone()).unwrap();
            assert_eq!(telling.2, format!("{told}, addressType: IPv4"), "{zones}");
            assert_eq!(hints(&plan.update[0]), want, "{zones}");
        }
    }

    #[test]
    fn what_is_right_stays_and_the_rest_is_written() {
        let topology = Topology::new(&Hub::new(0));
        let (key, nodes) = (Key::new("ns", "web"), vec![node("a", "4"), node("b", "4")]);
        let mut plan = Plan { create: vec![slice("s", "a b")], ..Plan::default() };
        assert!(topology.add_hints(&key, &mut plan, &[], || nodes.clone()).is_some());
        let there = Arc::new(plan.create.remove(0));
        let mut plan = Plan::default();
        assert_eq!(topology.add_hints(&key, &mut plan, std::slice::from_ref(&there), || nodes.clone()), None);
        assert_eq!(plan, Plan::default());
        // A zone more, and not enough endpoints.
        let more = [nodes, vec![node("c", "4")]].concat();
        assert_eq!(topology.nodes_changed(|| more.clone()), std::slice::from_ref(&key));
        assert!(topology.add_hints(&key, &mut plan, &[there], || more.clone()).is_some());
        assert_eq!(hints(&plan.update[0]), "- -");
        assert_eq!(topology.nodes_changed(|| more), []);
        assert_eq!(topology.give_up(&key), None);
    }
}

//! What a node knows of one port of one Service, and which endpoints it chooses from. Mirrors `serviceport.go`,
//! `endpoint.go` and `topology.go` of `pkg/proxy`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::names::PortName;
use crate::netfilter::{Cidr, Protocol};

/// How long a client stays with its endpoint, unless the Service says otherwise.
const AFFINITY_SECONDS: u32 = 10_800;

/// One port of one Service.
#[derive(Clone, Debug, PartialEq)]
pub struct Portal {
    /// Whose.
    pub name: PortName,
    /// Its address inside the cluster.
    pub cluster_ip: Ipv4Addr,
    /// Its port there.
    pub port: u16,
    /// Its port on every node.
    pub node_port: Option<u16>,
    /// Addresses that a router outside the cluster leads to the nodes.
    pub external_ips: Vec<Ipv4Addr>,
    /// Addresses of load balancers.
    pub load_balancer_ips: Vec<Ipv4Addr>,
    /// Which clients may use these; empty: all.
    pub source_ranges: Vec<Cidr>,
    /// Seconds for which a client stays with its endpoint.
    pub affinity: Option<u32>,
    /// `internalTrafficPolicy: Local`
    pub internal_local: bool,
    /// `externalTrafficPolicy: Local`
    pub external_local: bool,
    /// All of them, in the order of their text.
    pub endpoints: Vec<Backend>,
    /// Which of them were chosen, if it was not [`Portal::choose`] who did.
    pub chosen: Option<Chosen>,
}

/// One endpoint of a portal.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    /// The Pod's address.
    pub ip: Ipv4Addr,
    /// The Pod's port.
    pub port: u16,
    /// It takes new connections.
    pub ready: bool,
    /// It still answers.
    pub serving: bool,
    /// It is on its way out.
    pub terminating: bool,
    /// It is on this node.
    pub local: bool,
    /// Zones that are to use it; empty: no hint.
    pub for_zones: Vec<String>,
    /// Nodes that are to use it.
    pub for_nodes: Vec<String>,
}

/// The endpoints that another chooser has chosen, in the order of their text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Under the policy Cluster.
    pub cluster: Vec<Backend>,
    /// Under the policy Local.
    pub local: Vec<Backend>,
    /// Whether there is one anywhere.
    pub any: bool,
}

impl Chosen {
    /// The same, as the rules are written from it.
    pub(super) fn choice(&self) -> Choice<'_> {
        let mut reachable: Vec<&Backend> = self.cluster.iter().chain(&self.local).collect();
        reachable.sort_by_key(ToString::to_string);
        reachable.dedup_by_key(|backend| backend.to_string());
        Choice { cluster: self.cluster.iter().collect(), local: self.local.iter().collect(), reachable, any: self.any }
    }
}

/// Where a node is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Location {
    /// Its name.
    pub node: String,
    /// Its zone, if it is labelled.
    pub zone: String,
    /// Its address, once it is known.
    pub ip: Option<Ipv4Addr>,
}

impl std::fmt::Display for Backend {
    /// `10.244.1.2:8080`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.ip, self.port)
    }
}

/// The portals of a Service: none if it has no address of its own. Mirrors `ShouldSkipService` and `newBaseServiceInfo`.
pub fn portals(service: &Service, slices: &BTreeMap<String, Arc<EndpointSlice>>, here: &Location) -> Vec<Portal> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let ip = spec.cluster_ip.as_deref().and_then(|ip| ip.parse().ok());
    let (Some(cluster_ip), false) = (ip, spec.type_.as_deref() == Some("ExternalName")) else { return Vec::new() };
    let ports = spec.ports.iter().flatten();
    ports.filter_map(|port| portal(service, spec, port, cluster_ip, slices, here)).collect()
}

fn portal(
    service: &Service,
    spec: &ServiceSpec,
    port: &ServicePort,
    cluster_ip: Ipv4Addr,
    slices: &BTreeMap<String, Arc<EndpointSlice>>,
    here: &Location,
) -> Option<Portal> {
    let name = PortName {
        namespace: service.metadata.namespace.clone().unwrap_or_default(),
        service: service.metadata.name.clone().unwrap_or_default(),
        port: port.name.clone().unwrap_or_default(),
        protocol: Protocol::parse(port.protocol.as_deref().unwrap_or("TCP"))?,
    };
    let local = |policy: &Option<String>| policy.as_deref() == Some("Local");
    let seconds = spec.session_affinity_config.as_ref().and_then(|config| config.client_ip.as_ref()?.timeout_seconds);
    let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(AFFINITY_SECONDS);
    let ingress = service.status.iter().filter_map(|status| status.load_balancer.as_ref()?.ingress.as_ref()).flatten();
    // Mirrors `IsVIPMode`: a balancer that is a proxy is not gone past.
    let ingress = ingress.filter(|ingress| ingress.ip_mode.as_deref() != Some("Proxy"));
    Some(Portal {
        endpoints: backends(&name, slices, here),
        chosen: None,
        name,
        cluster_ip,
        port: u16::try_from(port.port).ok()?,
        node_port: port.node_port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0),
        external_ips: spec.external_ips.iter().flatten().filter_map(|ip| ip.parse().ok()).collect(),
        load_balancer_ips: ingress.filter_map(|ingress| ingress.ip.as_ref()?.parse().ok()).collect(),
        source_ranges: source_ranges(spec),
        affinity: (spec.session_affinity.as_deref() == Some("ClientIP")).then_some(seconds),
        internal_local: local(&spec.internal_traffic_policy),
        external_local: local(&spec.external_traffic_policy),
    })
}

/// Who may come through a load balancer; everybody, if one of the ranges has all addresses in it.
fn source_ranges(spec: &ServiceSpec) -> Vec<Cidr> {
    let ranges = spec.load_balancer_source_ranges.iter().flatten();
    let ranges: Vec<Cidr> = ranges.filter_map(|range| range.trim().parse().ok()).collect();
    if ranges.iter().any(|range| range.prefix == 0) { Vec::new() } else { ranges }
}

/// The endpoints of one port, from all slices of the Service.
fn backends(name: &PortName, slices: &BTreeMap<String, Arc<EndpointSlice>>, here: &Location) -> Vec<Backend> {
    let mut found: BTreeMap<String, Backend> = BTreeMap::new();
    for slice in slices.values() {
        let same = |port: &&k8s_openapi::api::discovery::v1::EndpointPort| {
            port.name.as_deref().unwrap_or_default() == name.port
                && Protocol::parse(port.protocol.as_deref().unwrap_or("TCP")) == Some(name.protocol)
        };
        let ports = slice.ports.iter().flatten().filter(same);
        for port in ports.filter_map(|port| u16::try_from(port.port?).ok()) {
            let endpoints = slice.endpoints.iter().flatten().filter_map(|endpoint| backend(endpoint, port, here));
            for backend in endpoints {
                let id = backend.to_string();
                // A Pod may be in two slices while it moves from one to the other; or two Pods may have the address, of
                // which one is on its way out.
                let rank = |backend: &Backend| (!backend.terminating, backend.ready);
                if found.get(&id).is_none_or(|there| rank(there) <= rank(&backend)) {
                    found.insert(id, backend);
                }
            }
        }
    }
    found.into_values().collect()
}

fn backend(endpoint: &Endpoint, port: u16, here: &Location) -> Option<Backend> {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    let ready = conditions.ready.unwrap_or(true);
    let hints = endpoint.hints.as_ref();
    Some(Backend {
        ip: endpoint.addresses.first()?.parse().ok()?,
        port,
        ready,
        serving: conditions.serving.unwrap_or(true),
        terminating: conditions.terminating.unwrap_or(false),
        local: endpoint.node_name.as_ref() == Some(&here.node),
        for_zones: hints.iter().flat_map(|h| h.for_zones.iter().flatten()).map(|zone| zone.name.clone()).collect(),
        for_nodes: hints.iter().flat_map(|h| h.for_nodes.iter().flatten()).map(|node| node.name.clone()).collect(),
    })
}

/// Which endpoints traffic may go to. Mirrors `CategorizeEndpoints`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice<'a> {
    /// Under the policy Cluster.
    pub cluster: Vec<&'a Backend>,
    /// Under the policy Local.
    pub local: Vec<&'a Backend>,
    /// Either: those that need a chain on this node.
    pub reachable: Vec<&'a Backend>,
    /// Whether there is one anywhere.
    pub any: bool,
}

impl Portal {
    /// Whether a client outside the cluster can come in.
    pub fn is_external(&self) -> bool {
        self.node_port.is_some() || !self.external_ips.is_empty() || !self.load_balancer_ips.is_empty()
    }

    /// Even a Service that keeps outside traffic local sends its own Pods' to any endpoint.
    pub fn uses_cluster(&self) -> bool {
        !self.internal_local || self.is_external()
    }

    /// Whether any traffic stays on its node.
    pub fn uses_local(&self) -> bool {
        self.internal_local || (self.external_local && self.is_external())
    }

    /// Chooses: ready endpoints that are meant for this place; if there are none, those that are going but still answer.
    pub fn choose(&self, here: &Location) -> Choice<'_> {
        if let Some(chosen) = &self.chosen {
            return chosen.choice();
        }
        let all = || self.endpoints.iter();
        let dying = |backend: &&Backend| !backend.ready && backend.serving && backend.terminating;
        let near = self.nearness(here);
        let mut choice = Choice::default();
        if self.uses_cluster() {
            choice.cluster =
                all().filter(|backend| backend.ready && near.is_none_or(|near| near(backend, here))).collect();
            if choice.cluster.is_empty() {
                choice.cluster = all().filter(dying).collect();
            }
        }
        if self.uses_local() {
            choice.local = all().filter(|backend| backend.ready && backend.local).collect();
            if choice.local.is_empty() {
                choice.local = all().filter(|backend| backend.local && dying(backend)).collect();
            }
        }
        let chosen =
            |backend: &&Backend| choice.cluster.iter().chain(&choice.local).any(|other| std::ptr::eq(*other, *backend));
        let reachable = all().filter(chosen).collect();
        let any_local = self.uses_local() && all().any(|backend| backend.ready || dying(&backend));
        choice.any = !choice.cluster.is_empty() || any_local;
        choice.reachable = reachable;
        choice
    }

    /// What makes an endpoint near enough, if all ready ones say whom they are for and one is for here. Mirrors
    /// `topologyModeFromHints`.
    fn nearness(&self, here: &Location) -> Option<fn(&Backend, &Location) -> bool> {
        let for_node = |backend: &Backend, here: &Location| backend.for_nodes.contains(&here.node);
        let for_zone = |backend: &Backend, here: &Location| backend.for_zones.contains(&here.zone);
        let ready = || self.endpoints.iter().filter(|backend| backend.ready);
        if ready().all(|backend| !backend.for_nodes.is_empty()) && ready().any(|backend| for_node(backend, here)) {
            return Some(for_node);
        }
        let hinted = ready().all(|backend| !backend.for_zones.is_empty());
        (hinted && ready().any(|backend| for_zone(backend, here))).then_some(for_zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(last: u8, more: fn(&mut Backend)) -> Backend {
        let mut backend = Backend {
            ip: Ipv4Addr::new(10, 244, 0, last),
            port: 80,
            ready: true,
            serving: true,
            terminating: false,
            local: false,
            for_zones: Vec::new(),
            for_nodes: Vec::new(),
        };
        more(&mut backend);
        backend
    }

    fn portal(endpoints: Vec<Backend>) -> Portal {
        Portal {
            name: PortName { namespace: "n".into(), service: "s".into(), port: String::new(), protocol: Protocol::Tcp },
            cluster_ip: Ipv4Addr::new(10, 96, 0, 9),
            port: 80,
            node_port: None,
            external_ips: Vec::new(),
            load_balancer_ips: Vec::new(),
            source_ranges: Vec::new(),
            affinity: None,
            internal_local: false,
            external_local: false,
            endpoints,
            chosen: None,
        }
    }

    fn last(backends: &[&Backend]) -> Vec<u8> {
        backends.iter().map(|backend| backend.ip.octets()[3]).collect()
    }

    #[test]
    fn ready_ones_first_then_those_that_still_answer() {
        let dying = |b: &mut Backend| (b.ready, b.terminating) = (false, true);
        let dead = |b: &mut Backend| (b.ready, b.serving, b.terminating) = (false, false, true);
        let waiting = |b: &mut Backend| (b.ready, b.serving) = (false, false);
        let here = Location { node: "node-1".into(), zone: "a".into(), ip: None };
        let mut portal = portal(vec![backend(1, |_| {}), backend(2, dying), backend(3, waiting), backend(4, dead)]);
        assert_eq!(last(&portal.choose(&here).cluster), [1]);
        portal.endpoints.remove(0);
        let choice = portal.choose(&here);
        assert_eq!((last(&choice.cluster), choice.any), (vec![2], true));
        portal.endpoints.remove(0);
        assert_eq!(portal.choose(&here), Choice::default(), "nobody answers");
    }

    #[test]
    fn local_policies_choose_on_this_node() {
        let here = Location { node: "node-1".into(), zone: "a".into(), ip: None };
        let mut portal = portal(vec![backend(1, |b| b.local = true), backend(2, |_| {})]);
        portal.internal_local = true;
        let choice = portal.choose(&here);
        assert_eq!((last(&choice.cluster), last(&choice.local), last(&choice.reachable)), (vec![], vec![1], vec![1]));
        (portal.internal_local, portal.external_local, portal.node_port) = (false, true, Some(30080));
        let choice = portal.choose(&here);
        assert_eq!((last(&choice.cluster), last(&choice.local)), (vec![1, 2], vec![1]));
        portal.endpoints[0].local = false;
        let choice = portal.choose(&here);
        assert_eq!((last(&choice.local), choice.any), (vec![], true));
    }

    #[test]
    fn hints_count_when_all_have_them() {
        let here = Location { node: "node-1".into(), zone: "a".into(), ip: None };
        let zone_a: fn(&mut Backend) = |b| b.for_zones = vec!["a".into()];
        let zone_b: fn(&mut Backend) = |b| b.for_zones = vec!["b".into()];
        for (endpoints, want) in [
            (vec![backend(1, zone_a), backend(2, zone_b)], vec![1]),
            (vec![backend(1, zone_a), backend(2, |_| {})], vec![1, 2]),
            (vec![backend(1, zone_b), backend(2, zone_b)], vec![1, 2]),
        ] {
            assert_eq!(last(&portal(endpoints).choose(&here).cluster), want);
        }
    }
}

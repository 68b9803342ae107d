//! What is said of addresses: one of IPv6 that is written in another way than it is usually. Mirrors `GetWarningsForIP` and
//! `GetWarningsForCIDR` of `k8s.io/apimachinery/pkg/util/validation`; what else they tell of is refused.

use std::net::Ipv6Addr;

use k8s_openapi::api::core::v1::{Endpoints, PodSpec, Service, ServiceSpec};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy, NetworkPolicyPeer};

/// Of a label with this value, the addresses are a controller's, which writes them well.
const MANAGED_BY: (&str, &str) = ("endpoints.kubernetes.io/managed-by", "endpoint-controller");

fn of_ip(told: &mut Vec<String>, path: &str, ip: &str) {
    let Ok(address) = ip.parse::<Ipv6Addr>() else { return };
    let usual = address.to_string();
    if usual != ip {
        told.push(format!("{path}: IPv6 address {ip:?} should be in RFC 5952 canonical format ({usual:?})"));
    }
}

fn of_cidr(told: &mut Vec<String>, path: &str, cidr: &str) {
    let Some((Ok(address), bits)) = cidr.split_once('/').map(|(ip, bits)| (ip.parse::<Ipv6Addr>(), bits)) else {
        return;
    };
    let usual = format!("{address}/{bits}");
    if usual != cidr {
        told.push(format!("{path}: IPv6 CIDR value {cidr:?} should be in RFC 5952 canonical format ({usual:?})"));
    }
}

/// Name servers, and addresses of hosts by other names.
pub(super) fn of_pod_spec(told: &mut Vec<String>, path: &str, spec: &PodSpec) {
    let servers = spec.dns_config.iter().flat_map(|config| config.nameservers.iter().flatten());
    servers.enumerate().for_each(|(i, ip)| of_ip(told, &format!("{path}.dnsConfig.nameservers[{i}]"), ip));
    let aliases = spec.host_aliases.iter().flatten().enumerate();
    aliases.for_each(|(i, alias)| of_ip(told, &format!("{path}.hostAliases[{i}].ip"), &alias.ip));
}

/// The addresses that a Service has inside.
pub(super) fn inside(told: &mut Vec<String>, spec: &ServiceSpec) {
    let all = spec.cluster_ips.iter().flatten().enumerate().filter(|(_, ip)| *ip != "None");
    all.for_each(|(i, ip)| of_ip(told, &format!("spec.clusterIPs[{i}]"), ip));
}

/// Those that it has outside.
pub(super) fn outside(told: &mut Vec<String>, spec: &ServiceSpec) {
    let all = spec.external_ips.iter().flatten().enumerate();
    all.for_each(|(i, ip)| of_ip(told, &format!("spec.externalIPs[{i}]"), ip));
}

/// That of its load balancer, and from where that is reached.
pub(super) fn balanced(told: &mut Vec<String>, spec: &ServiceSpec) {
    spec.load_balancer_ip.iter().for_each(|ip| of_ip(told, "spec.loadBalancerIP", ip));
    let ranges = spec.load_balancer_source_ranges.iter().flatten().enumerate();
    ranges.for_each(|(i, range)| of_cidr(told, &format!("spec.loadBalancerSourceRanges[{i}]"), range));
}

pub fn of_endpoints(told: &mut Vec<String>, endpoints: &Endpoints) {
    let (label, controller) = MANAGED_BY;
    if endpoints.metadata.labels.as_ref().and_then(|all| all.get(label)).is_some_and(|value| value == controller) {
        return;
    }
    for (i, subset) in endpoints.subsets.iter().flatten().enumerate() {
        for (field, list) in [("addresses", &subset.addresses), ("notReadyAddresses", &subset.not_ready_addresses)] {
            for (j, address) in list.iter().flatten().enumerate() {
                of_ip(told, &format!("subsets[{i}].{field}[{j}].ip"), &address.ip);
            }
        }
    }
}

pub fn of_policy(told: &mut Vec<String>, policy: &NetworkPolicy) {
    let Some(spec) = &policy.spec else { return };
    for (i, rule) in spec.ingress.iter().flatten().enumerate() {
        of_peers(told, &format!("spec.ingress[{i}].from"), rule.from.as_deref());
    }
    for (i, rule) in spec.egress.iter().flatten().enumerate() {
        of_peers(told, &format!("spec.egress[{i}].to"), rule.to.as_deref());
    }
}

fn of_peers(told: &mut Vec<String>, path: &str, peers: Option<&[NetworkPolicyPeer]>) {
    for (i, peer) in peers.unwrap_or_default().iter().enumerate() {
        let Some(block) = &peer.ip_block else { continue };
        let path = format!("{path}[{i}].ipBlock");
        of_cidr(told, &format!("{path}.cidr"), &block.cidr);
        let except = block.except.iter().flatten().enumerate();
        except.for_each(|(i, range)| of_cidr(told, &format!("{path}.except[{i}]"), range));
    }
}

/// Where a Service is reached, as its status says.
pub fn of_service_status(told: &mut Vec<String>, service: &Service) {
    of_balancer(told, &ips_of_balancer(service));
}

/// The same of an Ingress.
pub fn of_ingress_status(told: &mut Vec<String>, ingress: &Ingress) {
    let balancer = ingress.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let there = balancer.iter().flat_map(|of| of.ingress.iter().flatten());
    of_balancer(told, &there.map(|there| there.ip.as_deref()).collect::<Vec<_>>());
}

fn of_balancer(told: &mut Vec<String>, ips: &[Option<&str>]) {
    for (i, ip) in ips.iter().enumerate() {
        of_ip(told, &format!("status.loadBalancer.ingress[{i}]"), ip.unwrap_or_default());
    }
}

fn ips_of_balancer(service: &Service) -> Vec<Option<&str>> {
    let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    balancer.iter().flat_map(|of| of.ingress.iter().flatten()).map(|there| there.ip.as_deref()).collect()
}

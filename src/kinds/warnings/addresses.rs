//! What is said of addresses: one of IPv6 that is written in another way than it is usually. Mirrors `GetWarningsForIP` and
//! `GetWarningsForCIDR` of `k8s.io/apimachinery/pkg/util/validation`; what else they tell of is refused.

use std::net::Ipv6Addr;

use k8s_openapi::api::core::v1::{PodSpec, ServiceSpec};

/// An address that is written in more than one way.
pub fn of_ip(told: &mut Vec<String>, path: &str, ip: &str) {
    let Ok(address) = ip.parse::<Ipv6Addr>() else { return };
    let usual = address.to_string();
    if usual != ip {
        told.push(format!("{path}: IPv6 address {ip:?} should be in RFC 5952 canonical format ({usual:?})"));
    }
}

/// The same of a range of addresses.
pub fn of_cidr(told: &mut Vec<String>, path: &str, cidr: &str) {
    let Some((Ok(address), bits)) = cidr.split_once('/').map(|(ip, bits)| (ip.parse::<Ipv6Addr>(), bits)) else {
        return;
    };
    let usual = format!("{address}/{bits}");
    if usual != cidr {
        told.push(format!("{path}: IPv6 CIDR value {cidr:?} should be in RFC 5952 canonical format ({usual:?})"));
    }
}

/// Name servers, and addresses of hosts by other names.
pub fn of_pod_spec(told: &mut Vec<String>, path: &str, spec: &PodSpec) {
    let servers = spec.dns_config.iter().flat_map(|config| config.nameservers.iter().flatten());
    servers.enumerate().for_each(|(i, ip)| of_ip(told, &format!("{path}.dnsConfig.nameservers[{i}]"), ip));
    let aliases = spec.host_aliases.iter().flatten().enumerate();
    aliases.for_each(|(i, alias)| of_ip(told, &format!("{path}.hostAliases[{i}].ip"), &alias.ip));
}

/// The addresses that a Service has inside.
pub fn inside(told: &mut Vec<String>, spec: &ServiceSpec) {
    let all = spec.cluster_ips.iter().flatten().enumerate().filter(|(_, ip)| *ip != "None");
    all.for_each(|(i, ip)| of_ip(told, &format!("spec.clusterIPs[{i}]"), ip));
}

/// Those that it has outside.
pub fn outside(told: &mut Vec<String>, spec: &ServiceSpec) {
    let all = spec.external_ips.iter().flatten().enumerate();
    all.for_each(|(i, ip)| of_ip(told, &format!("spec.externalIPs[{i}]"), ip));
}

/// That of its load balancer, and from where that is reached.
pub fn balanced(told: &mut Vec<String>, spec: &ServiceSpec) {
    spec.load_balancer_ip.iter().for_each(|ip| of_ip(told, "spec.loadBalancerIP", ip));
    let ranges = spec.load_balancer_source_ranges.iter().flatten().enumerate();
    ranges.for_each(|(i, range)| of_cidr(told, &format!("spec.loadBalancerSourceRanges[{i}]"), range));
}

/// The addresses of a load balancer, as a status says them.
pub fn of_balancer(told: &mut Vec<String>, ips: &[Option<&str>]) {
    for (i, ip) in ips.iter().enumerate() {
        of_ip(told, &format!("status.loadBalancer.ingress[{i}]"), ip.unwrap_or_default());
    }
}

//! Where Services lead, and which addresses they may have: Endpoints, EndpointSlices, IPAddresses, ServiceCIDRs.
//! Mirrors `ValidateEndpoints` of `pkg/apis/core/validation`, `pkg/apis/discovery/validation` and
//! `pkg/apis/networking/validation`.
//!
//! Left out: the deprecated topology labels, which `v1` does not take.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointPort, EndpointSlice};
use k8s_openapi::api::networking::v1::{IPAddress, ServiceCIDR};
use serde_json::json;

use crate::kinds::pod_template::container::PROTOCOLS;
use crate::object::selector::names::{check_label_key, check_label_value, check_subdomain};
use crate::object::validation::field::{Json, Path, Problems};
use crate::object::validation::internal::Internal;
use crate::object::validation::names::{check_canonical_cidr, check_canonical_ip, check_dns_label, check_ip, check_path_segment, check_port, parse_cidr, parse_ip_sloppy};
const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
/// The most zones, or nodes, that an endpoint is meant for.
const HINTS_MAX: usize = 8;
const IMMUTABLE: &str = "field is immutable";
const ADDRESS_TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];

/// Mirrors `ValidateEndpointsCreate`.
pub fn endpoints(problems: &mut Problems, endpoints: &Endpoints) {
    let list = Path::new("subsets");
    for (i, subset) in endpoints.subsets.iter().flatten().enumerate() {
        self::subset(problems, &list.index(i), subset);
    }
}

/// Mirrors `ValidateEndpointsUpdate`: what did not change is not looked at again.
pub fn endpoints_update(problems: &mut Problems, new: &Endpoints, old: &Endpoints) {
    if new.subsets != old.subsets {
        endpoints(problems, new);
    }
}

fn subset(problems: &mut Problems, path: &Path, subset: &EndpointSubset) {
    let (ready, waiting) = (subset.addresses.as_deref(), subset.not_ready_addresses.as_deref());
    if ready.unwrap_or_default().is_empty() && waiting.unwrap_or_default().is_empty() {
        problems.required(path, "must specify `addresses` or `notReadyAddresses`");
    }
    for (field, addresses) in [("addresses", ready), ("notReadyAddresses", waiting)] {
        let list = path.child(field);
        for (i, address) in addresses.unwrap_or_default().iter().enumerate() {
            endpoint_address(problems, &list.index(i), address);
        }
    }
    let (list, ports) = (path.child("ports"), subset.ports.as_deref().unwrap_or_default());
    for (i, port) in ports.iter().enumerate() {
        let path = list.index(i);
        match port.name.as_deref().unwrap_or_default() {
            "" if ports.len() > 1 => problems.required(&path.child("name"), ""),
            "" => {}
            name => problems.all_invalid(&path.child("name"), name, check_dns_label(name)),
        }
        if let Some(why) = check_port(port.port) {
            problems.invalid(&path.child("port"), port.port, why);
        }
        problems.one_of(&path.child("protocol"), port.protocol.as_deref(), PROTOCOLS);
        app_protocol(problems, &path, port.app_protocol.as_deref());
    }
}

fn app_protocol(problems: &mut Problems, path: &Path, protocol: Option<&str>) {
    if let Some(protocol) = protocol {
        problems.all_invalid(&path.child("appProtocol"), protocol, check_label_key(protocol));
    }
}

fn endpoint_address(problems: &mut Problems, path: &Path, address: &EndpointAddress) {
    let at = path.child("ip");
    if let Some(why) = check_ip(&address.ip) {
        problems.invalid(&at, address.ip.as_str(), why);
    }
    if let Some(name) = address.hostname.as_deref().filter(|name| !name.is_empty()) {
        problems.all_invalid(&path.child("hostname"), name, check_dns_label(name));
    }
    if let Some(node) = address.node_name.as_deref() {
        problems.all_invalid(&path.child("nodeName"), node, check_subdomain(node));
    }
    reachable(problems, &at, &address.ip);
}

/// Mirrors `ValidateEndpointSliceCreate`.
pub fn endpoint_slice(problems: &mut Problems, slice: &EndpointSlice) {
    slice_but_endpoints(problems, slice);
    slice_endpoints(problems, slice);
}

/// Mirrors `ValidateEndpointSliceUpdate`: endpoints that stay are not looked at again.
pub fn endpoint_slice_update(problems: &mut Problems, new: &EndpointSlice, old: &EndpointSlice) {
    slice_but_endpoints(problems, new);
    if new.endpoints != old.endpoints {
        slice_endpoints(problems, new);
    }
    let path = Path::new("addressType");
    problems.immutable(&path, &new.address_type, &old.address_type, |value| json!(value).to_string());
}

fn slice_but_endpoints(problems: &mut Problems, slice: &EndpointSlice) {
    problems.one_of(&Path::new("addressType"), Some(&slice.address_type), ADDRESS_TYPES);
    slice_ports(problems, slice.ports.as_deref().unwrap_or_default());
}

/// Mirrors `validateEndpoints`.
fn slice_endpoints(problems: &mut Problems, slice: &EndpointSlice) {
    let (list, endpoints) = (Path::new("endpoints"), slice.endpoints.as_deref().unwrap_or_default());
    if endpoints.len() > ENDPOINTS_MAX {
        return problems.too_many(&list, endpoints.len(), ENDPOINTS_MAX);
    }
    for (i, endpoint) in endpoints.iter().enumerate() {
        self::endpoint(problems, &list.index(i), endpoint, &slice.address_type);
    }
}

fn endpoint(problems: &mut Problems, path: &Path, endpoint: &Endpoint, address_type: &str) {
    let list = path.child("addresses");
    if endpoint.addresses.is_empty() {
        problems.required(&list, "must contain at least 1 address");
    } else if endpoint.addresses.len() > ADDRESSES_MAX {
        problems.too_many(&list, endpoint.addresses.len(), ADDRESSES_MAX);
    }
    for (i, address) in endpoint.addresses.iter().enumerate() {
        slice_address(problems, &list, i, address, address_type);
    }
    if let Some(node) = endpoint.node_name.as_deref() {
        problems.all_invalid(&path.child("nodeName"), node, check_subdomain(node));
    }
    if let Some(name) = endpoint.hostname.as_deref() {
        problems.all_invalid(&path.child("hostname"), name, check_dns_label(name));
    }
    if let Some(hints) = &endpoint.hints {
        self::hints(problems, &path.child("hints"), hints);
    }
}

/// An address of an endpoint, of the type of its slice. An IPv6 address may be written in one way only; one of the other
/// family is reported of the list.
fn slice_address(problems: &mut Problems, list: &Path, i: usize, address: &str, address_type: &str) {
    let path = list.index(i);
    let wrong = match address_type {
        "IPv4" => check_ip(address).map(str::to_owned),
        "IPv6" => check_canonical_ip(address),
        "FQDN" => return domain(problems, &path, address),
        _ => return,
    };
    if let Some(why) = wrong {
        return problems.invalid(&path, address, &why);
    }
    if address.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4() != (address_type == "IPv4")) {
        problems.invalid(list, address, &format!("must be an {address_type} address"));
    }
    reachable(problems, &path, address);
}

/// A name in DNS of two parts or more. Mirrors `IsFullyQualifiedDomainName`.
fn domain(problems: &mut Problems, path: &Path, name: &str) {
    if name.is_empty() {
        return problems.required(path, "");
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let wrong = check_subdomain(name);
    if !wrong.is_empty() {
        return problems.invalid(path, name, &wrong.join(","));
    }
    if !name.contains('.') {
        return problems.invalid(path, name, "should be a domain with at least two segments separated by dots");
    }
    let wrong = name.split('.').map(|label| (label, check_dns_label(label))).find(|(_, wrong)| !wrong.is_empty());
    if let Some((label, wrong)) = wrong {
        problems.invalid(path, label, &wrong.join(","));
    }
}

/// For whom an endpoint is meant. Mirrors `validateHints`.
fn hints(problems: &mut Problems, path: &Path, hints: &EndpointHints) {
    let zones = hints.for_zones.iter().flatten().map(|zone| zone.name.as_str()).collect::<Vec<_>>();
    if hinted(problems, &path.child("forZones"), &zones, check_label_value) {
        let nodes = hints.for_nodes.iter().flatten().map(|node| node.name.as_str()).collect::<Vec<_>>();
        hinted(problems, &path.child("forNodes"), &nodes, check_subdomain);
    }
}

/// Whether there are not too many for the rest to be looked at.
fn hinted(problems: &mut Problems, list: &Path, names: &[&str], check: fn(&str) -> Vec<String>) -> bool {
    if names.len() > HINTS_MAX {
        problems.too_many(list, names.len(), HINTS_MAX);
        return false;
    }
    for (i, name) in names.iter().enumerate() {
        let path = list.index(i);
        if names[..i].contains(name) {
            problems.duplicate(&path.child("name"), *name);
        }
        problems.all_invalid(&path.child("name"), name, check(name));
    }
    true
}

/// Mirrors `validatePorts`. Nobody looks at a port's number.
fn slice_ports(problems: &mut Problems, ports: &[EndpointPort]) {
    let (list, mut names) = (Path::new("ports"), BTreeSet::new());
    if ports.len() > PORTS_MAX {
        return problems.too_many(&list, ports.len(), PORTS_MAX);
    }
    for (i, port) in ports.iter().enumerate() {
        let path = list.index(i);
        let name = port.name.as_deref().unwrap_or_default();
        if !name.is_empty() {
            problems.all_invalid(&path.child("name"), name, check_dns_label(name));
        }
        if !names.insert(name) {
            problems.duplicate(&path.child("name"), name);
        }
        match port.protocol.as_deref() {
            None => problems.required(&path.child("protocol"), ""),
            Some(protocol) if PROTOCOLS.contains(&protocol) => {}
            Some(protocol) => problems.not_supported(&path.child("protocol"), protocol, PROTOCOLS),
        }
        app_protocol(problems, &path, port.app_protocol.as_deref());
    }
}

/// An address that a client can be sent to. Mirrors `IsValidIPForLegacyField` and `ValidateEndpointIP`.
pub(super) fn ip(problems: &mut Problems, path: &Path, address: &str) {
    if let Some(why) = check_ip(address) {
        problems.invalid(path, address, why);
    }
    reachable(problems, path, address);
}

/// Mirrors `ValidateEndpointIP`.
fn reachable(problems: &mut Problems, path: &Path, address: &str) {
    const LOOPBACK: &str = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
    const LINK: &str = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
    const MULTICAST: &str = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
    let Some(ip) = parse_ip_sloppy(address) else {
        return problems.invalid(path, address, "must be a valid IP address");
    };
    let (link, multicast) = match ip {
        IpAddr::V4(ip) => (Ipv4Addr::is_link_local(&ip), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (Ipv6Addr::is_unicast_link_local(&ip), ip.segments()[0] & 0xff0f == 0xff02),
    };
    let any = format!("may not be unspecified ({address})");
    let special = [(ip.is_unspecified(), &*any), (ip.is_loopback(), LOOPBACK), (link, LINK), (multicast, MULTICAST)];
    for (_, why) in special.into_iter().filter(|(is, _)| *is) {
        problems.invalid(path, address, why);
    }
}

/// Mirrors `ValidateIPAddress`: an address belongs to somebody.
pub fn ip_address(problems: &mut Problems, address: &IPAddress) {
    let spec = Path::new("spec");
    let path = spec.child("parentRef");
    let parent = &address.spec.parent_ref;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (group, namespace) = (text(&parent.group), text(&parent.namespace));
    if !group.is_empty() {
        problems.all_invalid(&path.child("group"), &group, check_subdomain(&group));
    }
    for (field, value) in [("resource", &parent.resource), ("name", &parent.name)] {
        match value.as_str() {
            "" => problems.required(&path.child(field), ""),
            value => problems.all_invalid(&path.child(field), value, check_path_segment(value)),
        }
    }
    problems.all_invalid(&path.child("namespace"), &namespace, check_path_segment(&namespace));
}

/// Mirrors `ValidateIPAddressUpdate`: an address never changes hands.
pub fn ip_address_update(problems: &mut Problems, new: &IPAddress, old: &IPAddress) {
    ip_address(problems, new);
    let spec = Path::new("spec");
    if new.spec.parent_ref != old.spec.parent_ref {
        let shown = Internal("ParentReference", &new.spec.parent_ref);
        problems.invalid(&spec.child("parentRef"), shown, IMMUTABLE);
    }
}

/// Mirrors `ValidateServiceCIDR`.
pub fn service_cidr(problems: &mut Problems, range: &ServiceCIDR) {
    const DUAL: &str = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
    let spec = Path::new("spec");
    let (list, cidrs) = (spec.child("cidrs"), cidrs(range));
    if cidrs.is_empty() {
        return problems.required(&list, "at least one CIDR required");
    }
    if cidrs.len() > 2 {
        let shown = Internal("ServiceCIDRSpec", &range.spec);
        return problems.invalid(&list, shown, "may only hold up to 2 values");
    }
    for (i, cidr) in cidrs.iter().enumerate() {
        if let Some(why) = check_canonical_cidr(cidr) {
            problems.invalid(&list.index(i), cidr.as_str(), &why);
        }
    }
    let family = |cidr: &String| parse_cidr(cidr).map(|(ip, _)| ip.is_ipv4());
    if let [first, second] = cidrs
        && family(first).is_some()
        && family(first) == family(second)
    {
        problems.invalid(&list, Json(&cidrs), DUAL);
    }
}

fn cidrs(range: &ServiceCIDR) -> &[String] {
    range.spec.as_ref().and_then(|spec| spec.cidrs.as_deref()).unwrap_or_default()
}

/// Mirrors `ValidateServiceCIDRUpdate`: a second range may be added, and nothing else happens to those that are there.
pub fn service_cidr_update(problems: &mut Problems, new: &ServiceCIDR, old: &ServiceCIDR) {
    let spec = Path::new("spec");
    let (list, sent, before) = (spec.child("cidrs"), cidrs(new), cidrs(old));
    let grows = (before.len(), sent.len()) == (1, 2);
    if before.len() != sent.len() && !grows {
        return problems.invalid(&list, Json(&sent), IMMUTABLE);
    }
    for (i, (sent, _)) in sent.iter().zip(before).enumerate().filter(|(_, (sent, before))| sent != before) {
        problems.invalid(&list.index(i), sent.as_str(), IMMUTABLE);
    }
    if grows {
        service_cidr(problems, new);
    }
}

#[cfg(test)]
mod tests;

//! Where Services lead, and which addresses they may have: Endpoints, EndpointSlices, IPAddresses, ServiceCIDRs.
//! Mirrors `ValidateEndpoints` of `pkg/apis/core/validation`, `pkg/apis/discovery/validation` and
//! `pkg/apis/networking/validation`.
//!
//! Left out: topology hints' zones, and the deprecated topology labels.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::api::networking::v1::{IPAddress, ServiceCIDR};
use serde_json::json;

use crate::object::selector::names::check_subdomain;

use super::container::PROTOCOLS;
use super::field::{Json, Path, Problems};
use super::names::{check_cidr, check_dns_label, check_ip, check_port, parse_cidr};

const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
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
    }
}

fn endpoint_address(problems: &mut Problems, path: &Path, address: &EndpointAddress) {
    ip(problems, &path.child("ip"), &address.ip);
    if let Some(name) = address.hostname.as_deref().filter(|name| !name.is_empty()) {
        problems.all_invalid(&path.child("hostname"), name, check_dns_label(name));
    }
    if let Some(node) = address.node_name.as_deref() {
        problems.all_invalid(&path.child("nodeName"), node, check_subdomain(node));
    }
}

/// Mirrors `ValidateEndpointSliceCreate`.
pub fn endpoint_slice(problems: &mut Problems, slice: &EndpointSlice) {
    problems.one_of(&Path::new("addressType"), Some(&slice.address_type), ADDRESS_TYPES);
    let list = Path::new("endpoints");
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    at_most(problems, &list, endpoints.len(), ENDPOINTS_MAX);
    for (i, endpoint) in endpoints.iter().enumerate() {
        self::endpoint(problems, &list.index(i), endpoint, &slice.address_type);
    }
    slice_ports(problems, slice.ports.as_deref().unwrap_or_default());
}

/// Mirrors `ValidateEndpointSliceUpdate`.
pub fn endpoint_slice_update(problems: &mut Problems, new: &EndpointSlice, old: &EndpointSlice) {
    if new.endpoints != old.endpoints || new.ports != old.ports || new.address_type != old.address_type {
        endpoint_slice(problems, new);
    }
    let path = Path::new("addressType");
    problems.immutable(&path, &new.address_type, &old.address_type, |value| json!(value).to_string());
}

fn endpoint(problems: &mut Problems, path: &Path, endpoint: &Endpoint, address_type: &str) {
    let list = path.child("addresses");
    if endpoint.addresses.is_empty() {
        problems.required(&list, "must contain at least 1 address");
    }
    at_most(problems, &list, endpoint.addresses.len(), ADDRESSES_MAX);
    for (i, address) in endpoint.addresses.iter().enumerate() {
        let path = list.index(i);
        let fits = |wanted_v4: bool| address.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4() == wanted_v4);
        match address_type {
            "IPv4" if !fits(true) => problems.invalid(&path, address.as_str(), "must be a valid IPv4 address"),
            "IPv6" if !fits(false) => problems.invalid(&path, address.as_str(), "must be a valid IPv6 address"),
            "IPv4" | "IPv6" => ip(problems, &path, address),
            "FQDN" => problems.all_invalid(&path, address, check_subdomain(address)),
            _ => {}
        }
    }
    if let Some(node) = endpoint.node_name.as_deref() {
        problems.all_invalid(&path.child("nodeName"), node, check_subdomain(node));
    }
    if let Some(name) = endpoint.hostname.as_deref() {
        problems.all_invalid(&path.child("hostname"), name, check_dns_label(name));
    }
}

fn slice_ports(problems: &mut Problems, ports: &[EndpointPort]) {
    let (list, mut names) = (Path::new("ports"), BTreeSet::new());
    at_most(problems, &list, ports.len(), PORTS_MAX);
    for (i, port) in ports.iter().enumerate() {
        let path = list.index(i);
        let name = port.name.as_deref().unwrap_or_default();
        if !name.is_empty() {
            problems.all_invalid(&path.child("name"), name, check_dns_label(name));
        }
        if !names.insert(name) {
            problems.duplicate(&path.child("name"), name);
        }
        if let Some((number, why)) = port.port.and_then(|number| Some((number, check_port(number)?))) {
            problems.invalid(&path.child("port"), number, why);
        }
        problems.one_of(&path.child("protocol"), port.protocol.as_deref(), PROTOCOLS);
    }
}

/// An address that a client can be sent to. Mirrors `IsValidIP` and `ValidateEndpointIP`.
pub(super) fn ip(problems: &mut Problems, path: &Path, address: &str) {
    const ANY: &str = "may not be unspecified (0.0.0.0 or ::)";
    const LOOPBACK: &str = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
    const LINK: &str = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
    const MULTICAST: &str = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
    if let Some(why) = check_ip(address) {
        problems.invalid(path, address, why);
    }
    let Ok(ip) = address.parse::<IpAddr>() else { return };
    let (link, multicast) = match ip {
        IpAddr::V4(ip) => (Ipv4Addr::is_link_local(&ip), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (Ipv6Addr::is_unicast_link_local(&ip), ip.segments()[0] == 0xff02),
    };
    let special = [(ip.is_unspecified(), ANY), (ip.is_loopback(), LOOPBACK), (link, LINK), (multicast, MULTICAST)];
    for (_, why) in special.into_iter().filter(|(is, _)| *is) {
        problems.invalid(path, address, why);
    }
}

fn at_most(problems: &mut Problems, path: &Path, len: usize, max: usize) {
    if len > max {
        problems.too_many(path, len, max);
    }
}

/// Mirrors `ValidateIPAddress`: an address belongs to somebody.
pub fn ip_address(problems: &mut Problems, address: &IPAddress) {
    let spec = Path::new("spec");
    let path = spec.child("parentRef");
    let parent = &address.spec.parent_ref;
    for (field, value) in [("resource", &parent.resource), ("name", &parent.name)] {
        if value.is_empty() {
            problems.required(&path.child(field), "");
        }
    }
}

/// Mirrors `ValidateIPAddressUpdate`: an address never changes hands.
pub fn ip_address_update(problems: &mut Problems, new: &IPAddress, old: &IPAddress) {
    let spec = Path::new("spec");
    problems.immutable(&spec, &new.spec, &old.spec, |spec| json!(spec).to_string());
}

/// Mirrors `ValidateServiceCIDR`.
pub fn service_cidr(problems: &mut Problems, range: &ServiceCIDR) {
    let spec = Path::new("spec");
    let list = spec.child("cidrs");
    let cidrs = range.spec.as_ref().and_then(|spec| spec.cidrs.as_deref()).unwrap_or_default();
    if cidrs.is_empty() {
        problems.required(&list, "at least one CIDR required");
    }
    if cidrs.len() > 2 {
        problems.invalid(&list, Json(&cidrs), "may only hold up to 2 values");
    }
    let mut families = BTreeSet::new();
    for (i, cidr) in cidrs.iter().enumerate() {
        if let Some(why) = check_cidr(cidr) {
            problems.invalid(&list.index(i), cidr.as_str(), why);
        }
        if parse_cidr(cidr).is_some_and(|(ip, _)| !families.insert(ip.is_ipv4())) {
            const WHY: &str =
                "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96";
            problems.invalid(&list, Json(&cidrs), WHY);
        }
    }
}

/// Mirrors `ValidateServiceCIDRUpdate`.
pub fn service_cidr_update(problems: &mut Problems, new: &ServiceCIDR, old: &ServiceCIDR) {
    let spec = Path::new("spec");
    problems.immutable(&spec.child("cidrs"), &new.spec, &old.spec, |spec| {
        json!(spec.as_ref().and_then(|spec| spec.cidrs.as_ref())).to_string()
    });
}

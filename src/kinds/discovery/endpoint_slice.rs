//! EndpointSlices. Mirrors `pkg/apis/discovery/validation`.
//!
//! Left out: the deprecated topology labels, which `v1` does not take.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointPort, EndpointSlice};
use serde_json::{Value, json};

use crate::defaults::fields::{or, or_text};
use crate::pod_template::container::PROTOCOLS;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::printers::service;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::validation::addresses::{app_protocol, reachable};
use object::selector::names::{check_label_value, check_subdomain};
use object::validation::field::{Path, Problems};
use object::validation::names::{check_canonical_ip, check_dns_label, check_ip};

/// What the server knows of EndpointSlices.
pub const ROW: Row<EndpointSlice> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| {
            new.metadata.labels != old.metadata.labels
                || new.address_type != old.address_type
                || !same_endpoints(new, old)
                || new.ports.as_deref().unwrap_or_default() != old.ports.as_deref().unwrap_or_default()
        }),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    warnings: Warnings { create: warn_of_domains, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table { columns: &[NAME, column("AddressType"), column("Ports"), column("Endpoints"), AGE], cells },
        ..Facts::new("/registry/endpointslices/", 11)
    })
};

/// Whether both have the same endpoints. In Go an endpoint has conditions whether they were written or not.
fn same_endpoints(new: &EndpointSlice, old: &EndpointSlice) -> bool {
    let of = |slice: &EndpointSlice| {
        let written = |mut endpoint: Endpoint| {
            endpoint.conditions.get_or_insert_default();
            endpoint
        };
        slice.endpoints.iter().flatten().cloned().map(written).collect::<Vec<_>>()
    };
    new.endpoints == old.endpoints || of(new) == of(old)
}

const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;

/// The most zones, or nodes, that an endpoint is meant for.
const HINTS_MAX: usize = 8;
const ADDRESS_TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];

fn warn_of_domains(told: &mut Vec<String>, slice: &EndpointSlice) {
    if slice.address_type == "FQDN" {
        told.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
}

fn defaults(slice: &mut EndpointSlice) {
    for port in slice.ports.iter_mut().flatten() {
        or(&mut port.name, String::new());
        or_text(&mut port.protocol, "TCP");
    }
}

/// Mirrors `ValidateEndpointSliceCreate`.
fn validate(problems: &mut Problems, slice: &EndpointSlice) {
    slice_but_endpoints(problems, slice);
    slice_endpoints(problems, slice);
}

/// Mirrors `ValidateEndpointSliceUpdate`: endpoints that stay are not looked at again.
fn validate_update(problems: &mut Problems, new: &EndpointSlice, old: &EndpointSlice) {
    slice_but_endpoints(problems, new);
    // Of other addresses than its own nothing is said while it may not become theirs.
    if new.endpoints != old.endpoints && new.address_type == old.address_type {
        slice_endpoints(problems, new);
    }
    let path = Path::new("addressType");
    problems.immutable(&path, &new.address_type, &old.address_type, |value| json!(value).to_string());
}

fn cells(slice: &Value, now: Timestamp) -> Vec<Value> {
    let (ports, endpoints) = (service::slice_ports(slice), service::slice_endpoints(slice));
    cells![name(slice), text(slice, "addressType").to_owned(), ports, endpoints, created(slice, now)]
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

/// The zones and nodes that an endpoint is meant for. Mirrors `validateHints`.
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

/// Mirrors `validatePorts`. A port's number is not checked.
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

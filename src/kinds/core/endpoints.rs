//! Endpoints, which EndpointSlices have replaced. Mirrors `ValidateEndpoints` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, Endpoints};

use crate::defaults::fields::or_text;
use crate::pod_template::container::PROTOCOLS;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::service;
use crate::row::{Facts, Row, Table, Validation, Warnings};
use crate::validation::addresses::{app_protocol, reachable};
use crate::warnings::addresses::of_ip;
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::names::{check_dns_label, check_ip, check_port};

/// What the server knows of Endpoints.
pub const ROW: Row<Endpoints> = Row {
    defaults: Some(defaults),
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    warnings: Warnings { any: warn, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        create_on_update: true,
        deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        table: Table {
            columns: &[NAME, column("Endpoints"), AGE],
            cells: |o, now| cells![name(o), service::endpoints(o), created(o, now)],
        },
        ..Facts::new("/registry/services/endpoints/", 11)
    })
};

/// Of a label with this value, the addresses are a controller's, which writes them well.
const MANAGED_BY: (&str, &str) = ("endpoints.kubernetes.io/managed-by", "endpoint-controller");

fn defaults(endpoints: &mut Endpoints) {
    for port in endpoints.subsets.iter_mut().flatten().flat_map(|subset| subset.ports.iter_mut().flatten()) {
        or_text(&mut port.protocol, "TCP");
    }
}

/// Mirrors `ValidateEndpointsCreate`.
fn validate(problems: &mut Problems, endpoints: &Endpoints) {
    let list = Path::new("subsets");
    for (i, subset) in endpoints.subsets.iter().flatten().enumerate() {
        self::subset(problems, &list.index(i), subset);
    }
}

/// Mirrors `ValidateEndpointsUpdate`: what did not change is not looked at again.
fn validate_update(problems: &mut Problems, new: &Endpoints, old: &Endpoints) {
    if new.subsets != old.subsets {
        validate(problems, new);
    }
}

fn warn(told: &mut Vec<String>, endpoints: &Endpoints) {
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

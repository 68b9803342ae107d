//! Services. Mirrors `pkg/registry/core/service`, and `pkg/api/service/warnings.go`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use crate::defaults::fields::{or, or_text};
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::{int, labels, list, or_none, text, text_or_none};
use crate::row::{Facts, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::warnings::addresses;
use crate::warnings::addresses::of_balancer;
use object::validation::names::check_dns_label;

pub mod validation;

/// What the server knows of Services.
pub const ROW: Row<Service> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_update: Some(agree_on_cluster_ips),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::service,
        update: validation::service_update,
        status: validation::service_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warn, status: warn_of_status, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        create_on_update: true,
        check_name: check_dns_label,
        table: Table {
            columns: &[
                NAME,
                column("Type"),
                column("Cluster-IP"),
                column("External-IP"),
                column("Port(s)"),
                AGE,
                wide("Selector"),
            ],
            cells,
        },
        ..Facts::new("/registry/services/specs/", 11)
    })
};

/// How a Service was told to lead to Pods nearby, before it was told by the other.
pub const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";

/// Where a client's connections stay on one Pod, for how long: three hours.
const AFFINITY_SECONDS: i32 = 10_800;
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

/// The first of the cluster IPs stands twice: who changes one of both means the other too. Mirrors `normalizeClusterIPs`.
fn agree_on_cluster_ips(new: &mut Service, old: &Service) {
    let (Some(new), Some(old)) = (&mut new.spec, &old.spec) else { return };
    let one = |spec: &ServiceSpec| spec.cluster_ip.clone().unwrap_or_default();
    let changed = (one(new) != one(old), new.cluster_ips != old.cluster_ips);
    match changed {
        (true, false) if one(new).is_empty() => new.cluster_ips = None,
        (true, false) => {
            let first = one(new);
            match new.cluster_ips.as_mut().and_then(|ips| ips.first_mut()) {
                Some(there) => *there = first,
                None => new.cluster_ips = Some(vec![first]),
            }
        }
        (false, true) if new.cluster_ips.as_ref().is_some_and(|ips| !ips.is_empty()) => {
            new.cluster_ip = new.cluster_ips.iter().flatten().next().cloned();
        }
        _ => {}
    }
}

fn defaults(service: &mut Service) {
    let spec = service.spec.get_or_insert_default();
    or_text(&mut spec.type_, "ClusterIP");
    or_text(&mut spec.session_affinity, "None");
    let type_ = spec.type_.clone().unwrap_or_default();
    if type_ != "ExternalName" {
        or_text(&mut spec.internal_traffic_policy, "Cluster");
    }
    if validation::is_exposed(spec) {
        or_text(&mut spec.external_traffic_policy, "Cluster");
    }
    if type_ == "LoadBalancer" {
        or(&mut spec.allocate_load_balancer_node_ports, true);
        let balancer = service.status.as_mut().and_then(|status| status.load_balancer.as_mut());
        for ingress in balancer.into_iter().flat_map(|balancer| balancer.ingress.iter_mut().flatten()) {
            if ingress.ip.is_some() {
                or_text(&mut ingress.ip_mode, "VIP");
            }
        }
    }
    if spec.session_affinity.as_deref() == Some("None") {
        spec.session_affinity_config = None;
    }
    if spec.session_affinity.as_deref() == Some("ClientIP") {
        let config = spec.session_affinity_config.get_or_insert_default();
        or(&mut config.client_ip.get_or_insert_default().timeout_seconds, AFFINITY_SECONDS);
    }
    for port in spec.ports.iter_mut().flatten() {
        or_text(&mut port.protocol, "TCP");
        port.target_port.take_if(|target| matches!(target, IntOrString::String(name) if name.is_empty()));
        or(&mut port.target_port, IntOrString::Int(port.port));
    }
}

fn warn(told: &mut Vec<String>, service: &Service) {
    let Some(spec) = &service.spec else { return };
    let external = spec.type_.as_deref() == Some("ExternalName");
    let headless = spec.type_.as_deref() == Some("ClusterIP") && spec.cluster_ip.as_deref() == Some("None");
    let some = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let addresses = spec.external_ips.as_ref().is_some_and(|ips| !ips.is_empty());
    if service.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(TOPOLOGY_HINTS)) {
        told.push(format!("annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"));
    }
    addresses::inside(told, spec);
    let cases = [
        (headless && some(&spec.load_balancer_ip), "spec.loadBalancerIP is ignored for headless services"),
        (headless && addresses, "spec.externalIPs is ignored for headless services"),
        (
            headless && spec.session_affinity.as_deref() != Some("None"),
            "spec.SessionAffinity is ignored for headless services",
        ),
    ];
    say(told, &cases);
    addresses::outside(told, spec);
    if addresses && !headless && !external {
        told.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    addresses::balanced(told, spec);
    let cases = [
        (external && addresses, "spec.externalIPs is ignored when spec.type is \"ExternalName\""),
        (!external && some(&spec.external_name), "spec.externalName is ignored when spec.type is not \"ExternalName\""),
        (
            spec.traffic_distribution.as_deref() == Some("PreferClose"),
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
        ),
    ];
    say(told, &cases);
}

/// Where a Service is reached, as its status says.
fn warn_of_status(told: &mut Vec<String>, service: &Service) {
    of_balancer(told, &ips_of_balancer(service));
}

fn cells(service: &Value, now: Timestamp) -> Vec<Value> {
    let kind = text(service, "spec.type");
    let port = |port: &Value| {
        let protocol = text(port, "protocol");
        match int(port, "nodePort") {
            0 => format!("{}/{protocol}", int(port, "port")),
            node => format!("{}:{node}/{protocol}", int(port, "port")),
        }
    };
    let ports: Vec<String> = list(service, "spec.ports").iter().map(port).collect();
    cells![
        name(service),
        kind.to_owned(),
        text_or_none(service, "spec.clusterIP"),
        external_ip(service, kind),
        or_none(&ports.join(",")),
        created(service, now),
        labels(service, "spec.selector"),
    ]
}

/// Mirrors `getServiceExternalIP`.
fn external_ip(service: &Value, kind: &str) -> String {
    let mut ips: Vec<&str> = Vec::new();
    if kind == "LoadBalancer" {
        for ingress in list(service, "status.loadBalancer.ingress") {
            ips.extend([text(ingress, "ip"), text(ingress, "hostname")].into_iter().find(|t| !t.is_empty()));
        }
    }
    if kind == "ExternalName" {
        return text(service, "spec.externalName").to_owned();
    }
    ips.extend(list(service, "spec.externalIPs").iter().filter_map(Value::as_str));
    match ips.is_empty() {
        true if kind == "LoadBalancer" => "<pending>".to_owned(),
        _ => or_none(&ips.join(",")),
    }
}

fn ips_of_balancer(service: &Service) -> Vec<Option<&str>> {
    let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    balancer.iter().flat_map(|of| of.ingress.iter().flatten()).map(|there| there.ip.as_deref()).collect()
}

/// Says what is so.
fn say(told: &mut Vec<String>, cases: &[(bool, &str)]) {
    told.extend(cases.iter().filter(|(so, _)| *so).map(|(_, why)| (*why).to_owned()));
}

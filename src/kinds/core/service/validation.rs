//! Services. Mirrors `ValidateService` and `ValidateServiceUpdate` of `pkg/apis/core/validation`.
//!
//! Left out: dual stack.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use serde_json::json;

use crate::pod_template::container::PROTOCOLS;
use crate::pod_template::handler::port_or_name;
use crate::validation::{addresses, metadata};
use object::selector::names::{check_label_key, check_subdomain};
use object::validation::field::{Json, Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::{check_cidr, check_dns_label, check_ip, check_port, parse_ip_sloppy};

const SPEC: Path = Path::new("spec");
const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
/// Where the ranges of clients were said before there was a field for it.
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const FAMILIES: &[&str] = &["IPv4", "IPv6"];
const FAMILY_POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];
const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];

/// The longest time for which one client's connections go to the same Pod: a day.
const AFFINITY_SECONDS_MAX: i32 = 86_400;

/// The spec of a Service.
pub fn service(problems: &mut Problems, service: &Service) {
    let default = ServiceSpec::default();
    let spec = service.spec.as_ref().unwrap_or(&default);
    let type_ = spec.type_.as_deref().unwrap_or_default();
    let headless = spec.cluster_ip.as_deref() == Some("None");
    let list = spec.ports.as_deref().unwrap_or_default();
    if list.is_empty() && !headless && type_ != "ExternalName" {
        problems.required(&SPEC.child("ports"), "");
    }
    match type_ {
        "NodePort" | "LoadBalancer" if headless => {
            let why = format!("may not be set to 'None' for {type_} services");
            problems.invalid(&SPEC.child("clusterIPs").index(0), "None", &why);
        }
        "ExternalName" => external_name(problems, spec),
        _ => {}
    }
    ports(problems, list);
    metadata::labels(problems, &SPEC.child("selector"), spec.selector.as_ref());
    session_affinity(problems, spec);
    cluster_ips(problems, spec);
    for (i, address) in spec.external_ips.iter().flatten().enumerate() {
        let list = SPEC.child("externalIPs");
        match check_ip(address) {
            Some(why) => problems.invalid(&list.index(i), address.as_str(), why),
            None => addresses::reachable(problems, &list.index(i), address),
        }
    }
    problems.one_of(&SPEC.child("type"), spec.type_.as_deref(), TYPES);
    node_ports(problems, type_, list);
    ports_differ(problems, list);
    load_balancing(problems, service, spec);
    policies(problems, spec);
}

/// Where a load balancer is. Mirrors `ValidateLoadBalancerStatus`.
pub fn service_status(problems: &mut Problems, new: &Service, _: &Service) {
    let path = Path::new("status");
    let path = path.child("loadBalancer");
    let path = path.child("ingress");
    let ingress = new.status.as_ref().and_then(|status| status.load_balancer.as_ref()?.ingress.as_deref());
    let balanced = new.spec.as_ref().is_some_and(|spec| spec.type_.as_deref() == Some("LoadBalancer"));
    if !balanced && ingress.is_some_and(|ingress| !ingress.is_empty()) {
        return problems.forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'");
    }
    for (i, point) in ingress.unwrap_or_default().iter().enumerate() {
        let path = path.index(i);
        let ip = point.ip.as_deref().unwrap_or_default();
        if let Some(why) = check_ip(ip).filter(|_| !ip.is_empty()) {
            problems.invalid(&path.child("ip"), ip, why);
        }
        let at = path.child("ipMode");
        match point.ip_mode.as_deref() {
            None if !ip.is_empty() => problems.required(&at, "must be specified when `ip` is set"),
            Some(_) if ip.is_empty() => problems.forbidden(&at, "may not be specified when `ip` is not set"),
            None | Some("Proxy" | "VIP") => {}
            Some(mode) => problems.not_supported(&at, mode, &["Proxy", "VIP"]),
        }
        if let Some(host) = point.hostname.as_deref().filter(|host| !host.is_empty()) {
            let at = path.child("hostname");
            problems.all_invalid(&at, host, check_subdomain(host));
            if parse_ip_sloppy(host).is_some() {
                problems.invalid(&at, host, "must be a DNS name, not an IP address");
            }
        }
    }
}

/// What may not change in a Service.
pub fn service_update(problems: &mut Problems, new: &Service, old: &Service) {
    if new.spec == old.spec {
        return;
    }
    let external = |spec: &ServiceSpec| spec.type_.as_deref() == Some("ExternalName");
    if let (Some(new), Some(old)) = (&new.spec, &old.spec)
        && !external(new)
        && !external(old)
        && old.cluster_ip.as_deref().is_some_and(|ip| !ip.is_empty())
        && new.cluster_ip != old.cluster_ip
    {
        let path = SPEC.child("clusterIPs");
        problems.invalid(&path.index(0), Json(&new.cluster_ips), "may not change once set");
    }
    let balanced = |spec: &ServiceSpec| spec.type_.as_deref() == Some("LoadBalancer");
    if let (Some(new), Some(old)) = (&new.spec, &old.spec)
        && balanced(new)
        && balanced(old)
        && new.load_balancer_class != old.load_balancer_class
    {
        let shown = Json(&new.load_balancer_class);
        problems.invalid(&SPEC.child("loadBalancerClass"), shown, "may not change once set");
    }
    service(problems, new);
}

/// Which cluster IPs and families a Service asks for: checked before it is given any, and once more with those it has.
/// Mirrors `ValidateServiceClusterIPsRelatedFields`.
pub fn cluster_ips(problems: &mut Problems, spec: &ServiceSpec) {
    if spec.type_.as_deref() == Some("ExternalName") {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let ips = spec.cluster_ips.as_deref().unwrap_or_default();
    match (spec.cluster_ip.as_deref().unwrap_or_default(), ips) {
        ("", []) => {}
        ("", _) => problems.invalid(&path, Json(ips), "must be empty when `clusterIP` is not specified"),
        (_, []) => problems.required(&path, ""),
        (ip, [first, ..]) if ip != first => problems.invalid(&path, Json(ips), "first value must match `clusterIP`"),
        _ => {}
    }
    families(problems, spec);
    for (i, ip) in ips.iter().enumerate() {
        match (i, ip.as_str()) {
            (0, "None") if ips.len() > 1 => {
                problems.invalid(&path, Json(ips), "'None' must be the first and only value");
            }
            (0, "None") => {}
            (_, ip) => {
                if let Some(why) = check_ip(ip) {
                    problems.invalid(&path.index(i), ip, why);
                }
            }
        }
    }
    if ips.len() > 2 {
        problems.invalid(&path, Json(ips), "may only hold up to 2 values");
    }
}

fn families(problems: &mut Problems, spec: &ServiceSpec) {
    let (path, mut seen) = (SPEC.child("ipFamilies"), BTreeSet::new());
    for (i, family) in spec.ip_families.iter().flatten().enumerate() {
        if !FAMILIES.contains(&family.as_str()) {
            problems.not_supported(&path.index(i), family.as_str(), FAMILIES);
        }
        if !seen.insert(family) {
            problems.duplicate(&path.index(i), family.as_str());
        }
    }
    if let Some(policy) = spec.ip_family_policy.as_deref().filter(|policy| !FAMILY_POLICIES.contains(policy)) {
        problems.not_supported(&SPEC.child("ipFamilyPolicy"), policy, FAMILY_POLICIES);
    }
}

fn external_name(problems: &mut Problems, spec: &ServiceSpec) {
    const WHY: &str = "may not be set for ExternalName services";
    let some = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
    let ip = spec.cluster_ip.as_deref().unwrap_or_default();
    for (field, is_set) in [
        ("clusterIPs", some(&spec.cluster_ips) || !ip.is_empty()),
        ("ipFamilies", some(&spec.ip_families)),
        ("ipFamilyPolicy", spec.ip_family_policy.is_some()),
    ] {
        if is_set {
            problems.forbidden(&SPEC.child(field), WHY);
        }
    }
    let path = SPEC.child("externalName");
    match spec.external_name.as_deref().unwrap_or_default().trim_end_matches('.') {
        "" => problems.required(&path, ""),
        name => problems.all_invalid(&path, name, check_subdomain(name)),
    }
}

fn ports(problems: &mut Problems, ports: &[ServicePort]) {
    let (list, mut names) = (SPEC.child("ports"), BTreeSet::new());
    for (i, port) in ports.iter().enumerate() {
        let path = list.index(i);
        match port.name.as_deref().unwrap_or_default() {
            "" if ports.len() > 1 => problems.required(&path.child("name"), ""),
            "" => {}
            name => {
                problems.all_invalid(&path.child("name"), name, check_dns_label(name));
                if !names.insert(name) {
                    problems.duplicate(&path.child("name"), name);
                }
            }
        }
        if let Some(why) = check_port(port.port) {
            problems.invalid(&path.child("port"), port.port, why);
        }
        problems.one_of(&path.child("protocol"), port.protocol.as_deref(), PROTOCOLS);
        if let Some(target) = &port.target_port {
            port_or_name(problems, &path.child("targetPort"), target);
        }
        if let Some(protocol) = &port.app_protocol {
            problems.all_invalid(&path.child("appProtocol"), protocol, check_label_key(protocol));
        }
    }
}

fn session_affinity(problems: &mut Problems, spec: &ServiceSpec) {
    let affinity = spec.session_affinity.as_deref();
    problems.one_of(&SPEC.child("sessionAffinity"), affinity, &["ClientIP", "None"]);
    let config = spec.session_affinity_config.as_ref();
    let path = SPEC.child("sessionAffinityConfig");
    match affinity {
        Some("None") if config.is_some() => {
            problems.forbidden(&path, "must not be set when session affinity is None");
        }
        Some("ClientIP") => {
            let seconds = config.and_then(|config| config.client_ip.as_ref()).and_then(|client| client.timeout_seconds);
            if let Some(seconds) = seconds.filter(|seconds| !(1..=AFFINITY_SECONDS_MAX).contains(seconds)) {
                let why = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
                problems.invalid(&path.child("clientIP").child("timeoutSeconds"), seconds, &why);
            }
        }
        _ => {}
    }
}

fn node_ports(problems: &mut Problems, type_: &str, ports: &[ServicePort]) {
    let (list, mut taken) = (SPEC.child("ports"), BTreeSet::new());
    for (i, port) in ports.iter().enumerate() {
        let (path, number) = (list.index(i), port.node_port.unwrap_or(0));
        if number == 0 {
            continue;
        }
        if type_ == "ClusterIP" {
            problems.forbidden(&path.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
        if !taken.insert((port.protocol.as_deref(), number)) {
            problems.duplicate(&path.child("nodePort"), number);
        }
    }
}

/// No two ports are the same to a client.
fn ports_differ(problems: &mut Problems, ports: &[ServicePort]) {
    let (list, mut taken) = (SPEC.child("ports"), BTreeSet::new());
    for (i, port) in ports.iter().enumerate() {
        let protocol = port.protocol.as_deref().unwrap_or_default();
        if !taken.insert((protocol, port.port)) {
            let same = json!({"protocol": protocol, "port": port.port});
            problems.duplicate(&list.index(i), Internal("ServicePort", &same));
        }
    }
}

/// What only a load balancer has.
fn load_balancing(problems: &mut Problems, service: &Service, spec: &ServiceSpec) {
    const WHY: &str = "may only be used when `type` is 'LoadBalancer'";
    let balanced = spec.type_.as_deref() == Some("LoadBalancer");
    // The field's name begins with a capital in this one path.
    let path = SPEC.child("LoadBalancerSourceRanges");
    let ranges = spec.load_balancer_source_ranges.as_deref().unwrap_or_default();
    if !ranges.is_empty() && !balanced {
        problems.forbidden(&path, WHY);
    }
    for (i, range) in ranges.iter().map(|range| range.trim()).enumerate() {
        if let Some(why) = check_cidr(range) {
            problems.invalid(&path.index(i), range, why);
        }
    }
    let annotations = service.metadata.annotations.as_ref();
    if let Some(ranges) = annotations.and_then(|all| all.get(SOURCE_RANGES)).filter(|_| ranges.is_empty()) {
        let path = Path::new("metadata");
        let path = path.child("annotations");
        let path = path.key(SOURCE_RANGES);
        if !balanced {
            problems.forbidden(&path, WHY);
        }
        for range in ranges.split(',').map(str::trim).filter(|_| !ranges.trim().is_empty()) {
            if let Some(why) = check_cidr(range) {
                problems.invalid(&path, range, why);
            }
        }
    }
    if spec.allocate_load_balancer_node_ports.is_some() && !balanced {
        problems.forbidden(&SPEC.child("allocateLoadBalancerNodePorts"), WHY);
    }
    let path = SPEC.child("loadBalancerClass");
    match spec.load_balancer_class.as_deref() {
        Some(_) if !balanced => problems.forbidden(&path, WHY),
        Some(class) => problems.all_invalid(&path, class, check_label_key(class)),
        None => {}
    }
}

/// Whether it can be reached from outside of the cluster. Mirrors `service.ExternallyAccessible`.
pub fn is_exposed(spec: &ServiceSpec) -> bool {
    match spec.type_.as_deref() {
        Some("NodePort" | "LoadBalancer") => true,
        Some("ClusterIP") => spec.external_ips.as_ref().is_some_and(|ips| !ips.is_empty()),
        _ => false,
    }
}

fn policies(problems: &mut Problems, spec: &ServiceSpec) {
    const POLICIES: &[&str] = &["Cluster", "Local"];
    let external = spec.external_traffic_policy.as_deref().unwrap_or_default();
    let exposed = is_exposed(spec);
    let path = SPEC.child("externalTrafficPolicy");
    if !external.is_empty() && !exposed {
        problems.invalid(&path, external, "may only be set for externally-accessible services");
    } else if !external.is_empty() && !POLICIES.contains(&external) {
        problems.not_supported(&path, external, POLICIES);
    }
    let checked = spec.type_.as_deref() == Some("LoadBalancer") && external == "Local";
    if let Some(port) = spec.health_check_node_port.filter(|port| *port != 0 && !checked) {
        const WHY: &str = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        problems.invalid(&SPEC.child("healthCheckNodePort"), port, WHY);
    }
    let internal = spec.internal_traffic_policy.as_deref().unwrap_or_default();
    if !internal.is_empty() && !POLICIES.contains(&internal) {
        problems.not_supported(&SPEC.child("internalTrafficPolicy"), internal, POLICIES);
    }
    let distribution = spec.traffic_distribution.as_deref();
    if let Some(distribution) = distribution.filter(|distribution| !DISTRIBUTIONS.contains(distribution)) {
        problems.not_supported(&SPEC.child("trafficDistribution"), distribution, DISTRIBUTIONS);
    }
}

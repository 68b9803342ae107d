//! The pages about Services and where they lead. Mirrors `ServiceDescriber`, `EndpointsDescriber` and
//! `EndpointSliceDescriber`.

use serde_json::Value;

use super::super::fields::{at, int, labels, list, or_none, plain, text};
use super::super::service::ready_endpoints;
use super::page::Page;
use super::simple::head;

pub(super) fn describe_service(page: &mut Page, service: &Value, slices: &[Value]) {
    head(page, service);
    page.field("Selector", labels(service, "spec.selector"));
    page.field("Type", text(service, "spec.type"));
    let words = |path| list(service, path).iter().map(plain).collect::<Vec<_>>().join(",");
    optional(page, service, &[("IP Family Policy", "spec.ipFamilyPolicy")]);
    page.field("IP Families", or_none(&words("spec.ipFamilies")));
    page.field("IP", text(service, "spec.clusterIP"));
    page.field("IPs", or_none(&words("spec.clusterIPs")));
    if !list(service, "spec.externalIPs").is_empty() {
        page.field("External IPs", words("spec.externalIPs"));
    }
    optional(
        page,
        service,
        &[("Desired LoadBalancer IP", "spec.loadBalancerIP"), ("External Name", "spec.externalName")],
    );
    let ingress: Vec<String> = list(service, "status.loadBalancer.ingress").iter().map(ingress_text).collect();
    if !ingress.is_empty() {
        page.field("LoadBalancer Ingress", ingress.join(", "));
    }
    for port in list(service, "spec.ports") {
        let (name, protocol) = (or_unset(text(port, "name")), text(port, "protocol"));
        page.field("Port", format!("{name}\t{}/{protocol}", int(port, "port")));
        page.field("TargetPort", format!("{}/{protocol}", plain(at(port, "targetPort"))));
        if !text(port, "appProtocol").is_empty() {
            page.field("AppProtocol", text(port, "appProtocol"));
        }
        if int(port, "nodePort") != 0 {
            page.field("NodePort", format!("{name}\t{}/{protocol}", int(port, "nodePort")));
        }
        page.field("Endpoints", ready_endpoints(slices, text(port, "name")));
    }
    page.field("Session Affinity", text(service, "spec.sessionAffinity"));
    let policies = [
        ("External Traffic Policy", "spec.externalTrafficPolicy"),
        ("Internal Traffic Policy", "spec.internalTrafficPolicy"),
    ];
    optional(page, service, &policies);
    if int(service, "spec.healthCheckNodePort") != 0 {
        page.field("HealthCheck NodePort", int(service, "spec.healthCheckNodePort").to_string());
    }
    if !list(service, "spec.loadBalancerSourceRanges").is_empty() {
        page.field("LoadBalancer Source Ranges", words("spec.loadBalancerSourceRanges"));
    }
    optional(page, service, &[("Traffic Distribution", "spec.trafficDistribution")]);
}

/// An address by which a load balancer is reached.
fn ingress_text(ingress: &Value) -> String {
    match [text(ingress, "ip"), text(ingress, "ipMode")] {
        ["", _] => text(ingress, "hostname").to_owned(),
        [ip, ""] => ip.to_owned(),
        [ip, mode] => format!("{ip} ({mode})"),
    }
}

/// Fields that show only if they are there.
fn optional(page: &mut Page, object: &Value, fields: &[(&str, &str)]) {
    for (title, path) in fields.iter().filter(|(_, path)| !text(object, path).is_empty()) {
        page.field(title, text(object, path));
    }
}

fn or_unset(text: &str) -> &str {
    if text.is_empty() { "<unset>" } else { text }
}

pub(super) fn describe_endpoints(page: &mut Page, endpoints: &Value) {
    head(page, endpoints);
    page.line("Subsets:");
    for subset in list(endpoints, "subsets") {
        for (title, path) in [("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")] {
            let ips: Vec<&str> = list(subset, path).iter().map(|address| text(address, "ip")).collect();
            page.line(format!("  {title}:\t{}", or_none(&ips.join(","))));
        }
        let ports = list(subset, "ports");
        if !ports.is_empty() {
            page.line("  Ports:\n    Name\tPort\tProtocol\n    ----\t----\t--------");
        }
        for port in ports {
            let name = or_unset(text(port, "name"));
            page.line(format!("    {name}\t{}\t{}", int(port, "port"), text(port, "protocol")));
        }
        page.line("");
    }
}

pub(super) fn describe_slice(page: &mut Page, slice: &Value) {
    head(page, slice);
    page.field("AddressType", text(slice, "addressType"));
    match list(slice, "ports") {
        [] => page.line("Ports: <unset>"),
        ports => {
            page.line("Ports:\n  Name\tPort\tProtocol\n  ----\t----\t--------");
            for port in ports {
                let number = port.get("port").map_or("<unset>".to_owned(), plain);
                page.line(format!("  {}\t{number}\t{}", or_unset(text(port, "name")), text(port, "protocol")));
            }
        }
    }
    match list(slice, "endpoints") {
        [] => page.line("Endpoints: <none>"),
        endpoints => {
            page.line("Endpoints:");
            endpoints.iter().for_each(|endpoint| describe_endpoint(page, endpoint));
        }
    }
}

fn describe_endpoint(page: &mut Page, endpoint: &Value) {
    let addresses: Vec<String> = list(endpoint, "addresses").iter().map(plain).collect();
    let ready = endpoint.get("conditions").and_then(|conditions| conditions.get("ready"));
    page.line(format!("  - Addresses:\t{}", or_none(&addresses.join(", "))));
    page.line(format!("    Conditions:\n      Ready:\t{}", ready.map_or("<unset>".to_owned(), plain)));
    page.line(format!("    Hostname:\t{}", or_unset(text(endpoint, "hostname"))));
    if endpoint.get("targetRef").is_some() {
        let [kind, name] = ["targetRef.kind", "targetRef.name"].map(|path| text(endpoint, path));
        page.line(format!("    TargetRef:\t{kind}/{name}"));
    }
    page.line(format!("    NodeName:\t{}", or_unset(text(endpoint, "nodeName"))));
    page.line(format!("    Zone:\t{}", or_unset(text(endpoint, "zone"))));
}
